package journal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// Tx gathers what one decision appends. Each event is applied to State as it is added.
type Tx struct {
	State  *ledger.State
	Stamp  ledger.Stamp
	Now    time.Time
	events []ledger.Event
	files  []gitstore.Change
}

// Add appends the event that a transition returned; it passes the transition's error on.
func (t *Tx) Add(e ledger.Event, err error) error {
	if err != nil {
		return err
	}
	if err := t.State.Apply(e); err != nil {
		return err
	}
	t.events = append(t.events, e)
	return nil
}

// AddAll appends the events that a transition returned.
func (t *Tx) AddAll(es []ledger.Event, err error) error {
	if err != nil {
		return err
	}
	for _, e := range es {
		if err := t.Add(e, nil); err != nil {
			return err
		}
	}
	return nil
}

// File writes a file beside the events: a refreshed credential, a compacted archive.
func (t *Tx) File(c gitstore.Change) { t.files = append(t.files, c) }

// Dry returns the events that a decision would append to s, and applies them to it.
func Dry(s *ledger.State, st ledger.Stamp, decide Decide) ([]ledger.Event, error) {
	tx := &Tx{State: s, Stamp: st, Now: st.At}
	if err := decide(tx); err != nil {
		return nil, err
	}
	return tx.events, nil
}

// Decide looks at the present state and says what to append. It is called again after a lost race, so it decides from
// the state alone and has no lasting effect of its own. An error ends this request without touching the others.
type Decide func(tx *Tx) error

// Expect are refs that must not have moved when the commit is sent; otherwise Append fails with ErrMoved.
type Expect map[string]gitstore.Hash

type request struct {
	decide Decide
	expect Expect
	done   chan error

	mu        sync.Mutex
	abandoned bool
}

// Bounds on how long one append goes on trying.
const (
	maxTries   = 40
	maxElapsed = 2 * time.Minute
	baseWait   = 20 * time.Millisecond
	maxWait    = 1300 * time.Millisecond
)

// Append decides and pushes, and returns when the commit is known to be on the remote. Appends that arrive while
// another is under way share the next commit. The error is what decide returned, ErrMoved, a *Refusal or a *PushError.
func (j *Journal) Append(ctx context.Context, expect Expect, decide Decide) error {
	r := &request{decide: decide, expect: expect, done: make(chan error, 1)}
	j.mu.Lock()
	j.queue = append(j.queue, r)
	if j.leading {
		j.mu.Unlock()
		return r.wait(ctx)
	}
	j.leading = true
	j.mu.Unlock()
	// What others wait for must not end with this caller's context.
	go j.lead(context.WithoutCancel(ctx))
	return r.wait(ctx)
}

// wait returns what became of a request, or the context's end: it is then decided no more, but a commit that has been
// decided may still land.
func (r *request) wait(ctx context.Context) error {
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		r.abandoned = true
		return ctx.Err()
	}
}

// errAbandoned ends a request that nobody waits for any more.
var errAbandoned = errors.New("nobody waits for it any more")

// decideNow lets a request decide, unless its caller has gone: what decide works on is then the caller's no more.
func (r *request) decideNow(tx *Tx) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.abandoned {
		return errAbandoned
	}
	return r.decide(tx)
}

// lead pushes batches until the queue is empty.
func (j *Journal) lead(ctx context.Context) {
	for {
		j.mu.Lock()
		batch := j.queue
		j.queue = nil
		if len(batch) == 0 {
			j.leading = false
			j.mu.Unlock()
			return
		}
		j.mu.Unlock()
		j.push(ctx, batch)
	}
}

// proposal is a commit that was built on the present tip.
type proposal struct {
	token   string
	path    string
	snap    gitstore.Snapshot
	state   *ledger.State
	updates []gitstore.Update
	expect  map[string]gitstore.Hash
	batch   []*request // those whose events are in it
	events  []ledger.Event
}

// push brings one batch to the remote: it ends every request of it.
func (j *Journal) push(ctx context.Context, batch []*request) {
	start := j.opt.Clock.Mono()
	var prop *proposal
	var last gitstore.Result
	for try := range maxTries {
		if j.opt.Clock.Mono()-start > maxElapsed {
			break
		}
		if prop == nil {
			var err error
			if prop, batch, err = j.propose(ctx, batch); err != nil {
				finish(batch, err)
				return
			}
			if prop == nil {
				return // nothing to write: every request has been ended
			}
			if prop.updates[0].Old != prop.updates[1].Old {
				prop = nil
				if last, err = j.catchUp(ctx); err != nil {
					finish(batch, err)
					return
				}
				if last.Outcome != gitstore.Landed && j.opt.Sleep(ctx, j.jitter(try)) != nil {
					break
				}
				continue
			}
		}
		last = j.opt.Remote.Push(ctx, gitstore.Push{Updates: prop.updates, Expect: prop.expect})
		landed, keep, err := j.settle(ctx, prop, last)
		switch {
		case landed:
			finish(prop.batch, nil)
			return
		case err != nil:
			finish(batch, err)
			return
		case last.Outcome == gitstore.Moved:
			if batch = dropMoved(batch, last.Refs); len(batch) == 0 {
				return
			}
			prop = nil
		case !keep:
			prop = nil
		}
		if err := j.opt.Sleep(ctx, j.jitter(try)); err != nil {
			break
		}
	}
	finish(batch, &PushError{Outcome: last.Outcome, Branch: j.opt.Config.Branch, Message: last.Message, Err: errors.Join(last.Err, ctx.Err())})
}

