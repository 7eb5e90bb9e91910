//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

// TestAskedToEnd sends SIGINT or SIGTERM in the middle of a run: what is in flight may finish within the grace, nothing
// more is claimed, everything is recorded, and nothing is left publishing.
func TestAskedToEnd(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, c := range []struct {
			name   string
			parts  []string
			rule   faultproxy.Rule
			answer bool // what is in flight is answered within the grace
			first  pipeline.State
			shown  int
		}{
			{"answered", []string{"Plain."}, faultproxy.Rule{Path: sandboxPlain}, true, pipeline.Published, 1},
			{"not answered", []string{"Plain."}, faultproxy.Rule{Path: sandboxPlain}, false, pipeline.Uncertain, 1},
			{"in a thread", []string{"One.", "Two."}, faultproxy.Rule{Path: sandboxPlain}, true, pipeline.Queued, 1},
			{"while claiming", []string{"Plain."}, faultproxy.Rule{Path: gitPush, Skip: 1}, true, pipeline.Queued, 0},
			{"before the claim", []string{"Plain."}, faultproxy.Rule{Path: gitPush}, true, pipeline.Scheduled, 0},
		} {
			t.Run(fmt.Sprintf("%s/%s", sig, c.name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, setup{dests: kinds()[3:], divisor: 10})
				now := time.Now()
				w.postAt("first", now.Add(-2*time.Second), w.names(), c.parts...)
				w.postAt("second", now.Add(-time.Second), w.names(), "Another.")
				w.push("two posts")
				c.rule.Method, c.rule.Times, c.rule.Fault = http.MethodPost, 1, faultproxy.HoldAnswer
				w.proxy.Add(c.rule)
				grace := time.Minute
				if !c.answer {
					grace = 8 * time.Second // also for the push of what is known then
				}
				p := w.start(w.checkout(), "run", "--grace", grace.String())
				p.held(w.proxy)
				began := time.Now()
				p.signal(sig)
				until(t, "the process to hear of it", func() bool { return strings.Contains(p.said(), "asked to end") })
				if c.answer {
					w.proxy.Release()
				}
				if code := p.wait(); code == -1 {
					t.Errorf("the process was killed by the signal and said\n%s", p.said())
				}
				if took := time.Since(began); !c.answer && (took < grace || took > 2*grace+patience/4) {
					t.Errorf("it took %s to end, with a grace of %s", took, grace)
				}
				s := w.sound()
				for _, d := range s.Deliveries {
					want := pipeline.Scheduled
					if d.ID.Post == "first" {
						want = c.first
					}
					if d.State != want {
						t.Errorf("%s is %s, want %s; the process said\n%s", d.ID.Post, d.State, want, p.said())
					}
				}
				if n := len(w.net.Posts("")); n != c.shown {
					t.Errorf("%d posts are out, want %d", n, c.shown)
				}
				if s.Tip.Finished {
					t.Error("the tip says that the run finished")
				}
			})
		}
	}
}
