package publish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// claim is a delivery that this run may publish.
type claim struct {
	it      *compose.Item
	acct    *account
	attempt string
	parts   []ledger.ClaimPart
	sent    time.Time // when these bytes were first claimed
	lease   *lease
	tries   int
	// out are the receipts of parts that are out already, by part.
	out map[int]ledger.PartReceipt
	// exact tells that the network makes an identical repetition harmless at once.
	exact bool
}

// errSkip tells that a delivery is not to be claimed now; the reason is not a trouble.
var errSkip = errors.New("not to be claimed now")

// deliver takes one due delivery through preparation, claim, writes and records. It returns ErrMoved when the content
// must be looked at again, and an error that stops the run when nothing can be recorded any more.
func (r *run) deliver(ctx context.Context, a *account, it *compose.Item) error {
	d := r.j.State().Deliveries[it.ID]
	tries := 1
	if d != nil {
		tries += len(d.Attempts)
	}
	p, err := r.ready(ctx, a, it, d)
	if err != nil {
		return r.unprepared(ctx, a, it, err, tries)
	}
	c, err := r.claim(ctx, a, it, p)
	if err != nil || c == nil {
		return err
	}
	c.tries = tries
	r.progress("claimed", it.ID.Post, a.dest.Name, "")
	return r.write(ctx, c)
}

// ready does everything that comes before the claim.
func (r *run) ready(ctx context.Context, a *account, it *compose.Item, d *ledger.Delivery) (prepared, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.Fence.Lease)
	defer cancel()
	if err := r.refresh(ctx, a); err != nil {
		return prepared{}, err
	}
	if err := r.verify(ctx, a); err != nil {
		return prepared{}, err
	}
	if err := r.rerender(a, it); err != nil {
		return prepared{}, err
	}
	return r.prepare(ctx, a, it, d)
}

// unprepared records why a delivery could not even be claimed.
func (r *run) unprepared(ctx context.Context, a *account, it *compose.Item, err error, tries int) error {
	var acct *accountError
	var push *journal.PushError
	switch {
	case errors.Is(err, errBusy):
		return errSkip
	case errors.As(err, &acct):
		r.blockAccount(acct)
		return errSkip
	case errors.As(err, &push), errors.Is(err, journal.ErrMoved):
		return err
	case ctx.Err() != nil:
		return errSkip
	}
	return r.end(ctx, &claim{it: it, acct: a, tries: tries}, judge(err, false, tries, r.clock.Wall()), -1)
}

// claim pushes the commit that moves the delivery to publishing. A nil claim means that it is not ours to send.
func (r *run) claim(ctx context.Context, a *account, it *compose.Item, p prepared) (*claim, error) {
	attempt, err := r.random(8)
	if err != nil {
		return nil, err
	}
	exact, unknown := false, false
	var window time.Duration
	if a.able.Key != nil {
		rule, ok, err := a.able.Key.KeyRule(ctx)
		exact, window, unknown = err == nil && ok && rule.Exact, rule.Window, err != nil
	}
	var c *claim
	gaveUp := judged{verdict: doubt, reason: pipeline.ReasonAmbiguous, detail: "an earlier attempt may be out, and the network no longer recognises a repetition"}
	err = r.j.Append(ctx, r.expect(), func(tx *journal.Tx) error {
		c = nil
		if r.ending.Load() {
			return errSkip
		}
		d := tx.State.Deliveries[it.ID]
		if err := r.claimable(tx.State, d, it, a, tx.Now); err != nil {
			return err
		}
		if d.Doubt && unknown {
			return errSkip // whether a repetition is harmless must be known
		}
		if _, sent, ok := d.Reusable(it.Rendition.Hash); d.Doubt && (!exact || !ok || window > 0 && !tx.Now.Before(sent.Add(window))) {
			return tx.Add(tx.State.MarkUncertain(tx.Stamp, it.ID, gaveUp.reason, gaveUp.detail, ledger.ByRun))
		}
		mono := r.clock.Mono()
		now := tx.Now
		c = &claim{it: it, acct: a, attempt: attempt, exact: exact, sent: now, lease: newLease(r.clock, r.opt.Fence, now, mono), out: d.Receipts}
		// The same bytes go out again, unless a handle in them had to be made anew; what may be out allows no others.
		if parts, sent, ok := d.Reusable(it.Rendition.Hash); ok && (d.Doubt || len(p.fresh) == 0) {
			c.parts, c.sent = parts, sent
		} else if c.parts, err = r.seal(it, p, d.Gen, now); err != nil {
			return err
		}
		if len(d.Receipts) == 0 {
			c.lease.by = d.By
		}
		if d.Doubt && window > 0 {
			c.lease.keyEnd = c.sent.Add(window)
		}
		if d.Login != "" && d.Login != a.cred.Login {
			if err := release(tx, d.Login); err != nil {
				return err
			}
			if err := tx.Add(tx.State.Schedule(tx.Stamp, again(d, a.cred.Login))); err != nil {
				return err
			}
		}
		for _, step := range slices.Sorted(maps.Keys(p.fresh)) {
			h := p.fresh[step]
			data, err := canon.Marshal(h)
			if err != nil {
				return err
			}
			if err := tx.Add(tx.State.Prepare(tx.Stamp, ledger.PrepareInput{ID: it.ID, Step: step, Handle: data, Expires: h.Expires})); err != nil {
				return err
			}
		}
		return tx.Add(tx.State.Claim(tx.Stamp, ledger.ClaimInput{
			ID: it.ID, Attempt: attempt, LeaseUntil: c.lease.until, Content: r.view.Commit, Source: it.Rendition.Source,
			Rendition: it.Rendition.Hash, Parts: c.parts, Purpose: ledger.PurposePublish, Login: a.cred.Login, Sent: c.sent,
		}))
	})
	if illegal, ok := errors.AsType[*ledger.IllegalError](err); ok {
		r.opt.Log.Debug("not claimed", "post", it.ID.Post, "dest", it.Destination.Name, "why", illegal.Why)
		return nil, errSkip
	}
	if err != nil {
		return nil, err
	}
	if c == nil {
		r.outcome(it, pipeline.Uncertain, gaveUp)
	}
	return c, nil
}

