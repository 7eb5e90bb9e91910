package ledger

import (
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// reschedule says what a `scheduled` event makes of a delivery: the state it comes to, or why it is refused.
func (s *State) reschedule(d *Delivery, e *Event) (to pipeline.State, c Code, why string) {
	dueMoved, byMoved := !e.Due.Equal(d.Due), !e.By.Equal(d.By)
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued:
		return d.State, "", ""
	case pipeline.Publishing, pipeline.Uncertain:
		if dueMoved || byMoved {
			return "", CodeTimes, "times may not change until its outcome is known"
		}
		return d.State, "", ""
	case pipeline.Published, pipeline.Retracted, pipeline.Adopted:
		out := d.PublishedAt()
		if out.IsZero() {
			out = d.Changed
		}
		if dueMoved && e.Due.After(out) {
			return "", CodePublished, "its publish_at moves past its publication at " + out.Format(instantForm) +
				": a new post needs a new id"
		}
		return d.State, "", ""
	case pipeline.Canceled:
		switch {
		case d.Reason != pipeline.ReasonByPerson:
		case d.MaybeOut(), !dueMoved, !e.Due.After(d.Changed):
			// What a person has called off comes back only with a new time, and never where it may be out.
			return pipeline.Canceled, "", ""
		}
		if x := s.copyOut(d.ID); x != nil {
			return "", CodeCopyOut, "a copy is out (" + x.Receipt.ID + "): a person must decide"
		}
		return pipeline.Scheduled, "", ""
	case pipeline.Failed:
		if d.reopens(e, dueMoved, byMoved) {
			return pipeline.Queued, "", ""
		}
		return pipeline.Failed, "", ""
	}
	return "", CodeState, "unknown state"
}

// reopens tells whether a change of the file or the credential gives a failed delivery another try. What failed with
// some part out waits for a person.
func (d *Delivery) reopens(e *Event, dueMoved, byMoved bool) bool {
	if len(d.Receipts) > 0 || !e.By.After(e.At) {
		return false
	}
	newLogin := e.Login != "" && d.Login != "" && e.Login != d.Login
	changed := dueMoved || byMoved || newLogin || e.Source != d.Source
	if d.Reason == pipeline.ReasonExpired {
		return true
	}
	if d.Reason == pipeline.ReasonLate {
		return dueMoved
	}
	if d.Reason == pipeline.ReasonDuplicate || d.Reason == pipeline.ReasonUnsupported {
		return changed || e.Blob != d.Blob || e.Config != d.Config
	}
	return changed
}

func (s *State) checkScheduled(e *Event) *IllegalError {
	if e.By.Before(e.Due) {
		return s.refuse(e, MoveSchedule, CodeMalformed, "publish_by lies before publish_at")
	}
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		if x := s.copyOut(e.Delivery()); x != nil {
			return s.refuse(e, MoveSchedule, CodeCopyOut, "a copy is out ("+x.Receipt.ID+") though this delivery is new here")
		}
		return nil
	}
	if _, c, why := s.reschedule(d, e); c != "" {
		return s.refuse(e, MoveSchedule, c, why)
	}
	return nil
}

func (s *State) applyScheduled(e *Event) {
	id := e.Delivery()
	if s.Deliveries[id] == nil {
		s.Deliveries[id] = &Delivery{
			ID: id, State: pipeline.Scheduled, FirstSeen: e.At, Changed: e.At, owner: s.owner.Load(),
		}
	} else {
		d := s.edit(id)
		if to, _, _ := s.reschedule(d, e); to != d.State {
			d.move(to, &Event{At: e.At})
			d.NotBefore = time.Time{}
		}
	}
	d := s.edit(id)
	d.Due, d.By, d.Slot, d.Path, d.Blob, d.Config, d.Source = e.Due, e.By, e.Slot, e.Path, e.Blob, e.Config, e.Source
	if e.Login != "" {
		d.Login = e.Login
	}
}
