package journal_test

import (
	"fmt"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
)

// TestMarkNeverFallsBehindByTwo has a remote without atomic updates lose the answer to every push of the ledger, so that
// the mark is never sent along with it.
func TestMarkNeverFallsBehindByTwo(t *testing.T) {
	t.Parallel()
	for _, kind := range []memgit.FaultKind{memgit.After, memgit.Lost, memgit.Before} {
		bubbleTest(t, func(t *testing.T, g *rig) {
			g.git.SetAtomic(false)
			j := g.open("one")
			n := 0
			g.git.SetFaults(func(op memgit.Op) memgit.Fault {
				if op.Kind != memgit.OpPush || (op.Refs[0] == ref) != (kind == memgit.After) {
					return memgit.Fault{}
				}
				if n++; n%4 == 0 { // now and then one gets through
					return memgit.Fault{}
				}
				return memgit.Fault{Kind: kind}
			})
			for i := range 6 {
				check(t, j.Append(t.Context(), nil, schedule(fmt.Sprintf("p%d", i))))
				if got := len(g.open("reader").State().Deliveries); got != i+1 {
					t.Fatalf("fault %d: after %d appends the ledger has %d deliveries", kind, i+1, got)
				}
			}
		})
	}
}

func TestMarkThatCannotBeBroughtUpEndsInAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.git.SetAtomic(false)
		j := g.open("one")
		lost := false
		g.git.SetFaults(func(op memgit.Op) memgit.Fault {
			if op.Kind == memgit.OpPush && op.Refs[0] == ref && !lost {
				lost = true
				return memgit.Fault{Kind: memgit.After}
			}
			if op.Kind == memgit.OpPush && op.Refs[0] == mark {
				return memgit.Fault{Kind: memgit.Reject}
			}
			return memgit.Fault{}
		})
		check(t, j.Append(t.Context(), nil, schedule("p0")))
		tip := g.git.Tip(ref)
		err := j.Append(t.Context(), nil, schedule("p1"))
		if err == nil || g.git.Tip(ref) != tip {
			t.Errorf("built on a ledger whose mark is behind: %v", err)
		}
		g.git.SetFaults(nil)
		check(t, j.Append(t.Context(), nil, schedule("p1")))
	})
}

// TestLedgerThatWasReplacedIsReadAnew has a run outlive a restore from an old copy that has grown longer since.
func TestLedgerThatWasReplacedIsReadAnew(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.write(0, 1)
		old := g.git.Tip(ref)
		j := g.open("old")
		check(t, j.Append(t.Context(), nil, schedule("lost")))
		g.git.Force(ref, old)
		g.git.Force(mark, old)
		g.write(10, 3)
		check(t, j.Append(t.Context(), nil, schedule("late")))
		got := g.open("reader").State().Deliveries
		mine := j.State().Deliveries
		for id := range got {
			if mine[id] == nil {
				t.Errorf("the run that goes on does not know %s", id)
			}
		}
		if len(got) != 5 || len(mine) != 5 {
			t.Errorf("the ledger has %d deliveries, the run that goes on knows %d; want 5", len(got), len(mine))
		}
	})
}
