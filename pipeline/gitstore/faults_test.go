package gitstore_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

const ledger = "refs/heads/ledger"

// httpRemote is a served bare repository with a client.
func httpRemote(t *testing.T, transport string, more func(*gitstore.Options)) (*gittest.Server, string, gitstore.Remote) {
	t.Helper()
	dir := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha1")
	srv := gittest.New(t, filepath.Dir(dir))
	opt := gitstore.Options{URL: srv.URL("repo.git"), Transport: transport}
	if more != nil {
		more(&opt)
	}
	r := opening(t, opt)
	t.Cleanup(func() { closing(t, r) })
	return srv, dir, r
}

func built(t *testing.T, r gitstore.Remote, parent gitstore.Snapshot, path, text string) gitstore.Snapshot {
	t.Helper()
	s, err := r.Build(t.Context(), gitstore.Commit{
		Parent: parent, Changes: []gitstore.Change{{Path: path, Data: []byte(text)}}, Message: "m", Name: "T", Email: "t@example.com",
		When: time.Unix(1_790_000_000, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func one(ref string, old gitstore.Hash, s gitstore.Snapshot) gitstore.Push {
	return gitstore.Push{Updates: []gitstore.Update{{Ref: ref, Old: old, New: s}}}
}

func TestPushFaultsHaveTheirOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at     gittest.Point
		fault  gittest.Fault
		out    gitstore.Outcome
		landed bool
		is     error
		// git, where the git command cannot tell as much
		git gitstore.Outcome
	}{
		{at: gittest.RefsForPush, fault: gittest.DropBefore, out: gitstore.NotSent, git: gitstore.NotSent},
		{at: gittest.RefsForPush, fault: gittest.Status500, out: gitstore.NotSent, git: gitstore.NotSent},
		{at: gittest.RefsForPush, fault: gittest.Status429, out: gitstore.NotSent, git: gitstore.NotSent},
		{at: gittest.RefsForPush, fault: gittest.HTMLInstead, out: gitstore.NotSent, is: gitstore.ErrProtocol, git: gitstore.Unknown},
		{at: gittest.RefsForPush, fault: gittest.Truncate, out: gitstore.NotSent, git: gitstore.NotSent},
		{at: gittest.RefsForPush, fault: gittest.Status401, out: gitstore.AuthError, is: gitstore.ErrAuth, git: gitstore.AuthError},
		{at: gittest.RefsForPush, fault: gittest.Status403, out: gitstore.AuthError, is: gitstore.ErrAuth, git: gitstore.AuthError},
		{at: gittest.RefsForPush, fault: gittest.Status404, out: gitstore.AuthError, is: gitstore.ErrAuth, git: gitstore.AuthError},
		{at: gittest.PushRequest, fault: gittest.Status401, out: gitstore.AuthError, is: gitstore.ErrAuth, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Status403, out: gitstore.AuthError, is: gitstore.ErrAuth, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Status413, out: gitstore.Rejected, is: gitstore.ErrRejected, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Status500, out: gitstore.Unknown, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.DropBefore, out: gitstore.Unknown, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.EmptyNotRun, out: gitstore.Unknown, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.DropAfter, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Truncate, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Empty200, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.HTML200, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.NoRefStatus, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.GarbledSide, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Status502Ran, out: gitstore.Unknown, landed: true, git: gitstore.Unknown},
		{at: gittest.PushRequest, fault: gittest.Hang, out: gitstore.Unknown, landed: true, is: context.DeadlineExceeded, git: gitstore.Unknown},
	} {
		for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
			t.Run(transport+"/"+string(c.at)+"/"+string(c.fault), func(t *testing.T) {
				t.Parallel()
				srv, dir, r := httpRemote(t, transport, nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				srv.OnHang(func() { cancel(context.DeadlineExceeded) })
				s := built(t, r, nil, "a", "1")
				srv.Fail(c.at, c.fault)
				res := r.Push(ctx, one(ledger, "", s))
				out := c.out
				if transport == gitstore.TransportGit {
					out = c.git
				}
				if res.Outcome != out || (res.Err == nil) != (out == gitstore.Landed) {
					t.Errorf("outcome %v (%v), want %v", res.Outcome, res.Err, out)
				}
				if transport == gitstore.TransportGo && c.is != nil && !errors.Is(res.Err, c.is) {
					t.Errorf("error %v is not %v", res.Err, c.is)
				}
				if out == gitstore.Unknown && !errors.Is(res.Err, gitstore.ErrUnknownOutcome) {
					t.Errorf("error %v is not ErrUnknownOutcome", res.Err)
				}
				want := gitstore.Hash("")
				if c.landed || out == gitstore.Landed {
					want = s.Commit()
				}
				if got := gitstore.Hash(gittest.Tip(t, dir, ledger)); got != want {
					t.Fatalf("tip is %q, want %q", got, want)
				}
				// whatever happened, sending the very same commit again settles it
				if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Landed {
					t.Errorf("sent again: %v (%v)", res.Outcome, res.Err)
				}
			})
		}
	}
}

func TestFetchFaultsAreErrors(t *testing.T) {
	t.Parallel()
	for _, f := range []gittest.Fault{gittest.DropBefore, gittest.Truncate, gittest.Empty200, gittest.HTML200, gittest.Status500, gittest.GarbledSide} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			srv, dir, r := httpRemote(t, gitstore.TransportGo, nil)
			gittest.Commit(t, dir, ledger, "m", map[string][]byte{"a": []byte(strings.Repeat("x", 5000)), "b": []byte("1")})
			srv.Fail(gittest.FetchRequest, f)
			if s, err := r.Fetch(t.Context(), ledger, gitstore.FetchOptions{}); err == nil {
				t.Errorf("fetched %v", s)
			}
			s, err := r.Fetch(t.Context(), ledger, gitstore.FetchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if e, err := s.Entries(""); err != nil || len(e) != 2 {
				t.Errorf("entries %v, %v", e, err)
			}
		})
	}
}

func TestThrottlingTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	srv, _, r := httpRemote(t, gitstore.TransportGo, nil)
	srv.Fail(gittest.RefsForFetch, gittest.Status429)
	_, err := r.Refs(t.Context())
	var he *gitstore.HTTPError
	if !errors.As(err, &he) || he.Status != 429 || he.RetryAfter != 7*time.Second || !strings.Contains(err.Error(), "slow down") {
		t.Errorf("error %v", err)
	}
}

func TestTimeoutEndsAnOperation(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		srv, _, r := httpRemote(t, transport, func(o *gitstore.Options) {
			o.Timeout = 300 * time.Millisecond
			o.Repo = &gitstore.Repo{ObjectFormat: gitstore.SHA1}
		})
		srv.Fail(gittest.RefsForFetch, gittest.Hang, gittest.Hang)
		if _, err := r.Refs(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "300ms") {
			t.Errorf("%s: error %v", transport, err)
		}
	}
}

func TestUnreachableRemoteIsNotSent(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		srv, _, r := httpRemote(t, transport, func(o *gitstore.Options) { o.Repo = &gitstore.Repo{ObjectFormat: gitstore.SHA1} })
		srv.Close()
		if res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1"))); res.Outcome != gitstore.NotSent {
			t.Errorf("%s: %v (%v)", transport, res.Outcome, res.Err)
		}
	}
}

func TestCanceledPushInFlightIsUnknown(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			srv, dir, r := httpRemote(t, transport, nil)
			s := built(t, r, nil, "a", "1")
			ctx, cancel := context.WithCancelCause(t.Context())
			srv.Fail(gittest.PushRequest, gittest.Hang)
			srv.BeforePush(func() { cancel(errors.New("the run ends")) })
			res := r.Push(ctx, one(ledger, "", s))
			if res.Outcome != gitstore.Unknown || !strings.Contains(res.Err.Error(), "the run ends") {
				t.Errorf("%v (%v)", res.Outcome, res.Err)
			}
			srv.BeforePush(nil)
			if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Landed {
				t.Errorf("sent again: %v (%v)", res.Outcome, res.Err)
			}
			if got := gittest.Tip(t, dir, ledger); got != string(s.Commit()) {
				t.Errorf("tip is %q", got)
			}
		})
	}
}

