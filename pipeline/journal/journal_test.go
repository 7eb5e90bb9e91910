package journal_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

const (
	ref     = "refs/heads/broadside-ledger"
	content = "refs/heads/main"
	id      = "0123456789abcdef0123456789abcdef"
)

type bubble struct{}

func (bubble) Wall() time.Time     { return time.Now().Round(0) }
func (bubble) Mono() time.Duration { return time.Since(time.Time{}.AddDate(1999, 0, 0)) }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type rig struct {
	t   *testing.T
	git *memgit.Server
	key vault.SigningKey
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, err := vault.NewSigner()
	check(t, err)
	g := &rig{t: t, git: memgit.NewServer(), key: key}
	g.git.Commit(content, []gitstore.Change{{Path: "a", Data: []byte("a")}}, "content")
	check(t, journal.Create(t.Context(), g.options("init"), key.Line, nil))
	return g
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (g *rig) options(run string) journal.Options {
	return journal.Options{
		Remote: g.git.Remote(memgit.RemoteOptions{Name: run, Now: time.Now}),
		Config: pipeline.LedgerConfig{Branch: "broadside-ledger", ID: id, Signer: g.key.Line}, Home: journal.Home{URL: "mem://server", ContentBranch: "main"},
		Clock: bubble{}, Sleep: sleep, Rand: rand.Reader, Run: run, Actor: "test",
		Signer: func(context.Context) (ssh.Signer, error) { return g.key.Signer, nil },
	}
}

func (g *rig) open(run string) *journal.Journal {
	g.t.Helper()
	j, err := journal.Open(g.t.Context(), g.options(run))
	check(g.t, err)
	return j
}

// schedule is an append that can be told apart: one post more.
func schedule(post string) journal.Decide {
	return func(tx *journal.Tx) error {
		return tx.Add(tx.State.Schedule(tx.Stamp, ledger.ScheduleInput{
			ID: pipeline.DeliveryID{Post: post, Target: "sandbox:sandbox.test:a1"}, Dest: "alpha", Due: tx.Now.Add(time.Hour), By: tx.Now.Add(2 * time.Hour),
			Path: "posts/" + post + ".md", Blob: strings.Repeat("a", 40), Config: strings.Repeat("b", 64), Source: strings.Repeat("c", 64),
		}))
	}
}

func bubbleTest(t *testing.T, f func(t *testing.T, g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t)) })
}

func TestAppendsThatWaitShareACommit(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		j := g.open("one")
		pushes := 0
		g.git.SetFaults(func(op memgit.Op) memgit.Fault {
			if op.Kind == memgit.OpPush {
				pushes++
			}
			return memgit.Fault{Delay: time.Second}
		})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { check(t, j.Append(t.Context(), nil, schedule(fmt.Sprintf("p%d", i)))) })
		}
		wg.Wait()
		if pushes > 3 {
			t.Errorf("50 appends took %d pushes", pushes)
		}
		if n := len(g.open("reader").State().Deliveries); n != 50 {
			t.Errorf("%d deliveries", n)
		}
	})
}

func TestRacingJournalsLoseNothing(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		var wg sync.WaitGroup
		for w := range 6 {
			j := g.open(fmt.Sprintf("w%d", w))
			wg.Go(func() {
				for i := range 5 {
					if err := j.Append(t.Context(), nil, schedule(fmt.Sprintf("w%d-p%d", w, i))); err != nil {
						t.Errorf("append: %v", err)
					}
				}
			})
		}
		wg.Wait()
		j := g.open("reader")
		if n := len(j.State().Deliveries); n != 30 {
			t.Errorf("%d deliveries", n)
		}
		rep, err := ledger.Verify(j.Files())
		check(t, err)
		if len(rep.Problems) > 0 {
			t.Errorf("%v", rep.Problems)
		}
	})
}

// TestDoubtfulPushIsSettledByLooking has the answers of pushes lost, whether or not they were applied.
func TestDoubtfulPushIsSettledByLooking(t *testing.T) {
	for _, kind := range []memgit.FaultKind{memgit.After, memgit.Lost, memgit.Before} {
		for _, overtaken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/overtaken=%t", kind, overtaken), func(t *testing.T) {
				t.Parallel()
				bubbleTest(t, func(t *testing.T, g *rig) {
					j, other := g.open("one"), g.open("two")
					struck := false
					g.git.SetFaults(func(op memgit.Op) memgit.Fault {
						if op.Kind == memgit.OpPush && op.Remote == "one" && !struck {
							struck = true
							return memgit.Fault{Kind: kind}
						}
						if op.Kind == memgit.OpRefs && op.Remote == "one" && struck && overtaken {
							overtaken = false
							check(t, other.Append(t.Context(), nil, schedule("other")))
						}
						return memgit.Fault{}
					})
					calls := 0
					check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error {
						calls++
						return schedule("mine")(tx)
					}))
					s := g.open("reader").State()
					if s.Deliveries[pipeline.DeliveryID{Post: "mine", Target: "sandbox:sandbox.test:a1"}] == nil {
						t.Error("it is not there")
					}
					if kind == memgit.After && calls != 1 {
						t.Errorf("decided %d times for a commit that had landed", calls)
					}
					if n := strings.Count(strings.Join(events(t, g), "\n"), `"post":"mine"`); n != 1 {
						t.Errorf("it is there %d times", n)
					}
				})
			})
		}
	}
}

