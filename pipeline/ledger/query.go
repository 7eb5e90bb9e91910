package ledger

import (
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Settled tells that nothing more will be done about d by itself, with nothing out unaccounted for: its file need not be
// read again while (path, blob, config) stay the same.
func (s *State) Settled(d *Delivery, now time.Time) bool {
	if d.Open() != nil || s.copyOut(d.ID) != nil {
		return false
	}
	switch d.State {
	case pipeline.Published, pipeline.Retracted, pipeline.Canceled, pipeline.Adopted:
		return true
	case pipeline.Failed:
		return len(d.Receipts) == 0 && now.After(d.By)
	case pipeline.Scheduled, pipeline.Publishing, pipeline.Queued, pipeline.Uncertain:
	}
	return false
}

// Stale tells that the lease of d's open attempt ended so long ago (staleAfter: the fence plus the longest request)
// that its run can write no more.
func (s *State) Stale(d *Delivery, now time.Time, staleAfter time.Duration) bool {
	a := d.Open()
	return a != nil && now.After(a.LeaseUntil.Add(staleAfter))
}

// NextWake is the earliest instant at which something must be done: a due time, a deadline of what is held, a lease's
// end, a retry, the expiry of what was prepared. It may lie in the past: then something waits already. Zero: nothing.
func (s *State) NextWake(now time.Time) time.Time {
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, d := range s.Deliveries {
		if a := d.Open(); a != nil {
			at(a.LeaseUntil)
		}
		switch d.State {
		case pipeline.Scheduled, pipeline.Queued:
			at(s.wakeOf(d))
			for _, p := range d.Prepared {
				if p.State == "begun" && p.LeaseUntil.After(now) {
					at(p.LeaseUntil)
				}
				if p.Expires.After(now) {
					at(p.Expires)
				}
			}
		case pipeline.Uncertain:
			at(d.Changed) // a finder may be asked at any time
		case pipeline.Publishing, pipeline.Published, pipeline.Failed, pipeline.Canceled, pipeline.Adopted, pipeline.Retracted:
		}
	}
	for _, c := range s.Credentials {
		if c.Pending && c.PendingUntil.After(now) {
			at(c.PendingUntil)
		}
	}
	return Instant(next)
}

// wakeOf is when a delivery on its way needs a run: when it may be claimed, or, where it may not be, when its deadline
// passes.
func (s *State) wakeOf(d *Delivery) time.Time {
	_, held := s.Blocked(d.ID, d.Login)
	if held || s.copyOut(d.ID) != nil {
		if len(d.Receipts) > 0 {
			return time.Time{}
		}
		return d.By
	}
	if d.NotBefore.After(d.Due) {
		if len(d.Receipts) == 0 && d.By.Before(d.NotBefore) {
			return d.By
		}
		return d.NotBefore
	}
	return d.Due
}
