//go:build unix

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/test/faultproxy"
)

// TestEightRunsShareFortyDeliveries lets eight runs race: the first push of each, and then the first claim of each, are
// held until all eight are there. A delivery that two of them sent would be there twice.
func TestEightRunsShareFortyDeliveries(t *testing.T) {
	t.Parallel()
	const runs = 8
	var dests []destination
	for i := range 8 {
		dests = append(dests, destination{name: fmt.Sprintf("d%d", i), off: kinds()[i%4].off})
	}
	// Leases of a minute: what is tested is the claim, not its end.
	w := newWorld(t, setup{dests: dests, divisor: 10})
	for i := range 5 {
		w.post(fmt.Sprintf("post-%d", i), fmt.Sprintf("Words of post %d.", i))
	}
	w.push("forty deliveries")
	w.proxy.Add(
		faultproxy.Rule{Path: gitPush, Times: runs, Fault: faultproxy.HoldBefore},
		faultproxy.Rule{Path: gitPush, Times: runs, Fault: faultproxy.HoldBefore},
	)
	var ps []*proc
	start := time.Now()
	for i := range runs {
		at := w.checkout()
		if i%2 == 1 {
			at = w.nowhere()
		}
		if i%4 > 1 {
			at.flags = append(at.flags, "--git-transport", "git")
		}
		ps = append(ps, w.start(at, "run"))
	}
	for range 2 {
		for _, p := range ps {
			p.held(w.proxy)
		}
		w.proxy.Release()
	}
	for _, p := range ps {
		// Whoever finds everything claimed by others has something waiting.
		if code := p.wait(); code != 0 && code != 4 {
			t.Errorf("a run ended with %d and said\n%s", code, p.said())
		}
	}
	s := w.sound()
	if len(s.Deliveries) != 40 {
		t.Errorf("%d deliveries", len(s.Deliveries))
	}
	runners := map[string]bool{}
	for _, d := range s.Deliveries {
		if !published(d) || len(d.Attempts) != 1 {
			t.Errorf("%s at %s is %s after %d attempts", d.ID.Post, d.Dest, d.State, len(d.Attempts))
		}
		for _, a := range d.Attempts {
			runners[a.Run] = true
		}
	}
	if n := len(w.net.Posts("")); n != 40 {
		t.Errorf("%d posts", n)
	}
	t.Logf("%d of %d runs published, in %s", len(runners), runs, time.Since(start).Round(time.Millisecond))
}
