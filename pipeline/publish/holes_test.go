package publish_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
	"github.com/broadside-pub/broadside/providers/transport"
)

// TestDoubtOutlivesTheFence has a lost answer, then a repetition that the deadline keeps from leaving: it may be out.
func TestDoubtOutlivesTheFence(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"find"}
		g.config("")
		g.rule(server.Rule{Fault: server.TimeoutAfter})
		g.files["posts/one.md"] = fmt.Sprintf("---\nid: one\npublish_at: now\npublish_by: %s\ndestinations: [alpha]\n---\n\nOnce.\n",
			time.Now().Add(20*time.Second).UTC().Format(time.RFC3339))
		g.push("a short deadline")
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		time.Sleep(15 * time.Minute)
		g.run()
		g.post("one", time.Now().Add(time.Minute), "Once.", "alpha")
		time.Sleep(3 * time.Hour)
		g.run()
		g.wantTexts("alpha", "Once.")
	})
}

func TestOneDestinationsErrorStopsNothingElse(t *testing.T) {
	bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
		g.post("good", time.Now(), "Good.", "alpha")
		g.post("half", time.Now(), "::: only beta\n\n"+strings.Repeat("long", 300)+"\n\n:::\n\nHello.", "alpha", "beta")
		res := g.run()
		g.wantTexts("alpha", "Good.", "Hello.")
		g.wantTexts("beta")
		if len(res.Troubles) != 1 || res.Troubles[0].Destination != "beta" {
			t.Errorf("troubles %+v", res.Troubles)
		}
	})
}

func TestDestinationWithoutTargetIsTold(t *testing.T) {
	bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
		g.files["broadside.yaml"] = strings.Replace(g.files["broadside.yaml"], "    target: "+string(g.target("beta", "a1002"))+"\n", "", 1)
		g.post("two", time.Now(), "Only beta.", "beta")
		if res := g.run(); len(res.Troubles) != 1 || res.Troubles[0].Code != "no_target" {
			t.Errorf("troubles %+v", res.Troubles)
		}
	})
}

func TestTheContentTipNamesTheLedger(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "Once.", "alpha")
		g.run()
		old := pipeline.LedgerConfig{Branch: "old-ledger", ID: strings.Repeat("f", 32), Signer: g.key.Line}
		jo := g.journalOptions("old")
		jo.Config = old
		check(t, journal.Create(t.Context(), jo, g.key.Line, nil))
		opt := g.options()
		opt.Hint = &pipeline.Config{Ledger: old} // what an old checkout says
		_, err := publish.Run(t.Context(), nil, opt)
		check(t, err)
		g.wantTexts("alpha", "Once.")
	})
}

// stale answers every publish with the answer to the first, as a cache would.
type stale struct {
	base http.RoundTripper
	body []byte
}

func (s *stale) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/posts") {
		return s.base.RoundTrip(r)
	}
	if s.body != nil {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r}, nil
	}
	resp, err := s.base.RoundTrip(r)
	if err == nil {
		s.body, _ = io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(s.body))
	}
	return resp, err
}

func TestAnswerThatNamesAnotherPostProvesNothing(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now(), "One.", "alpha")
		g.post("two", time.Now(), "Two.", "alpha")
		opt := g.options()
		tr := &stale{base: transport.Handler(g.net)}
		opt.Transport = func(pipeline.Destination) http.RoundTripper { return tr }
		_, err := publish.Run(t.Context(), nil, opt)
		check(t, err)
		g.wantState("two", "alpha", pipeline.Uncertain)
	})
}

func TestOldCommitPushedLateIsLate(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		monday := time.Now()
		for range 100 { // runs every 15 minutes, for more than a day
			g.run()
			time.Sleep(15 * time.Minute)
		}
		g.git.CommitAs(contentRef, gitstore.Commit{Message: "x", Name: "a", Email: "a@b", When: monday, Changes: []gitstore.Change{{
			Path: "posts/one.md",
			Data: fmt.Appendf(nil, "---\nid: one\npublish_at: %s\ndestinations: [alpha]\n---\n\nForgotten.\n", time.Now().Add(-10*time.Hour).UTC().Format(time.RFC3339)),
		}}})
		g.run()
		g.wantTexts("alpha")
		if d := g.delivery("one", "alpha"); d.Reason != pipeline.ReasonLate {
			t.Errorf("%s %s", d.State, d.Reason)
		}
	})
}

func TestUsedUpIDIsToldAlsoForNow(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.files["posts/one.md"] = "---\nid: one\npublish_at: now\ndestinations: [alpha]\n---\n\nOnce.\n"
		g.push("one")
		g.run()
		g.files["posts/one.md"] = ""
		g.files["posts/new.md"] = "---\nid: one\npublish_at: now\ndestinations: [alpha]\n---\n\nSomething else.\n"
		g.push("the id again")
		time.Sleep(time.Hour)
		if res := g.run(); len(res.Troubles) != 1 || res.Troubles[0].Code != "already_published" {
			t.Errorf("troubles %+v", res.Troubles)
		}
		g.wantTexts("alpha", "Once.")
	})
}

func TestOldNowPostsStayAsleepWhenADestinationJoins(t *testing.T) {
	bubbleTest(t, []string{"alpha", "beta"}, func(t *testing.T, g *rig) {
		g.config("groups: {all: [alpha]}\n")
		g.files["posts/old.md"] = "---\nid: old\npublish_at: now\ndestinations: [all]\n---\n\nOld news.\n"
		g.push("old")
		g.run()
		time.Sleep(90 * 24 * time.Hour)
		g.config("groups: {all: [alpha, beta]}\n")
		g.push("beta joins")
		g.run()
		g.wantTexts("beta")
	})
}

func TestCanceledPostWithANewTimeGoesOut(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.post("one", time.Now().Add(time.Hour), "After all.", "alpha")
		g.run()
		j, err := journal.Open(t.Context(), g.journalOptions("person:eve"))
		check(t, err)
		id := g.delivery("one", "alpha").ID
		check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error { return tx.Add(tx.State.CancelByPerson(tx.Stamp, id, "")) }))
		time.Sleep(2 * time.Hour)
		g.run()
		g.wantTexts("alpha")
		g.post("one", time.Now().Add(time.Hour), "After all.", "alpha")
		time.Sleep(90 * time.Minute)
		g.run()
		g.wantTexts("alpha", "After all.")
	})
}
