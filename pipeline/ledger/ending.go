package ledger

import (
	"slices"

	"github.com/broadside-pub/broadside/pipeline"
)

// ending is one way in which an attempt, or a delivery without one, comes to a state.
type ending struct {
	from []pipeline.State // besides an open attempt to edit or retract, where open is true
	open bool             // legal for an open attempt
	// guard refuses what the states alone do not; open is nil where no attempt is open.
	guard func(s *State, d *Delivery, open *Attempt, e *Event) (Code, string)
}

// endings is the table of DESIGN's diagram, read from `ended` events.
var endings = map[Move]ending{
	MoveQueue:        {[]pipeline.State{pipeline.Scheduled, pipeline.Publishing, pipeline.Queued, pipeline.Uncertain}, true, guardQueue},
	MoveFail:         {[]pipeline.State{pipeline.Scheduled, pipeline.Publishing, pipeline.Queued, pipeline.Uncertain}, true, guardFail},
	MovePartial:      {[]pipeline.State{pipeline.Publishing, pipeline.Queued, pipeline.Uncertain}, false, guardPartial},
	MoveUncertain:    {[]pipeline.State{pipeline.Publishing, pipeline.Queued}, true, guardUncertain},
	MoveStaleLease:   {[]pipeline.State{pipeline.Publishing}, true, guardStale},
	MoveExpire:       {[]pipeline.State{pipeline.Scheduled, pipeline.Queued}, false, guardExpire},
	MoveCancel:       {[]pipeline.State{pipeline.Scheduled, pipeline.Queued, pipeline.Failed}, false, guardCancel},
	MovePersonCancel: {[]pipeline.State{pipeline.Scheduled, pipeline.Queued, pipeline.Failed, pipeline.Uncertain}, false, nil},
	MoveRetry:        {[]pipeline.State{pipeline.Failed, pipeline.Uncertain}, false, guardRetry},
	MoveAbsent:       {[]pipeline.State{pipeline.Uncertain}, false, guardAbsent},
	MoveRepeat:       {[]pipeline.State{pipeline.Uncertain}, false, guardRepeat},
	MoveEdited:       {nil, true, guardPurpose(PurposeEdit)},
	MoveRetracted:    {nil, true, guardPurpose(PurposeRetract)},
}

// edited is what an `ended` event says of an attempt to edit; the delivery itself stays published.
const edited pipeline.State = "edited"

// endMove reads from an `ended` event which move it is; ok is false where its fields contradict each other.
func endMove(e *Event) (m Move, ok bool) {
	by := func(who ...string) bool { return slices.Contains(who, e.ByWhom) }
	switch pipeline.State(e.State) {
	case pipeline.Queued:
		switch e.ByWhom {
		case ByPerson:
			return MoveRetry, true
		case ByFinder:
			return MoveAbsent, true
		case ByKey:
			return MoveRepeat, true
		}
		return MoveQueue, by(ByResponse, ByRun)
	case pipeline.Failed:
		if e.Reason == pipeline.ReasonExpired {
			return MoveExpire, by(ByRun)
		}
		if e.Reason == pipeline.ReasonPartial {
			return MovePartial, by(ByResponse, ByRun)
		}
		return MoveFail, by(ByResponse, ByRun)
	case pipeline.Uncertain:
		if e.Reason == pipeline.ReasonLeaseLost {
			return MoveStaleLease, by(ByRun)
		}
		return MoveUncertain, by(ByResponse, ByRun)
	case pipeline.Canceled:
		if e.ByWhom == ByPerson {
			return MovePersonCancel, true
		}
		return MoveCancel, by(ByRun)
	case edited:
		return MoveEdited, by(ByResponse, ByRun)
	case pipeline.Retracted:
		return MoveRetracted, by(ByResponse, ByRun)
	case pipeline.Scheduled, pipeline.Publishing, pipeline.Published, pipeline.Adopted:
	}
	return Move(e.Kind), false
}

func (s *State) checkEnded(e *Event) *IllegalError {
	m, ok := endMove(e)
	if !ok {
		return s.refuse(e, m, CodeMalformed, "state "+e.State+" cannot be told by "+e.ByWhom)
	}
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		return s.refuse(e, m, CodeUnknown, "the ledger knows no such delivery")
	}
	end, open := endings[m], d.Open()
	switch {
	case open != nil && open.Purpose != PurposePublish && !end.open:
		return s.refuse(e, m, CodeBusy, "an attempt to "+open.Purpose+" is open")
	case (open == nil || open.Purpose == PurposePublish) && !slices.Contains(end.from, d.State):
		return s.refuse(e, m, CodeState, "not from this state")
	}
	want := d.Gen
	if m == MoveRetry {
		want++
	}
	if e.Gen != want {
		return s.refuse(e, m, CodeMalformed, "the generation is not the present one")
	}
	if open != nil {
		if e.Attempt != open.ID {
			return s.refuse(e, m, CodeUnknown, "another attempt is open: "+open.ID)
		}
		if e.Run != open.Run && m != MoveStaleLease {
			return s.refuse(e, m, CodeForeign, "the open attempt belongs to run "+open.Run)
		}
	} else if last := d.Last(); e.Attempt != "" && (last == nil || last.ID != e.Attempt) {
		return s.refuse(e, m, CodeUnknown, "attempt "+e.Attempt+" is not the last one")
	}
	if end.guard != nil {
		if code, why := end.guard(s, d, open, e); code != "" {
			return s.refuse(e, m, code, why)
		}
	}
	return nil
}

