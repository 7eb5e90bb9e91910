package publish_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

func TestLatePostWaitsForANewTime(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		time.Sleep(48 * time.Hour)
		g.post("one", time.Now().Add(-time.Hour), "Late.", "alpha")
		g.run()
		g.wantTexts("alpha")
		if d := g.delivery("one", "alpha"); d.State != pipeline.Failed || d.Reason != pipeline.ReasonLate {
			t.Fatalf("%s %s", d.State, d.Reason)
		}
		g.post("one", time.Now().Add(time.Minute), "Late.", "alpha")
		time.Sleep(2 * time.Minute)
		g.run()
		g.wantTexts("alpha", "Late.")
	})
}

func TestRunThatIsLateStillPublishesWhatWasThereInTime(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now().Add(time.Minute), "In time.", "alpha")
		time.Sleep(3 * time.Hour)
		g.post("other", time.Now().Add(time.Hour), "Moves the tip on.", "alpha")
		time.Sleep(time.Minute)
		g.run()
		g.wantTexts("alpha", "In time.")
	})
}

func TestDeadlinePassedMeansExpiredAndTold(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now().Add(time.Minute), "Too late.", "alpha")
		g.run()
		time.Sleep(25 * time.Hour)
		res := g.run()
		g.wantTexts("alpha")
		if d := g.delivery("one", "alpha"); d.Reason != pipeline.ReasonExpired {
			t.Errorf("%s %s", d.State, d.Reason)
		}
		if len(res.Troubles) != 1 || !res.Troubles[0].Failed {
			t.Errorf("troubles %+v", res.Troubles)
		}
	})
}

func TestMovedEditedAndRemovedPostsAreObeyed(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		at := time.Now().Add(10 * time.Minute)
		for _, id := range []string{"moved", "edited", "removed", "renamed"} {
			g.post(id, at, "Text of "+id+".", "alpha")
		}
		g.run()
		g.post("moved", at.Add(time.Hour), "Text of moved.", "alpha")
		g.post("edited", at, "Another text.", "alpha")
		g.files["posts/elsewhere/renamed.md"] = g.files["posts/renamed.md"]
		g.files["posts/renamed.md"], g.files["posts/removed.md"] = "", ""
		g.push("change our minds")
		time.Sleep(15 * time.Minute)
		g.run()
		g.wantTexts("alpha", "Another text.", "Text of renamed.")
		g.wantState("removed", "alpha", pipeline.Canceled)
		time.Sleep(time.Hour)
		g.run()
		g.wantTexts("alpha", "Another text.", "Text of renamed.", "Text of moved.")
	})
}

func TestRemovedPostThatReturnsGoesOut(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		at := time.Now().Add(time.Hour)
		g.post("one", at, "Here again.", "alpha")
		g.run()
		keep := g.files["posts/one.md"]
		g.files["posts/one.md"] = ""
		g.push("remove")
		g.run()
		g.wantState("one", "alpha", pipeline.Canceled)
		g.files["posts/one.md"] = keep
		g.push("restore")
		g.run()
		time.Sleep(2 * time.Hour)
		g.run()
		g.wantTexts("alpha", "Here again.")
	})
}

func TestPublishedPostIsNotTouchedByItsFile(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "As it was.", "alpha")
		g.run()
		g.post("one", time.Now().Add(time.Hour), "Edited, with a new time.", "alpha")
		time.Sleep(2 * time.Hour)
		res := g.run()
		g.wantTexts("alpha", "As it was.")
		found := false
		for _, d := range res.Diagnostics {
			found = found || d.Code == "already_published"
		}
		if !found {
			t.Errorf("nothing says already_published: %+v", res.Diagnostics)
		}
		g.files["posts/one.md"] = ""
		g.push("remove")
		g.run()
		g.wantState("one", "alpha", pipeline.Published)
		g.wantTexts("alpha", "As it was.")
	})
}

func TestEqualPostIsNotSentTwice(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "The same.", "alpha")
		g.post("two", time.Now(), "The same.", "alpha")
		res := g.run()
		g.wantTexts("alpha", "The same.")
		if len(res.Troubles) != 1 || res.Troubles[0].Code != string(pipeline.ReasonDuplicate) {
			t.Errorf("troubles %+v", res.Troubles)
		}
		g.files["posts/three.md"] = strings.Replace(g.files["posts/two.md"], "id: two", "id: three\nallow_duplicate: true", 1)
		g.push("on purpose")
		g.run()
		g.wantTexts("alpha", "The same.", "The same.")
	})
}

func TestInvalidPostStopsOnlyItself(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("good", time.Now(), "Good.", "alpha")
		g.files["posts/bad.md"] = "---\nid: bad\npublish_at: tomorrow-ish\ndestinations: [alpha]\n---\n\nBad.\n"
		g.push("one good, one bad")
		res := g.run()
		g.wantTexts("alpha", "Good.")
		if len(res.Troubles) != 1 || !res.Troubles[0].Invalid {
			t.Errorf("troubles %+v", res.Troubles)
		}
	})
}

func TestDraftsAreCountedAndStay(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.files["posts/draft.md"] = "---\nid: draft\ndestinations: [alpha]\n---\n\nNot yet.\n"
		g.push("draft")
		if res := g.run(); res.Drafts != 1 {
			t.Errorf("drafts %d", res.Drafts)
		}
		g.wantTexts("alpha")
	})
}

func TestImagesArriveWithAltText(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.files["media/pic.png"] = picture(t)
		g.post("one", time.Now(), "Look.\n\n![A red square](/media/pic.png)", "alpha")
		g.run()
		ps := g.net.Posts("alpha")
		if len(ps) != 1 || len(ps[0].Media) != 1 || ps[0].Media[0].Alt != "A red square" {
			t.Fatalf("arrived: %+v", ps)
		}
	})
}

