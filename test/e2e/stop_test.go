//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

// TestStoppedPastItsLease stops a process with SIGSTOP, lets its lease go stale, lets another run go on, and continues it:
// it begins no write after that, and what it still has to say does no harm.
func TestStoppedPastItsLease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		kind  int // of kinds()
		parts []string
		rule  faultproxy.Rule
		alone bool // no other run goes on meanwhile
		after pipeline.State
	}{
		{"after the claim, both", 0, []string{"Plain."}, faultproxy.Rule{Path: gitPush, Skip: 1}, false, pipeline.Published},
		{"after the claim, finder", 1, []string{"Plain."}, faultproxy.Rule{Path: gitPush, Skip: 1}, false, pipeline.Published},
		{"after the claim, keyed", 2, []string{"Plain."}, faultproxy.Rule{Path: gitPush, Skip: 1}, false, pipeline.Published},
		// It says itself that it has sent nothing, which nobody else could know.
		{"after the claim, neither", 3, []string{"Plain."}, faultproxy.Rule{Path: gitPush, Skip: 1}, false, pipeline.Queued},
		{"after the claim, alone", 3, []string{"Plain."}, faultproxy.Rule{Path: gitPush, Skip: 1}, true, pipeline.Queued},
		{"before the claim is decided", 0, []string{"Plain."}, faultproxy.Rule{Path: gitPush}, false, pipeline.Published},
		{"while an image is uploaded", 0, []string{"Seen.", "IMAGE dots"}, faultproxy.Rule{Path: "/api/v1/media"}, false, pipeline.Published},
		{"while an image is processed", 1, []string{"Seen.", "IMAGE dots"}, faultproxy.Rule{Path: "/api/v1/containers/*/process"}, false, pipeline.Published},
		{"while the first part is answered", 1, []string{"One.", "Two."}, faultproxy.Rule{Path: sandboxPlain}, false, pipeline.Published},
		{"while the first part is answered, alone", 3, []string{"One.", "Two."}, faultproxy.Rule{Path: sandboxPlain}, true, pipeline.Queued},
		{"while the first receipt is pushed", 2, []string{"One.", "Two."}, faultproxy.Rule{Path: gitPush, Skip: 2}, false, pipeline.Published},
		// The answer is there when it continues, and so is the end of its patience: it may come to know, or not.
		{"while the only part is answered, neither", 3, []string{"Plain."}, faultproxy.Rule{Path: sandboxPlain}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{dests: kinds()[c.kind : c.kind+1]})
			w.post("post", c.parts...)
			w.push("a post")
			at := w.checkout()
			c.rule.Method, c.rule.Times, c.rule.Fault = http.MethodPost, 1, faultproxy.HoldAnswer
			w.proxy.Add(c.rule)
			p := w.start(at, "run")
			p.held(w.proxy)
			p.stop()
			w.proxy.Release()
			w.awaitStale()
			if !c.alone {
				began := time.Now()
				w.do(at, []int{0, 3, 4}, "run")
				w.known(w.sound(), began)
			}
			w.continueSilently(p)
			s := w.sound()
			if d := delivery(s, "post", w.dests[0].name); d == nil || d.State != c.after && (c.after != "" || !settled(d)) {
				t.Errorf("it ended %+v; the process said\n%s", d, p.said())
			}
			if len(s.Extra) > 0 {
				t.Errorf("extra copies: %+v", s.Extra)
			}
			w.settle(at, func(d *ledger.Delivery) bool { return published(d) || c.after == "" && settled(d) })
		})
	}
}

// continueSilently continues a stopped process, whose leases have ended, and wants it to end without a write.
func (w *world) continueSilently(p *proc) {
	w.t.Helper()
	writes := w.writes()
	p.signal(syscall.SIGCONT)
	if code := p.wait(); code == 5 || code == 2 {
		w.t.Errorf("the continued process ended with %d and said\n%s", code, p.said())
	}
	if n := w.writes() - writes; n != 0 {
		w.t.Errorf("the continued process wrote %d times to the network and said\n%s", n, p.said())
	}
}

// TestStoppedAtAnyMoment is TestStoppedPastItsLease at random times.
func TestStoppedAtAnyMoment(t *testing.T) {
	t.Parallel()
	first := number(t, "BROADSIDE_E2E_SEED", 0)
	for i := range max(1, number(t, "BROADSIDE_E2E_ROUNDS", 10)/3) {
		seed := first + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(seed), 1))
			w, at := killWorld(t)
			p := w.start(at, "run")
			select {
			case <-time.After(time.Duration(rng.IntN(2500)) * time.Millisecond):
			case <-p.done:
			}
			p.stop()
			w.settle(at, settled)
			w.continueSilently(p)
			w.settle(at, settled)
		})
	}
}