// lateWord lets the run whose lease was lost still say what came of its own attempt, if nobody has decided since.
func lateWord(d *Delivery, open *Attempt, e *Event) (Code, string) {
	if open != nil || d.State != pipeline.Uncertain {
		return "", ""
	}
	last := d.Last()
	if last == nil || d.Reason != pipeline.ReasonLeaseLost || e.Attempt != last.ID || e.Run != last.Run {
		return CodeState, "only the run whose lease was lost, a finder, a key or a person can resolve it"
	}
	return "", ""
}

func guardQueue(_ *State, d *Delivery, open *Attempt, e *Event) (Code, string) {
	return lateWord(d, open, e)
}

func guardFail(_ *State, d *Delivery, open *Attempt, e *Event) (Code, string) {
	switch {
	case open != nil && open.Purpose != PurposePublish:
		return "", ""
	case d.Doubt:
		return CodeDoubt, "an earlier attempt with these bytes may be out: it is uncertain, not failed"
	case len(d.Receipts) > 0:
		return CodePartial, "some part is out: the reason must be partial"
	}
	return lateWord(d, open, e)
}

func guardPartial(_ *State, d *Delivery, open *Attempt, e *Event) (Code, string) {
	switch {
	case d.Doubt:
		return CodeDoubt, "an earlier attempt with these bytes may be out: it is uncertain, not failed"
	case len(d.Receipts) == 0:
		return CodePartial, "no part is out"
	}
	return lateWord(d, open, e)
}

func guardUncertain(_ *State, d *Delivery, open *Attempt, _ *Event) (Code, string) {
	if open == nil && !d.Doubt {
		return CodeState, "nothing of it can be out"
	}
	return "", ""
}

func guardStale(_ *State, _ *Delivery, open *Attempt, e *Event) (Code, string) {
	if e.At.Before(open.LeaseUntil) {
		return CodeNotYet, "the lease lasts until " + open.LeaseUntil.Format(instantForm)
	}
	return "", ""
}

func guardExpire(s *State, d *Delivery, open *Attempt, e *Event) (Code, string) {
	if !e.At.After(d.By) {
		return CodeNotYet, "the deadline is " + d.By.Format(instantForm)
	}
	return guardCancel(s, d, open, e)
}

func guardCancel(_ *State, d *Delivery, _ *Attempt, _ *Event) (Code, string) {
	switch {
	case len(d.Receipts) > 0:
		return CodePartial, "some part is out: a person must decide"
	case d.Doubt:
		return CodeDoubt, "an earlier attempt may be out: it is uncertain"
	}
	return "", ""
}

func guardRetry(s *State, d *Delivery, _ *Attempt, e *Event) (Code, string) {
	if len(d.Receipts) == 0 && e.At.After(d.By) {
		return CodeExpired, "publish_by has passed: move it ahead in the post's file first"
	}
	if x := s.copyOut(d.ID); x != nil {
		return CodeCopyOut, "a copy is out (" + x.Receipt.ID + "): say first that it is known, or resolve as published"
	}
	return "", ""
}

func guardAbsent(_ *State, d *Delivery, _ *Attempt, _ *Event) (Code, string) {
	if d.Absent > 0 {
		return CodeAbsent, "a finder has said so before, and it was sent again: a person must decide"
	}
	return "", ""
}

func guardRepeat(_ *State, d *Delivery, _ *Attempt, _ *Event) (Code, string) {
	a := d.lastPublish()
	if a == nil || !a.hasBytes() || slices.ContainsFunc(a.Parts, func(p ClaimPart) bool { return p.Key == "" }) {
		return CodeBytes, "its last attempt has no keys to repeat with"
	}
	return "", ""
}

func guardPurpose(purpose string) func(*State, *Delivery, *Attempt, *Event) (Code, string) {
	return func(_ *State, _ *Delivery, open *Attempt, _ *Event) (Code, string) {
		if open == nil || open.Purpose != purpose {
			return CodeState, "no attempt to " + purpose + " is open"
		}
		return "", ""
	}
}

func (s *State) applyEnded(e *Event) {
	m, _ := endMove(e)
	d := s.edit(e.Delivery())
	state := pipeline.State(e.State)
	if a := d.Last(); a != nil && d.Open() != nil {
		s.close(d, a, e.At)
		a.State, a.Reason, a.Detail = state, e.Reason, e.Detail
		if a.Purpose != PurposePublish {
			d.NotBefore = e.NotBefore
			if m == MoveRetracted {
				d.move(pipeline.Retracted, e)
			}
			return
		}
	} else if a := d.lastPublish(); a != nil && d.State == pipeline.Uncertain && m != MoveRepeat && m != MovePersonCancel {
		// What was unknown of the last attempt is now said.
		a.State, a.Reason, a.Detail = state, e.Reason, e.Detail
	}
	d.move(state, e)
	d.NotBefore = e.NotBefore
	if m == MoveRetry {
		d.Gen, d.Absent, d.Doubt = e.Gen, 0, false
	}
	if m == MoveAbsent {
		d.Absent++
		d.Doubt = false
	}
	if m == MoveRepeat {
		d.Doubt = true
	}
	if m == MoveCancel || m == MovePersonCancel {
		d.Prepared = nil
	}
}

// move sets the state and why; only apply functions call it.
func (d *Delivery) move(to pipeline.State, e *Event) {
	d.State, d.Reason, d.Detail, d.Changed = to, e.Reason, e.Detail, e.At
}
