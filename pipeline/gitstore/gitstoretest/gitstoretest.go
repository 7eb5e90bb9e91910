// Package gitstoretest is the one suite that every gitstore.Remote passes, whatever it is made of.
package gitstoretest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
)

// Backend is one fresh, empty remote repository, seen from the server's side.
type Backend interface {
	// Open makes a new client; the test closes it.
	Open(t *testing.T) gitstore.Remote
	// Commit adds a commit to a ref as another user would; nil content removes a file.
	Commit(t *testing.T, ref string, files map[string][]byte) gitstore.Hash
	// Tip is the commit of a ref, "" if there is none.
	Tip(t *testing.T, ref string) gitstore.Hash
	// Force sets a ref, and Delete removes it.
	Force(t *testing.T, ref string, to gitstore.Hash)
	Delete(t *testing.T, ref string)
	// Race makes f run once, in the next push, between the advertisement and the update. Where the transport has no such
	// moment it returns false.
	Race(t *testing.T, f func()) bool
	// Reject makes the server refuse pushes by policy.
	Reject(t *testing.T)
	// Check verifies the integrity of the repository.
	Check(t *testing.T)
}

// Options say what a Backend is able to do.
type Options struct {
	// Filters tells that the remote can leave out blobs, so that TreesOnly has an effect.
	Filters bool
	// Rounds of the random test and pushes of each of the concurrent pushers; zero means a few.
	Rounds int
}

const (
	ledger  = "refs/heads/ledger"
	mark    = "refs/heads/mark"
	content = "refs/heads/main"
)

// Run runs the suite. fresh is called for each test.
func Run(t *testing.T, opt Options, fresh func(t *testing.T) Backend) {
	if opt.Rounds == 0 {
		opt.Rounds = 12
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, b Backend, opt Options)
	}{
		{"AbsentRefIsNil", absentRef},
		{"PushCreatesRef", create},
		{"PushMovesOnlyFromOld", compareAndSet},
		{"PushSeesRaceInBetween", raceInBetween},
		{"CreateLosesToCreate", createRace},
		{"PushRepeatedHasLanded", repeated},
		{"ExpectStopsPush", expect},
		{"PairMovesTogether", pair},
		{"RewoundRefIsLostRace", rewound},
		{"RefusalIsRejected", rejected},
		{"FetchBringsAllObjects", incremental},
		{"FetchSurvivesRewrites", rewritten},
		{"RandomHistoryStaysWhole", random},
		{"TreesOnlyLeavesBlobs", treesOnly},
		{"HistoryDeepens", history},
		{"SignedCommitVerifies", signed},
		{"ConcurrentPushersLoseNothing", concurrent},
		{"OneRemoteServesMany", shared},
		{"CanceledContextSendsNothing", canceled},
		{"ForeignSnapshotIsRefused", foreign},
		{"ClosedRemoteRefuses", closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, fresh(t), opt)
		})
	}
}

func open(t *testing.T, b Backend) gitstore.Remote {
	t.Helper()
	r := b.Open(t)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func fetch(t *testing.T, r gitstore.Remote, ref string, have gitstore.Snapshot) gitstore.Snapshot {
	t.Helper()
	s, err := r.Fetch(t.Context(), ref, gitstore.FetchOptions{Have: have})
	if err != nil {
		t.Fatalf("fetch %s: %v", ref, err)
	}
	return s
}

func build(t *testing.T, r gitstore.Remote, parent gitstore.Snapshot, files map[string]string) gitstore.Snapshot {
	t.Helper()
	s, err := tryBuild(t.Context(), r, parent, files)
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return s
}

func tryBuild(ctx context.Context, r gitstore.Remote, parent gitstore.Snapshot, files map[string]string) (gitstore.Snapshot, error) {
	c := gitstore.Commit{Parent: parent, Message: "change", Name: "Tester", Email: "tester@example.com", When: time.Unix(1_790_000_000, 0)}
	for p, text := range files {
		if text == "" {
			c.Changes = append(c.Changes, gitstore.Change{Path: p, Remove: true})
			continue
		}
		c.Changes = append(c.Changes, gitstore.Change{Path: p, Data: []byte(text)})
	}
	return r.Build(ctx, c)
}

func update(ref string, old gitstore.Hash, to gitstore.Snapshot) gitstore.Push {
	return gitstore.Push{Updates: []gitstore.Update{{Ref: ref, Old: old, New: to}}}
}

// want checks the outcome of a push, and that it has an error exactly when it did not land.
func want(t *testing.T, res gitstore.Result, out gitstore.Outcome) {
	t.Helper()
	if res.Outcome != out {
		t.Fatalf("outcome %v (%v; server said %q), want %v", res.Outcome, res.Err, res.Message, out)
	}
	if (res.Err == nil) != (out == gitstore.Landed) {
		t.Errorf("outcome %v with error %v", res.Outcome, res.Err)
	}
}

// files reads a snapshot whole.
func files(t *testing.T, s gitstore.Snapshot) map[string]string {
	t.Helper()
	m, err := tryFiles(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func tryFiles(s gitstore.Snapshot) (map[string]string, error) {
	entries, err := s.Entries("")
	if err != nil {
		return nil, fmt.Errorf("entries of %s: %w", s.Commit(), err)
	}
	m := map[string]string{}
	for _, e := range entries {
		data, err := s.Read(e.Blob)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Path, err)
		}
		m[e.Path] = string(data)
	}
	return m, nil
}
