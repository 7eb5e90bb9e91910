package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

// Heartbeat is how often a run writes a tip though nothing has changed.
const Heartbeat = 24 * time.Hour

// maxLooks bounds how often a run looks at the content again because it moved under its claims.
const maxLooks = 8

// run is one execution. It is used once.
type run struct {
	opt   Options
	clock *corrected
	j     *journal.Journal

	mu      sync.Mutex
	result  Result
	blocked map[string]*accountError
	unsaved []unsaved
	files   *tree
	view    *compose.View
	// ledger is what the journal was opened by; refused are the deliveries that it would not take.
	ledger  pipeline.LedgerConfig
	refused map[*compose.Item]error

	keyOnce sync.Once
	key     vault.Keys
	keyErr  error

	// ending: claim nothing more. failed: results cannot be recorded.
	ending atomic.Bool
	failed error
	cancel context.CancelFunc
}

// Run executes one run. stop asks it to end: it claims nothing more, lets what is in flight finish within the grace,
// records, and returns. The error is set when the run could not do its work at all; what a person should know of single
// deliveries is in the result.
func Run(ctx context.Context, stop <-chan struct{}, opt Options) (Result, error) {
	if opt.CompactAfter == 0 {
		opt.CompactAfter = CompactAfter
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{opt: opt, clock: &corrected{base: opt.Clock}, blocked: map[string]*accountError{}, cancel: cancel}
	r.result = Result{Run: opt.Nonce, Started: opt.Clock.Wall().UTC(), DryRun: opt.DryRun}
	done := make(chan struct{})
	defer close(done)
	go r.watch(stop, done)
	err := r.run(ctx)
	r.close()
	r.result.Ended = r.clock.Wall().UTC()
	if r.failed != nil {
		err = errors.Join(r.failed, r.saveUnrecorded())
	}
	return r.result, err
}

// watch turns a request to end into the end of what is in flight, after the grace.
func (r *run) watch(stop <-chan struct{}, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-stop:
	}
	r.ending.Store(true)
	r.progress("note", "", "", "asked to end: nothing more is claimed")
	t := time.NewTimer(r.opt.Grace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		r.cancel()
	}
}

func (r *run) run(ctx context.Context) error {
	if err := r.openJournal(ctx); err != nil {
		return err
	}
	if err := r.checkClock(); err != nil {
		return err
	}
	if r.idle() {
		r.result.Idle = true
		r.result.Content = r.j.State().Tip.Content
		return r.finish(ctx)
	}
	for look := 0; ; look++ {
		moved, err := r.once(ctx)
		if err != nil {
			return err
		}
		if !moved || r.ending.Load() {
			break
		}
		if look+1 == maxLooks {
			return fmt.Errorf("the content branch %s kept moving; nothing more was claimed: the next run goes on", r.opt.Branch)
		}
		if err := r.opt.Sleep(ctx, time.Duration(look+1)*100*time.Millisecond); err != nil {
			return err
		}
		if err := r.j.Sync(ctx); err != nil {
			return err
		}
	}
	return r.finish(ctx)
}

// openJournal opens the ledger by what the checkout says of it, and by the content tip where it has no say.
func (r *run) openJournal(ctx context.Context) error {
	if cfg := r.opt.Hint; cfg != nil {
		err := r.journal(ctx, cfg.Ledger)
		var refused *journal.Refusal
		if err == nil || !errors.As(err, &refused) {
			return err
		}
	}
	// The checkout has no broadside.yaml, or one that the ledger does not fit: the content tip decides.
	refs, err := r.opt.Remote.Refs(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the refs of %s: %w", r.opt.Remote.URL(), err)
	}
	if r.opt.Branch == "" {
		if r.opt.Branch = strings.TrimPrefix(refs.Head, "refs/heads/"); r.opt.Branch == "" {
			return fmt.Errorf("%s does not say which branch is its default: name the content branch with --branch", r.opt.Remote.URL())
		}
	}
	if err := r.look(ctx, refs); err != nil {
		return err
	}
	return r.journal(ctx, r.view.Config.Ledger)
}

func (r *run) journal(ctx context.Context, cfg pipeline.LedgerConfig) error {
	j, err := journal.Open(ctx, journal.Options{
		Remote: r.opt.Remote, Config: cfg, Home: r.opt.Home, Signer: r.signer, Clock: r.clock, Sleep: r.opt.Sleep,
		Rand: r.opt.Rand, Run: r.opt.Nonce, RunURL: r.opt.RunURL,
	})
	if err != nil {
		return err
	}
	r.j, r.ledger = j, cfg
	if bound := j.State().Binding.ContentBranch; r.opt.Branch == "" {
		r.opt.Branch = bound
	}
	return nil
}

func (r *run) ref() string { return "refs/heads/" + r.opt.Branch }

// idle tells that the ledger was brought up to date from this very content and that nothing is to be done yet.
func (r *run) idle() bool {
	s, now := r.j.State(), r.clock.Wall()
	tip := r.j.Refs().Tips[r.ref()]
	return !r.opt.Full && s.Tip.Finished && s.Tip.Content != "" && s.Tip.Content == string(tip) && now.Sub(s.Tip.At) < Heartbeat &&
		(s.Tip.Next.IsZero() || now.Before(s.Tip.Next)) && (len(s.Tip.Told) == 0 || now.Sub(s.Tip.ToldAt) < toldAgain) &&
		now.After(s.Tip.At.Add(-r.opt.Fence.MaxSkew))
}

