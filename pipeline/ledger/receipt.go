package ledger

import (
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// placement says what a receipt is to its delivery.
type placement int

const (
	extraCopy  placement = iota // a copy that no attempt accounts for: reported until a person knows of it
	partIsOut                   // the proof of its part
	sameAgain                   // the id is recorded for this part: nothing new but perhaps a URL
	knownExtra                  // a person tells that an extra copy is known
)

// place is the one rule for receipts. A receipt proves its part if the part has none yet and
//   - it comes from the open attempt, or
//   - no attempt is open, it comes from an attempt of this very delivery, and the delivery is on its way, failed or
//     uncertain: then it tells what really came of that attempt (so nothing is sent twice), or
//   - a person says so, and no attempt is open.
//
// What is out of one thread has one source. All other receipts are extra copies.
func (s *State) place(e *Event) placement {
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		return extraCopy
	}
	if r, ok := d.Receipts[e.Part]; ok {
		switch {
		case r.ID == e.ID:
			return sameAgain
		case e.ByWhom == ByPerson && s.extra(d.ID, e.ID) != nil:
			return knownExtra
		}
		return extraCopy
	}
	open := d.Open()
	switch e.ByWhom {
	case ByAdopt:
		if d.State == pipeline.Adopted {
			return partIsOut
		}
		return extraCopy
	case ByPerson:
		if open == nil && d.State != pipeline.Adopted && d.State != pipeline.Published && d.State != pipeline.Retracted {
			return partIsOut
		}
		return knownExtra
	}
	a := d.attempt(e.Attempt)
	switch {
	case a == nil || a.Purpose != PurposePublish:
		return extraCopy
	case open != nil:
		if open.ID != a.ID {
			return extraCopy
		}
	case !slices.Contains([]pipeline.State{
		pipeline.Scheduled, pipeline.Queued, pipeline.Failed, pipeline.Uncertain,
	}, d.State):
		return extraCopy
	}
	if src, known := d.outSource(); known && src != a.Source {
		return extraCopy
	}
	return partIsOut
}

// extra finds a recorded extra copy by its id.
func (s *State) extra(id pipeline.DeliveryID, network string) *ExtraCopy {
	for i := range s.Extra {
		if s.Extra[i].Delivery == id && s.Extra[i].Receipt.ID == network && network != "" {
			return &s.Extra[i]
		}
	}
	return nil
}

func (s *State) checkReceipt(e *Event) *IllegalError {
	no := func(c Code, why string) *IllegalError { return s.refuse(e, MoveReceipt, c, why) }
	d := s.Deliveries[e.Delivery()]
	switch e.ByWhom {
	case ByResponse:
		if e.Attempt == "" {
			return no(CodeMalformed, "an answer belongs to an attempt")
		}
	case ByFinder:
		if d == nil || d.attempt(e.Attempt) == nil {
			return no(CodeUnknown, "a finder looks for an attempt of the delivery; there is no "+e.Attempt)
		}
	case ByPerson, ByAdopt:
		if d == nil {
			return no(CodeUnknown, "the ledger knows no such delivery")
		}
	default:
		return no(CodeMalformed, "a receipt cannot be told by "+e.ByWhom)
	}
	if e.ID == "" && e.ByWhom != ByPerson {
		return no(CodeMalformed, "a receipt has an id")
	}
	if d == nil {
		return nil
	}
	if a := d.attempt(e.Attempt); a != nil && a.Purpose == PurposePublish && e.Part >= len(a.Parts) {
		return no(CodeMalformed, "its attempt has no such part")
	} else if a == nil && e.ByWhom != ByResponse && e.Part >= max(d.Parts(), 1) {
		return no(CodeMalformed, "it has no such part")
	}
	if e.ByWhom == ByFinder || e.ByWhom == ByPerson {
		if id, part, taken := s.Taken(d.ID.Target, e.ID); taken && (id != d.ID || part != e.Part) {
			return no(CodeTaken, "id "+e.ID+" belongs to another receipt, of "+id.String())
		}
	}
	if e.ByWhom == ByPerson {
		switch s.place(e) {
		case extraCopy:
			return no(CodeState, "another receipt is recorded for this part")
		case knownExtra:
			if s.extra(d.ID, e.ID) == nil {
				return no(CodeState, "the outcome is not a person's to say now, and no extra copy has this id")
			}
		case partIsOut, sameAgain:
		}
	}
	if e.ByWhom == ByAdopt && s.place(e) == extraCopy {
		return no(CodeState, "it is not adopted")
	}
	return nil
}

