package memgit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
)

// OpKind is a kind of operation that reaches the server.
type OpKind string

// The operations. History and FetchBlobs count as OpFetch.
const (
	OpRefs  OpKind = "refs"
	OpFetch OpKind = "fetch"
	OpPush  OpKind = "push"
)

// Op is one request of a client. A push of several refs to a server that is not atomic is one Op for each.
type Op struct {
	Kind   OpKind
	Remote string   // the client's name
	Refs   []string // the refs that it is about; none for OpRefs
	Seq    int      // counts all operations on the server, from 1
}

// FaultKind is what goes wrong.
type FaultKind int

const (
	// None means that all goes well.
	None FaultKind = iota
	// Before fails before anything is sent. A push is NotSent.
	Before
	// After applies a push, but the answer is lost: Unknown.
	After
	// Lost does not apply a push, and the answer is lost: Unknown.
	Lost
	// Late loses the answer, and applies the push only after Fault.Late, if its refs are then still where it
	// expects them: a request in flight that outlives its sender.
	Late
	// Race runs Fault.Race between the advertisement and the update.
	Race
	// Reject refuses a push by policy.
	Reject
	// Auth denies access.
	Auth
	// Lie reports Landed for a push though nothing was applied, as a client would that takes the absence of an error for
	// success. No gitstore transport does so; it shows what a user of the result must not rely on.
	Lie
)

// Fault is what happens to one operation.
type Fault struct {
	Kind FaultKind
	// Delay passes before the operation (and its fault) begins.
	Delay time.Duration
	// Stale makes a fetch or an advertisement show the refs as they were that many updates ago, as a lagging replica does.
	Stale int
	// Late is the delay of a Late push.
	Late time.Duration
	// Race is what happens in between; it may use the server.
	Race func(*Server)
	// Err replaces the error of the fault.
	Err error
}

func (f Fault) err(otherwise error) error {
	if f.Err != nil {
		return f.Err
	}
	return otherwise
}

var errBroken = errors.New("connection reset (injected)")

// begin waits out a delay and gives the error of a fault that strikes before the server is reached.
func (f Fault) begin(ctx context.Context) error {
	if f.Delay > 0 {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.Kind == Auth {
		return f.err(fmt.Errorf("%w (injected)", gitstore.ErrAuth))
	}
	if f.Kind == Before {
		return f.err(errBroken)
	}
	return nil
}

// fails is the error of a fault on something that only reads.
func (f Fault) fails() error {
	if f.Kind == After || f.Kind == Lost || f.Kind == Late {
		return f.err(errBroken)
	}
	return nil
}
