package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// claim is a claim as it landed.
type claim struct {
	ledger.Event
	landed  time.Time
	due, by time.Time // as they were scheduled then
}

// history is everything that was ever pushed to the ledger by those who may.
type history struct {
	commits   int
	claims    []*claim
	receipts  map[pipeline.DeliveryID]map[int]time.Time
	retries   map[pipeline.DeliveryID][]time.Time
	extra     map[string]bool // network ids that the ledger has reported as extra copies
	refreshed map[string]time.Time
	// personCanceled are deliveries that a person has called off.
	personCanceled map[pipeline.DeliveryID][]time.Time
	tips           []tipSpan
	state          *ledger.State // nil where the ledger was not continuous
	// What follows is kept apart from the ledger's own rules, to hold these against it.
	holds map[string]ledger.Event
	open  map[pipeline.Target]*openAttempt
}

// openAttempt is a delivery that is being published at a target.
type openAttempt struct {
	id      pipeline.DeliveryID
	attempt string
	parts   int
}

// tipSpan is how long a commit was the content tip.
type tipSpan struct {
	commit   gitstore.Hash
	from, to time.Time
}

// readHistory reads every commit that was pushed to the ledger, in order, and folds them one after the other.
func (w *world) readHistory() *history {
	h := &history{
		receipts: map[pipeline.DeliveryID]map[int]time.Time{}, retries: map[pipeline.DeliveryID][]time.Time{}, extra: map[string]bool{},
		refreshed: map[string]time.Time{}, personCanceled: map[pipeline.DeliveryID][]time.Time{},
		holds: map[string]ledger.Event{}, open: map[pipeline.Target]*openAttempt{},
	}
	seen := map[string]bool{}
	due, by := map[pipeline.DeliveryID]time.Time{}, map[pipeline.DeliveryID]time.Time{}
	for _, m := range w.moves {
		switch {
		case m.Ref == contentRef:
			h.contentMoved(m)
		case m.Ref == ledgerRef && m.Remote != "":
			h.read(w, m, seen, due, by)
		case m.Ref == ledgerRef:
			h.state = nil
			clear(h.open)
			clear(h.holds)
		}
	}
	return h
}

func (h *history) contentMoved(m move) {
	if n := len(h.tips); n > 0 {
		h.tips[n-1].to = m.At
	}
	h.tips = append(h.tips, tipSpan{commit: m.New, from: m.At})
}

// read takes in one commit.
func (h *history) read(w *world, m move, seen map[string]bool, due, by map[pipeline.DeliveryID]time.Time) {
	h.commits++
	snap := w.git.At(m.New)
	entries, err := snap.Entries("events/")
	must(err)
	for _, e := range entries {
		if seen[e.Path] {
			continue
		}
		seen[e.Path] = true
		data, err := snap.Read(e.Blob)
		must(err)
		events, err := ledger.Decode(data)
		if err != nil {
			w.breakf("%s cannot be read: %v", e.Path, err)
			continue
		}
		for _, ev := range events {
			h.event(w, ev, m.At, due, by)
		}
		w.logf("ledger %.8s at %s by %s: %s", m.New, clock(m.At.Sub(w.start)), m.Remote, subject(snap.Raw()))
		for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
			w.logf("    %s", line)
		}
	}
	h.fold(w, snap)
}

func subject(raw []byte) string {
	_, msg, _ := strings.Cut(string(raw), "\n\n")
	msg, _, _ = strings.Cut(msg, "\n")
	return msg
}

func (h *history) event(w *world, e ledger.Event, at time.Time, due, by map[pipeline.DeliveryID]time.Time) {
	id := e.Delivery()
	switch e.Kind {
	case ledger.Scheduled:
		due[id], by[id] = e.Due, e.By
	case ledger.Claimed:
		h.claims = append(h.claims, &claim{Event: e, landed: at, due: due[id], by: by[id]})
		h.claimed(w, e)
	case ledger.Receipt:
		if h.receipts[id] == nil {
			h.receipts[id] = map[int]time.Time{}
		}
		if _, ok := h.receipts[id][e.Part]; !ok {
			h.receipts[id][e.Part] = at
		}
		if o := h.open[e.Target]; o != nil && o.id == id && len(h.receipts[id]) >= o.parts {
			delete(h.open, e.Target)
		}
	case ledger.Refreshed:
		h.refreshed[e.Run+" "+e.File] = at
	case ledger.Held:
		h.holds[e.Hold] = e
	case ledger.Released:
		delete(h.holds, e.Hold)
	case ledger.Ended:
		if o := h.open[e.Target]; o != nil && o.id == id {
			delete(h.open, e.Target)
		}
		if e.ByWhom != ledger.ByPerson {
			return
		}
		if e.State == string(pipeline.Queued) {
			h.retries[id] = append(h.retries[id], at)
		} else {
			h.personCanceled[id] = append(h.personCanceled[id], at)
		}
	case ledger.Bound, ledger.Prepared, ledger.Renewed, ledger.AdoptedEv, ledger.Refreshing, ledger.TipEv:
	}
}

