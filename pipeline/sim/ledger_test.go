package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

func (w *world) holdOf(s step) ledger.HoldInput {
	in := ledger.HoldInput{Hold: fmt.Sprintf("hold-%d", w.seq()), Scope: ledger.ScopeAll, Reason: pipeline.ReasonByPerson}
	switch s.Kind {
	case "post":
		in.Scope = ledger.ScopePost(s.Post)
	case "destination":
		in.Scope = ledger.ScopeTarget(w.model.target[s.place()])
	}
	return in
}

// releaseAll lifts every hold but those that a refused login or a restored ledger has left: these need more than a word.
func (w *world) releaseAll(j *journal.Journal) {
	w.say(j, func(tx *journal.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(tx.State.Holds)) {
			if h := tx.State.Holds[id]; h.Login != "" || h.Reason == string(journal.ReasonRestored) {
				continue
			}
			if err := tx.Add(tx.State.Release(tx.Stamp, id, pipeline.ReasonByPerson, "")); err != nil {
				return err
			}
		}
		return nil
	})
}

// shown lists what an account shows of a post, by part from 0, that no receipt of the ledger accounts for.
func (w *world) shown(s *ledger.State, id pipeline.DeliveryID) map[int]server.Post {
	out := map[int]server.Post{}
	_, _, account, _ := id.Target.Split()
	handle := ""
	for _, l := range w.net.Logins() {
		if l.ID == account {
			handle = l.Handle
		}
	}
	if handle == "" {
		return out
	}
	made := w.madeBy()
	for _, p := range w.net.Posts(handle) {
		if _, _, taken := s.Taken(id.Target, p.ID); taken || p.Label != id.Post {
			continue
		}
		out[made[p.ID]] = p
	}
	return out
}

// madeBy says of each post which part of its thread it is, from 0.
func (w *world) madeBy() map[string]int {
	out := map[string]int{}
	for _, r := range w.net.Requests() {
		if r.Made != "" {
			out[r.Made] = max(r.Part-1, 0)
		}
	}
	return out
}

// resolveAll is an honest person: whatever is uncertain or half out is looked at on the network, and what is seen is said.
func (w *world) resolveAll(j *journal.Journal) {
	s := j.State()
	for _, id := range ids(s) {
		d := s.Deliveries[id]
		if d.State != pipeline.Uncertain && d.Reason != pipeline.ReasonPartial {
			continue
		}
		w.resolve(j, id)
	}
}

func (w *world) resolve(j *journal.Journal, id pipeline.DeliveryID) {
	d := j.State().Deliveries[id]
	there := w.shown(j.State(), id)
	var found []ledger.Found
	all := true
	for _, part := range d.Missing() {
		p, ok := there[part]
		all = all && ok
		found = append(found, ledger.Found{Network: p.ID, URL: p.URL})
	}
	w.say(j, func(tx *journal.Tx) error {
		switch {
		case all:
			return tx.AddAll(tx.State.ResolvePublished(tx.Stamp, id, found...))
		case len(there) == 0 && d.State == pipeline.Uncertain:
			return tx.Add(tx.State.Retry(tx.Stamp, id, ""))
		}
		return tx.Add(tx.State.CancelByPerson(tx.Stamp, id, ""))
	})
}

func ids(s *ledger.State) []pipeline.DeliveryID {
	return slices.SortedFunc(maps.Keys(s.Deliveries), func(a, b pipeline.DeliveryID) int { return strings.Compare(a.String(), b.String()) })
}

// reconcile is a person after a restore: everything that the networks show is held against the ledger, before the hold
// is lifted.
func (w *world) reconcile(j *journal.Journal) {
	s := j.State()
	for _, id := range ids(s) {
		d := s.Deliveries[id]
		there := w.shown(s, id)
		if d.State == pipeline.Publishing || len(there) == 0 && d.State != pipeline.Uncertain {
			continue
		}
		for _, x := range s.Extra {
			if x.Delivery == id && !x.Known {
				w.say(j, func(tx *journal.Tx) error { return tx.Add(tx.State.Acknowledge(tx.Stamp, id, x.Receipt.ID)) })
			}
		}
		if now := j.State().Deliveries[id]; now.State != pipeline.Published {
			w.resolve(j, id)
		}
	}
	w.say(j, func(tx *journal.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(tx.State.Holds)) {
			if tx.State.Holds[id].Reason != string(journal.ReasonRestored) {
				continue
			}
			if err := tx.Add(tx.State.Release(tx.Stamp, id, pipeline.ReasonByPerson, "")); err != nil {
				return err
			}
		}
		return nil
	})
}

// attackStep is somebody with a mere write token, and the people who mend what was done.
func (w *world) attackStep(s step) {
	switch s.Do {
	case "backup":
		if _, err := w.person(); err == nil {
			w.git.Force(backupRef, w.git.Tip(ledgerRef))
		}
	case "mendledger":
		w.mendLedger()
	case "attack":
		w.attack(s)
	}
}