// release lifts the hold on a login that a newer one has taken the place of.
func release(tx *journal.Tx, login string) error {
	for _, id := range slices.Sorted(maps.Keys(tx.State.Holds)) {
		if tx.State.Holds[id].Scope != ledger.ScopeLogin(login) {
			continue
		}
		if err := tx.Add(tx.State.Release(tx.Stamp, id, "new_login", "")); err != nil {
			return err
		}
	}
	return nil
}

// again schedules a delivery as it is, but for the login that will be used.
func again(d *ledger.Delivery, login string) ledger.ScheduleInput {
	return ledger.ScheduleInput{ID: d.ID, Dest: d.Dest, Due: d.Due, By: d.By, Slot: d.Slot, Path: d.Path, Blob: d.Blob, Config: d.Config, Source: d.Source, Login: login}
}

// claimable repeats on the newest state what the plan decided on an older one.
func (r *run) claimable(s *ledger.State, d *ledger.Delivery, it *compose.Item, a *account, now time.Time) error {
	if d == nil {
		return errSkip
	}
	if _, why := dueNow(s, d, it, now); why != "" {
		return errSkip
	}
	if w, err := window(r.view.Config, it, firstSeen(s, it, now)); len(d.Receipts) == 0 && (err != nil || !w.Due.Equal(d.Due) || !w.By.Equal(d.By)) {
		return errSkip // its times were changed while its outcome was not known: the next look takes them over
	}
	if last := d.Last(); len(d.Receipts) > 0 && last != nil && last.Source != it.Rendition.Source {
		return errSkip // the plan ends it as partial
	}
	if _, blocked := s.Blocked(it.ID, a.cred.Login); blocked {
		return errSkip
	}
	return nil
}

// write sends every part that is not out, in order, each behind the fence.
func (r *run) write(ctx context.Context, c *claim) error {
	n := len(c.parts)
	thread := providers.Thread{}
	for i := range n {
		if rec, ok := c.out[i]; ok {
			thread = follow(thread, i, rec)
			continue
		}
		if r.ending.Load() {
			return r.end(ctx, c, judged{verdict: later, reason: pipeline.ReasonInterrupted, detail: "the run was asked to end", notBefore: r.clock.Wall()}, i)
		}
		err := r.renew(ctx, c)
		if err != nil {
			return r.end(ctx, c, judged{verdict: later, reason: pipeline.ReasonFenced, detail: bounded(err.Error(), maxDetail), notBefore: r.clock.Wall()}, i)
		}
		m := c.message(i)
		if m.Stage, err = r.stage(ctx, c, i, m); err != nil {
			return r.end(ctx, c, judge(err, false, c.tries, r.clock.Wall()), i)
		}
		rec, err := r.send(ctx, c, i, m, thread)
		if err != nil {
			return r.end(ctx, c, judge(err, true, c.tries, r.clock.Wall()), i)
		}
		if other, part, taken := r.j.State().Taken(c.it.ID.Target, rec.ID); taken && (other != c.it.ID || part != i) {
			return r.end(ctx, c, judged{verdict: doubt, reason: pipeline.ReasonAmbiguous, detail: bounded("the network answered with the id of another post, "+rec.ID, maxDetail)}, i)
		}
		stored, err := r.receipt(ctx, c, i, rec, "response")
		if err != nil {
			return err
		}
		c.lease.by = time.Time{}
		thread = follow(thread, i, stored)
	}
	r.published(c.it)
	return nil
}