func (s *State) applyReceipt(e *Event) {
	id := e.Delivery()
	r := PartReceipt{
		Part: e.Part, ID: e.ID, URL: e.URL, Ref: e.Ref, SentAt: e.SentAt, At: e.At, Attempt: e.Attempt, ByWhom: e.ByWhom,
	}
	switch s.place(e) {
	case extraCopy:
		if s.extra(id, e.ID) == nil {
			s.Extra = append(slices.Clone(s.Extra), ExtraCopy{Delivery: id, Dest: e.Dest, Receipt: r})
		}
	case knownExtra:
		s.Extra = slices.Clone(s.Extra)
		s.extra(id, e.ID).Known = true
	case sameAgain:
		d := s.edit(id)
		old := d.Receipts[e.Part]
		if r.URL != "" {
			old.URL = r.URL
		}
		if r.Ref != "" {
			old.Ref = r.Ref
		}
		d.Receipts[e.Part] = old
	case partIsOut:
		s.Extra = slices.DeleteFunc(slices.Clone(s.Extra), func(x ExtraCopy) bool {
			return x.Delivery == id && x.Receipt.ID == e.ID && e.ID != ""
		})
		s.record(s.edit(id), r, e)
	}
	if x := s.index.Load(); x != nil {
		x.addID(id, r)
	}
}

// record takes a receipt as the proof of its part and moves the delivery on where that completes it.
func (s *State) record(d *Delivery, r PartReceipt, e *Event) {
	if d.Receipts == nil {
		d.Receipts = map[int]PartReceipt{}
	}
	d.Receipts[r.Part] = r
	d.Absent = 0
	if d.State == pipeline.Adopted {
		return
	}
	a := d.attempt(r.Attempt)
	if a == nil {
		a = d.lastPublish()
	}
	parts := 1
	if a != nil {
		parts = len(a.Parts)
	}
	for i := range parts {
		if _, ok := d.Receipts[i]; !ok {
			s.halfOut(d, e)
			return
		}
	}
	if open := d.Open(); open != nil {
		s.close(d, open, e.At)
	}
	if a != nil {
		a.State, a.Reason, a.Detail = pipeline.Published, "", ""
	}
	d.move(pipeline.Published, &Event{At: e.At})
	d.Doubt, d.NotBefore, d.Prepared = false, time.Time{}, nil
	for i := range d.Attempts {
		d.Attempts[i].dropBytes()
	}
}

// halfOut moves a delivery of which some part turned out to be out while it was not on its way.
func (s *State) halfOut(d *Delivery, e *Event) {
	switch d.State {
	case pipeline.Scheduled:
		d.move(pipeline.Queued, &Event{At: e.At})
	case pipeline.Failed, pipeline.Canceled:
		d.move(pipeline.Failed, &Event{At: e.At, Reason: pipeline.ReasonPartial})
	case pipeline.Publishing, pipeline.Queued, pipeline.Uncertain, pipeline.Published, pipeline.Adopted, pipeline.Retracted:
	}
}

func (s *State) checkAdopted(e *Event) *IllegalError {
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		return nil
	}
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued, pipeline.Failed, pipeline.Canceled:
		if d.MaybeOut() {
			return s.refuse(e, MoveAdopt, CodeDoubt, "it may be out: resolve it first")
		}
		return nil
	case pipeline.Publishing, pipeline.Published, pipeline.Uncertain, pipeline.Adopted, pipeline.Retracted:
	}
	return s.refuse(e, MoveAdopt, CodeState, "only what was never sent can be adopted")
}

func (s *State) applyAdopted(e *Event) {
	id := e.Delivery()
	if s.Deliveries[id] == nil {
		s.Deliveries[id] = &Delivery{ID: id, FirstSeen: e.At, owner: s.owner.Load()}
	}
	d := s.edit(id)
	d.move(pipeline.Adopted, e)
	d.Prepared, d.NotBefore = nil, e.NotBefore
	for i := range d.Attempts {
		d.Attempts[i].dropBytes()
	}
	if x := s.index.Load(); x != nil {
		x.addSource(d, d.Source)
	}
}
