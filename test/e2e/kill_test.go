//go:build unix

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

// killWorld has a plain post, a thread and one with an image due at every kind of network.
func killWorld(t *testing.T) (*world, place) {
	t.Helper()
	w := newWorld(t, setup{dests: kinds()})
	w.post("plain", "Plain words.")
	w.post("thread", "First part.", "Second part.")
	w.post("image", "With a picture.", "IMAGE a few dots")
	w.push("three posts")
	return w, w.checkout()
}

// TestKilledAtAnyMoment kills a run with SIGKILL at random: after a random time, or while a random request to the git
// server or to the network is under way, before it arrives or before it is answered. What was under way may still arrive.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	first := number(t, "BROADSIDE_E2E_SEED", 0)
	for i := range number(t, "BROADSIDE_E2E_ROUNDS", 10) {
		seed := first + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(seed), 0))
			w, at := killWorld(t)
			if seed%3 == 2 { // its children outlive it for a moment
				at.flags = []string{"--git-transport", "git"}
			}
			for range 1 + rng.IntN(2) {
				w.killOnce(at, rng)
				w.sound()
			}
			w.settle(at, func(d *ledger.Delivery) bool {
				// After two kills a finder may have said "absent" twice: then a person is asked.
				return settled(d) || d.Dest == "finder" && d.State == pipeline.Uncertain && d.Absent > 0
			})
		})
	}
}

func (w *world) killOnce(at place, rng *rand.Rand) {
	w.t.Helper()
	if rng.IntN(3) == 0 {
		p := w.start(at, "run")
		select {
		case <-time.After(time.Duration(rng.IntN(2000)) * time.Millisecond):
		case <-p.done:
		}
		p.signal(syscall.SIGKILL)
		p.wait()
		return
	}
	rule := faultproxy.Rule{Method: http.MethodPost, Skip: rng.IntN(30), Fault: faultproxy.HoldBefore}
	if rng.IntN(2) == 0 {
		rule.Fault = faultproxy.HoldAnswer
	}
	w.proxy.Add(rule)
	p := w.start(at, "run")
	select {
	case <-w.proxy.Held():
	case <-p.done: // it has made fewer requests
	}
	p.signal(syscall.SIGKILL)
	p.wait()
	w.proxy.Clear()
	if rng.IntN(2) == 0 {
		w.proxy.Release()
	}
}

// TestKilledAtAChosenPoint kills a run at the points that matter most, on the kind of network that each is about.
func TestKilledAtAChosenPoint(t *testing.T) {
	t.Parallel()
	const (
		plain  = "plain"
		thread = "thread"
		image  = "image"
	)
	for _, c := range []struct {
		name string
		kind int // of kinds()
		post string
		rule faultproxy.Rule
		want pipeline.State
	}{
		{"before the claim lands", 0, plain, faultproxy.Rule{Path: gitPush, Skip: 1, Fault: faultproxy.HoldBefore}, pipeline.Published},
		{"before the claim is answered", 3, plain, faultproxy.Rule{Path: gitPush, Skip: 1, Fault: faultproxy.HoldAnswer}, pipeline.Uncertain},
		{"before the post arrives, both", 0, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangBefore}, pipeline.Published},
		{"before the post arrives, finder", 1, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangBefore}, pipeline.Published},
		{"before the post arrives, keyed", 2, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangBefore}, pipeline.Published},
		{"before the post arrives, neither", 3, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangBefore}, pipeline.Uncertain},
		{"before the post is answered, both", 0, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangAnswer}, pipeline.Published},
		{"before the post is answered, finder", 1, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangAnswer}, pipeline.Published},
		{"before the post is answered, keyed", 2, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangAnswer}, pipeline.Published},
		{"before the post is answered, neither", 3, plain, faultproxy.Rule{Path: sandboxPlain, Fault: faultproxy.HangAnswer}, pipeline.Uncertain},
		{"before the receipt lands", 1, plain, faultproxy.Rule{Path: gitPush, Skip: 2, Fault: faultproxy.HangBefore}, pipeline.Published},
		{"before the receipt is answered", 3, plain, faultproxy.Rule{Path: gitPush, Skip: 2, Fault: faultproxy.HangAnswer}, pipeline.Published},
		{"between the parts of a thread", 3, thread, faultproxy.Rule{Path: gitPush, Skip: 2, Fault: faultproxy.HangAnswer}, pipeline.Uncertain},
		{"before the second part is answered", 1, thread, faultproxy.Rule{Path: sandboxPlain, Skip: 1, Fault: faultproxy.HangAnswer}, pipeline.Published},
		{"while an image is uploaded", 0, image, faultproxy.Rule{Path: "/api/v1/media", Fault: faultproxy.HangAnswer}, pipeline.Published},
		{"while an image is processed", 0, image, faultproxy.Rule{Path: "/api/v1/containers/*/process", Fault: faultproxy.HangBefore}, pipeline.Published},
		{"before the image is answered", 2, image, faultproxy.Rule{Path: sandboxStaged, Fault: faultproxy.HangAnswer}, pipeline.Published},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{dests: kinds()[c.kind : c.kind+1]})
			switch c.post {
			case plain:
				w.post(plain, "Plain words.")
			case thread:
				w.post(thread, "First part.", "Second part.")
			case image:
				w.post(image, "With a picture.", "IMAGE a few dots")
			}
			w.push("a post")
			at := w.checkout()
			c.rule.Method, c.rule.Times = http.MethodPost, 1
			w.proxy.Add(c.rule)
			p := w.start(at, "run")
			until(t, "the request to hang", func() bool { return w.struck() > 0 })
			p.signal(syscall.SIGKILL)
			p.wait()
			if c.rule.Fault == faultproxy.HoldBefore {
				w.proxy.Release() // a request that was on its way arrives all the same
				until(t, "the request to arrive", func() bool { return w.answered() > 0 })
			}
			w.sound()
			w.settle(at, func(d *ledger.Delivery) bool { return d.State == c.want })
		})
	}
}

// struck counts the exchanges that have suffered a fault and, where it forwards, have been answered by the upstream.
func (w *world) struck() int {
	n := 0
	for _, r := range w.proxy.Requests() {
		switch r.Fault {
		case faultproxy.None:
		case faultproxy.HangBefore, faultproxy.HoldBefore, faultproxy.DropBefore:
			n++
		case faultproxy.DropAnswer, faultproxy.BadGateway, faultproxy.HangAnswer, faultproxy.CutBody, faultproxy.HoldAnswer:
			n += min(r.Status, 1)
		}
	}
	return n
}

// answered counts the exchanges with a fault that the upstream has answered.
func (w *world) answered() int {
	n := 0
	for _, r := range w.proxy.Requests() {
		if r.Fault != faultproxy.None {
			n += min(r.Status, 1)
		}
	}
	return n
}
