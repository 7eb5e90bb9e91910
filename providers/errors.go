package providers

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reach says how far a request got.
type Reach int

// How far a request can have got.
const (
	NotSent   Reach = iota // no byte of it left this machine
	MaybeSent              // bytes left, no answer was read
	Answered               // an answer was read
)

func (r Reach) String() string {
	return [...]string{"not sent", "maybe sent", "answered"}[r]
}

// Kind says what an error means for the delivery.
type Kind int

// The kinds of errors. All but Unavailable (with NotSent), Throttled, Unauthorized, Forbidden, Invalid, NotFound and
// Unsupported leave open whether a write took effect.
const (
	Unknown      Kind = iota // not understood: for a write, as Ambiguous
	Invalid                  // the network refuses this content; it will not pass
	Unauthorized             // the credential is not accepted (any more)
	Forbidden                // the account may not do this
	Throttled                // too many requests; RetryAt says when to come back
	Unavailable              // surely not processed, may pass later
	Duplicate                // the network says that an equal post exists
	NotFound                 // the parent, post or name is not there
	Ambiguous                // a write may have taken effect
	Unsupported              // the provider cannot do this at all
)

var kindNames = [...]string{
	"unknown", "invalid", "unauthorized", "forbidden", "throttled", "unavailable", "duplicate", "not found",
	"ambiguous", "unsupported",
}

func (k Kind) String() string { return kindNames[k] }

// Error is what a provider's call returns when it fails. Its text never holds a secret.
type Error struct {
	Kind   Kind
	Reach  Reach
	Op     string // the provider's name and the call: "bluesky: putRecord"
	Status int    // HTTP status, 0 where there was no answer
	Code   string // the network's own error code, as it wrote it
	// Message is the network's own text, bounded and without control characters.
	Message string
	RetryAt time.Time // Throttled, Unavailable: not before; zero where the network does not say
	ID      string    // Duplicate: the id of the equal post, where the network names it
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": HTTP %d", e.Status)
	}
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	fmt.Fprintf(&b, ": %s", e.Kind)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Reach != Answered {
		b.WriteString(" (" + e.Reach.String() + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error; one that is not becomes Unknown with reach MaybeSent, the most careful reading.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Unknown, Reach: MaybeSent, Op: "provider", Err: err}
}

// SurelyUnpublished tells whether a failed write surely had no effect. It is the one place that decides this.
func (e *Error) SurelyUnpublished() bool {
	if e.Reach == NotSent {
		return true
	}
	if e.Reach == MaybeSent {
		return false
	}
	switch e.Kind {
	case Invalid, Unauthorized, Forbidden, Throttled, NotFound, Unsupported, Unavailable:
		return true
	case Unknown, Duplicate, Ambiguous:
		return false
	}
	return false
}
