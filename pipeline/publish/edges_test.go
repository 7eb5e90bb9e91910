package publish_test

import (
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// Each of these was once a seed of pipeline/sim.

func TestNowThatIsOverWhenFirstSeenIsTold(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		by := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		g.files["posts/one.md"] = "---\nid: one\npublish_at: now\npublish_by: " + by + "\ndestinations: [alpha]\n---\n\nAt once, or not at all.\n"
		g.push("at once")
		time.Sleep(2 * time.Hour)
		res := g.run()
		g.wantTexts("alpha")
		g.wantState("one", "alpha", pipeline.Failed)
		if len(res.Troubles) != 1 || res.Troubles[0].Code != string(pipeline.ReasonExpired) || !res.Troubles[0].New {
			t.Errorf("troubles %+v", res.Troubles)
		}
	})
}

func TestFailedPostWithANewTimeThatIsOverStopsNoOther(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.rule(server.Rule{Fault: server.Rejected, Post: "one"})
		g.post("one", time.Now(), "Refused.", "alpha")
		g.run()
		g.wantState("one", "alpha", pipeline.Failed)
		due := time.Now().Add(10 * time.Minute)
		g.files["posts/one.md"] = "---\nid: one\npublish_at: " + due.UTC().Format(time.RFC3339) + "\npublish_by: " +
			due.Add(10*time.Minute).UTC().Format(time.RFC3339) + "\ndestinations: [alpha]\n---\n\nRefused.\n"
		g.push("another time")
		time.Sleep(time.Hour)
		g.post("two", time.Now(), "Not to blame.", "alpha")
		g.run()
		g.wantTexts("alpha", "Not to blame.")
		g.wantState("one", "alpha", pipeline.Failed)
	})
}

// doubtful leaves a delivery queued to be repeated under its key, though it is out. skip is how many answers of the
// network on its keys and limits the second run hears before one is lost.
func (g *rig) doubtful(id string, skip int) {
	g.t.Helper()
	g.disable["alpha"] = []string{"find"}
	g.config("")
	// All answers to the first run are lost.
	g.rule(server.Rule{Fault: server.DropAfter, Times: 3})
	g.post(id, time.Now(), "Perhaps.", "alpha")
	g.run()
	g.wantState(id, "alpha", pipeline.Uncertain)
	g.rule(server.Rule{Op: server.Instance, Fault: server.ServerError, Skip: skip})
	g.run()
	if d := g.delivery(id, "alpha"); d.State != pipeline.Queued || !d.Doubt {
		g.t.Fatalf("%s is %s, doubt %t: want it queued in doubt", id, d.State, d.Doubt)
	}
}

func TestDoubtThatIsNotResolvedInTimeIsUncertainAndStopsNoOther(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"deadline":    func(*rig) { time.Sleep(25 * time.Hour) },
		"file gone":   func(g *rig) { g.files["posts/one.md"] = ""; g.push("remove") },
		"edited":      func(g *rig) { g.post("one", time.Now(), "Something else.", "alpha") },
		"window over": func(*rig) { time.Sleep(2 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
				g.doubtful("one", 1)
				change(g)
				g.post("two", time.Now(), "Not to blame.", "alpha")
				g.run()
				g.run()
				g.wantTexts("alpha", "Perhaps.", "Not to blame.")
				g.wantState("one", "alpha", pipeline.Uncertain)
			})
		})
	}
}

func TestDoubtWaitsForTheNetworksWordOnItsKeys(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.doubtful("one", 2)
		time.Sleep(5 * time.Minute)
		g.run()
		g.wantTexts("alpha", "Perhaps.")
		g.wantState("one", "alpha", pipeline.Published)
	})
}

func TestTimeMovedWhileUncertainIsObeyed(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"key"}
		g.config("")
		g.rule(server.Rule{Fault: server.DropBefore})
		g.post("one", time.Now(), "Later.", "alpha")
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		g.post("one", time.Now().Add(3*time.Hour), "Later.", "alpha")
		for range 3 {
			time.Sleep(20 * time.Minute)
			g.run()
			g.wantTexts("alpha")
		}
		time.Sleep(3 * time.Hour)
		g.run()
		g.wantTexts("alpha", "Later.")
	})
}

// TestRunHeldUpBeforeARefreshDoesNotUseTheToken freezes a process between the push of its intent and the request.
func TestRunHeldUpBeforeARefreshDoesNotUseTheToken(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.loginExpiring("alpha")
		time.Sleep(3 * time.Hour)
		g.post("one", time.Now(), "Once.", "alpha")
		opt := g.options()
		opt.Progress = func(p publish.Progress) {
			if p.What == "preparing" {
				time.Sleep(10 * time.Minute)
			}
		}
		_, err := publish.Run(t.Context(), nil, opt)
		check(t, err)
		for _, r := range g.net.Requests() {
			if r.Op == server.Refresh {
				t.Errorf("the token was used at %s", r.At)
			}
		}
		time.Sleep(5 * time.Minute)
		g.run()
		g.wantTexts("alpha", "Once.")
	})
}

