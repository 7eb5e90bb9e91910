package ledger

import (
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// MaxLease bounds a lease, so that a wrong clock cannot block a target for ever.
const MaxLease = 24 * time.Hour

func (s *State) checkClaimed(e *Event) *IllegalError {
	no := func(c Code, format string, args ...any) *IllegalError {
		return s.refuse(e, MoveClaim, c, fmt.Sprintf(format, args...))
	}
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		return no(CodeUnknown, "the ledger knows no such delivery: it must be scheduled first")
	}
	if open := d.Open(); open != nil {
		return no(CodeState, "attempt %s of run %s is open", open.ID, open.Run)
	}
	switch e.Purpose {
	case PurposePublish:
		if d.State != pipeline.Scheduled && d.State != pipeline.Queued {
			return no(CodeState, "only what is scheduled or queued can be claimed")
		}
	case PurposeEdit:
		if d.State != pipeline.Published {
			return no(CodeState, "only what is published can be edited")
		}
	case PurposeRetract:
		if d.State != pipeline.Published && (d.State != pipeline.Failed || len(d.Receipts) == 0) {
			return no(CodeState, "nothing of it is out")
		}
	}
	switch {
	case e.Gen != d.Gen:
		return no(CodeMalformed, "generation %d is not the present one, %d", e.Gen, d.Gen)
	case d.attempt(e.Attempt) != nil:
		return no(CodeMalformed, "attempt %s is there already", e.Attempt)
	case !e.LeaseUntil.After(e.At) || e.LeaseUntil.Sub(e.At) > MaxLease:
		return no(CodeMalformed, "the lease must end within %s", MaxLease)
	case e.At.Before(d.NotBefore):
		return no(CodeNotDue, "not before %s", d.NotBefore.Format(instantForm))
	}
	if h, held := s.Blocked(d.ID, e.Login); held {
		return no(CodeHeld, "hold %s on %s: %s", h.ID, h.Scope, h.Reason)
	}
	if b := s.Busy(d.ID.Target, e.Login); b != nil {
		return no(CodeBusy, "%s is publishing to the same target or with the same login", b.ID)
	}
	if c := s.Credentials[e.Login]; e.Login != "" && c.Pending && e.At.Before(c.PendingUntil) {
		return no(CodeBusy, "run %s is refreshing its credential", c.PendingRun)
	}
	if e.Purpose == PurposePublish {
		return s.checkPublishClaim(d, e, no)
	}
	return nil
}

func (s *State) checkPublishClaim(d *Delivery, e *Event, no func(Code, string, ...any) *IllegalError) *IllegalError {
	if x := s.copyOut(d.ID); x != nil {
		return no(CodeCopyOut, "a copy is out (%s) that no attempt accounts for: a person must decide", x.Receipt.ID)
	}
	switch {
	case e.At.Before(d.Due):
		return no(CodeNotDue, "due at %s", d.Due.Format(instantForm))
	case e.At.After(d.By) && len(d.Receipts) == 0:
		return no(CodeExpired, "publish_by %s has passed", d.By.Format(instantForm))
	case e.Source != d.Source && !d.Doubt:
		return no(CodeSource, "its source is not the scheduled one")
	case e.Sent.After(e.At):
		return no(CodeMalformed, "sent lies after the claim")
	}
	last := d.lastPublish()
	if d.Doubt && (last == nil || !equalParts(last.Parts, e.Parts) || !last.Sent.Equal(sentOf(e))) {
		return no(CodeBytes, "an earlier attempt may be out: only its very bytes may be sent again")
	}
	if parts, sent, ok := d.Reusable(e.Rendition); ok && equalParts(parts, e.Parts) && !sent.Equal(sentOf(e)) {
		return no(CodeMalformed, "these bytes were first claimed at %s: sent must say so", sent.Format(instantForm))
	}
	if len(d.Receipts) > 0 {
		if src, known := d.outSource(); known && src != e.Source {
			return no(CodeSource, "some part of another source is out")
		}
		if last != nil && len(last.Parts) != len(e.Parts) {
			return no(CodeSource, "some part of a thread of %d parts is out, this one has %d", len(last.Parts), len(e.Parts))
		}
	}
	return nil
}

// sentOf is when the bytes of a claim were first claimed.
func sentOf(e *Event) time.Time {
	if e.Sent.IsZero() {
		return e.At
	}
	return e.Sent
}

