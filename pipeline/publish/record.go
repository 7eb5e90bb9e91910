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

// recordTime bounds how long a result waits for the remote, apart from the run's own end.
const recordTime = 3 * time.Minute

// savedFile is a ledger file that belongs to a result: a refreshed credential.
type savedFile struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// record pushes what has happened. It outlives the run's context: what is known must be written down. What cannot be
// pushed is kept for the results file, and stops the run.
func (r *run) record(ctx context.Context, decide journal.Decide, files ...savedFile) error {
	wait := recordTime
	if r.ending.Load() {
		wait = r.opt.Grace
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	err := r.j.Append(rctx, nil, decide)
	var illegal *ledger.IllegalError
	if err == nil || errors.As(err, &illegal) {
		return err
	}
	r.keep(decide, files)
	r.stop(err)
	return err
}

// receipt writes down that a part is out. It returns the receipt as the ledger holds it.
func (r *run) receipt(ctx context.Context, c *claim, part int, rec providers.Receipt, by string) (ledger.PartReceipt, error) {
	now := r.clock.Wall()
	if rec.SentAt.IsZero() {
		rec.SentAt = now
	}
	stored := ledger.PartReceipt{Part: part, ID: rec.ID, URL: rec.URL, Ref: rec.Ref, SentAt: rec.SentAt.UTC().Truncate(time.Millisecond), At: now, Attempt: c.attempt, ByWhom: by}
	r.saw(c.it, stored, len(c.parts))
	err := r.record(ctx, func(tx *journal.Tx) error {
		return tx.Add(tx.State.RecordReceipt(tx.Stamp, ledger.ReceiptInput{
			ID: c.it.ID, Attempt: c.attempt, Part: part, Network: rec.ID, URL: rec.URL, Ref: rec.Ref, SentAt: stored.SentAt, ByWhom: by,
		}))
	})
	return stored, err
}

// end writes down what came of a delivery that is not published. part is the part that was tried, -1 before the claim.
func (r *run) end(ctx context.Context, c *claim, j judged, part int) error {
	id := c.it.ID
	where := partOf(part, len(c.parts))
	if where != "" {
		j.detail = where + ": " + j.detail
	}
	var state pipeline.State
	err := r.record(ctx, func(tx *journal.Tx) error {
		s := tx.State
		d := s.Deliveries[id]
		out := d != nil && len(d.Receipts) > 0
		switch j.verdict {
		case later:
			state = pipeline.Queued
			return tx.Add(s.Queue(tx.Stamp, id, j.reason, j.detail, j.notBefore, ledger.ByRun))
		case hold:
			state = pipeline.Queued
			return r.hold(tx, c, j)
		case reject:
			if d != nil && d.Doubt {
				// An earlier attempt with these bytes may be out: this answer says nothing of it.
				state, j.reason = pipeline.Uncertain, pipeline.ReasonAmbiguous
				return tx.Add(s.MarkUncertain(tx.Stamp, id, j.reason, j.detail, ledger.ByRun))
			}
			state = pipeline.Failed
			if out {
				return tx.Add(s.Partial(tx.Stamp, id, j.detail, ledger.ByRun))
			}
			return tx.Add(s.Fail(tx.Stamp, id, j.reason, j.detail, ledger.ByRun))
		case doubt:
			state = pipeline.Uncertain
			return tx.Add(s.MarkUncertain(tx.Stamp, id, j.reason, j.detail, ledger.ByRun))
		}
		return nil
	})
	if illegal := new(ledger.IllegalError); errors.As(err, &illegal) {
		// The lease was lost and others have said meanwhile what came of it: theirs stands.
		r.note(c.it, fmt.Sprintf("%s at %s: this run's word (%s, %s) came too late and is not recorded: %s",
			id.Post, c.it.Destination.Name, state, j.detail, illegal.Why))
		return nil
	}
	r.outcome(c.it, state, j)
	return err
}

// hold keeps every delivery of a refused login queued until the login changes or a person lifts the hold.
func (r *run) hold(tx *journal.Tx, c *claim, j judged) error {
	id, login := c.it.ID, c.acct.cred.Login
	if err := tx.Add(tx.State.Queue(tx.Stamp, id, j.reason, j.detail, time.Time{}, ledger.ByRun)); err != nil {
		return err
	}
	if d := tx.State.Deliveries[id]; d.Login != login {
		if err := tx.Add(tx.State.Schedule(tx.Stamp, again(d, login))); err != nil {
			return err
		}
	}
	return r.holdLogin(tx, c.acct, j)
}

// holdLogin forbids everything with a login that the network has refused.
func (r *run) holdLogin(tx *journal.Tx, a *account, j judged) error {
	login := a.cred.Login
	if refused(tx.State, login) {
		return nil
	}
	return tx.Add(tx.State.Hold(tx.Stamp, ledger.HoldInput{
		Hold: sha256Hex([]byte(login + r.opt.Nonce))[:16], Scope: ledger.ScopeLogin(login),
		Reason: j.reason, Detail: a.dest.Name + ": " + j.detail, Login: login,
	}))
}

// outcome adds to the result and tells progress.
func (r *run) outcome(it *compose.Item, state pipeline.State, j judged) {
	r.mu.Lock()
	o := r.outcomeOf(it)
	o.State, o.Reason, o.Detail, o.NotBefore = state, j.reason, j.detail, j.notBefore
	r.mu.Unlock()
	r.progress(string(state), it.ID.Post, it.Destination.Name, string(j.reason)+": "+j.detail)
}

// saw notes a receipt in the result.
func (r *run) saw(it *compose.Item, rec ledger.PartReceipt, parts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.outcomeOf(it)
	// Until it is recorded: what is out is out, whether or not the ledger hears of it.
	o.State, o.Detail = pipeline.Publishing, partOf(rec.Part, parts)+" is out"
	if rec.Part == parts-1 {
		o.State, o.Detail = pipeline.Published, ""
	}
	o.IDs = append(o.IDs, rec.ID)
	if rec.URL != "" {
		o.URLs = append(o.URLs, rec.URL)
	}
	if o.SentAt.IsZero() {
		o.SentAt = rec.SentAt
	}
}

func (r *run) published(it *compose.Item) {
	r.mu.Lock()
	o := r.outcomeOf(it)
	o.State, o.Reason, o.Detail = pipeline.Published, "", ""
	url := ""
	if len(o.URLs) > 0 {
		url = o.URLs[0]
	}
	r.mu.Unlock()
	if r.opt.Progress != nil {
		r.opt.Progress(Progress{What: "published", Post: it.ID.Post, Dest: it.Destination.Name, URL: url})
	}
}

// outcomeOf finds or makes the result's entry; the caller holds mu.
func (r *run) outcomeOf(it *compose.Item) *Outcome {
	for i := range r.result.Outcomes {
		if o := &r.result.Outcomes[i]; o.Post == it.ID.Post && o.Target == it.ID.Target {
			return o
		}
	}
	o := Outcome{Post: it.ID.Post, Destination: it.Destination.Name, Target: it.ID.Target}
	if d := r.j.State().Deliveries[it.ID]; d != nil {
		o.Due = d.Due
	}
	r.result.Outcomes = append(r.result.Outcomes, o)
	return &r.result.Outcomes[len(r.result.Outcomes)-1]
}