// TestRefusedLoginIsAskedOnce has an uncertain delivery whose login the network refuses: each run would try a refresh again.
func TestRefusedLoginIsAskedOnce(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"key"}
		g.config("")
		g.loginExpiring("alpha")
		g.rule(server.Rule{Fault: server.DropAfter})
		g.rule(server.Rule{Op: server.List, Fault: server.ServerError})
		g.post("one", time.Now(), "Once.", "alpha")
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		check(t, g.net.Revoke("alpha"))
		time.Sleep(3 * time.Hour)
		g.run()
		asked := len(g.net.Requests())
		tip := g.git.Tip("refs/heads/broadside-ledger")
		for range 3 {
			time.Sleep(20 * time.Minute)
			g.run()
		}
		if n := len(g.net.Requests()) - asked; n > 0 || g.git.Tip("refs/heads/broadside-ledger") != tip {
			t.Errorf("asked %d times more", n)
		}
		g.loginExpiring("alpha")
		g.run()
		g.wantState("one", "alpha", pipeline.Published)
		g.wantTexts("alpha", "Once.")
	})
}

func TestNewsIsToldBeforeItIsNotedAsTold(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.rule(server.Rule{Fault: server.Rejected})
		g.post("one", time.Now(), "Refused.", "alpha")
		opt := g.options()
		heard := 0
		opt.Tell = func(ts []publish.Trouble) {
			if len(g.state().Tip.Told) > 0 {
				t.Error("the ledger notes as told what nobody has heard yet")
			}
			heard = len(ts)
		}
		_, err := publish.Run(t.Context(), nil, opt)
		check(t, err)
		if heard != 1 || len(g.state().Tip.Told) != 1 {
			t.Errorf("heard %d, noted %d", heard, len(g.state().Tip.Told))
		}
	})
}

// TestStandingFileTroubleChangesNothing has one run know broadside.yaml beforehand and another not: both say the same.
func TestStandingFileTroubleChangesNothing(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "Once.", "alpha")
		g.run()
		g.files["posts/copy.md"] = g.files["posts/one.md"]
		g.push("copy")
		g.run()
		tip := g.git.Tip("refs/heads/broadside-ledger")
		for _, hint := range []*pipeline.Config{nil, {Ledger: g.journalOptions("x").Config}, nil} {
			time.Sleep(20 * time.Minute)
			opt := g.options()
			opt.Hint = hint
			_, err := publish.Run(t.Context(), nil, opt)
			check(t, err)
			if g.git.Tip("refs/heads/broadside-ledger") != tip {
				t.Error("a run that has nothing new to say writes to the ledger")
			}
		}
		time.Sleep(25 * time.Hour)
		if res := g.run(); len(res.Troubles) != 1 || !res.Troubles[0].New {
			t.Errorf("a day later: %+v", res.Troubles)
		}
	})
}

// TestOldResultsFileBringsNoOldCredential applies the results of a run whose refresh was overtaken.
func TestOldResultsFileBringsNoOldCredential(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.loginExpiring("alpha")
		time.Sleep(3 * time.Hour)
		g.post("one", time.Now(), "First.", "alpha")
		pushes := 0
		g.git.SetFaults(func(op memgit.Op) memgit.Fault {
			if op.Kind == memgit.OpPush {
				if pushes++; pushes > 2 { // housekeeping and the refresh's intent pass
					return memgit.Fault{Kind: memgit.Reject}
				}
			}
			return memgit.Fault{}
		})
		var saved []byte
		opt := g.options()
		opt.SaveResults = func(data []byte) (string, error) { saved = data; return "results", nil }
		if _, err := publish.Run(t.Context(), nil, opt); err == nil || saved == nil {
			t.Fatalf("nothing was saved: %v", err)
		}
		g.git.SetFaults(nil)
		g.loginExpiring("alpha") // a person logs in again
		time.Sleep(3 * time.Hour)
		g.run()
		j, err := journal.Open(t.Context(), g.journalOptions("person:eve"))
		check(t, err)
		before, _, err := j.Read("credentials/alpha.age")
		check(t, err)
		_, _, err = publish.Apply(t.Context(), j, saved, g.key.Line)
		check(t, err)
		after, _, err := j.Read("credentials/alpha.age")
		check(t, err)
		if string(before) != string(after) {
			t.Error("an old results file has replaced a newer credential")
		}
	})
}
