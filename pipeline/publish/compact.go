package publish

import (
	"context"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// CompactAfter is how many event files a ledger gathers before a run folds them into its archive.
const CompactAfter = 1000

// compact folds the event files into the archive by an ordinary commit, when there are many. It is done last, by a run
// that has nothing in flight; when another run is faster it is left to a later one.
func (r *run) compact(ctx context.Context) error {
	es, err := r.j.Snapshot().Entries("events/")
	if err != nil || len(es) < r.opt.CompactAfter {
		return err
	}
	r.progress("note", "", "", "compacting the ledger")
	return r.record(ctx, func(tx *journal.Tx) error {
		changes, err := ledger.Compact(tx.State, r.j.Files(), tx.Now)
		if err != nil {
			return err
		}
		for _, c := range changes {
			tx.File(gitstore.Change{Path: c.Path, Data: c.Data, Remove: c.Remove})
		}
		// The tip says again what the run's own said: a finished run, and nothing new.
		return tx.Add(tx.State.TipEvent(tx.Stamp, ledger.TipInput{Next: tx.State.NextWake(tx.Now), Finished: tx.State.Tip.Finished, Waiting: tx.State.Tip.Waiting}))
	})
}
