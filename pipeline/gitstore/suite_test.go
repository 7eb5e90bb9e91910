package gitstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gitstoretest"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
)

// opening opens a remote or ends the test.
func opening(t *testing.T, opt gitstore.Options) gitstore.Remote {
	t.Helper()
	if opt.Env == nil {
		opt.Env = gittest.Getenv(t.TempDir())
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	r, err := gitstore.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// closing closes a remote at the end of a test.
func closing(tb testing.TB, r gitstore.Remote) {
	tb.Helper()
	if err := r.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
}

func TestRemotesKeepTheContract(t *testing.T) {
	t.Parallel()
	partial := gitstoretest.Options{Filters: true}
	slow := gitstoretest.Options{Filters: true, Rounds: 5} // several processes for every step
	bare := func(t *testing.T, allow bool) string {
		dir := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha1")
		if allow {
			gittest.AllowPartial(t, dir)
		}
		return dir
	}
	t.Run("GoPath", func(t *testing.T) {
		t.Parallel()
		gitstoretest.Run(t, gitstoretest.Options{}, func(t *testing.T) gitstoretest.Backend {
			dir := bare(t, false)
			return &gitstoretest.Disk{Dir: dir, Client: func(t *testing.T) gitstore.Remote {
				return opening(t, gitstore.Options{URL: dir})
			}}
		})
	})
	t.Run("GoFile", func(t *testing.T) {
		t.Parallel()
		gitstoretest.Run(t, partial, func(t *testing.T) gitstoretest.Backend {
			dir := bare(t, true)
			return &gitstoretest.Disk{Dir: dir, Client: func(t *testing.T) gitstore.Remote {
				return opening(t, gitstore.Options{URL: "file://" + dir})
			}}
		})
	})
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		t.Run("HTTP/"+transport, func(t *testing.T) {
			t.Parallel()
			opt := partial
			if transport == gitstore.TransportGit {
				opt = slow
			}
			gitstoretest.Run(t, opt, func(t *testing.T) gitstoretest.Backend {
				dir := bare(t, true)
				srv := gittest.New(t, filepath.Dir(dir))
				srv.SetAuth("x-access-token", "s3cret-token")
				return &gitstoretest.Disk{Dir: dir, BeforePush: srv.BeforePush, Client: func(t *testing.T) gitstore.Remote {
					return opening(t, gitstore.Options{
						URL: srv.URL("repo.git"), Transport: transport, TokenEnv: "TOKEN", Env: gittest.Getenv(t.TempDir(), "TOKEN=s3cret-token"),
					})
				}}
			})
		})
		t.Run("SSH/"+transport, func(t *testing.T) {
			t.Parallel()
			gitstoretest.Run(t, slow, func(t *testing.T) gitstoretest.Backend {
				dir := bare(t, true)
				srv := gittest.NewSSH(t, filepath.Dir(dir))
				return &gitstoretest.Disk{Dir: dir, Client: func(t *testing.T) gitstore.Remote {
					return opening(t, gitstore.Options{
						URL: srv.URL("repo.git"), Transport: transport, SSHKey: srv.Key, KnownHosts: []string{srv.KnownHosts},
					})
				}}
			})
		})
	}
	t.Run("GitFile", func(t *testing.T) {
		t.Parallel()
		gitstoretest.Run(t, slow, func(t *testing.T) gitstoretest.Backend {
			dir := bare(t, true)
			return &gitstoretest.Disk{Dir: dir, Client: func(t *testing.T) gitstore.Remote {
				return opening(t, gitstore.Options{URL: dir, Transport: gitstore.TransportGit})
			}}
		})
	})
	t.Run("GitSHA256", func(t *testing.T) {
		t.Parallel()
		gitstoretest.Run(t, slow, func(t *testing.T) gitstoretest.Backend {
			dir := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha256")
			gittest.AllowPartial(t, dir)
			return &gitstoretest.Disk{Dir: dir, Client: func(t *testing.T) gitstore.Remote {
				return opening(t, gitstore.Options{URL: dir, Transport: gitstore.TransportGit})
			}}
		})
	})
	t.Run("Mem", func(t *testing.T) {
		t.Parallel()
		gitstoretest.Run(t, partial, func(*testing.T) gitstoretest.Backend {
			return &gitstoretest.Mem{Server: memgit.NewServer()}
		})
	})
}
