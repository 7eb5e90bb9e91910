package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/providers"
)

// findTime bounds one look of a finder.
const findTime = time.Minute

// query asks for one part of an attempt.
func (r *run) query(d *ledger.Delivery, at ledger.Attempt, i int, thread providers.Thread) providers.Query {
	since := at.At
	if !at.Sent.IsZero() && at.Sent.Before(since) {
		since = at.Sent
	}
	q := providers.Query{
		Message: providers.Message{Post: d.ID.Post, Part: i, Parts: len(at.Parts), Key: at.Parts[i].Key, Payload: at.Parts[i].Payload},
		Since:   since.Add(-r.opt.Fence.MaxSkew),
		Taken:   r.taken(d.ID, i),
	}
	if i > 0 {
		q.Thread = &thread
	}
	return q
}

// taken tells whether an id on the network already belongs to another receipt at the same target.
func (r *run) taken(id pipeline.DeliveryID, part int) func(string) bool {
	s := r.j.State()
	return func(net string) bool {
		other, p, ok := s.Taken(id.Target, net)
		return ok && (other != id || p != part)
	}
}

// findNow looks once for a part whose write has just had a doubtful answer. Only "found" means something here: the
// request may still be on its way.
func (r *run) findNow(ctx context.Context, c *claim, i int, thread providers.Thread) (providers.Receipt, bool) {
	d := r.j.State().Deliveries[c.it.ID]
	if c.acct.able.Find == nil || d == nil || d.Last() == nil {
		return providers.Receipt{}, false
	}
	if r.opt.Sleep(ctx, c.acct.info.Settle) != nil {
		return providers.Receipt{}, false
	}
	fctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	rec, err := c.acct.able.Find.Find(fctx, r.query(d, *d.Last(), i, thread))
	if err != nil {
		r.opt.Log.Debug("not found at once", "post", c.it.ID.Post, "dest", c.acct.dest.Name, "err", err)
		return rec, false
	}
	r.progress("recovered", c.it.ID.Post, c.acct.dest.Name, "the answer was lost, the post is there")
	return rec, true
}

// reconcile settles one uncertain delivery as far as can be done without a person.
func (r *run) reconcile(ctx context.Context, a *account, d *ledger.Delivery) error {
	at := d.Last()
	if at == nil || len(at.Parts) == 0 {
		return nil
	}
	if a.able.Find == nil {
		return r.repeatable(ctx, a, d, at)
	}
	if refused(r.j.State(), a.cred.Login) {
		return nil // the network would say no again
	}
	if err := r.refresh(ctx, a); err != nil {
		return r.unreconciled(ctx, a, err)
	}
	if err := r.verify(ctx, a); err != nil {
		return r.unreconciled(ctx, a, err)
	}
	fenceOver := r.clock.Wall().After(at.LeaseUntil.Add(r.opt.Fence.Stale(a.info.LongestRequest)))
	thread := providers.Thread{}
	for i := range at.Parts {
		if rec, ok := d.Receipts[i]; ok {
			thread = follow(thread, i, rec)
			continue
		}
		rec, err := r.findTwice(ctx, a, d, *at, i, thread, fenceOver)
		switch {
		case err == nil:
			stored, err := r.found(ctx, a, d, at, i, rec)
			if err != nil {
				return err
			}
			thread = follow(thread, i, stored)
		case errors.Is(err, providers.ErrNotFound) && fenceOver:
			return r.absent(ctx, a, d, at, i)
		case errors.Is(err, providers.ErrNotFound):
			return r.repeatable(ctx, a, d, at)
		default:
			return r.unreconciled(ctx, a, fmt.Errorf("the finder is not sure: %w", err))
		}
	}
	return nil
}

// findTwice believes "surely absent" only after two reads, a settling time apart, once nobody writes any more.
func (r *run) findTwice(ctx context.Context, a *account, d *ledger.Delivery, at ledger.Attempt, i int, thread providers.Thread, fenceOver bool) (providers.Receipt, error) {
	reads := 1
	if fenceOver {
		reads = 2
	}
	var rec providers.Receipt
	var err error
	for n := range reads {
		if n > 0 {
			if err := r.opt.Sleep(ctx, a.info.Settle); err != nil {
				return rec, err
			}
		}
		fctx, cancel := context.WithTimeout(ctx, findTime)
		rec, err = a.able.Find.Find(fctx, r.query(d, at, i, thread))
		cancel()
		if !errors.Is(err, providers.ErrNotFound) {
			return rec, err
		}
	}
	return rec, err
}

