package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// ReasonRestored is the reason of the hold that a restore leaves where it cannot know that nothing is missing.
const ReasonRestored pipeline.Reason = "restored"

// ErrNothingGood tells that no copy of the ledger can be believed.
var ErrNothingGood = errors.New("no copy of the ledger was found that is signed by its signer and legal")

// ErrDiverged tells that two good copies each hold something that the other lacks.
var ErrDiverged = errors.New("two copies of the ledger hold different histories")

// Restoration is what a restore found and would do. Nothing has been changed yet.
type Restoration struct {
	// Ledger and Mark are the remote's own two refs, nil where a ref is missing.
	Ledger, Mark *Witness
	// Others were found elsewhere.
	Others []*Witness
	// Best is the copy to restore from: it holds all that the other good ones hold.
	Best *Witness
	// Whole tells that there is nothing to restore: a run would use the ledger as it is.
	Whole bool
	// Certain tells that Best holds the newest state that ever was on the remote: the mark says so. Else everything is
	// held until a person has looked.
	Certain bool
	// Diverged tells that a person's choice decided between histories.
	Diverged bool

	opt Options
}

// Restore looks at the remote's ledger, its mark and other sources, and works out how to mend them. It fails with
// ErrNothingGood or ErrDiverged where only a person can.
func Restore(ctx context.Context, opt Options, sources []Source) (*Restoration, error) {
	if opt.Config.Branch == "" {
		opt.Config.Branch = pipeline.DefaultLedgerBranch
	}
	r := &Restoration{opt: opt}
	var err error
	if r.Ledger, err = witness(ctx, opt, "the ledger branch", opt.Remote, opt.Config.Ref()); err != nil {
		return nil, err
	}
	if r.Mark, err = witness(ctx, opt, "the mark", opt.Remote, opt.Config.MarkRef()); err != nil {
		return nil, err
	}
	for _, w := range []*Witness{r.Ledger, r.Mark} {
		if w != nil {
			w.home = true
		}
	}
	for _, s := range sources {
		for _, ref := range s.Refs {
			w, err := witness(ctx, opt, strings.TrimPrefix(ref, "refs/")+" of "+s.Name, s.Remote, ref)
			if err != nil {
				return nil, err
			}
			if w != nil {
				w.Chosen, w.home = s.Chosen, s.Remote == opt.Remote
				r.Others = append(r.Others, w)
			}
		}
	}
	if err := r.choose(ctx); err != nil {
		return r, err
	}
	return r, r.compare(ctx)
}

// Witnesses lists all that was found.
func (r *Restoration) Witnesses() []*Witness {
	var out []*Witness
	for _, w := range []*Witness{r.Ledger, r.Mark} {
		if w != nil {
			out = append(out, w)
		}
	}
	return append(out, r.Others...)
}

// choose finds the copy that holds all that the other good copies hold.
func (r *Restoration) choose(ctx context.Context) error {
	var good []*Witness
	for _, w := range r.Witnesses() {
		if w.Good() {
			good = append(good, w)
		}
	}
	if len(good) == 0 {
		return ErrNothingGood
	}
	for _, w := range good {
		all := true
		for _, o := range good {
			ok, err := w.contains(ctx, o)
			if err != nil {
				return err
			}
			all = all && ok
		}
		// The remote's own come first: what is there already need not be sent.
		if all {
			r.Best = w
			return nil
		}
	}
	for _, w := range good {
		if w.Chosen && (r.Best == nil || w.Number > r.Best.Number) {
			r.Best, r.Diverged = w, true
		}
	}
	if r.Best == nil {
		return ErrDiverged
	}
	return nil
}

// compare sees what is to be done, and whether anything may be missing.
func (r *Restoration) compare(ctx context.Context) error {
	if r.Mark != nil && r.Mark.Good() && !r.Diverged {
		ok, err := r.Best.contains(ctx, r.Mark)
		if err != nil {
			return err
		}
		// Whoever could put a commit of their own on the ledger could have moved the mark back as well.
		r.Certain = ok && (r.Ledger == nil || r.Ledger.Good())
	}
	if r.Ledger == nil || !r.Ledger.Good() {
		return nil
	}
	same, err := r.Ledger.contains(ctx, r.Best)
	if err != nil {
		return err
	}
	mark := gitstore.Hash("")
	if r.Mark != nil {
		mark = r.Mark.Commit
	}
	r.Whole = same && checkSigner(r.opt, r.Ledger.snap, r.Ledger.State) == nil && checkMark(r.opt, r.Ledger.snap, mark) == nil
	return nil
}

