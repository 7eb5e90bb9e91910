package publish_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
)

func TestCompactionKeepsEveryState(t *testing.T) {
	bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
		g.compactAfter = 4
		for i := range 12 {
			g.post(fmt.Sprintf("p%d", i), time.Now().Add(time.Minute), fmt.Sprintf("Text %d.", i), "alpha", "beta")
			time.Sleep(2 * time.Minute)
			g.run()
		}
		if n := len(g.texts("alpha")); n != 12 {
			t.Errorf("alpha shows %d", n)
		}
		s := g.state()
		if len(s.Deliveries) != 24 {
			t.Errorf("%d deliveries", len(s.Deliveries))
		}
		es, err := g.git.Snapshot("refs/heads/broadside-ledger").Entries("archive/")
		check(t, err)
		if len(es) == 0 {
			t.Error("nothing was archived")
		}
		if res := g.run(); !res.Idle {
			t.Error("not idle after all")
		}
	})
}

// TestGitFaultsNeverDoubleOrLose has pushes and fetches fail in every way, at random, while posts go out.
func TestGitFaultsNeverDoubleOrLose(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, "alpha", "beta")
				g.disable["beta"] = []string{"find", "key"}
				g.config("")
				for i := range 4 {
					g.post(fmt.Sprintf("p%d", i), time.Now(), fmt.Sprintf("Text %d.", i), "alpha", "beta")
				}
				rng := rand.New(rand.NewPCG(seed, 1))
				g.git.SetFaults(func(op memgit.Op) memgit.Fault {
					if rng.IntN(3) > 0 || len(op.Remote) < 3 || op.Remote[:3] != "run" {
						return memgit.Fault{}
					}
					kinds := []memgit.FaultKind{memgit.Before, memgit.After, memgit.Lost}
					return memgit.Fault{Kind: kinds[rng.IntN(len(kinds))], Delay: time.Duration(rng.IntN(3)) * time.Second}
				})
				for range 6 {
					res, err := publish.Run(t.Context(), nil, g.options())
					if err != nil && res.Unrecorded != "" {
						t.Logf("unrecorded: %v", err)
					}
					time.Sleep(20 * time.Minute)
				}
				g.git.SetFaults(nil)
				g.run()
				for _, dest := range g.dests {
					seen := map[string]int{}
					for _, x := range g.texts(dest) {
						if seen[x]++; seen[x] > 1 {
							t.Errorf("%s shows %q twice", dest, x)
						}
					}
					for i := range 4 {
						d := g.delivery(fmt.Sprintf("p%d", i), dest)
						if d.State != pipeline.Published && (dest != "beta" || d.State != pipeline.Uncertain) {
							t.Errorf("%s ended %s (%s)", d.ID, d.State, d.Reason)
						}
						if d.State == pipeline.Published && seen[fmt.Sprintf("Text %d.", i)] != 1 {
							t.Errorf("%s is published and not there", d.ID)
						}
					}
				}
			})
		})
	}
}

func TestResultsThatCannotBePushedAreKeptAndApplied(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"find", "key"}
		g.config("")
		g.post("one", time.Now(), "Out, but not recorded.", "alpha")
		pushes := 0
		g.git.SetFaults(func(op memgit.Op) memgit.Fault {
			if op.Kind == memgit.OpPush {
				if pushes++; pushes > 2 { // housekeeping and claim pass
					return memgit.Fault{Kind: memgit.Reject}
				}
			}
			return memgit.Fault{}
		})
		opt := g.options()
		dir := t.TempDir()
		opt.SaveResults = func(data []byte) (string, error) {
			p := filepath.Join(dir, "results.json")
			return p, os.WriteFile(p, data, 0o600)
		}
		res, err := publish.Run(t.Context(), nil, opt)
		var pe *journal.PushError
		if !errors.As(err, &pe) || res.Unrecorded == "" {
			t.Fatalf("err %v, unrecorded %q", err, res.Unrecorded)
		}
		g.git.SetFaults(nil)
		g.wantTexts("alpha", "Out, but not recorded.")
		time.Sleep(time.Hour)
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		data, err := os.ReadFile(res.Unrecorded)
		check(t, err)
		j, err := journal.Open(t.Context(), g.journalOptions("person:eve"))
		check(t, err)
		forged := append([]byte(nil), data...)
		forged[len(forged)/2] ^= 1
		if _, _, err := publish.Apply(t.Context(), j, forged, g.key.Line); err == nil {
			t.Error("a forged results file was applied")
		}
		n, skipped, err := publish.Apply(t.Context(), j, data, g.key.Line)
		check(t, err)
		if n == 0 {
			t.Errorf("nothing applied, skipped %v", skipped)
		}
		g.wantState("one", "alpha", pipeline.Published)
		g.run()
		g.wantTexts("alpha", "Out, but not recorded.")
	})
}

func TestContentThatMovesBeforeTheClaimIsObeyed(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "First thought.", "alpha")
		moved := false
		g.git.SetFaults(func(op memgit.Op) memgit.Fault {
			if op.Kind == memgit.OpPush && !moved {
				moved = true
				return memgit.Fault{Kind: memgit.Race, Race: func(*memgit.Server) { g.post("one", time.Now(), "Second thought.", "alpha") }}
			}
			return memgit.Fault{}
		})
		g.run()
		g.run()
		g.wantTexts("alpha", "Second thought.")
	})
}

// TestFrozenPastItsLeaseBeginsNoWrite stops a process before its fence check until its lease is long over.
func TestFrozenPastItsLeaseBeginsNoWrite(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "Once.", "alpha")
		opt := g.options()
		opt.Progress = func(p publish.Progress) {
			if p.What == "claimed" {
				time.Sleep(30 * time.Minute)
			}
		}
		_, err := publish.Run(t.Context(), nil, opt)
		check(t, err)
		g.wantTexts("alpha")
		if d := g.delivery("one", "alpha"); d.State != pipeline.Queued && d.State != pipeline.Uncertain {
			t.Errorf("%s %s", d.State, d.Reason)
		}
		g.run()
		time.Sleep(time.Hour)
		g.run()
		g.wantTexts("alpha", "Once.")
	})
}
