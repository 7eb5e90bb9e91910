//go:build unix

package e2e

import (
	"testing"
	"time"
)

func TestRunPublishesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{dests: kinds()})
	w.post("plain", "Plain words.")
	w.post("thread", "First part.", "Second part.", "Third part.")
	w.post("image", "With a picture.", "IMAGE a few dots")
	w.push("three posts")
	at := w.checkout()
	start := time.Now()
	p := w.do(at, []int{0}, "run")
	t.Logf("took %s:\n%s", time.Since(start), p.said())
	s := w.sound()
	for _, d := range s.Deliveries {
		if !published(d) {
			t.Errorf("%s is %s", d.ID, d.State)
		}
	}
	start = time.Now()
	n := w.writes()
	w.do(at, []int{0}, "run")
	t.Logf("idle took %s", time.Since(start))
	if w.writes() != n {
		t.Error("a second run wrote to the network")
	}
	t.Logf("%d requests", len(w.proxy.Requests()))
}
