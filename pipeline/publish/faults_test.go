package publish_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// bubbleTest runs f in a synctest bubble with a fresh rig.
func bubbleTest(t *testing.T, dests []string, f func(t *testing.T, g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig(t, dests...)) })
}

func (g *rig) rule(r server.Rule) {
	g.t.Helper()
	if _, err := g.net.AddRule(r); err != nil {
		g.t.Fatal(err)
	}
}

// wantTexts fails unless an account shows exactly these.
func (g *rig) wantTexts(dest string, want ...string) {
	g.t.Helper()
	if got := g.texts(dest); !slices.Equal(got, want) {
		g.t.Errorf("%s shows %q, want %q", dest, got, want)
	}
}

func (g *rig) wantState(post, dest string, want pipeline.State) {
	g.t.Helper()
	if d := g.delivery(post, dest); d.State != want {
		g.t.Errorf("%s at %s is %s (%s %s), want %s", post, dest, d.State, d.Reason, d.Detail, want)
	}
}

// TestAmbiguousAnswerNeverDoubles holds the main promise on every kind of network: whatever becomes of the answer, the
// post is there once, or it is uncertain and told.
func TestAmbiguousAnswerNeverDoubles(t *testing.T) {
	faults := []server.Fault{
		server.DropAfter, server.CutAnswer, server.Malformed, server.Empty, server.ErrorAfter, server.TimeoutAfter,
		server.DropBefore, server.TimeoutBefore, server.ServerError,
	}
	kinds := map[string][]string{"both": nil, "finder": {"key"}, "key": {"find"}, "neither": {"find", "key"}}
	for kind, off := range kinds {
		for _, fault := range faults {
			t.Run(kind+"/"+string(fault), func(t *testing.T) {
				t.Parallel()
				bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
					g.disable["alpha"] = off
					g.config("")
					g.rule(server.Rule{Fault: fault})
					g.post("one", time.Now(), "The text.", "alpha")
					res := g.run()
					n := len(g.texts("alpha"))
					d := g.delivery("one", "alpha")
					if n > 1 {
						t.Fatalf("posted %d times", n)
					}
					if d.State == pipeline.Published && n != 1 {
						t.Errorf("published, but the network shows %d", n)
					}
					if kind == "neither" {
						if d.State != pipeline.Uncertain || len(res.Troubles) != 1 || !res.Troubles[0].New || !res.Troubles[0].Person {
							t.Errorf("state %s, troubles %+v: want uncertain and told", d.State, res.Troubles)
						}
						time.Sleep(time.Hour)
						g.run()
						if got := len(g.texts("alpha")); got != n {
							t.Errorf("sent again: %d", got)
						}
						return
					}
					for range 4 {
						time.Sleep(20 * time.Minute)
						g.run()
					}
					g.wantTexts("alpha", "The text.")
					g.wantState("one", "alpha", pipeline.Published)
				})
			})
		}
	}
}

func TestLimitsWaitAndOthersGoOn(t *testing.T) {
	for _, form := range []server.Form{server.RetrySeconds, server.RetryDate, server.ResetDelta, server.ResetEpoch, server.XResetEpoch, server.XResetISO, server.InBody, server.Untold} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
				g.rule(server.Rule{Account: "alpha", Fault: server.RateLimit, Seconds: 600, Form: form})
				g.post("one", time.Now(), "The text.", "alpha", "beta")
				res := g.run()
				g.wantTexts("alpha")
				g.wantTexts("beta", "The text.")
				g.wantState("one", "alpha", pipeline.Queued)
				if res.Waiting != 1 {
					t.Errorf("waiting %d, want 1", res.Waiting)
				}
				time.Sleep(11 * time.Minute)
				g.run()
				g.wantTexts("alpha", "The text.")
				g.wantState("one", "alpha", pipeline.Published)
			})
		})
	}
}

func TestRefusedCredentialHoldsItsDestinationUntilANewLogin(t *testing.T) {
	bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
		check(t, g.net.Revoke("alpha"))
		g.post("one", time.Now(), "First.", "alpha", "beta")
		g.post("two", time.Now(), "Second.", "alpha")
		res := g.run()
		g.wantTexts("beta", "First.")
		g.wantState("one", "alpha", pipeline.Queued)
		if len(res.Troubles) == 0 || !res.Troubles[0].Person {
			t.Errorf("troubles: %+v", res.Troubles)
		}
		time.Sleep(10 * time.Minute)
		g.run()
		if n := len(g.state().Holds); n != 1 {
			t.Errorf("%d holds, want 1", n)
		}
		g.login("alpha")
		g.push("a new login")
		time.Sleep(10 * time.Minute)
		g.run()
		g.wantState("one", "alpha", pipeline.Published)
		g.wantState("two", "alpha", pipeline.Published)
	})
}

func TestThreadResumesWhereItStopped(t *testing.T) {
	for _, fault := range []server.Fault{server.Maintenance, server.RateLimit, server.DropAfter, server.DropBefore} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
				g.rule(server.Rule{Fault: fault, Part: 2, Seconds: 60})
				g.post("one", time.Now(), "First part.\n\n---\n\nSecond part.\n\n---\n\nThird part.", "alpha")
				for range 4 {
					g.run()
					time.Sleep(20 * time.Minute)
				}
				g.wantTexts("alpha", "First part.", "Second part.", "Third part.")
				g.wantState("one", "alpha", pipeline.Published)
			})
		})
	}
}

func TestThreadThatCannotGoOnIsPartialAndTold(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.rule(server.Rule{Fault: server.HalfThread, Times: -1})
		g.post("one", time.Now(), "First part.\n\n---\n\nSecond part.", "alpha")
		res := g.run()
		d := g.delivery("one", "alpha")
		if d.State != pipeline.Failed || d.Reason != pipeline.ReasonPartial {
			t.Fatalf("%s %s", d.State, d.Reason)
		}
		if len(res.Troubles) != 1 || !res.Troubles[0].Person {
			t.Errorf("troubles %+v", res.Troubles)
		}
		time.Sleep(48 * time.Hour)
		g.run()
		if d := g.delivery("one", "alpha"); d.Reason != pipeline.ReasonPartial {
			t.Errorf("after its deadline: %s %s", d.State, d.Reason)
		}
	})
}

func TestTroubleIsToldOnceThenDaily(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"find", "key"}
		g.config("")
		g.rule(server.Rule{Fault: server.DropAfter})
		g.post("one", time.Now(), "Who knows.", "alpha")
		told := func(res publish.Result) int {
			n := 0
			for _, tr := range res.Troubles {
				if tr.New {
					n++
				}
			}
			return n
		}
		if n := told(g.run()); n != 1 {
			t.Errorf("first run told %d", n)
		}
		time.Sleep(15 * time.Minute)
		if res := g.run(); told(res) != 0 || len(res.Troubles) != 1 {
			t.Errorf("second run told %d of %d", told(res), len(res.Troubles))
		}
		time.Sleep(25 * time.Hour)
		if n := told(g.run()); n != 1 {
			t.Errorf("a day later told %d", n)
		}
	})
}
