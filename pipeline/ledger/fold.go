package ledger

import (
	"maps"
	"slices"

	"github.com/broadside-pub/broadside/pipeline"
)

// owner is the identity of a State for copy-on-write. It has a size, so that each has an address of its own.
type owner struct{ _ byte }

// New returns the State of a ledger without events.
func New() *State {
	s := &State{
		Deliveries:  map[pipeline.DeliveryID]*Delivery{},
		Holds:       map[string]Hold{},
		Credentials: map[string]CredentialState{},
		busyTarget:  map[pipeline.Target]pipeline.DeliveryID{},
		busyLogin:   map[string]pipeline.DeliveryID{},
	}
	s.owner.Store(new(owner))
	return s
}

// Fork returns a copy that can go its own way: Apply on either leaves the other as it is. It copies the maps, not what
// they hold. Forks of one State may be made concurrently, as long as nothing is applied to it.
func (s *State) Fork() *State {
	f := &State{
		Binding:     s.Binding,
		Number:      s.Number,
		Deliveries:  maps.Clone(s.Deliveries),
		Holds:       maps.Clone(s.Holds),
		Credentials: maps.Clone(s.Credentials),
		Tip:         s.Tip,
		Extra:       slices.Clone(s.Extra),
		busyTarget:  maps.Clone(s.busyTarget),
		busyLogin:   maps.Clone(s.busyLogin),
		ahead:       s.ahead,
	}
	f.owner.Store(new(owner))
	s.owner.Store(new(owner)) // what s had for itself is now shared
	return f
}

// edit returns the delivery for a change in place, copied first if another State may hold it.
func (s *State) edit(id pipeline.DeliveryID) *Delivery {
	d := s.Deliveries[id]
	if me := s.owner.Load(); d.owner != me {
		c := *d
		c.owner = me
		c.Attempts = slices.Clone(d.Attempts)
		c.Receipts = maps.Clone(d.Receipts)
		c.Prepared = maps.Clone(d.Prepared)
		d = &c
		s.Deliveries[id] = d
	}
	return d
}

// rule is what a kind of event demands and what it does. Transitions and the fold both go through check, so that they
// cannot disagree.
type rule struct {
	check func(*State, *Event) *IllegalError
	apply func(*State, *Event)
}

var rules = map[Kind]rule{
	Bound:      {(*State).checkBound, (*State).applyBound},
	Scheduled:  {(*State).checkScheduled, (*State).applyScheduled},
	Prepared:   {(*State).checkPrepared, (*State).applyPrepared},
	Claimed:    {(*State).checkClaimed, (*State).applyClaimed},
	Renewed:    {(*State).checkRenewed, (*State).applyRenewed},
	Receipt:    {(*State).checkReceipt, (*State).applyReceipt},
	Ended:      {(*State).checkEnded, (*State).applyEnded},
	AdoptedEv:  {(*State).checkAdopted, (*State).applyAdopted},
	Held:       {(*State).checkHeld, (*State).applyHeld},
	Released:   {(*State).checkReleased, (*State).applyReleased},
	Refreshing: {(*State).checkRefreshing, (*State).applyRefreshing},
	Refreshed:  {(*State).checkRefreshed, (*State).applyRefreshed},
	TipEv:      {(*State).checkTip, (*State).applyTip},
}

// Apply folds one event into s. It refuses, and changes nothing, where the event is malformed (*FieldError,
// *UnknownKindError) or not a legal move from s (*IllegalError).
func (s *State) Apply(e Event) error {
	e = normal(e)
	if err := check(&e); err != nil {
		return err
	}
	if err := s.fold(&e); err != nil {
		return err
	}
	s.ahead++
	return nil
}

// fold is Apply for an event that is known to be well-formed.
func (s *State) fold(e *Event) error {
	r, ok := rules[e.Kind]
	if !ok {
		return &UnknownKindError{Kind: string(e.Kind)}
	}
	if err := s.legal(r, e); err != nil {
		return err
	}
	r.apply(s, e)
	if e.Post != "" {
		if d := s.Deliveries[e.Delivery()]; d != nil {
			d = s.edit(e.Delivery())
			d.Dest, d.Touched, d.Number = e.Dest, e.At, s.Number
		}
	}
	return nil
}

func (s *State) legal(r rule, e *Event) error {
	if s.Binding.Ledger == "" && e.Kind != Bound {
		return &IllegalError{
			Delivery: e.Delivery(), Move: Move(e.Kind), Code: CodeUnbound, Why: "the ledger is not bound to a repository yet",
		}
	}
	if err := r.check(s, e); err != nil {
		return err
	}
	return nil
}

// make completes an event with its stamp and proves it legal; every transition ends here.
func (s *State) make(st Stamp, e Event) (Event, error) {
	e.V, e.At, e.Run = FormatVersion, st.At, st.Run
	e.Detail = bounded(e.Detail)
	e = normal(e)
	if err := check(&e); err != nil {
		return Event{}, err
	}
	if err := s.legal(rules[e.Kind], &e); err != nil {
		return Event{}, err
	}
	return e, nil
}

// refuse builds the error of a delivery's move.
func (s *State) refuse(e *Event, m Move, c Code, why string) *IllegalError {
	err := &IllegalError{Delivery: e.Delivery(), Move: m, Code: c, Why: why}
	if d := s.Deliveries[err.Delivery]; d != nil {
		err.State = d.State
	}
	return err
}

// Batch gathers the events of one commit: each is decided from the state that the ones before it lead to.
type Batch struct {
	State  *State // what the events so far lead to
	Events []Event
}

// Batch begins a batch on a fork of s; s stays as it is.
func (s *State) Batch() *Batch { return &Batch{State: s.Fork()} }

// Take appends the result of a transition of b.State: b.Take(b.State.Claim(...)). On an error nothing changes.
func (b *Batch) Take(e Event, err error) error {
	if err != nil {
		return err
	}
	if err := b.State.Apply(e); err != nil {
		return err
	}
	b.Events = append(b.Events, e)
	return nil
}

// TakeAll is Take for a transition that makes several events: all or none.
func (b *Batch) TakeAll(events []Event, err error) error {
	if err != nil {
		return err
	}
	next := b.State.Fork()
	for _, e := range events {
		if err := next.Apply(e); err != nil {
			return err
		}
	}
	b.State, b.Events = next, append(b.Events, events...)
	return nil
}
