package publish

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// lanes works through every destination that has something to do. Destinations with one login share a lane: at most
// one delivery is in flight per target and login.
func (r *run) lanes(ctx context.Context) (moved bool, err error) {
	byLogin := map[string][]*account{}
	for i := range r.view.Config.Destinations {
		d := &r.view.Config.Destinations[i]
		if d.Target == "" && r.wantedSoon(d.Name) {
			r.blockAccount(noTarget(d))
			continue
		}
		if !r.busyAt(d) {
			continue
		}
		a, err := r.open(ctx, d)
		if acct, ok := errors.AsType[*accountError](err); ok {
			r.blockAccount(acct)
			continue
		}
		if err != nil {
			return false, err
		}
		byLogin[a.cred.Login] = append(byLogin[a.cred.Login], a)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, login := range slices.Sorted(maps.Keys(byLogin)) {
		as := byLogin[login]
		wg.Go(func() {
			for _, a := range as {
				m, err := r.lane(ctx, a)
				mu.Lock()
				moved = moved || m
				if err != nil {
					errs = append(errs, err)
				}
				mu.Unlock()
				if m || err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return moved, errors.Join(errs...)
}

// busyAt tells whether a destination has something due or uncertain.
func (r *run) busyAt(d *pipeline.Destination) bool {
	s, now := r.j.State(), r.clock.Wall()
	for _, it := range r.view.Items {
		if it.Destination.Name != d.Name {
			continue
		}
		if ok, _ := dueNow(s, s.Deliveries[it.ID], it, now); ok {
			return true
		}
		if del := s.Deliveries[it.ID]; del != nil && duplicateDue(s, del, it, now) {
			return true
		}
	}
	return len(r.uncertainAt(s, d.Target)) > 0
}

func (r *run) uncertainAt(s *ledger.State, t pipeline.Target) []*ledger.Delivery {
	var out []*ledger.Delivery
	for _, d := range sorted(s) {
		if d.ID.Target == t && d.State == pipeline.Uncertain {
			out = append(out, d)
		}
	}
	return out
}

// lane settles what is uncertain at one destination, then publishes what is due, one after the other.
func (r *run) lane(ctx context.Context, a *account) (moved bool, err error) {
	for _, d := range r.uncertainAt(r.j.State(), a.dest.Target) {
		if r.ending.Load() {
			return false, nil
		}
		if err := r.reconcile(ctx, a, d); err != nil {
			return false, err
		}
	}
	tried := map[pipeline.DeliveryID]bool{}
	for !r.ending.Load() && ctx.Err() == nil {
		it := r.next(ctx, a, tried)
		if it == nil {
			return false, nil
		}
		tried[it.ID] = true
		err := r.deliver(ctx, a, it)
		switch {
		case errors.Is(err, errSkip):
		case errors.Is(err, journal.ErrMoved):
			return true, nil
		case err != nil:
			r.stopOn(err)
			return false, err
		}
	}
	return false, nil
}

// next picks the earliest due delivery of a destination that has not been tried by this look.
func (r *run) next(ctx context.Context, a *account, tried map[pipeline.DeliveryID]bool) *compose.Item {
	s, now := r.j.State(), r.clock.Wall()
	if throttled(s, a.dest.Target, now) {
		return nil
	}
	var best *compose.Item
	for _, it := range r.view.Items {
		if it.Destination.Name != a.dest.Name || tried[it.ID] {
			continue
		}
		d := s.Deliveries[it.ID]
		if d != nil && duplicateDue(s, d, it, now) {
			tried[it.ID] = true
			r.duplicate(ctx, a, it)
			continue
		}
		if ok, _ := dueNow(s, d, it, now); !ok {
			continue
		}
		if _, held := s.Blocked(it.ID, a.cred.Login); held {
			continue
		}
		if best == nil || d.Due.Before(s.Deliveries[best.ID].Due) {
			best = it
		}
	}
	return best
}

// throttled tells that a network has asked to wait: nothing else is tried at the target until then.
func throttled(s *ledger.State, t pipeline.Target, now time.Time) bool {
	for _, d := range s.Deliveries {
		if d.ID.Target == t && d.State == pipeline.Queued && d.Reason == pipeline.ReasonThrottled && now.Before(d.NotBefore) {
			return true
		}
	}
	return false
}

// duplicateDue tells that a delivery would be due but for an equal post that is out or on its way.
func duplicateDue(s *ledger.State, d *ledger.Delivery, it *compose.Item, now time.Time) bool {
	open := []pipeline.State{pipeline.Scheduled, pipeline.Queued}
	return slices.Contains(open, d.State) && !it.Errors && !it.Draft() && !it.Skip && !it.Post.AllowDuplicate &&
		!now.Before(d.Due) && !now.After(d.By) && duplicateOf(s, d, it.Rendition.Source, now) != nil
}

// outAlready finds the equal post that is out where a delivery would be due but for it; one that is only on its way makes
// the delivery wait.
func outAlready(s *ledger.State, d *ledger.Delivery, it *compose.Item, now time.Time) *ledger.Delivery {
	if !duplicateDue(s, d, it, now) {
		return nil
	}
	other := duplicateOf(s, d, it.Rendition.Source, now)
	if other.State != pipeline.Published && other.State != pipeline.Adopted {
		return nil
	}
	return other
}

func sameText(as *ledger.Delivery) string {
	return "the same text went out as " + as.ID.Post + "; change it, or set allow_duplicate: true"
}

// duplicate fails a delivery whose equal is published; while the equal is only on its way, it waits.
func (r *run) duplicate(ctx context.Context, a *account, it *compose.Item) {
	s := r.j.State()
	other := outAlready(s, s.Deliveries[it.ID], it, r.clock.Wall())
	if other == nil {
		return
	}
	c := &claim{it: it, acct: a, parts: nil}
	j := judged{verdict: reject, reason: pipeline.ReasonDuplicate, detail: sameText(other)}
	if err := r.end(ctx, c, j, -1); err != nil {
		r.opt.Log.Warn("a duplicate could not be recorded", "post", it.ID.Post, "err", err)
	}
}
