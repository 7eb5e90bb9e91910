package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
)

// outcome is what came of a plan.
type outcome struct {
	plan   *plan
	broken []broken
	lines  []string // what happened, where it was asked for
	counts map[string]int
	trace  []string
}

// carryOut lives through a plan in a bubble of its own.
func carryOut(t *testing.T, p *plan, verbose bool) (out outcome) {
	t.Helper()
	out.plan = p
	defer func() {
		// All goroutines wait for each other: the bubble is lost, and says so.
		if r := recover(); r != nil {
			out.broken = append(out.broken, broken{"stopped", fmt.Sprint("stopped: ", r)})
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, p, verbose)
		for _, s := range p.Steps {
			if d := time.Until(w.start.Add(s.At)); d > 0 {
				time.Sleep(d)
			}
			w.do(s)
		}
		w.wg.Wait()
		w.settle()
		w.check()
		delete(w.counts, "\x00seq")
		out.broken, out.lines, out.counts, out.trace = w.broken, w.lines, w.counts, w.trace()
	})
	return out
}

// settle ends all faults, lets people mend what only they can, and lets runs go on until nothing more can change.
func (w *world) settle() {
	w.logf("all faults end")
	for _, r := range w.net.Rules() {
		w.happenedTimes("network: "+strings.TrimSpace(string(r.Fault)+" "+string(r.Form)), r.Hits)
	}
	w.net.DeleteRule("")
	w.mu.Lock()
	w.wires, w.gits = nil, nil
	w.mu.Unlock()
	if w.model.broken {
		w.edit(step{Do: "mendconfig"})
	}
	for range 3 {
		w.mendLedger()
	}
	w.quiet()
	w.afterRestore()
	w.quiet()
	for _, d := range []time.Duration{20 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, 2 * time.Hour, 5 * time.Hour, 5 * time.Hour, 25 * time.Hour, 25 * time.Hour} {
		time.Sleep(d)
		w.quiet()
	}
	// A further run has nothing to do.
	time.Sleep(time.Minute)
	tip, posts := w.git.Tip(ledgerRef), len(w.net.EveryPost(""))
	w.quiet()
	if w.git.Tip(ledgerRef) != tip {
		w.breakf("a further run has changed the ledger: %s", w.lastEvents())
	}
	if n := len(w.net.EveryPost("")); n != posts {
		w.breakf("a further run has made %d posts", n-posts)
	}
}

// afterRestore is a person who holds the restored ledger against the networks.
func (w *world) afterRestore() {
	if !w.restored {
		return
	}
	j, err := w.person()
	if err != nil {
		w.breakf("the restored ledger is refused: %v", err)
		return
	}
	w.reconcile(j)
}

// quiet is a run to which nothing happens, on a machine whose clock is right.
func (w *world) quiet() {
	w.runs++
	p := w.newProc(fmt.Sprintf("run%04d", w.runs), step{Who: len(w.plan.Runners)})
	p.run.Hint = w.plan.Seed%3 > 0
	res, err := publish.Run(p.ctx, p.stop, p.options())
	p.kill()
	if err != nil {
		w.breakf("a run fails though nothing is wrong: %v", err)
	}
	w.heard(p, res, err)
}

// unfit notes errors that no fault excuses.
func (w *world) unfit(p *proc, err error) {
	if _, ok := errors.AsType[*ledger.IllegalError](err); ok {
		w.breakf("%s wanted an illegal move: %v", p.name, err)
	}
	var refused *journal.Refusal
	if errors.As(err, &refused) && !w.attacked && w.counts["git: stale"] == 0 {
		w.breakf("%s refused a ledger that nobody has touched: %v", p.name, err)
	}
}

func (w *world) lastEvents() string {
	snap := w.git.Snapshot(ledgerRef)
	es, err := snap.Entries("events/")
	if err != nil || len(es) == 0 {
		return ""
	}
	slices.Reverse(es)
	data, err := snap.Read(es[0].Blob)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