// once looks at the content tip, brings the ledger up to it, recovers, and publishes what is due. moved tells that the
// content branch moved meanwhile.
func (r *run) once(ctx context.Context) (moved bool, err error) {
	if err := r.look(ctx, r.j.Refs()); err != nil {
		return false, err
	}
	if r.view.Config.Ledger != r.ledger {
		// The checkout named another ledger than the content tip does: the tip decides.
		if err := r.journal(ctx, r.view.Config.Ledger); err != nil {
			return false, err
		}
		if err := r.build(ctx, r.content()); err != nil {
			return false, err
		}
	}
	r.j.Know(r.view.Commit, r.view.Config.Hash)
	facts := r.facts(ctx)
	if r.opt.DryRun {
		return false, r.dry(ctx, facts)
	}
	err = r.j.Append(ctx, r.expect(), func(tx *journal.Tx) error { return Housekeep(r.view, facts, tx) })
	if errors.Is(err, journal.ErrMoved) {
		return true, nil
	}
	if err != nil {
		r.stopOn(err)
		return false, err
	}
	if r.ending.Load() {
		return false, nil
	}
	return r.lanes(ctx)
}

// expect is what must still hold when a decision about content is pushed.
func (r *run) expect() journal.Expect {
	return journal.Expect{r.ref(): gitstore.Hash(r.view.Commit)}
}

func (r *run) content() *tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.files
}

func (r *run) close() {
	if t := r.content(); t != nil {
		t.Close()
	}
}

// stop ends the run because nothing can be recorded any more.
func (r *run) stop(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
	r.ending.Store(true)
}

func (r *run) stopOn(err error) {
	if p := new(journal.PushError); errors.As(err, &p) {
		r.stop(err)
	}
}

func (r *run) blockAccount(e *accountError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocked[e.Dest] = e
}

func (r *run) progress(what, post, dest, text string) {
	if r.opt.Progress != nil {
		r.opt.Progress(Progress{What: what, Post: post, Dest: dest, Text: text})
	}
}

func (r *run) note(it *compose.Item, text string) {
	if text == "" {
		return
	}
	r.progress("note", it.ID.Post, it.Destination.Name, text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Diagnostics = append(r.result.Diagnostics, pipeline.Diagnostic{
		Code: "note", Severity: pipeline.Note,
		File: it.Post.Path, Message: text, Post: it.ID.Post, Destination: it.Destination.Name,
	})
}

// corrected is a clock set right by the remote's own.
type corrected struct {
	base   pipeline.Clock
	offset atomic.Int64
}

func (c *corrected) Wall() time.Time     { return c.base.Wall().Add(time.Duration(c.offset.Load())) }
func (c *corrected) Mono() time.Duration { return c.base.Mono() }

// checkClock corrects a clock that is a little off by the remote's, and refuses to work with one that is far off.
func (r *run) checkClock() error {
	refs := r.j.Refs()
	if refs.Date.IsZero() {
		return nil
	}
	off := refs.Date.Sub(refs.At)
	if off.Abs() > r.opt.Fence.MaxSkew {
		return fmt.Errorf("this machine's clock is %s off: it says %s, %s says %s; nothing is published until it is set right",
			off.Abs().Round(time.Second), refs.At.UTC().Format(time.RFC3339), r.opt.Remote.URL(), refs.Date.UTC().Format(time.RFC3339))
	}
	// A Date header has whole seconds: a difference within that says nothing.
	if off.Abs() > 2*time.Second {
		r.clock.offset.Store(int64(off))
	}
	return nil
}

// facts gathers what the plan needs to know.
func (r *run) facts(ctx context.Context) Facts {
	t := r.content()
	blob := func(path string) string {
		e, ok := t.entry(path)
		if !ok {
			return ""
		}
		return string(e.Blob)
	}
	seen := map[*compose.Item]bool{}
	s := r.j.State()
	for _, it := range r.view.Items {
		d := s.Deliveries[it.ID]
		if it.Errors || it.Draft() || it.Skip || it.Now() || it.ID.Target == "" {
			continue
		}
		w, err := it.Window(r.view.Config, r.clock.Wall())
		now := r.clock.Wall()
		if err != nil || d != nil && d.Due.Equal(w.Due) || now.Sub(w.Due) <= LateAfter || now.After(w.By) {
			continue
		}
		seen[it] = r.inTime(ctx, it, w.Due.Add(LateAfter))
	}
	r.mu.Lock()
	r.refused = map[*compose.Item]error{}
	r.mu.Unlock()
	return Facts{
		Refused: func(it *compose.Item, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.refused[it] = err
		},
		InTime: func(it *compose.Item) bool { return seen[it] },
		Exists: func(path string) bool { return blob(path) != "" },
		Blob:   blob,
		Stale: func(d *ledger.Delivery) time.Duration {
			provider, _, _, _ := d.ID.Target.Split()
			return r.opt.Fence.Stale(r.opt.Providers[provider].LongestRequest)
		},
	}
}

// inTime tells whether the file as it stands was on the content branch by then: by the age of the tip, else by the
// history of this one file.
func (r *run) inTime(ctx context.Context, it *compose.Item, by time.Time) bool {
	if s := r.j.State(); s.Deliveries[it.ID] == nil && s.Tip.Finished && s.Tip.At.After(by) {
		return false // a run finished after that and had not seen it: a committer's date proves nothing against it
	}
	t := r.content()
	if when, ok := committed(t.snap.Raw()); ok && !when.After(by) {
		return true
	}
	e, ok := t.entry(it.Post.Path)
	if !ok {
		return false
	}
	const changes = 50
	hist, err := r.opt.Remote.History(ctx, r.ref(), it.Post.Path, changes)
	if err != nil {
		r.opt.Log.Warn("the history of a late post could not be read: it counts as late", "post", it.ID.Post, "err", err)
		return false
	}
	for _, c := range hist {
		if c.Blob == e.Blob {
			return !c.When.After(by)
		}
	}
	return false
}