// settle finds out what a push did. landed: our commit is on the remote. keep: the tip has not moved, so that the same
// commit may be sent again. The remote is looked at after every doubt: an answer alone is never believed.
func (j *Journal) settle(ctx context.Context, prop *proposal, res gitstore.Result) (landed, keep bool, err error) {
	switch res.Outcome {
	case gitstore.Landed:
		j.adopt(prop, prop.snap.Commit())
		return true, false, nil
	case gitstore.Moved:
		return false, false, j.resync(ctx, res.Refs)
	case gitstore.Rejected, gitstore.AuthError:
		if refs, err := j.opt.Remote.Refs(ctx); err == nil && refs.Tips[j.opt.Config.Ref()] == prop.snap.Commit() {
			j.adopt(prop, refs.Tips[j.opt.Config.MarkRef()])
			return true, false, nil
		}
		return false, false, &PushError{Outcome: res.Outcome, Branch: j.opt.Config.Branch, Message: res.Message, Err: res.Err}
	case gitstore.LostRace, gitstore.Unknown, gitstore.NotSent:
	}
	refs, err := j.opt.Remote.Refs(ctx)
	if err != nil {
		return false, true, nil // not reachable now: the same commit is sent again
	}
	tip := refs.Tips[j.opt.Config.Ref()]
	switch tip {
	case prop.snap.Commit():
		j.adopt(prop, refs.Tips[j.opt.Config.MarkRef()])
		return true, false, nil
	case prop.updates[0].Old:
		return false, refs.Tips[j.opt.Config.MarkRef()] == j.markNow(), j.resync(ctx, refs)
	}
	if err := j.resync(ctx, refs); err != nil {
		return false, false, err
	}
	_, there, err := j.Snapshot().Entry(prop.path)
	if err != nil {
		return false, false, err
	}
	// Landed, and others have built on it: the token tells, or, once its file is compacted away, what it did.
	return there || present(j.State(), prop.events), false, nil
}

// present tells that a state holds something that only these events can have brought: their commit is in its history.
// What has no such mark is decided again from the state, which does no harm.
func present(s *ledger.State, events []ledger.Event) bool {
	for _, e := range events {
		switch e.Kind {
		case ledger.Claimed:
			if d := s.Deliveries[e.Delivery()]; d != nil && slices.ContainsFunc(d.Attempts, func(a ledger.Attempt) bool { return a.ID == e.Attempt }) {
				return true
			}
		case ledger.Receipt:
			if d := s.Deliveries[e.Delivery()]; d != nil && d.Receipts[e.Part].ID == e.ID && d.Receipts[e.Part].At.Equal(e.At) {
				return true
			}
		case ledger.Held:
			if _, ok := s.Holds[e.Hold]; ok {
				return true
			}
		case ledger.Refreshed:
			if c := s.Credentials[e.Login]; c.Seq == e.Seq && c.Digest == e.Digest {
				return true
			}
		case ledger.Bound, ledger.Scheduled, ledger.Prepared, ledger.Renewed, ledger.Ended, ledger.AdoptedEv, ledger.Released,
			ledger.Refreshing, ledger.TipEv:
		}
	}
	return false
}

func (j *Journal) markNow() gitstore.Hash {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mark
}

// resync folds what the remote has now. A transport failure is not an error here: the next try looks again.
func (j *Journal) resync(ctx context.Context, refs gitstore.Refs) error {
	err := j.syncTo(ctx, refs)
	if _, ok := errors.AsType[*Refusal](err); ok {
		return err
	}
	return nil
}

// adopt goes on from a proposal that is on the remote. mark is where the mark is: one behind where the remote moves refs
// one by one and the second did not follow.
func (j *Journal) adopt(prop *proposal, mark gitstore.Hash) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.snap, j.state = prop.snap, prop.state
	j.setMark(mark)
}

// setMark notes where the two refs are. The lock is held.
func (j *Journal) setMark(mark gitstore.Hash) {
	j.mark = mark
	tips := maps.Clone(j.refs.Tips)
	if tips == nil {
		tips = map[string]gitstore.Hash{}
	}
	tips[j.opt.Config.Ref()], tips[j.opt.Config.MarkRef()] = j.snap.Commit(), mark
	j.refs.Tips = tips
}

