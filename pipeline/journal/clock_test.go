package journal_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/journal"
)

// ticking is a clock that is a second later at each look.
type ticking struct {
	bubble
	n atomic.Int64
}

func (c *ticking) Wall() time.Time {
	return c.bubble.Wall().Add(time.Duration(c.n.Add(1)) * time.Second)
}

// TestDecisionAndItsEventsHaveOneTime is for what compares the two: a claim whose bytes seem to be younger than itself is
// refused, and its post would wait for the next run.
func TestDecisionAndItsEventsHaveOneTime(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		opt := g.options("one")
		opt.Clock = &ticking{}
		j, err := journal.Open(t.Context(), opt)
		check(t, err)
		check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error {
			if !tx.Now.Equal(tx.Stamp.At) {
				t.Errorf("decided at %s, recorded as of %s", tx.Now, tx.Stamp.At)
			}
			return schedule("p")(tx)
		}))
	})
}
