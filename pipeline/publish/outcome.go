package publish

import (
	"errors"
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// verdict is what follows from a failed call for its delivery.
type verdict int

const (
	// later: surely not published, may pass later: queued with a time.
	later verdict = iota
	// hold: surely not published, and nothing will pass with this login: queued, the login is held.
	hold
	// reject: surely not published and never will be: failed, or partial when parts are out.
	reject
	// doubt: the part may be out: find it, repeat it under its exact key, or leave it uncertain.
	doubt
)

// judged is a verdict with its reason.
type judged struct {
	verdict   verdict
	reason    pipeline.Reason
	detail    string
	notBefore time.Time
}

// Waits before another try when the network does not say how long, by the number of tries so far.
var waits = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour}

// maxDetail bounds what the ledger keeps of an error.
const maxDetail = 400

// judge is the one switch on what came of a call. tries counts the delivery's attempts so far, this one included.
// write is true for a call that may have made something public.
func judge(err error, write bool, tries int, now time.Time) judged {
	e := providers.AsError(err)
	j := judged{detail: bounded(err.Error(), maxDetail)}
	wait := func(reason pipeline.Reason, at time.Time) judged {
		j.verdict, j.reason, j.notBefore = later, reason, at
		if least := now.Add(waits[min(max(tries-1, 0), len(waits)-1)]); at.IsZero() {
			j.notBefore = least
		}
		return j
	}
	if write && !e.SurelyUnpublished() {
		j.verdict, j.reason = doubt, pipeline.ReasonAmbiguous
		return j
	}
	if errors.Is(err, errFenced) {
		return wait(pipeline.ReasonFenced, now)
	}
	switch e.Kind {
	case providers.Unauthorized:
		j.verdict, j.reason = hold, pipeline.ReasonUnauthorized
	case providers.Forbidden:
		j.verdict, j.reason = hold, pipeline.ReasonForbidden
	case providers.Invalid, providers.NotFound, providers.Unsupported:
		j.verdict, j.reason = reject, pipeline.ReasonRejected
	case providers.Throttled:
		return wait(pipeline.ReasonThrottled, e.RetryAt)
	case providers.Unavailable, providers.Unknown, providers.Duplicate, providers.Ambiguous:
		if e.Reach == providers.NotSent {
			return wait(pipeline.ReasonNotSent, e.RetryAt)
		}
		return wait(pipeline.ReasonUnavailable, e.RetryAt)
	}
	return j
}

// bounded cuts s at a rune's border.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// partOf names a part for people: nothing for a plain post.
func partOf(i, n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf("part %d of %d", i+1, n)
}