// catchUp brings a mark that is one behind to the tip before anything is built on it: were the next commit to land
// without its mark too, the ledger would look rewound.
func (j *Journal) catchUp(ctx context.Context) (gitstore.Result, error) {
	j.mu.Lock()
	snap, mark := j.snap, j.mark
	j.mu.Unlock()
	ref := j.opt.Config.MarkRef()
	res := j.opt.Remote.Push(ctx, gitstore.Push{Updates: []gitstore.Update{{Ref: ref, Old: mark, New: snap}}})
	switch res.Outcome {
	case gitstore.Landed:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.setMark(snap.Commit())
		return res, nil
	case gitstore.Rejected, gitstore.AuthError:
		return res, &PushError{Outcome: res.Outcome, Branch: j.opt.Config.Branch + "-mark", Message: res.Message, Err: res.Err}
	case gitstore.LostRace, gitstore.Moved, gitstore.Unknown, gitstore.NotSent:
	}
	refs, err := j.opt.Remote.Refs(ctx)
	if err != nil {
		return res, nil // not reachable now: it is tried again
	}
	return res, j.resync(ctx, refs)
}

// propose lets every request decide in turn, each on the state that the ones before it leave, and builds the commit.
// It returns the requests that are still open. A nil proposal means that there is nothing to write.
func (j *Journal) propose(ctx context.Context, batch []*request) (*proposal, []*request, error) {
	j.mu.Lock()
	base, snap, refs := j.state, j.snap, j.refs
	content, config := j.content, j.config
	j.mu.Unlock()

	work := base.Fork()
	p := &proposal{expect: map[string]gitstore.Hash{}}
	var events []ledger.Event
	var changes []gitstore.Change
	var idle []*request
	for _, r := range batch {
		st := j.Stamp()
		tx := &Tx{State: work, Stamp: st, Now: st.At} // one reading: what is decided now must not lie after its event
		if err := r.decideNow(tx); err != nil {
			r.done <- err
			// What was applied of it must not stay: start over without it.
			return j.propose(ctx, without(batch, r))
		}
		if len(tx.events) == 0 && len(tx.files) == 0 {
			idle = append(idle, r)
			continue
		}
		events = append(events, tx.events...)
		changes = append(changes, tx.files...)
		maps.Copy(p.expect, r.expect)
		p.batch = append(p.batch, r)
	}
	finish(idle, nil)
	if len(p.batch) == 0 {
		return nil, nil, nil
	}
	if n := len(events); n == 0 || events[n-1].Kind != ledger.TipEv {
		tip, err := work.TipEvent(j.Stamp(), ledger.TipInput{Content: content, Config: config, Next: work.NextWake(j.Now())})
		if err != nil {
			return nil, p.batch, fmt.Errorf("tip: %w", err)
		}
		events = append(events, tip)
	}
	token, err := j.token()
	if err != nil {
		return nil, p.batch, err
	}
	p.token = token
	path, data, next, err := ledger.NextFile(base, events, j.Now(), token)
	if err != nil {
		return nil, p.batch, err
	}
	p.path, p.state, p.events = path, next, events
	changes = append(changes, gitstore.Change{Path: path, Data: data})
	if p.snap, err = j.build(ctx, snap, changes, events); err != nil {
		return nil, p.batch, err
	}
	p.updates = []gitstore.Update{
		{Ref: j.opt.Config.Ref(), Old: snap.Commit(), New: p.snap},
		{Ref: j.opt.Config.MarkRef(), Old: refs.Tips[j.opt.Config.MarkRef()], New: p.snap},
	}
	return p, p.batch, nil
}

func (j *Journal) build(ctx context.Context, parent gitstore.Snapshot, changes []gitstore.Change, events []ledger.Event) (gitstore.Snapshot, error) {
	if j.signer == nil {
		if j.opt.Signer == nil {
			return nil, errors.New("this command only reads the ledger")
		}
		s, err := j.opt.Signer(ctx)
		if err != nil {
			return nil, err
		}
		j.signer = s
	}
	return j.opt.Remote.Build(ctx, gitstore.Commit{
		Parent: parent, Changes: changes, Message: ledger.Message(events, j.opt.Run, j.opt.RunURL),
		Name: authorName, Email: authorEmail, When: j.Now(),
		Sign: func(payload []byte) (string, error) { return gitstore.SignSSH(j.signer, payload) },
	})
}

func finish(batch []*request, err error) {
	for _, r := range batch {
		r.done <- err
	}
}

func without(batch []*request, gone *request) []*request {
	out := make([]*request, 0, len(batch))
	for _, r := range batch {
		if r != gone {
			out = append(out, r)
		}
	}
	return out
}

// dropMoved ends the requests whose expectation no longer holds.
func dropMoved(batch []*request, refs gitstore.Refs) []*request {
	var out []*request
	for _, r := range batch {
		moved := false
		for ref, want := range r.expect {
			if refs.Tips[ref] != want {
				moved = true
			}
		}
		if moved {
			r.done <- ErrMoved
			continue
		}
		out = append(out, r)
	}
	return out
}

func (j *Journal) token() (string, error) {
	var b [8]byte
	if _, err := io.ReadFull(j.opt.Rand, b[:]); err != nil {
		return "", fmt.Errorf("no random bytes: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// jitter is a random wait below a bound that doubles with each try (full jitter).
func (j *Journal) jitter(try int) time.Duration {
	top := min(baseWait<<min(try, 10), maxWait)
	n, err := rand.Int(j.opt.Rand, big.NewInt(int64(top)))
	if err != nil {
		return top
	}
	return time.Duration(n.Int64())
}
