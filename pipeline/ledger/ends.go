package ledger

import (
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

func (s *State) end(st Stamp, id pipeline.DeliveryID, to pipeline.State, by string, r pipeline.Reason, detail string) Event {
	e := s.about(Ended, id)
	e.State, e.ByWhom, e.Reason, e.Detail = string(to), by, r, detail
	if d := s.Deliveries[id]; d != nil {
		e.Gen = d.Gen
		if a := d.Open(); a != nil {
			e.Attempt = a.ID
		} else if a := d.Last(); a != nil && d.State == pipeline.Uncertain {
			e.Attempt = a.ID
		}
	}
	return e
}

// Queue ends the open attempt: surely not published, may pass later. by is ByResponse or ByRun. Without an attempt it makes
// a delivery wait that could not be prepared. The run whose lease was lost may still say it of its own attempt. An attempt
// to edit or retract leaves the delivery as it is.
func (s *State) Queue(st Stamp, id pipeline.DeliveryID, reason pipeline.Reason, detail string, notBefore time.Time,
	by string,
) (Event, error) {
	e := s.end(st, id, pipeline.Queued, by, reason, detail)
	e.NotBefore = notBefore
	return s.make(st, e)
}

// Fail ends the open attempt, or a delivery before its first: surely not published, and it will not pass. It is
// refused where some part is out (Partial) or may be (MarkUncertain).
func (s *State) Fail(st Stamp, id pipeline.DeliveryID, reason pipeline.Reason, detail, by string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Failed, by, reason, detail))
}

// Partial ends a delivery of which some part is out and the rest cannot follow.
func (s *State) Partial(st Stamp, id pipeline.DeliveryID, detail, by string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Failed, by, pipeline.ReasonPartial, detail))
}

// MarkUncertain ends the open attempt: sent, outcome unknown. It also takes back a delivery that was queued on the
// strength of its key (Repeat), when the key's window is over.
func (s *State) MarkUncertain(st Stamp, id pipeline.DeliveryID, reason pipeline.Reason, detail, by string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Uncertain, by, reason, detail))
}

// StaleLease ends the attempt of a run that did not come back. The lease must have ended; how much longer a run waits is
// the caller's (Stale).
func (s *State) StaleLease(st Stamp, id pipeline.DeliveryID, detail string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Uncertain, ByRun, pipeline.ReasonLeaseLost, detail))
}

// Expire fails a delivery of which no write was begun, or surely none took effect: its deadline has passed.
func (s *State) Expire(st Stamp, id pipeline.DeliveryID) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Failed, ByRun, pipeline.ReasonExpired, ""))
}

// Cancel ends a delivery whose file is gone or a draft. What is, or may be, out is never canceled by a run.
func (s *State) Cancel(st Stamp, id pipeline.DeliveryID, reason pipeline.Reason, detail string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Canceled, ByRun, reason, detail))
}

// CancelByPerson ends a delivery by a person's word, also an uncertain or half published one. A publishing one cannot
// be canceled: its run will end it.
func (s *State) CancelByPerson(st Stamp, id pipeline.DeliveryID, detail string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Canceled, ByPerson, pipeline.ReasonByPerson, detail))
}

// Absent queues an uncertain delivery again: a finder says that it is surely not there. It works once; the second time
// it is refused (CodeAbsent) until a person speaks or a further part is proved to be out.
func (s *State) Absent(st Stamp, id pipeline.DeliveryID, detail string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Queued, ByFinder, pipeline.ReasonAbsent, detail))
}

// Repeat queues an uncertain delivery again: its key makes repetition harmless. Delivery.Doubt then demands the same
// bytes, and that they end inside the key's window measured from Sent.
func (s *State) Repeat(st Stamp, id pipeline.DeliveryID, detail string) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Queued, ByKey, pipeline.ReasonRepeatable, detail))
}

// Retry queues an uncertain or failed delivery again by a person's word: with the next generation, so with new keys.
func (s *State) Retry(st Stamp, id pipeline.DeliveryID, detail string) (Event, error) {
	e := s.end(st, id, pipeline.Queued, ByPerson, pipeline.ReasonByPerson, detail)
	e.Gen++
	return s.make(st, e)
}

// Edited ends an attempt to edit that took effect.
func (s *State) Edited(st Stamp, id pipeline.DeliveryID) (Event, error) {
	return s.make(st, s.end(st, id, edited, ByResponse, "edited", ""))
}

// Retracted ends an attempt to retract that took effect.
func (s *State) Retracted(st Stamp, id pipeline.DeliveryID) (Event, error) {
	return s.make(st, s.end(st, id, pipeline.Retracted, ByResponse, "retracted", ""))
}

// Found is what a person says of one part that is out; both may be empty where only the fact is known.
type Found struct{ Network, URL string }

// ResolvePublished records a person's word that all missing parts are out: found[i] is the i-th missing one, what is
// not named has neither id nor URL. The delivery is published then.
func (s *State) ResolvePublished(st Stamp, id pipeline.DeliveryID, found ...Found) ([]Event, error) {
	probe := s.about(Receipt, id)
	no := func(c Code, why string) ([]Event, error) { return nil, s.refuse(&probe, MovePersonPublish, c, why) }
	d := s.Deliveries[id]
	switch {
	case d == nil:
		return no(CodeUnknown, "the ledger knows no such delivery")
	case d.Open() != nil:
		return no(CodeState, "an attempt is open; its run will end it")
	case d.State == pipeline.Published || d.State == pipeline.Adopted || d.State == pipeline.Retracted:
		return no(CodeState, "it counts as published already")
	}
	missing := d.Missing()
	if len(found) > len(missing) {
		return no(CodeMalformed, "more places are named than parts are missing")
	}
	b := s.Batch()
	for i, part := range missing {
		in := ReceiptInput{ID: id, Part: part, ByWhom: ByPerson}
		if a := d.lastPublish(); a != nil {
			in.Attempt = a.ID
		}
		if i < len(found) {
			in.Network, in.URL = found[i].Network, found[i].URL
		}
		if err := b.Take(b.State.RecordReceipt(st, in)); err != nil {
			return nil, err
		}
	}
	return b.Events, nil
}

// Acknowledge records that a person knows of an extra copy: it is no trouble any more. Where its part has no receipt
// and no attempt is open, the copy becomes that receipt.
func (s *State) Acknowledge(st Stamp, id pipeline.DeliveryID, network string) (Event, error) {
	probe := s.about(Receipt, id)
	x := s.extra(id, network)
	if x == nil {
		return Event{}, s.refuse(&probe, MoveReceipt, CodeUnknown, "no extra copy "+network+" is recorded")
	}
	return s.RecordReceipt(st, ReceiptInput{
		ID: id, Part: x.Receipt.Part, Network: network, URL: x.Receipt.URL, Ref: x.Receipt.Ref, ByWhom: ByPerson,
	})
}
