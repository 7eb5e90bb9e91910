package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/google/go-cmp/cmp"
)

// walker makes random histories: it tries random moves, most of them nonsense, and keeps those that are legal.
type walker struct {
	t     *testing.T
	r     *rand.Rand
	now   time.Time
	n     int
	state *State
	// pending are the events since the last file, already applied to state.
	base    *State
	pending []Event
	tree    Tree
	legal   int
	refused int
	outcome map[string]int
}

func newWalker(t *testing.T, seed uint64) *walker {
	t.Helper()
	w := &walker{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), now: t0, state: New(), base: New(), tree: newTree(), outcome: map[string]int{},
	}
	w.try(w.state.Bind(w.stamp(), binding(), "ada", WhyInit))
	return w
}

func (w *walker) stamp() Stamp {
	return Stamp{At: w.now, Run: []string{"run-a", "run-b", "run-c"}[w.r.IntN(3)]}
}

func (w *walker) id() pipeline.DeliveryID {
	return pipeline.DeliveryID{
		Post:   []string{"one", "two", "three"}[w.r.IntN(3)],
		Target: []pipeline.Target{blue, mast}[w.r.IntN(2)],
	}
}

func (w *walker) chance(n int) bool { return w.r.IntN(n) == 0 }

func (w *walker) fresh(what string) string { w.n++; return fmt.Sprintf("%s%d", what, w.n) }

func (w *walker) login() string { return []string{"", "login-1", "login-2"}[w.r.IntN(3)] }

// try keeps a legal event; a refusal must leave the state as it was.
func (w *walker) try(e Event, err error) {
	w.t.Helper()
	if err != nil {
		w.refused++
		return
	}
	if err := w.state.Apply(e); err != nil {
		w.t.Fatalf("a transition made %s, which Apply refuses: %v", e.Kind, err)
	}
	w.legal++
	w.pending = append(w.pending, e)
	w.sound()
}

func (w *walker) tryAll(events []Event, err error) {
	if err != nil {
		w.refused++
		return
	}
	for _, e := range events {
		w.try(e, nil)
	}
}

// sound checks what every legal history keeps.
func (w *walker) sound() {
	w.t.Helper()
	byTarget, byLogin := map[pipeline.Target]pipeline.DeliveryID{}, map[string]pipeline.DeliveryID{}
	for id, d := range w.state.Deliveries {
		c := *d
		c.Number = 1 // it is set when a file is written
		if err := c.sound(); err != nil {
			w.t.Fatal(err)
		}
		if a := d.Open(); a != nil {
			if other, ok := byTarget[id.Target]; ok {
				w.t.Fatalf("%s and %s are open at one target", id, other)
			}
			byTarget[id.Target] = id
			if a.Login != "" {
				if other, ok := byLogin[a.Login]; ok {
					w.t.Fatalf("%s and %s are open with one login", id, other)
				}
				byLogin[a.Login] = id
			}
		}
		if d.State == pipeline.Publishing && len(d.Receipts) > 0 && len(d.Missing()) == 0 {
			w.t.Fatalf("%s is publishing with all receipts", id)
		}
		if d.State == pipeline.Canceled && d.Reason != pipeline.ReasonByPerson && d.MaybeOut() {
			w.t.Fatalf("%s was canceled by a run though it may be out", id)
		}
		if d.State == pipeline.Failed && d.Reason == pipeline.ReasonExpired && d.MaybeOut() {
			w.t.Fatalf("%s expired though it may be out", id)
		}
	}
	if !maps.Equal(byTarget, w.state.busyTarget) || !maps.Equal(byLogin, w.state.busyLogin) {
		w.t.Fatalf("open are %v, %v; busy are %v, %v", byTarget, byLogin, w.state.busyTarget, w.state.busyLogin)
	}
}

