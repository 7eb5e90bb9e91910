package gitstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

// TestCheckoutsOfAllKindsCanPush discovers checkouts that go-git cannot open, or opens wrongly, and pushes from them.
func TestCheckoutsOfAllKindsCanPush(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format string
		make   func(t *testing.T, url, dir string) (checkout string)
		check  func(r gitstore.Repo) bool
	}{
		{"plain", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			return filepath.Join(dir, "c", "posts")
		}, func(r gitstore.Repo) bool { return r.Branch == "main" && r.Head != "" && !r.Shallow && !r.Linked }},
		{"shallow and detached, as CI", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "init", "-q", "c")
			d := filepath.Join(dir, "c")
			gittest.Git(t, d, "remote", "add", "origin", url)
			gittest.Git(t, d, "fetch", "-q", "--depth=1", "origin", "main")
			gittest.Git(t, d, "checkout", "-q", "--detach", "FETCH_HEAD")
			return d
		}, func(r gitstore.Repo) bool { return r.Branch == "" && r.Head != "" && r.Shallow }},
		{"packed refs", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			gittest.Git(t, filepath.Join(dir, "c"), "pack-refs", "--all")
			return filepath.Join(dir, "c")
		}, func(r gitstore.Repo) bool { return r.Branch == "main" && r.Head != "" }},
		{"sparse", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", "--sparse", url, "c")
			gittest.Git(t, filepath.Join(dir, "c"), "sparse-checkout", "set", "posts")
			return filepath.Join(dir, "c")
		}, func(r gitstore.Repo) bool { return r.Sparse }},
		{"partial", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", "--filter=blob:none", url, "c")
			return filepath.Join(dir, "c")
		}, func(r gitstore.Repo) bool { return r.Partial }},
		{"linked worktree", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			gittest.Git(t, filepath.Join(dir, "c"), "worktree", "add", "-q", "-b", "other", filepath.Join(dir, "w"))
			return filepath.Join(dir, "w")
		}, func(r gitstore.Repo) bool {
			return r.Linked && r.Branch == "other" && r.Head != "" && r.GitDir != r.CommonDir
		}},
		{"submodule", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "init", "-q", "super")
			super := filepath.Join(dir, "super")
			gittest.Git(t, super, "-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "sub")
			return filepath.Join(super, "sub")
		}, func(r gitstore.Repo) bool { return r.Submodule && strings.HasSuffix(r.Root, "sub") }},
		{"split index and untracked cache", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			gittest.Git(t, filepath.Join(dir, "c"), "update-index", "--split-index", "--untracked-cache")
			return filepath.Join(dir, "c")
		}, func(r gitstore.Repo) bool { return r.Branch == "main" }},
		{"unknown extensions", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			write(t, filepath.Join(dir, "extra"), "")
			d := filepath.Join(dir, "c")
			gittest.Git(t, d, "config", "core.repositoryFormatVersion", "1")
			gittest.Git(t, d, "config", "extensions.relativeWorktrees", "true")
			return d
		}, func(r gitstore.Repo) bool { return r.Branch == "main" }},
		{"sha256", "sha256", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			return filepath.Join(dir, "c")
		}, func(r gitstore.Repo) bool { return r.ObjectFormat == gitstore.SHA256 && len(r.Head) == 64 }},
		{"bare repository inside", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			inner := filepath.Join(dir, "c", "posts", "evil.git")
			gittest.Bare(t, inner, "sha1")
			gittest.Git(t, inner, "config", "core.fsmonitor", "false")
			return inner
		}, func(r gitstore.Repo) bool { return strings.HasSuffix(r.Root, "c") }},
		{"empty .git directory inside", "sha1", func(t *testing.T, url, dir string) string {
			gittest.Git(t, dir, "clone", "-q", url, "c")
			inner := filepath.Join(dir, "c", "posts")
			if err := os.Mkdir(filepath.Join(inner, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			return inner
		}, func(r gitstore.Repo) bool { return strings.HasSuffix(r.Root, "c") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			bare := gittest.Bare(t, filepath.Join(dir, "srv.git"), c.format)
			gittest.AllowPartial(t, bare)
			gittest.Commit(t, bare, "refs/heads/main", "m", map[string][]byte{"posts/a.md": []byte("a"), "media/x": []byte("x")})
			gittest.Commit(t, bare, "refs/heads/main", "m", map[string][]byte{"posts/b.md": []byte("b")})
			url := "file://" + bare
			repo, err := gitstore.Discover(c.make(t, url, dir))
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(repo) {
				t.Errorf("discovered %+v", repo)
			}
			if repo.DefaultRemote() != "origin" || repo.Remotes["origin"] != url {
				t.Errorf("remotes are %v", repo.Remotes)
			}
			r := opening(t, gitstore.Options{Repo: &repo})
			defer closing(t, r)
			refs, err := r.Refs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if repo.Head != "" && refs.Tips["refs/heads/main"] != repo.Head {
				t.Errorf("HEAD is %s, the remote is at %s", repo.Head, refs.Tips["refs/heads/main"])
			}
			if res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1"))); res.Outcome != gitstore.Landed {
				t.Errorf("%v: %v", res.Outcome, res.Err)
			}
		})
	}
}