func (s *State) applyClaimed(e *Event) {
	d := s.edit(e.Delivery())
	for i := range d.Attempts {
		// The newest attempt with a rendition keeps its bytes; what an earlier generation sent is never sent again.
		if a := &d.Attempts[i]; a.Purpose != PurposePublish || a.Gen != e.Gen || a.Rendition == e.Rendition {
			a.dropBytes()
		}
	}
	d.Attempts = append(d.Attempts, Attempt{
		ID: e.Attempt, Run: e.Run, Gen: e.Gen, At: e.At, LeaseUntil: e.LeaseUntil, Content: e.Content, Source: e.Source,
		Rendition: e.Rendition, Parts: e.Parts, Purpose: e.Purpose, Login: e.Login, Sent: sentOf(e), Evidence: e.Evidence,
		Open: true, State: pipeline.Publishing,
	})
	if e.Purpose == PurposePublish {
		d.move(pipeline.Publishing, &Event{At: e.At})
	}
	d.NotBefore = time.Time{}
	s.busyTarget[d.ID.Target] = d.ID
	if e.Login != "" {
		s.busyLogin[e.Login] = d.ID
		d.Login = e.Login // a hold on it is this delivery's, too
	}
	if x := s.index.Load(); x != nil {
		x.addSource(d, e.Source)
	}
}

// close ends an open attempt.
func (s *State) close(d *Delivery, a *Attempt, at time.Time) {
	a.Open, a.EndedAt = false, at
	if s.busyTarget[d.ID.Target] == d.ID {
		delete(s.busyTarget, d.ID.Target)
	}
	if s.busyLogin[a.Login] == d.ID {
		delete(s.busyLogin, a.Login)
	}
}

func (s *State) checkRenewed(e *Event) *IllegalError {
	no := func(c Code, why string) *IllegalError { return s.refuse(e, MoveRenew, c, why) }
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		return no(CodeUnknown, "the ledger knows no such delivery")
	}
	open := d.Open()
	switch {
	case open == nil:
		return no(CodeState, "no attempt is open")
	case open.ID != e.Attempt:
		return no(CodeUnknown, "another attempt is open: "+open.ID)
	case open.Run != e.Run:
		return no(CodeForeign, "the open attempt belongs to run "+open.Run)
	case e.At.After(open.LeaseUntil):
		return no(CodeExpired, "the lease has ended: nothing may be written under it any more")
	case !e.LeaseUntil.After(open.LeaseUntil) || e.LeaseUntil.Sub(e.At) > MaxLease:
		return no(CodeMalformed, "the lease must become longer, and end within "+MaxLease.String())
	}
	return nil
}

func (s *State) applyRenewed(e *Event) { s.edit(e.Delivery()).Last().LeaseUntil = e.LeaseUntil }

func (s *State) checkPrepared(e *Event) *IllegalError {
	no := func(c Code, why string) *IllegalError { return s.refuse(e, MovePrepare, c, why) }
	d := s.Deliveries[e.Delivery()]
	if d == nil {
		return no(CodeUnknown, "the ledger knows no such delivery")
	}
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued, pipeline.Publishing:
	case pipeline.Published:
		if d.Open() == nil {
			return no(CodeState, "it is out, and no attempt to change it is open")
		}
	case pipeline.Failed, pipeline.Uncertain, pipeline.Canceled, pipeline.Adopted, pipeline.Retracted:
		return no(CodeState, "it is not on its way")
	}
	switch e.State {
	case "begun":
		if !e.LeaseUntil.After(e.At) || e.LeaseUntil.Sub(e.At) > MaxLease || e.Handle != nil || !e.Expires.IsZero() {
			return no(CodeMalformed, "a step that begins has a lease and no handle")
		}
	case "done":
		if len(e.Handle) == 0 {
			return no(CodeMalformed, "a step that is done has a handle")
		}
	default:
		return no(CodeMalformed, "a step is begun or done")
	}
	if p, ok := d.Prepared[e.Step]; ok && p.State == "begun" && p.Run != e.Run && e.At.Before(p.LeaseUntil) {
		return no(CodeBusy, "run "+p.Run+" is preparing this step")
	}
	return nil
}

func (s *State) applyPrepared(e *Event) {
	d := s.edit(e.Delivery())
	if d.Prepared == nil {
		d.Prepared = map[string]PreparedStep{}
	}
	d.Prepared[e.Step] = PreparedStep{
		State: e.State, Handle: e.Handle, Expires: e.Expires, LeaseUntil: e.LeaseUntil, At: e.At, Run: e.Run,
	}
}