func TestSSHCutBeforeReportIsUnknown(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			dir := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha1")
			srv := gittest.NewSSH(t, filepath.Dir(dir))
			r := opening(t, gitstore.Options{URL: srv.URL("repo.git"), Transport: transport, SSHKey: srv.Key, KnownHosts: []string{srv.KnownHosts}})
			defer closing(t, r)
			s := built(t, r, nil, "a", "1")
			srv.CutPushes(1)
			if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Unknown {
				t.Errorf("%v (%v)", res.Outcome, res.Err)
			}
			if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Landed {
				t.Errorf("sent again: %v (%v)", res.Outcome, res.Err)
			}
			srv.Deny("ERROR: The key you are authenticating with has been marked as read only.")
			res := r.Push(t.Context(), one(ledger, s.Commit(), built(t, r, s, "b", "1")))
			if res.Outcome != gitstore.AuthError || !errors.Is(res.Err, gitstore.ErrAuth) || !strings.Contains(res.Err.Error(), "read only") {
				t.Errorf("denied: %v (%v)", res.Outcome, res.Err)
			}
		})
	}
}

func TestServerRefusalsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string)
		out   gitstore.Outcome
		words string
	}{
		{"pre-receive", func(t *testing.T, dir string) {
			gittest.Hook(t, dir, "pre-receive", "echo 'GH006: Protected branch update failed' >&2; exit 1\n")
		}, gitstore.Rejected, "Protected branch"},
		{"update", func(t *testing.T, dir string) {
			gittest.Hook(t, dir, "update", "echo 'not on my watch' >&2; exit 1\n")
		}, gitstore.Rejected, "not on my watch"},
		{"size", func(t *testing.T, dir string) { gittest.Git(t, dir, "config", "receive.maxInputSize", "50") }, gitstore.Rejected, "unpack"},
		{"commit_refs", func(t *testing.T, dir string) {
			gittest.Hook(t, dir, "pre-receive", "echo 'fatal error in commit_refs' >&2; exit 0\n")
		}, gitstore.Landed, "commit_refs"},
		{"post-receive", func(t *testing.T, dir string) {
			gittest.Hook(t, dir, "post-receive", "echo 'thank you' >&2; exit 1\n")
		}, gitstore.Landed, "thank you"},
	} {
		for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
			t.Run(c.name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				_, dir, r := httpRemote(t, transport, nil)
				c.setup(t, dir)
				res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", strings.Repeat("x", 200))))
				if res.Outcome != c.out {
					t.Errorf("%v (%v)", res.Outcome, res.Err)
				}
				all := res.Message
				if res.Err != nil {
					all += res.Err.Error()
				}
				if transport == gitstore.TransportGo && !strings.Contains(all, c.words) {
					t.Errorf("%q says nothing of %q", all, c.words)
				}
			})
		}
	}
}

func TestPairWithoutAtomicStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			_, dir, r := httpRemote(t, transport, nil)
			gittest.Git(t, dir, "config", "receive.advertiseAtomic", "false")
			s := built(t, r, nil, "a", "1")
			mark := "refs/heads/mark"
			both := gitstore.Push{Updates: []gitstore.Update{{Ref: ledger, New: s}, {Ref: mark, New: s}}}
			gittest.Hook(t, dir, "update", `[ "$1" = refs/heads/ledger ]`)
			res := r.Push(t.Context(), both)
			if res.Outcome != gitstore.Rejected || len(res.Applied) != 1 || res.Applied[0] != ledger || res.Refs.Atomic {
				t.Fatalf("%v, applied %v, atomic %v (%v)", res.Outcome, res.Applied, res.Refs.Atomic, res.Err)
			}
			gittest.Hook(t, dir, "update", "exit 0\n")
			res = r.Push(t.Context(), both)
			if res.Outcome != gitstore.Landed || len(res.Applied) != 2 {
				t.Fatalf("%v, applied %v (%v)", res.Outcome, res.Applied, res.Err)
			}
			if gittest.Tip(t, dir, mark) != string(s.Commit()) {
				t.Error("the mark did not move")
			}
		})
	}
}