func (w *world) attack(s step) {
	tip := w.git.Tip(ledgerRef)
	if tip == "" || w.git.Tip(markRef) == "" {
		return
	}
	w.attacked = true
	back := tip
	for range s.N {
		if ps := w.git.At(back).Parents(); len(ps) > 0 {
			back = ps[0]
		}
	}
	forge := func(ref string) gitstore.Hash {
		return w.git.CommitAs(ref, gitstore.Commit{
			Message: "an event that nobody signed", Name: "broadside", Email: "broadside@localhost", When: time.Now(),
			Changes: []gitstore.Change{{Path: "events/2000/01/01/00009999-forged00.jsonl", Data: []byte("{}\n")}},
		})
	}
	switch s.Kind {
	case "rewind":
		w.git.Force(ledgerRef, back)
	case "rewind-mark":
		w.git.Force(markRef, back)
	case "delete":
		w.git.Delete(ledgerRef)
	case "delete-mark":
		w.git.Delete(markRef)
	case "delete-both":
		w.git.Delete(ledgerRef)
		w.git.Delete(markRef)
	case "forge":
		w.git.Force(markRef, forge(ledgerRef))
	case "forge-ledger":
		forge(ledgerRef)
	case "forge-mark":
		forge(markRef)
	case "revert":
		// A commit on top, unsigned, that takes back what the last ones wrote.
		was, err := w.git.At(back).Entries("")
		must(err)
		is, err := w.git.At(tip).Entries("")
		must(err)
		keep := map[string]bool{}
		for _, e := range was {
			keep[e.Path] = true
		}
		var ch []gitstore.Change
		for _, e := range is {
			if !keep[e.Path] {
				ch = append(ch, gitstore.Change{Path: e.Path, Remove: true})
			}
		}
		if len(ch) > 0 {
			w.git.Force(markRef, w.git.CommitAs(ledgerRef, contentCommit(ch, "Revert")))
		}
	case "replay":
		// An old signed commit, with the present one as the mark's.
		w.git.Force(ledgerRef, back)
		w.git.Force(markRef, tip)
	}
}

// mendLedger is a person who runs `broadside ledger restore` where a run would refuse, and nothing else.
func (w *world) mendLedger() {
	if _, err := w.person(); err == nil {
		return
	}
	opt := w.journalOptions("restorer")
	opt.AnyHome = true
	sources := []journal.Source{{Name: "rescue", Remote: opt.Remote, Refs: []string{backupRef}}}
	r, err := journal.Restore(w.t.Context(), opt, sources)
	if errors.Is(err, journal.ErrDiverged) {
		sources[0].Chosen = true
		opt = w.journalOptions("restorer")
		opt.AnyHome = true
		sources[0].Remote = opt.Remote
		r, err = journal.Restore(w.t.Context(), opt, sources)
	}
	if err != nil || r.Whole {
		w.logf("restore: whole=%t %v", r != nil && r.Whole, err)
		return
	}
	commit, err := r.Do(w.t.Context())
	w.logf("restored to %.8s from %s, certain=%t: %v", commit, r.Best.Name, r.Certain, err)
	if err != nil {
		return
	}
	w.happened("ledger restored")
	w.restored = true
}

// armGit readies a fault of the remote. One without an operation strikes everything for as long as it lasts.
func (w *world) armGit(s step) {
	if s.Op == "" {
		s.Op = "any"
		s.Times = 1 << 30
	}
	if s.Op == "blobs" {
		s.Times = 1 << 30
	}
	a := &armed{s, max(s.Times, 1)}
	w.mu.Lock()
	w.gits = append(w.gits, a)
	w.mu.Unlock()
	if s.Times == 1<<30 {
		time.AfterFunc(s.Dur, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			a.left = 0
		})
	}
}

// gitFault decides on every operation of a process on the remote.
func (w *world) gitFault(op memgit.Op) memgit.Fault {
	if !strings.HasPrefix(op.Remote, "run") {
		return memgit.Fault{}
	}
	w.mu.Lock()
	var hit *armed
	// How often blobs are asked for depends on how goroutines run: what fails of it fails for a time, not so many times.
	blobs := op.Kind == memgit.OpFetch && len(op.Refs) == 0
	for _, f := range w.gits {
		lasts := f.Times == 1<<30
		if f.left == 0 || f.Op != "any" && f.Op != string(op.Kind) && (!blobs || f.Op != "blobs") || blobs && !lasts {
			continue
		}
		if f.Skip > 0 && !lasts {
			f.Skip--
			continue
		}
		if !lasts {
			f.left--
		}
		hit = f
		break
	}
	w.mu.Unlock()
	if hit == nil {
		return memgit.Fault{}
	}
	w.happened("git: " + hit.Kind)
	w.logf("%s: git %s %v: %s", op.Remote, op.Kind, op.Refs, hit.Kind)
	switch hit.Kind {
	case "before":
		return memgit.Fault{Kind: memgit.Before}
	case "after":
		return memgit.Fault{Kind: memgit.After}
	case "lost":
		return memgit.Fault{Kind: lostPush}
	case "late":
		return memgit.Fault{Kind: memgit.Late, Late: hit.Dur}
	case "reject":
		return memgit.Fault{Kind: memgit.Reject}
	case "auth":
		return memgit.Fault{Kind: memgit.Auth}
	case "slow":
		return memgit.Fault{Delay: hit.Dur}
	case "stale":
		return memgit.Fault{Stale: hit.N}
	case "race":
		return memgit.Fault{Kind: memgit.Race, Race: func(*memgit.Server) { w.race() }}
	case "race-edit":
		return memgit.Fault{Kind: memgit.Race, Race: func(*memgit.Server) {
			w.edit(step{Do: "edit", Post: hit.Post})
		}}
	}
	panic("no such fault: " + hit.Kind)
}

// race is another run that has just written: a commit that says nothing new.
func (w *world) race() {
	opt := w.journalOptions("racer")
	opt.Remote = w.git.Remote(memgit.RemoteOptions{Name: "racer"})
	j, err := journal.Open(w.t.Context(), opt)
	if err != nil {
		return
	}
	_ = j.Append(w.t.Context(), nil, func(tx *journal.Tx) error {
		return tx.Add(tx.State.TipEvent(tx.Stamp, ledger.TipInput{Next: tx.State.NextWake(tx.Now), Finished: false}))
	})
}

// lostPush is the fault of a push that was not applied and whose answer was lost.
var lostPush = memgit.Lost
