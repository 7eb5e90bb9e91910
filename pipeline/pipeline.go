// Package pipeline is broadside's domain: posts, destinations, renditions, deliveries and their states.
//
// It holds data and rules that need nothing but the standard library. Reading files, git, networks and time are the
// business of the packages below it.
package pipeline

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// MaxPostID is the longest post id.
const MaxPostID = 64

var postID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ValidPostID tells whether id can name a post.
func ValidPostID(id string) bool { return postID.MatchString(id) }

// Target is the very place where a destination's posts appear: provider:host:id. It never holds a handle.
type Target string

// MakeTarget joins the parts of a target. The host has no scheme; the id may itself hold colons (a DID).
func MakeTarget(provider, host, id string) Target {
	return Target(provider + ":" + host + ":" + id)
}

var target = regexp.MustCompile(`^[a-z0-9]+:[A-Za-z0-9.\-\[\]]*(:[0-9]{1,5})?:[!-~]{1,512}$`)

// Valid tells whether t has the form of a target.
func (t Target) Valid() bool { return target.MatchString(string(t)) }

// Split takes a target apart. A host may carry a port; the id is what follows it.
func (t Target) Split() (provider, host, id string, ok bool) {
	if !t.Valid() {
		return "", "", "", false
	}
	provider, rest, _ := strings.Cut(string(t), ":")
	host, id, _ = strings.Cut(rest, ":")
	if port, after, found := strings.Cut(id, ":"); found && allDigits(port) && len(port) <= 5 && after != "" {
		host, id = host+":"+port, after
	}
	return provider, host, id, true
}

func allDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

// DeliveryID names a delivery: one post to one target.
type DeliveryID struct {
	Post   string
	Target Target
}

func (d DeliveryID) String() string { return d.Post + " -> " + string(d.Target) }

// Window is when a delivery may go out.
type Window struct {
	Due time.Time // publish_at
	By  time.Time // publish_by; not after this
}

// Clock tells the time to the run. Wall may jump; Mono never goes back. Nothing under pipeline asks for the time itself.
type Clock interface {
	Wall() time.Time
	Mono() time.Duration
}

// State of a delivery, as folded from the ledger.
type State string

// The states. Who moves a delivery into each is said in pipeline/ledger.
const (
	Scheduled  State = "scheduled" // known, not yet claimed; also before it is due
	Publishing State = "publishing"
	Queued     State = "queued" // surely not published; waits for not_before
	Published  State = "published"
	Failed     State = "failed"
	Uncertain  State = "uncertain"
	Canceled   State = "canceled"
	Adopted    State = "adopted" // counted as done without ever being sent
	Retracted  State = "retracted"
)

// States lists all states.
func States() []State {
	return []State{Scheduled, Publishing, Queued, Published, Failed, Uncertain, Canceled, Adopted, Retracted}
}

// PostStatus is derived from a post and its deliveries; it is never stored.
type PostStatus string

// The statuses of a post.
const (
	StatusDraft              PostStatus = "draft"
	StatusScheduled          PostStatus = "scheduled"
	StatusHeld               PostStatus = "held"
	StatusPublishing         PostStatus = "publishing"
	StatusPublished          PostStatus = "published"
	StatusPartiallyPublished PostStatus = "partially_published"
	StatusFailed             PostStatus = "failed"
	StatusNeedsAttention     PostStatus = "needs_attention"
	StatusCanceled           PostStatus = "canceled"
	StatusRetracted          PostStatus = "retracted"
	StatusProposed           PostStatus = "proposed"
)

// StatusOf derives a post's status from the states of its deliveries. held tells that a hold stops it.
func StatusOf(states []State, held bool) PostStatus {
	n := map[State]int{}
	for _, s := range states {
		n[s]++
	}
	total := len(states)
	switch {
	case total == 0:
		return StatusDraft
	case n[Uncertain] > 0:
		return StatusNeedsAttention
	case n[Publishing] > 0:
		return StatusPublishing
	case n[Published]+n[Adopted] == total:
		return StatusPublished
	case n[Retracted] == total:
		return StatusRetracted
	case n[Canceled] == total:
		return StatusCanceled
	case n[Failed] == total:
		return StatusFailed
	case held && n[Scheduled]+n[Queued] > 0:
		return StatusHeld
	case n[Published]+n[Adopted] > 0 && n[Failed]+n[Queued]+n[Scheduled]+n[Canceled]+n[Retracted] > 0:
		return StatusPartiallyPublished
	case n[Failed] > 0:
		return StatusFailed
	default:
		return StatusScheduled
	}
}

// Rendition is what exactly will be sent to one destination, less what only the claim knows.
type Rendition struct {
	Post        string
	Destination string
	Target      Target
	Provider    string
	// Source is the hash of what the author wants there: it decides drift, duplicates and reopening.
	Source string
	// Hash is the hash of the encoded parts.
	Hash  string
	Parts []RenditionPart
}

// RenditionPart is one part of a rendition.
type RenditionPart struct {
	Text    string
	Payload []byte
}

// Reason codes why a delivery stands where it stands. They are stable: the ledger holds them.
type Reason string

// The reasons that the run itself writes.
const (
	ReasonExpired       Reason = "expired"         // the deadline passed before anything was written
	ReasonRejected      Reason = "rejected"        // the network refuses this content
	ReasonPartial       Reason = "partial"         // some parts are out, the rest cannot follow
	ReasonThrottled     Reason = "throttled"       // too many requests; waits
	ReasonUnavailable   Reason = "unavailable"     // surely not processed; waits
	ReasonNotSent       Reason = "not_sent"        // nothing left this machine; waits
	ReasonUnauthorized  Reason = "unauthorized"    // the credential is refused; the destination is held
	ReasonForbidden     Reason = "forbidden"       // the account may not; the destination is held
	ReasonLeaseLost     Reason = "lease_lost"      // the run that held the lease did not come back
	ReasonFenced        Reason = "fenced"          // stopped before a write: lease or deadline at its end
	ReasonAmbiguous     Reason = "ambiguous"       // sent, outcome not known
	ReasonAbsent        Reason = "surely_absent"   // the finder saw that it is not there
	ReasonRepeatable    Reason = "repeat_harmless" // the key makes an identical repetition harmless
	ReasonInterrupted   Reason = "interrupted"     // the run was asked to end before the next write
	ReasonRemoved       Reason = "removed"         // the file is gone from the content branch, or a draft
	ReasonByPerson      Reason = "person"          // resolved or canceled by a person
	ReasonLate          Reason = "late_on_arrival" // first seen too long past its time
	ReasonDuplicate     Reason = "duplicate_content"
	ReasonAdopted       Reason = "adopted_at_init"
	ReasonUnsupported   Reason = "unsupported"
	ReasonTargetChanged Reason = "target_changed"
)

// ParseReason checks that s has the form of a reason: lower-case words joined by underscores.
func ParseReason(s string) (Reason, error) {
	if s == "" || len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return "", fmt.Errorf("bad reason %q", s)
	}
	return Reason(s), nil
}