// claimed holds a claim against the holds that stand, and against what else is open at its target.
func (h *history) claimed(w *world, e ledger.Event) {
	id := e.Delivery()
	if o := h.open[e.Target]; o != nil {
		w.breakf("%s was claimed by %s while %s was open at the same destination", id, e.Run, o.id)
	}
	h.open[e.Target] = &openAttempt{id, e.Attempt, len(e.Parts)}
	for _, x := range h.holds {
		covers := x.Scope == ledger.ScopeAll || x.Scope == ledger.ScopePost(e.Post) || x.Scope == ledger.ScopeTarget(e.Target) || x.Scope == ledger.ScopeLogin(e.Login)
		if covers && (x.Login == "" || x.Login == e.Login) {
			w.breakf("%s was claimed by %s though %s was held", id, e.Run, x.Scope)
		}
	}
}

// fold goes on from the commit before, and compares where a compaction lies between.
func (h *history) fold(w *world, snap gitstore.Snapshot) {
	files := journal.FilesOf(snap)
	if h.state == nil {
		s, err := ledger.Load(files)
		if err != nil {
			w.breakf("the ledger at %.8s cannot be loaded: %v", snap.Commit(), err)
		}
		h.state = s
	} else if next, err := ledger.Extend(h.state, files, h.state.Number+1); err != nil {
		w.breakf("the ledger at %.8s does not follow on the one before: %v", snap.Commit(), err)
		h.state = nil
	} else {
		h.state = next
		if es, _ := snap.Entries("events/"); len(es) == 1 {
			if s, err := ledger.Load(files); err != nil {
				w.breakf("the compacted ledger at %.8s cannot be loaded: %v", snap.Commit(), err)
			} else {
				w.checkSame(next, s, "the state before compaction", "the compacted state")
			}
		}
	}
	if h.state != nil {
		for _, x := range h.state.Extra {
			h.extra[x.Receipt.ID] = true
		}
	}
}

// claimOf finds the newest claim of a process for a delivery that had landed by then.
func (h *history) claimOf(run string, id pipeline.DeliveryID, by time.Time) *claim {
	var found *claim
	for _, c := range h.claims {
		if c.Run == run && c.Delivery() == id && !c.landed.After(by) {
			found = c
		}
	}
	return found
}

// wasTip tells whether a commit was the content tip at an instant, or until that very instant.
func (h *history) wasTip(c gitstore.Hash, at time.Time) bool {
	for _, t := range h.tips {
		if t.commit == c && !t.from.After(at) && (t.to.IsZero() || !t.to.Before(at)) {
			return true
		}
	}
	return false
}

// firstSeen is when the content branch first had this post with this time.
func (h *history) firstSeen(w *world, post string, due time.Time) (time.Time, bool) {
	for _, t := range h.tips {
		if m := w.past[t.commit]; m != nil && m.posts[post] != nil && !m.posts[post].Gone && m.posts[post].Due.Equal(due) {
			return t.from, true
		}
	}
	return time.Time{}, false
}

func (h *history) receiptBefore(id pipeline.DeliveryID, part int, at time.Time) bool {
	t, ok := h.receipts[id][part]
	return ok && !t.After(at)
}

// trace lists all that left a process or moved a ref, with its time: it is the same for two lives of one plan if they
// went the same way.
func (w *world) trace() []string {
	var out []string
	for _, m := range w.moves {
		out = append(out, fmt.Sprintf("%s %s moves %s", clockNano(m.At.Sub(w.start)), m.Remote, m.Ref))
	}
	for _, s := range w.sent {
		out = append(out, fmt.Sprintf("%s %s sends part %d of %s to %s, there at %s, answered at %s", clockNano(s.Entered.Sub(w.start)), s.Proc, s.Part, s.Post,
			s.Dest, s.Arrived.Format(time.RFC3339Nano), s.Left.Format(time.RFC3339Nano)))
	}
	for _, p := range w.net.EveryPost("") {
		out = append(out, fmt.Sprintf("%s %s shows %q, deleted %t", clockNano(p.At.Sub(w.start)), p.Handle, p.Text, p.Deleted))
	}
	slices.Sort(out)
	return out
}

func clockNano(d time.Duration) string { return fmt.Sprintf("%015d", d) }