func (r *run) found(ctx context.Context, a *account, d *ledger.Delivery, at *ledger.Attempt, i int, rec providers.Receipt) (ledger.PartReceipt, error) {
	c := &claim{it: r.itemOf(a, d), acct: a, attempt: at.ID, parts: at.Parts}
	stored, err := r.receipt(ctx, c, i, rec, "finder")
	if err != nil {
		return stored, err
	}
	r.progress("recovered", d.ID.Post, a.dest.Name, "found on the network")
	if now := r.j.State().Deliveries[d.ID]; now != nil && now.State == pipeline.Published {
		r.published(c.it)
	}
	return stored, nil
}

// absent moves a delivery whose next part is surely not there back to the queue, once.
func (r *run) absent(ctx context.Context, a *account, d *ledger.Delivery, at *ledger.Attempt, part int) error {
	err := r.record(ctx, func(tx *journal.Tx) error {
		return tx.Add(tx.State.Absent(tx.Stamp, d.ID, "two reads of the network did not show it"))
	})
	if illegal := new(ledger.IllegalError); errors.As(err, &illegal) {
		return nil // it was requeued once before: a person decides
	}
	if err == nil {
		r.progress("recovered", d.ID.Post, a.dest.Name, "surely not published: "+partOf(part, len(at.Parts))+" goes out again")
	}
	return err
}

// repeatable moves a delivery back to the queue when its exact key makes the identical write harmless.
func (r *run) repeatable(ctx context.Context, a *account, d *ledger.Delivery, at *ledger.Attempt) error {
	it, ok := r.view.Item(d.ID)
	if a.able.Key == nil || !ok || it.Errors || it.Rendition.Hash != at.Rendition {
		return nil
	}
	rule, ok, err := a.able.Key.KeyRule(ctx)
	if err != nil || !ok || !rule.Exact {
		return nil
	}
	end := at.Sent.Add(rule.Window)
	if rule.Window > 0 && !r.clock.Wall().Add(r.opt.Fence.CutBefore).Before(end) {
		return nil
	}
	err = r.record(ctx, func(tx *journal.Tx) error {
		return tx.Add(tx.State.Repeat(tx.Stamp, d.ID, "the network recognises an identical repetition"))
	})
	if illegal := new(ledger.IllegalError); errors.As(err, &illegal) {
		return nil
	}
	return err
}

// unreconciled leaves an uncertain delivery as it is; why it could not be looked for is told.
func (r *run) unreconciled(ctx context.Context, a *account, err error) error {
	if acct, ok := errors.AsType[*accountError](err); ok {
		r.blockAccount(acct)
		return nil
	}
	if errors.Is(err, errBusy) {
		return nil
	}
	if _, ok := errors.AsType[*journal.PushError](err); ok {
		return err
	}
	r.opt.Log.Warn("an uncertain delivery could not be looked for", "dest", a.dest.Name, "err", err)
	if j := judge(err, false, 1, r.clock.Wall()); j.verdict == hold {
		return r.record(ctx, func(tx *journal.Tx) error { return r.holdLogin(tx, a, j) })
	}
	return nil
}

// refused tells that the network has refused a login, and nobody has lifted the hold since.
func refused(s *ledger.State, login string) bool {
	for _, h := range s.Holds {
		if h.Login == login && h.Scope == ledger.ScopeLogin(login) {
			return true
		}
	}
	return false
}

// itemOf is the content's item of a delivery, or a bare one where the content no longer wants it.
func (r *run) itemOf(a *account, d *ledger.Delivery) *compose.Item {
	if it, ok := r.view.Item(d.ID); ok {
		return it
	}
	return &compose.Item{ID: d.ID, Destination: a.dest, Info: a.info}
}