func TestForeignCheckoutRunsNoneOfItsCommands(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a checkout to another user")
	}
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		dir := t.TempDir()
		bare := gittest.Bare(t, filepath.Join(dir, "srv.git"), "sha1")
		srv := gittest.New(t, dir)
		srv.SetAuth("me", password)
		checkout := filepath.Join(dir, "c")
		gittest.Git(t, dir, "init", "-q", checkout)
		gittest.Git(t, checkout, "remote", "add", "origin", srv.URL("srv.git"))
		trap := filepath.Join(dir, "trap")
		gittest.Git(t, checkout, "config", "credential.helper", "!touch "+trap+"; echo username=me; echo password="+password)
		err := filepath.WalkDir(checkout, func(p string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(p, 4711, 4711)
		})
		if err != nil {
			t.Fatal(err)
		}
		env := clean(t.TempDir())
		repo, err := gitstore.DiscoverEnv(checkout, env)
		if err != nil {
			t.Fatal(err)
		}
		r := opening(t, gitstore.Options{Repo: &repo, Env: env, Transport: transport})
		defer closing(t, r)
		res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1")))
		if res.Outcome != gitstore.AuthError {
			t.Errorf("%s: %v: %v", transport, res.Outcome, res.Err)
		}
		if _, err := os.Stat(trap); err == nil {
			t.Errorf("%s: the checkout's helper was run", transport)
		}
		// what needs no command works all the same
		env = clean(t.TempDir(), "T="+password)
		u := strings.Replace(repo.Remotes["origin"], "http://", "http://me@", 1)
		r = opening(t, gitstore.Options{URL: u, Repo: &repo, Env: env, Transport: transport, TokenEnv: "T"})
		defer closing(t, r)
		if res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1"))); res.Outcome != gitstore.Landed {
			t.Errorf("%s: %v: %v", transport, res.Outcome, res.Err)
		}
		_ = bare
	}
}

func TestForeignRemoteIsExplained(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a repository to another user")
	}
	bare := gittest.Bare(t, filepath.Join(t.TempDir(), "srv.git"), "sha1")
	if err := filepath.WalkDir(bare, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, 4711, 4711)
	}); err != nil {
		t.Fatal(err)
	}
	r := opening(t, gitstore.Options{URL: bare})
	defer closing(t, r)
	_, err := r.Refs(t.Context())
	if !errors.Is(err, gitstore.ErrAuth) || !strings.Contains(err.Error(), "safe.directory "+bare) {
		t.Errorf("error %v", err)
	}
}

func TestDiscoverOutsideIsErrNoRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := gitstore.Discover(dir); !errors.Is(err, gitstore.ErrNoRepository) {
		t.Errorf("error %v", err)
	}
	write(t, filepath.Join(dir, ".git"), "gitdir: elsewhere\n")
	if _, err := gitstore.Discover(dir); err == nil || errors.Is(err, gitstore.ErrNoRepository) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a dangling git file: %v", err)
	}
	write(t, filepath.Join(dir, "x", ".git"), "nonsense")
	if _, err := gitstore.Discover(filepath.Join(dir, "x")); err == nil || errors.Is(err, gitstore.ErrNoRepository) {
		t.Errorf("a broken git file: %v", err)
	}
}

func TestRemotesApplyInsteadOf(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	gittest.Git(t, dir, "init", "-q", "-b", "trunk", ".")
	gittest.Git(t, dir, "config", "remote.hub.url", "gh:o/r")
	gittest.Git(t, dir, "config", "remote.lab.url", "https://gitlab.com/o/r")
	gittest.Git(t, dir, "config", "url.https://github.com/.insteadOf", "gh:")
	gittest.Git(t, dir, "config", "branch.trunk.remote", "lab")
	write(t, filepath.Join(home, ".gitconfig"), "[url \"ssh://git@gitlab.com/\"]\n\tinsteadOf = https://gitlab.com/\n[url \"x:\"]\n\tinsteadOf = https://\n")
	local, err := gitstore.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	if local.Remotes["hub"] != "https://github.com/o/r" || local.Remotes["lab"] != "https://gitlab.com/o/r" {
		t.Errorf("without the user's configuration: %v", local.Remotes)
	}
	all, err := gitstore.DiscoverEnv(dir, clean(home))
	if err != nil {
		t.Fatal(err)
	}
	if all.Remotes["lab"] != "ssh://git@gitlab.com/o/r" || all.DefaultRemote() != "lab" || all.Branch != "trunk" || all.Head != "" {
		t.Errorf("with it: %+v", all)
	}
}
