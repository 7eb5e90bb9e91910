package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// FilesOf shows a commit's tree as the files of a ledger.
func FilesOf(s gitstore.Snapshot) ledger.Files { return filesOf(s) }

// Inspection is what can be said of a ledger without believing it.
type Inspection struct {
	Refs gitstore.Refs
	// Snap is the tip; nil where there is no ledger branch.
	Snap gitstore.Snapshot
	// Mark is where the second ref is, "" for nowhere.
	Mark gitstore.Hash
	// Report tells of every event; its State holds what the legal ones lead to.
	Report ledger.Report
	// Refusals are all reasons not to use the ledger, but for events that are not legal: those are in Report.
	Refusals []*Refusal
}

// OK tells that a run would use the ledger.
func (i Inspection) OK() bool { return len(i.Refusals) == 0 && i.Report.OK() }

// Inspect reads the ledger at its tip and gathers everything that is wrong with it. The error is for what could not be
// read at all.
func Inspect(ctx context.Context, opt Options) (Inspection, error) {
	if opt.Config.Branch == "" {
		opt.Config.Branch = pipeline.DefaultLedgerBranch
	}
	refs, err := opt.Remote.Refs(ctx)
	if err != nil {
		return Inspection{}, fmt.Errorf("cannot read the refs of %s: %w", opt.Remote.URL(), err)
	}
	in := Inspection{Refs: refs, Mark: refs.Tips[opt.Config.MarkRef()]}
	snap, err := opt.Remote.Fetch(ctx, opt.Config.Ref(), gitstore.FetchOptions{})
	if err != nil {
		return in, fmt.Errorf("cannot fetch %s from %s: %w", opt.Config.Branch, opt.Remote.URL(), err)
	}
	if snap == nil {
		in.refuse(refuseNoLedger(opt, refs))
		return in, nil
	}
	in.Snap = snap
	in.Report, err = ledger.Verify(filesOf(snap))
	if errors.Is(err, ledger.ErrNoLedger) {
		in.Report = ledger.Report{State: ledger.New(), Problems: []ledger.Problem{{Path: ledger.FormatPath, Message: err.Error()}}}
		err = nil
	}
	if err != nil {
		return in, err
	}
	in.refuse(checkSigner(opt, snap, in.Report.State))
	in.refuse(checkMark(opt, snap, in.Mark))
	if in.Report.State.Binding.Ledger != "" {
		in.refuse(checkHome(opt, in.Report.State))
	}
	return in, nil
}

func (i *Inspection) refuse(err error) {
	if r := new(Refusal); errors.As(err, &r) {
		i.Refusals = append(i.Refusals, r)
	}
}