// parents picks the commit to build on, and the further parents that make both refs move without force.
func (r *Restoration) parents(ctx context.Context) (first *Witness, also []gitstore.Hash, err error) {
	tips := []*Witness{}
	for _, w := range []*Witness{r.Mark, r.Ledger} {
		if w != nil {
			tips = append(tips, w)
		}
	}
	if r.Best.home {
		first = r.Best
	}
	for _, good := range []bool{true, false} {
		for _, w := range tips {
			if first == nil && w.Good() == good {
				first = w
			}
		}
	}
	if first == nil {
		return nil, nil, nil
	}
	for _, w := range tips {
		if w.Commit == first.Commit {
			continue
		}
		known, err := first.descends(ctx, w)
		if err != nil {
			return nil, nil, err
		}
		if !known {
			also = append(also, w.Commit)
		}
	}
	return first, also, nil
}

// Do restores: one signed commit with Best's files and a `bound` event, onto which both refs move. Nothing is forced.
func (r *Restoration) Do(ctx context.Context) (gitstore.Hash, error) {
	j := &Journal{opt: r.opt}
	first, also, err := r.parents(ctx)
	if err != nil {
		return "", err
	}
	events, err := r.events(j)
	if err != nil {
		return "", err
	}
	token, err := j.token()
	if err != nil {
		return "", err
	}
	path, data, _, err := ledger.NextFile(r.Best.State, events, j.Now(), token)
	if err != nil {
		return "", err
	}
	var parent gitstore.Snapshot
	if first != nil {
		parent = first.snap
	}
	changes, err := difference(parent, r.Best.snap)
	if err != nil {
		return "", err
	}
	key, err := r.opt.Signer(ctx)
	if err != nil {
		return "", err
	}
	snap, err := r.opt.Remote.Build(ctx, gitstore.Commit{
		Parent: parent, Also: also, Changes: append(changes, gitstore.Change{Path: path, Data: data}),
		Message: ledger.Message(events, r.opt.Run, r.opt.RunURL), Name: authorName, Email: authorEmail, When: j.Now(),
		Sign: func(p []byte) (string, error) { return gitstore.SignSSH(key, p) },
	})
	if err != nil {
		return "", err
	}
	return snap.Commit(), r.push(ctx, snap)
}

// events are what the restore appends.
func (r *Restoration) events(j *Journal) ([]ledger.Event, error) {
	b := r.Best.State.Binding
	return Dry(r.Best.State.Fork(), j.Stamp(), func(tx *Tx) error {
		if err := tx.Add(tx.State.Bind(tx.Stamp, b, r.opt.Actor, ledger.WhyRestore)); err != nil {
			return err
		}
		if r.Certain {
			return nil
		}
		id, err := j.token()
		if err != nil {
			return err
		}
		return tx.Add(tx.State.Hold(tx.Stamp, ledger.HoldInput{
			Hold: id, Scope: ledger.ScopeAll, Reason: ReasonRestored,
			Detail: "from a copy that may be old: compare `broadside status` with the networks first",
		}))
	})
}

// difference lists what turns the files of one commit into those of another.
func difference(from, to gitstore.Snapshot) ([]gitstore.Change, error) {
	have := map[string]gitstore.Entry{}
	if from != nil {
		es, err := from.Entries("")
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			have[e.Path] = e
		}
	}
	es, err := to.Entries("")
	if err != nil {
		return nil, err
	}
	var out []gitstore.Change
	for _, e := range es {
		if old, ok := have[e.Path]; ok && old.Blob == e.Blob && old.Mode == e.Mode {
			delete(have, e.Path)
			continue
		}
		data, err := to.Read(e.Blob)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", e.Path, err)
		}
		out = append(out, gitstore.Change{Path: e.Path, Data: data})
		delete(have, e.Path)
	}
	for path := range have {
		out = append(out, gitstore.Change{Path: path, Remove: true})
	}
	return out, nil
}

func (r *Restoration) push(ctx context.Context, snap gitstore.Snapshot) error {
	old := func(w *Witness) gitstore.Hash {
		if w == nil {
			return ""
		}
		return w.Commit
	}
	push := gitstore.Push{Updates: []gitstore.Update{
		{Ref: r.opt.Config.Ref(), Old: old(r.Ledger), New: snap}, {Ref: r.opt.Config.MarkRef(), Old: old(r.Mark), New: snap},
	}}
	var res gitstore.Result
	for range 3 {
		res = r.opt.Remote.Push(ctx, push)
		refs, err := r.opt.Remote.Refs(ctx)
		if err != nil {
			continue // not reachable now: the same commit is sent again
		}
		ledgerThere, markThere := refs.Tips[r.opt.Config.Ref()] == snap.Commit(), refs.Tips[r.opt.Config.MarkRef()] == snap.Commit()
		switch {
		case ledgerThere && markThere:
			return nil
		case res.Outcome == gitstore.LostRace, res.Outcome == gitstore.Rejected, res.Outcome == gitstore.AuthError:
			return &PushError{Outcome: res.Outcome, Branch: r.opt.Config.Branch, Message: res.Message, Err: res.Err}
		}
	}
	return &PushError{Outcome: res.Outcome, Branch: r.opt.Config.Branch, Message: res.Message, Err: res.Err}
}