// events are the lines of all event files.
func events(t *testing.T, g *rig) []string {
	t.Helper()
	s := g.git.Snapshot(ref)
	es, err := s.Entries("events/")
	check(t, err)
	var out []string
	for _, e := range es {
		b, err := s.Read(e.Blob)
		check(t, err)
		out = append(out, strings.Split(strings.TrimSpace(string(b)), "\n")...)
	}
	return out
}

func TestOneDecisionsErrorLeavesTheOthersAlone(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		j := g.open("one")
		g.git.SetFaults(func(memgit.Op) memgit.Fault { return memgit.Fault{Delay: time.Second} })
		bad := errors.New("no")
		var wg sync.WaitGroup
		wg.Go(func() { check(t, j.Append(t.Context(), nil, schedule("first"))) })
		time.Sleep(100 * time.Millisecond)
		wg.Go(func() {
			err := j.Append(t.Context(), nil, func(tx *journal.Tx) error {
				if err := schedule("half")(tx); err != nil {
					return err
				}
				return bad
			})
			if !errors.Is(err, bad) {
				t.Errorf("got %v", err)
			}
		})
		wg.Go(func() { check(t, j.Append(t.Context(), nil, schedule("third"))) })
		wg.Wait()
		s := g.open("reader").State()
		if len(s.Deliveries) != 2 {
			t.Errorf("%d deliveries, want first and third", len(s.Deliveries))
		}
	})
}

func TestClaimIsNotSentWhenTheContentHasMoved(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		j := g.open("one")
		was := g.git.Tip(content)
		g.git.Commit(content, []gitstore.Change{{Path: "a", Data: []byte("b")}}, "moved")
		tip := g.git.Tip(ref)
		if err := j.Append(t.Context(), journal.Expect{content: was}, schedule("p")); !errors.Is(err, journal.ErrMoved) {
			t.Errorf("got %v", err)
		}
		if g.git.Tip(ref) != tip {
			t.Error("the ledger moved")
		}
		check(t, j.Append(t.Context(), journal.Expect{content: g.git.Tip(content)}, schedule("p")))
	})
}

func TestRefusedPushStopsWithTheServersWords(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		j := g.open("one")
		for kind, want := range map[memgit.FaultKind]gitstore.Outcome{memgit.Reject: gitstore.Rejected, memgit.Auth: gitstore.AuthError} {
			g.git.SetFaults(func(op memgit.Op) memgit.Fault {
				if op.Kind == memgit.OpPush {
					return memgit.Fault{Kind: kind}
				}
				return memgit.Fault{}
			})
			var p *journal.PushError
			if err := j.Append(t.Context(), nil, schedule("p")); !errors.As(err, &p) || p.Outcome != want || p.Hint() == "" {
				t.Errorf("fault %d: got %v", kind, err)
			}
		}
	})
}

func TestUnreachableRemoteIsGivenUpInTime(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		j := g.open("one")
		g.git.SetFaults(func(memgit.Op) memgit.Fault { return memgit.Fault{Kind: memgit.Before, Delay: time.Second} })
		start := time.Now()
		var p *journal.PushError
		if err := j.Append(t.Context(), nil, schedule("p")); !errors.As(err, &p) {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d > 3*time.Minute {
			t.Errorf("took %s", d)
		}
	})
}

func TestURLsOfOneRemoteAreEqual(t *testing.T) {
	t.Parallel()
	for _, u := range []string{
		"https://forge.test/me/repo", "https://forge.test/me/repo.git", "https://token@forge.test/me/repo.git/", "git@forge.test:me/repo.git",
		"ssh://git@forge.test:22/me/repo", "https://FORGE.test:443/me/repo",
	} {
		if got := journal.NormalizeURL(u); got != "forge.test/me/repo" {
			t.Errorf("%s becomes %s", u, got)
		}
	}
	if journal.NormalizeURL("https://forge.test/me/repo") == journal.NormalizeURL("https://forge.test/you/repo") {
		t.Error("two repositories look the same")
	}
	if journal.NormalizeURL("file:///srv/a.git") != journal.NormalizeURL("/srv/a.git") {
		t.Error("a path and its file URL differ")
	}
}
