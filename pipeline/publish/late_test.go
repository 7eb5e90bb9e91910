package publish_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
	"github.com/broadside-pub/broadside/providers/transport"
)

// asleep is the transport of a process that is stopped while a write of it is answered.
type asleep struct {
	base http.RoundTripper
	long time.Duration
}

func (a asleep) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return a.base.RoundTrip(r)
	}
	resp, err := a.base.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	time.Sleep(a.long)
	return nil, context.DeadlineExceeded
}

// TestWordThatComesTooLateDoesNoHarm has a run come back, not knowing what became of its write, when another one has
// said it already.
func TestWordThatComesTooLateDoesNoHarm(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"find", "key"}
		g.config("")
		g.post("one", time.Now(), "Once.", "alpha")
		opt := g.options()
		opt.Transport = func(pipeline.Destination) http.RoundTripper { return asleep{transport.Handler(g.net), time.Hour} }
		var late publish.Result
		done := make(chan error, 1)
		go func() {
			var err error
			late, err = publish.Run(t.Context(), nil, opt)
			done <- err
		}()
		time.Sleep(30 * time.Minute)
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		if err := <-done; err != nil {
			t.Errorf("the run that came back ended with %v", err)
		}
		g.wantState("one", "alpha", pipeline.Uncertain)
		g.wantTexts("alpha", "Once.")
		if len(late.Outcomes) > 0 {
			t.Errorf("it tells %+v, which it could not record", late.Outcomes)
		}
		if n := len(late.Diagnostics); n != 1 || !strings.Contains(late.Diagnostics[0].Message, "too late") {
			t.Errorf("its notes are %+v", late.Diagnostics)
		}
	})
}

// TestRefusedRepetitionStaysUncertain repeats a write that may be out under its key, and has the repetition refused:
// that says nothing of the first one.
func TestRefusedRepetitionStaysUncertain(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"find"}
		g.config("")
		g.rule(server.Rule{Fault: server.DropAfter, Times: 3})
		g.rule(server.Rule{Fault: server.Rejected})
		g.post("one", time.Now(), "Once.", "alpha")
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		g.run()
		g.wantState("one", "alpha", pipeline.Uncertain)
		time.Sleep(time.Minute)
		g.run()
		g.wantState("one", "alpha", pipeline.Published)
		g.wantTexts("alpha", "Once.")
	})
}

// TestDoubtOutlivesTheLease has a run sleep past its lease while a write is answered, on a network whose key makes it try
// once more: what keeps the second try back must not pass for what became of the first.
func TestDoubtOutlivesTheLease(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.disable["alpha"] = []string{"find"}
		g.config("")
		g.post("one", time.Now(), "Once.", "alpha")
		opt := g.options()
		opt.Transport = func(pipeline.Destination) http.RoundTripper {
			return asleep{transport.Handler(g.net), 20 * time.Minute}
		}
		res, err := publish.Run(t.Context(), nil, opt)
		check(t, err)
		if len(res.Outcomes) != 1 || res.Outcomes[0].State != pipeline.Uncertain {
			t.Errorf("outcomes %+v", res.Outcomes)
		}
		g.wantState("one", "alpha", pipeline.Uncertain)
		// An edit makes other bytes: they must not go out beside the first.
		g.post("one", time.Now().Add(-20*time.Minute), "Twice.", "alpha")
		for range 3 {
			g.run()
			time.Sleep(20 * time.Minute)
		}
		g.wantTexts("alpha", "Once.")
	})
}
