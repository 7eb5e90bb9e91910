package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Fence holds every constant that keeps two runs from writing the same part. They belong together: a lease is stale
// only after every write begun under it has surely ended.
type Fence struct {
	Lease      time.Duration // how long a claim holds
	Renew      time.Duration // a lease is renewed when this much of it has passed
	CutBefore  time.Duration // a request is cut off this long before its lease ends
	StaleAfter time.Duration // a lease is stale this long after its end, plus the longest request
	MaxSkew    time.Duration // a clock further off than this publishes nothing
	// by is what Scaled has divided by, 0 where it has not.
	by time.Duration
}

// DefaultFence is the fence of every released binary.
func DefaultFence() Fence {
	return Fence{
		Lease: 10 * time.Minute, Renew: 5 * time.Minute, CutBefore: 2 * time.Minute,
		StaleAfter: 5 * time.Minute, MaxSkew: 2 * time.Minute,
	}
}

// Scaled divides every constant but MaxSkew, and the longest request, for tests of the real binary that cannot wait.
func (f Fence) Scaled(by int) Fence {
	d := time.Duration(by)
	return Fence{Lease: f.Lease / d, Renew: f.Renew / d, CutBefore: f.CutBefore / d, StaleAfter: f.StaleAfter / d, MaxSkew: f.MaxSkew, by: d}
}

// Stale is how long after a lease's end nobody writes under it any more, for a provider whose longest request is given.
func (f Fence) Stale(longest time.Duration) time.Duration {
	return f.StaleAfter + longest/max(f.by, 1)
}

// errFenced tells that a write was not begun because its lease or deadline is at its end.
var errFenced = errors.New("not begun: the lease or the deadline is at its end")

// lease is one claim's right to write, on the wall clock that other runs see and on the monotonic clock of this one.
type lease struct {
	clock pipeline.Clock
	fence Fence
	until time.Time     // wall
	mono  time.Duration // monotonic reading at which it ends
	// by is the deadline of the first part, zero once a part is out.
	by time.Time
	// keyEnd is when the network stops recognising a repetition, zero where nothing is repeated.
	keyEnd time.Time
}

// newLease is measured from before the claim was decided, so that it never ends later than the ledger says.
func newLease(c pipeline.Clock, f Fence, wall time.Time, mono time.Duration) *lease {
	return &lease{clock: c, fence: f, until: wall.Add(f.Lease), mono: mono + f.Lease}
}

// check is made directly before each write.
func (l *lease) check() error {
	now := l.clock.Wall()
	switch {
	case !now.Before(l.until.Add(-l.fence.CutBefore)), l.clock.Mono() >= l.mono-l.fence.CutBefore:
		return fmt.Errorf("%w: the lease ends at %s", errFenced, l.until.UTC().Format(time.RFC3339))
	case !l.by.IsZero() && now.After(l.by):
		return fmt.Errorf("%w: publish_by was %s", errFenced, l.by.UTC().Format(time.RFC3339))
	case !l.keyEnd.IsZero() && !now.Before(l.keyEnd):
		return fmt.Errorf("%w: the network recognises a repetition only until %s", errFenced, l.keyEnd.UTC().Format(time.RFC3339))
	}
	return nil
}

// context cuts a request off in time.
func (l *lease) context(parent context.Context) (context.Context, context.CancelFunc) {
	left := min(l.mono-l.clock.Mono(), l.until.Sub(l.clock.Wall())) - l.fence.CutBefore
	return context.WithTimeout(parent, left)
}

// renewDue tells that half of the lease has passed.
func (l *lease) renewDue() bool {
	return l.clock.Mono() >= l.mono-l.fence.Lease+l.fence.Renew
}

// renewed takes over a longer lease that is on the remote.
func (l *lease) renewed(wall time.Time, mono time.Duration) {
	l.until, l.mono = wall.Add(l.fence.Lease), mono+l.fence.Lease
}

type leaseKey struct{}

// withLease makes every request under ctx pass the fence once more when it leaves.
func withLease(ctx context.Context, l *lease) context.Context {
	return context.WithValue(ctx, leaseKey{}, l)
}

// fenced is the transport under every adapter: a request that belongs to a lease is checked as late as can be.
type fenced struct{ base http.RoundTripper }

func (t fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	if l, ok := r.Context().Value(leaseKey{}).(*lease); ok {
		if err := l.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, fenceError{err}
		}
	}
	return t.base.RoundTrip(r)
}

// fenceError is a request that the fence kept from leaving.
type fenceError struct{ error }

// NotSent tells the client that no byte of the request left.
func (fenceError) NotSent() bool { return true }

func (e fenceError) Unwrap() error { return e.error }
