package ledger

import (
	"errors"
	"fmt"

	"github.com/broadside-pub/broadside/pipeline"
)

// ErrNoLedger means that the tree has no file `format`: it is not a ledger.
var ErrNoLedger = errors.New("no ledger here: the file `format` is missing")

// Move names a transition, for errors and for the tables that say where it is legal.
type Move string

// The moves.
const (
	MoveBind          Move = "bind"
	MoveSchedule      Move = "schedule"
	MovePrepare       Move = "prepare"
	MoveClaim         Move = "claim"
	MoveRenew         Move = "renew"
	MoveReceipt       Move = "receipt"
	MoveQueue         Move = "queue"
	MoveRepeat        Move = "repeat"
	MoveAbsent        Move = "absent"
	MoveRetry         Move = "retry"
	MoveFail          Move = "fail"
	MovePartial       Move = "partial"
	MoveExpire        Move = "expire"
	MoveUncertain     Move = "uncertain"
	MoveStaleLease    Move = "stale_lease"
	MoveCancel        Move = "cancel"
	MovePersonCancel  Move = "cancel_by_person"
	MovePersonPublish Move = "resolve_published"
	MoveEdited        Move = "edited"
	MoveRetracted     Move = "retracted"
	MoveAdopt         Move = "adopt"
	MoveHold          Move = "hold"
	MoveRelease       Move = "release"
	MoveBeginRefresh  Move = "begin_refresh"
	MoveEndRefresh    Move = "end_refresh"
	MoveTip           Move = "tip"
)

// Code says by which rule a move was refused.
type Code string

// The codes.
const (
	CodeState     Code = "state"             // the state does not allow it
	CodeUnbound   Code = "unbound"           // the ledger has no home yet
	CodeUnknown   Code = "unknown"           // no such delivery, attempt, hold or refresh
	CodeHeld      Code = "held"              // a hold covers it
	CodeBusy      Code = "busy"              // target, login, step or refresh is in other hands
	CodeNotDue    Code = "not_due"           // due or not_before lies ahead
	CodeExpired   Code = "expired"           // the deadline has passed
	CodeNotYet    Code = "not_yet"           // deadline or lease has not passed
	CodeForeign   Code = "foreign"           // another run's attempt
	CodeDoubt     Code = "doubt"             // something may be out: it is uncertain, not failed
	CodePartial   Code = "partial"           // some part is out
	CodeSource    Code = "source"            // not the source that is scheduled, or that is half out
	CodeBytes     Code = "bytes"             // not the bytes that make repetition harmless
	CodeCopyOut   Code = "copy_out"          // a copy is out that no attempt accounts for
	CodeAbsent    Code = "absent_twice"      // a finder's second "surely absent" needs a person
	CodePublished Code = "already_published" // its time moves past its publication
	CodeTimes     Code = "times"             // times may not change now
	CodeTaken     Code = "taken"             // the id belongs to another receipt
	CodeMalformed Code = "malformed"         // fields that contradict each other
)

// IllegalError refuses a move. The state is unchanged.
type IllegalError struct {
	Delivery pipeline.DeliveryID // zero for moves that concern no delivery
	State    pipeline.State      // "" where there is none
	Move     Move
	Code     Code
	Why      string
}

func (e *IllegalError) Error() string {
	s := "ledger: " + string(e.Move)
	if e.Delivery != (pipeline.DeliveryID{}) {
		s += " " + e.Delivery.String()
	}
	if e.State != "" {
		s += " (" + string(e.State) + ")"
	}
	return s + ": " + e.Why
}

// FieldError refuses an event whose fields are not those of its kind or not of their form.
type FieldError struct {
	Kind  Kind
	Field string
	Why   string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("ledger: event %q: field %q: %s", e.Kind, e.Field, e.Why)
}

// UnknownKindError means that a newer broadside wrote this ledger: the run must stop.
type UnknownKindError struct{ Kind string }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("ledger: unknown kind of event %q: a newer broadside wrote this ledger; update this one", e.Kind)
}

// VersionError means that the ledger, or one event, has a version that this binary does not know.
type VersionError struct{ Found string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("ledger: format version %q is not %d: a newer broadside wrote this ledger; update this one",
		e.Found, FormatVersion)
}

// LineError places an error in a file.
type LineError struct {
	Path string // "" where the bytes have no path
	Line int    // from 1; 0: the file as a whole
	Err  error
}

func (e *LineError) Error() string {
	switch {
	case e.Path == "":
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// GapError means that event files are missing or there twice.
type GapError struct {
	Want int // the number that had to follow
	Got  int // the number that is there
	Path string
}

func (e *GapError) Error() string {
	what := "events are missing"
	if e.Got < e.Want {
		what = "a number is there twice"
	}
	return fmt.Sprintf("ledger: %s: want event file %d, found %d (%s); `broadside ledger verify` lists all that is wrong",
		what, e.Want, e.Got, e.Path)
}