func (w *walker) step() {
	w.now = w.now.Add(time.Duration(w.r.IntN(600)) * time.Second)
	if w.chance(40) {
		w.now = w.now.Add(24 * time.Hour)
	}
	s, st, id := w.state, w.stamp(), w.id()
	d := s.Deliveries[id]
	if d != nil && d.Open() != nil && !w.chance(4) {
		st.Run = d.Open().Run
	}
	switch w.r.IntN(26) {
	case 0, 1, 2:
		w.try(s.Schedule(st, w.scheduleInput(id)))
	case 3, 4, 5, 6:
		w.try(s.Claim(st, w.claimInput(id, d)))
	case 7:
		w.try(s.Renew(st, id, w.now.Add(10*time.Minute)))
	case 8, 9, 10, 11:
		w.try(s.RecordReceipt(st, w.receiptInput(id, d)))
	case 12:
		w.try(s.Queue(st, id, pipeline.ReasonThrottled, "429\nslow", w.now.Add(time.Duration(w.r.IntN(60))*time.Minute), ByResponse))
	case 13:
		w.try(s.Fail(st, id, []pipeline.Reason{pipeline.ReasonRejected, pipeline.ReasonLate, pipeline.ReasonDuplicate}[w.r.IntN(3)], "", ByRun))
	case 14:
		w.try(s.Partial(st, id, "", ByResponse))
	case 15:
		w.try(s.MarkUncertain(st, id, pipeline.ReasonAmbiguous, "timeout", ByResponse))
	case 16:
		w.try(s.StaleLease(st, id, ""))
	case 17:
		w.try(s.Absent(st, id, ""))
	case 18:
		w.try(s.Repeat(st, id, ""))
	case 19:
		if w.chance(2) {
			w.try(s.Retry(Stamp{w.now, PersonRun("ada")}, id, ""))
		} else {
			w.tryAll(s.ResolvePublished(Stamp{w.now, PersonRun("ada")}, id, Found{w.fresh("seen"), ""}))
		}
	case 20:
		w.try(s.Expire(st, id))
	case 21:
		if w.chance(2) {
			w.try(s.Cancel(st, id, pipeline.ReasonRemoved, ""))
		} else {
			w.try(s.CancelByPerson(Stamp{w.now, PersonRun("ada")}, id, "no"))
		}
	case 22:
		if w.chance(3) {
			w.try(s.Adopt(st, id, "dest", pipeline.ReasonAdopted))
		} else if len(s.Extra) > 0 {
			x := s.Extra[w.r.IntN(len(s.Extra))]
			w.try(s.Acknowledge(Stamp{w.now, PersonRun("ada")}, x.Delivery, x.Receipt.ID))
		}
	case 23:
		w.guards(st, id)
	case 24:
		in := PrepareInput{ID: id, Step: fmt.Sprint("upload ", w.r.IntN(2)), LeaseUntil: w.now.Add(time.Hour)}
		if w.chance(2) {
			in = PrepareInput{ID: id, Step: in.Step, Handle: json.RawMessage(`{"id":"m"}`), Expires: w.now.Add(time.Hour)}
		}
		w.try(s.Prepare(st, in))
	case 25:
		w.try(s.Edited(st, id))
		w.try(w.state.Retracted(st, id))
	}
}

func (w *walker) scheduleInput(id pipeline.DeliveryID) ScheduleInput {
	in := scheduleInput(id)
	in.Due = w.now.Add(time.Duration(w.r.IntN(60)-50) * time.Minute)
	in.By = in.Due.Add(time.Duration(w.r.IntN(48)) * time.Hour)
	if d := w.state.Deliveries[id]; d != nil && !w.chance(3) {
		in.Due, in.By = d.Due, d.By
	}
	in.Source = hexN(fmt.Sprint("source", w.r.IntN(2)), 64)
	in.Login = w.login()
	return in
}

func (w *walker) claimInput(id pipeline.DeliveryID, d *Delivery) ClaimInput {
	in := claimInput(id, 0, w.fresh("attempt"), 1+w.r.IntN(2))
	in.LeaseUntil, in.Login = w.now.Add(10*time.Minute), w.login()
	in.Rendition = hexN(fmt.Sprint("rendition", w.r.IntN(2)), 64)
	in.Parts = claimParts(len(in.Parts), w.fresh("salt"))
	in.Purpose = []string{"", "", "", PurposeEdit, PurposeRetract}[w.r.IntN(5)]
	if d != nil {
		in.Source = d.Source
		if n := d.Parts(); len(d.Receipts) > 0 && n > 0 {
			in.Parts = claimParts(n, w.fresh("salt"))
		}
		if parts, _, ok := d.Reusable(in.Rendition); ok && !w.chance(3) {
			in.Parts = parts
		}
	}
	return in
}

func (w *walker) receiptInput(id pipeline.DeliveryID, d *Delivery) ReceiptInput {
	in := response(id, w.fresh("stray"), w.r.IntN(2), w.fresh("post"))
	in.ByWhom = []string{ByResponse, ByResponse, ByResponse, ByFinder, ByAdopt, ByPerson}[w.r.IntN(6)]
	if d != nil && len(d.Attempts) > 0 {
		in.Attempt = d.Attempts[len(d.Attempts)-1].ID
		if w.chance(4) {
			in.Attempt = d.Attempts[w.r.IntN(len(d.Attempts))].ID
		}
	}
	if w.chance(6) { // the same post again
		in.Network = fmt.Sprintf("post%d", w.r.IntN(w.n+1))
	}
	return in
}

func (w *walker) guards(st Stamp, id pipeline.DeliveryID) {
	s := w.state
	switch w.r.IntN(6) {
	case 0:
		w.try(s.Hold(st, HoldInput{
			Hold: fmt.Sprintf("h%d", w.r.IntN(3)), Scope: []string{ScopePost(id.Post), ScopeTarget(id.Target), ScopeLogin("login-1")}[w.r.IntN(3)],
			Reason: "person", Detail: "wait", Login: w.login(),
		}))
	case 1, 2:
		w.try(s.Release(st, fmt.Sprintf("h%d", w.r.IntN(3)), "person", ""))
	case 3:
		w.try(s.BeginRefresh(st, "login-1", w.now.Add(5*time.Minute)))
	case 4:
		w.try(s.EndRefresh(st, "login-1", "credentials/x.age", hexN("digest", 64)))
	case 5:
		w.try(s.GiveUpRefresh(st, "login-1"))
	}
}