// follow moves a thread on by one part.
func follow(t providers.Thread, part int, rec ledger.PartReceipt) providers.Thread {
	p := providers.Receipt{ID: rec.ID, URL: rec.URL, Ref: rec.Ref, SentAt: rec.SentAt}
	if part == 0 {
		t.Root = p
	}
	t.Parent = p
	return t
}

// send makes the one write of a part. A doubtful answer is followed at once by what settles it without risk: the
// finder, then, where the network decides atomically, the identical write again.
func (r *run) send(ctx context.Context, c *claim, i int, m providers.Message, thread providers.Thread) (providers.Receipt, error) {
	var doubtful error // what an earlier round was told: it may have been published, whatever a later one says
	for round := 0; ; round++ {
		if err := c.lease.check(); err != nil {
			if doubtful != nil {
				return providers.Receipt{}, doubtful
			}
			return providers.Receipt{}, &providers.Error{Kind: providers.Unavailable, Reach: providers.NotSent, Op: c.acct.info.Name, Err: err}
		}
		r.progress("publishing", c.it.ID.Post, c.acct.dest.Name, partOf(i, len(c.parts)))
		rec, err := r.call(ctx, c, i, m, thread)
		if err == nil {
			return rec, nil
		}
		if judge(err, true, c.tries, r.clock.Wall()).verdict != doubt {
			if doubtful != nil {
				return rec, doubtful
			}
			return rec, err
		}
		if doubtful == nil {
			doubtful = err
		}
		r.opt.Log.Debug("outcome not known", "post", c.it.ID.Post, "dest", c.acct.dest.Name, "err", err)
		if found, ok := r.findNow(ctx, c, i, thread); ok {
			return found, nil
		}
		if !c.exact || round >= 2 || ctx.Err() != nil {
			return rec, err
		}
		if r.opt.Sleep(ctx, time.Second<<round) != nil {
			return rec, err
		}
	}
}

// call is one request to the network, cut off before the lease ends.
func (r *run) call(ctx context.Context, c *claim, i int, m providers.Message, thread providers.Thread) (providers.Receipt, error) {
	ctx, cancel := c.lease.context(withLease(ctx, c.lease))
	defer cancel()
	if i == 0 {
		return c.acct.able.Publish.Publish(ctx, m)
	}
	if c.acct.able.Reply == nil {
		return providers.Receipt{}, &providers.Error{Kind: providers.Unsupported, Reach: providers.NotSent, Op: c.acct.info.Name, Message: "this network has no threads"}
	}
	return c.acct.able.Reply.Reply(ctx, m, thread)
}

func (c *claim) message(i int) providers.Message {
	return providers.Message{Post: c.it.ID.Post, Part: i, Parts: len(c.parts), Key: c.parts[i].Key, Payload: c.parts[i].Payload}
}

// renew makes the lease longer when half of it has passed.
func (r *run) renew(ctx context.Context, c *claim) error {
	if !c.lease.renewDue() {
		return nil
	}
	var wall time.Time
	var mono time.Duration
	err := r.j.Append(ctx, nil, func(tx *journal.Tx) error {
		wall, mono = tx.Now, r.clock.Mono()
		return tx.Add(tx.State.Renew(tx.Stamp, c.it.ID, wall.Add(r.opt.Fence.Lease)))
	})
	if err != nil {
		return fmt.Errorf("the lease could not be renewed: %w", err)
	}
	c.lease.renewed(wall, mono)
	return nil
}

// random returns n random bytes in hex.
func (r *run) random(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(r.opt.Rand, b); err != nil {
		return "", fmt.Errorf("no random bytes: %w", err)
	}
	return hex.EncodeToString(b), nil
}