// TestManyRunsAtOncePublishEachOnce is eight runners on one remote with 40 due deliveries.
func TestManyRunsAtOncePublishEachOnce(t *testing.T) {
	bubbleTest(t, []string{"a", "b", "c", "d"}, func(t *testing.T, g *rig) {
		for i := range 10 {
			g.files[fmt.Sprintf("posts/p%d.md", i)] = fmt.Sprintf("---\nid: p%d\npublish_at: %s\ndestinations: [a, b, c, d]\n---\n\nText %d.\n", i, time.Now().UTC().Format(time.RFC3339), i)
		}
		g.push("forty deliveries")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := publish.Run(t.Context(), nil, g.options()); err != nil {
					t.Errorf("run: %v", err)
				}
			})
		}
		wg.Wait()
		g.run()
		for _, d := range g.dests {
			if n := len(g.texts(d)); n != 10 {
				t.Errorf("%s shows %d posts", d, n)
			}
		}
		for id, d := range g.state().Deliveries {
			if d.State != pipeline.Published {
				t.Errorf("%s is %s", id, d.State)
			}
		}
	})
}

func TestHoldStopsAndReleaseGoesOn(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "Held.", "alpha")
		j, err := journal.Open(t.Context(), g.journalOptions("person:eve"))
		check(t, err)
		check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error { return tx.Add(tx.State.Hold(tx.Stamp, holdAll)) }))
		res := g.run()
		g.wantTexts("alpha")
		if len(res.Troubles) == 0 {
			t.Error("a held post that is due is not told")
		}
		check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error {
			return tx.Add(tx.State.Release(tx.Stamp, holdAll.Hold, pipeline.ReasonByPerson, ""))
		}))
		g.run()
		g.wantTexts("alpha", "Held.")
	})
}

func TestStrangeLedgersAreRefused(t *testing.T) {
	code := func(t *testing.T, g *rig) string {
		t.Helper()
		_, err := publish.Run(t.Context(), nil, g.options())
		var r *journal.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("not refused: %v", err)
		}
		if r.Hint == "" {
			t.Error("no hint")
		}
		g.wantTexts("alpha")
		return r.Code
	}
	const ref, mark = "refs/heads/broadside-ledger", "refs/heads/broadside-ledger-mark"
	cases := map[string]struct {
		do   func(g *rig)
		want string
	}{
		"deleted":   {func(g *rig) { g.git.Delete(ref) }, "ledger_rewound"},
		"both gone": {func(g *rig) { g.git.Delete(ref); g.git.Delete(mark) }, "no_ledger"},
		"mark gone": {func(g *rig) { g.git.Delete(mark) }, "ledger_rewound"},
		"rewound": {func(g *rig) {
			old := g.git.Tip(ref)
			g.run()
			g.git.Force(ref, old)
		}, "ledger_rewound"},
		"unsigned": {func(g *rig) {
			h := g.git.Commit(ref, nil, "a stranger was here")
			g.git.Force(mark, h)
		}, "ledger_unsigned"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
				g.post("one", time.Now().Add(time.Minute), "Never.", "alpha")
				c.do(g)
				time.Sleep(2 * time.Minute)
				if got := code(t, g); got != c.want {
					t.Errorf("refused as %s, want %s", got, c.want)
				}
			})
		})
	}
	t.Run("fork", func(t *testing.T) {
		t.Parallel()
		bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
			g.post("one", time.Now(), "Never.", "alpha")
			opt := g.options()
			opt.Home.URL = "https://forge.test/someone/fork"
			_, err := publish.Run(t.Context(), nil, opt)
			var r *journal.Refusal
			if !errors.As(err, &r) || r.Code != "ledger_elsewhere" {
				t.Errorf("not refused as elsewhere: %v", err)
			}
		})
	})
}

func TestStopEndsInOrder(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.rule(server.Rule{Fault: server.Slow, Seconds: 3})
		g.post("one", time.Now(), "First.", "alpha")
		g.post("two", time.Now(), "Second.", "alpha")
		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		start := time.Now()
		_, err := publish.Run(t.Context(), stop, g.options())
		check(t, err)
		if d := time.Since(start); d > 6*time.Second {
			t.Errorf("took %s to end", d)
		}
		n := 0
		for _, d := range g.state().Deliveries {
			if d.State == pipeline.Publishing {
				t.Errorf("%s is left publishing", d.ID)
			}
			if d.State == pipeline.Published {
				n++
			}
		}
		if n != 1 || len(g.texts("alpha")) != 1 {
			t.Errorf("%d published, the network shows %d; want the one in flight", n, len(g.texts("alpha")))
		}
	})
}

func TestDestinationAddedToAGroupDoesNotWakeOldPosts(t *testing.T) {
	bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
		g.config("groups: {all: [alpha]}\n")
		g.post("old", time.Now(), "Long ago.", "all")
		g.run()
		g.post("new", time.Now().Add(72*time.Hour), "To all.", "all")
		time.Sleep(48 * time.Hour)
		g.run()
		g.config("groups: {all: [alpha, beta]}\n")
		g.push("beta joins")
		res := g.run()
		if len(res.Troubles) > 0 {
			t.Errorf("troubles %+v", res.Troubles)
		}
		told := 0
		for _, d := range res.Diagnostics {
			if d.Code == "late_destination" && d.Post == "old" && d.Destination == "beta" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times: %+v", told, res.Diagnostics)
		}
		time.Sleep(48 * time.Hour)
		g.run()
		g.wantTexts("beta", "To all.")
		g.wantTexts("alpha", "Long ago.", "To all.")
	})
}