// commit writes what is pending as a file.
func (w *walker) commit() {
	w.t.Helper()
	if len(w.pending) == 0 {
		return
	}
	path, data, next, err := NextFile(w.base, w.pending, w.now, strings.Repeat("0", 8))
	if err != nil {
		w.t.Fatal(err)
	}
	w.tree[path] = data
	w.base, w.state, w.pending = next, next.Fork(), nil
}

// compact folds the ledger and commits that, as a run would.
func (w *walker) compact() {
	w.t.Helper()
	w.commit()
	changes, err := Compact(w.base, w.tree, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	before := len(w.tree)
	apply(w.tree, changes)
	if len(w.tree) > before+2 {
		w.t.Errorf("%d files became %d", before, len(w.tree))
	}
}

func seeds(t *testing.T, full int) uint64 {
	t.Helper()
	if testing.Short() {
		return uint64(full / 5)
	}
	return uint64(full)
}

func TestRandomHistoriesAreLegalAndLoadAsTheyWere(t *testing.T) {
	t.Parallel()
	states, kinds := map[pipeline.State]bool{}, map[string]bool{}
	for seed := range seeds(t, 80) {
		w := newWalker(t, seed)
		for range 400 {
			w.step()
			for _, d := range w.state.Deliveries {
				states[d.State] = true
			}
			if w.chance(6) {
				w.commit()
			}
		}
		w.commit()
		for _, data := range w.tree {
			events, err := Decode(data)
			for i := range events {
				kind := string(events[i].Kind)
				if m, ok := endMove(&events[i]); ok && events[i].Kind == Ended {
					kind = string(m)
				}
				kinds[kind] = true
			}
			_ = err // README and format are no events
		}
		got, err := Load(w.tree)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		wantSame(t, w.base, got)
		r, err := Verify(w.tree)
		if err != nil || !r.OK() {
			t.Fatalf("seed %d: %v %v", seed, err, r.Problems)
		}
		wantSame(t, w.base, r.State)
		if w.legal < 40 || w.refused == 0 {
			t.Errorf("seed %d: %d legal moves, %d refused: not much of a walk", seed, w.legal, w.refused)
		}
		if x, y := w.base.Troubles(w.now), got.Troubles(w.now); !cmp.Equal(x, y) {
			t.Errorf("seed %d: troubles differ: %s", seed, cmp.Diff(x, y))
		}
		if !w.base.NextWake(w.now).Equal(got.NextWake(w.now)) {
			t.Errorf("seed %d: next wake differs", seed)
		}
	}
	if testing.Short() {
		return // too few walks to come everywhere
	}
	for _, s := range pipeline.States() {
		if !states[s] {
			t.Errorf("no walk came to %s", s)
		}
	}
	for m := range endings {
		if !kinds[string(m)] {
			t.Errorf("no walk made the move %s", m)
		}
	}
	for _, k := range Kinds() {
		if k != Ended && !kinds[string(k)] {
			t.Errorf("no walk wrote %s", k)
		}
	}
}

func TestCompactionChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range seeds(t, 60) {
		w := newWalker(t, 1000+seed)
		for range 300 {
			w.step()
			if w.chance(6) {
				w.commit()
			}
			if w.chance(50) {
				w.compact()
				got, err := Load(w.tree)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				wantSame(t, w.base, got)
				ext, err := Extend(w.base, w.tree, w.base.Number+1)
				if err != nil {
					t.Fatal(err)
				}
				wantSame(t, w.base, ext)
			}
		}
		w.compact()
		r, err := Verify(w.tree)
		if err != nil || !r.OK() {
			t.Fatalf("seed %d: %v %v", seed, err, r.Problems)
		}
		wantSame(t, w.base, r.State)
	}
}

// An event that is taken out of its place is refused, and then nothing has changed; or it is legal there too, and the
// state is as sound as before.
func TestApplyOfAnyEventRefusesOrKeepsTheStateSound(t *testing.T) {
	t.Parallel()
	for seed := range seeds(t, 5) {
		w := newWalker(t, 2000+seed)
		var all []Event
		for range 250 {
			w.step()
		}
		all = append(all, w.pending...)
		for range 100 {
			e := all[w.r.IntN(len(all))]
			before := w.state
			w.state = before.Fork()
			keep := before.Fork()
			if err := w.state.Apply(e); err != nil {
				wantSame(t, keep, w.state)
				w.state = before
				continue
			}
			w.sound()
			wantSame(t, keep, before)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		w := newWalker(t, seed)
		for range 150 {
			w.step()
			if w.chance(5) {
				w.commit()
			}
			if w.chance(40) {
				w.compact()
			}
		}
		w.commit()
		got, err := Load(w.tree)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, w.base, got)
	})
}
