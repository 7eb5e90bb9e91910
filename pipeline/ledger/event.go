// Package ledger is the committed state of all deliveries: events, their codec, the fold into state, the legal
// transitions, and compaction. It reads and writes files of a tree; moving git refs is the business of others.
//
// State is folded from events; events are written once and never rewritten. There is no "set state": a transition is a
// method of the present State that returns the events to append, or refuses.
package ledger

import (
	"encoding/json"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// FormatVersion is what the file `format` of a ledger holds.
const FormatVersion = 1

// Kind of an event. A kind that this binary does not know stops the run.
type Kind string

// The kinds of events.
const (
	Bound      Kind = "bound"      // the ledger's home, content branch and signer
	Scheduled  Kind = "scheduled"  // a run saw a delivery for the first time, or its times or source changed
	Prepared   Kind = "prepared"   // a step that is not public
	Claimed    Kind = "claimed"    // a run may now publish, until the lease ends
	Renewed    Kind = "renewed"    // the lease is longer
	Receipt    Kind = "receipt"    // one part is out
	Ended      Kind = "ended"      // an attempt, or a delivery without one, came to a state
	AdoptedEv  Kind = "adopted"    // counted as done without being sent
	Held       Kind = "held"       // claims are forbidden in a scope
	Released   Kind = "released"   // a hold is lifted
	Refreshing Kind = "refreshing" // a credential is about to be refreshed
	Refreshed  Kind = "refreshed"  // its successor is in this very commit
	TipEv      Kind = "tip"        // what the run knew; the last line of its file
)

// Event is one line of the ledger. Which fields a kind has is in Fields; all others are empty.
type Event struct {
	V    int       `json:"v"`
	Kind Kind      `json:"kind"`
	At   time.Time `json:"at"`  // UTC, to the millisecond
	Run  string    `json:"run"` // the run's nonce, or "person:<name>" for a command

	Post   string          `json:"post,omitempty"`
	Target pipeline.Target `json:"target,omitempty"`
	Dest   string          `json:"dest,omitempty"` // the destination's name at that time, for people

	// bound
	Ledger        string `json:"ledger,omitempty"`
	HomeURL       string `json:"home_url,omitempty"`
	RepoID        string `json:"repo_id,omitempty"`
	ContentBranch string `json:"content_branch,omitempty"`
	Actor         string `json:"actor,omitempty"`
	Why           string `json:"why,omitempty"`    // init, move, restore
	Signer        string `json:"signer,omitempty"` // authorized-key line of the signer from here on

	// scheduled
	Due    time.Time `json:"due,omitzero"`
	By     time.Time `json:"by,omitzero"`
	Slot   string    `json:"slot,omitempty"`
	Path   string    `json:"path,omitempty"`
	Blob   string    `json:"blob,omitempty"`
	Config string    `json:"config,omitempty"`
	Source string    `json:"source,omitempty"`

	// prepared
	Step    string          `json:"step,omitempty"`
	State   string          `json:"state,omitempty"` // prepared: begun, done; ended: a pipeline.State
	Handle  json.RawMessage `json:"handle,omitempty"`
	Expires time.Time       `json:"expires,omitzero"`

	// claimed
	Attempt    string      `json:"attempt,omitempty"` // random, 16 hex digits
	Gen        int         `json:"gen,omitempty"`     // from 0; rises with `resolve retry`
	LeaseUntil time.Time   `json:"lease_until,omitzero"`
	Content    string      `json:"content,omitempty"` // content commit
	Rendition  string      `json:"rendition,omitempty"`
	Parts      []ClaimPart `json:"parts,omitempty"`
	Purpose    string      `json:"purpose,omitempty"` // publish, edit, retract
	Evidence   string      `json:"evidence,omitempty"`
	Login      string      `json:"login,omitempty"` // of the credential in use; also scheduled, held, refreshing, refreshed
	// Sent is the first claim's time for these bytes: the network's key window is measured from it.
	Sent time.Time `json:"sent,omitzero"`

	// receipt
	Part   int       `json:"part,omitempty"` // from 0
	ID     string    `json:"id,omitempty"`
	URL    string    `json:"url,omitempty"`
	Ref    string    `json:"ref,omitempty"`
	SentAt time.Time `json:"sent_at,omitzero"`
	// ByWhom says who knows it. receipt: response, finder, person, adopt; ended: response, finder, key, run, person.
	ByWhom string `json:"by_whom,omitempty"`

	// ended
	Reason    pipeline.Reason `json:"reason,omitempty"`
	Detail    string          `json:"detail,omitempty"` // for people; bounded, no secret
	NotBefore time.Time       `json:"not_before,omitzero"`

	// held, released
	Hold  string `json:"hold,omitempty"`  // random id of the hold
	Scope string `json:"scope,omitempty"` // "all", "post:<id>", "target:<target>", "login:<login>"

	// refreshing, refreshed
	Seq    int    `json:"seq,omitempty"`
	File   string `json:"file,omitempty"`
	Digest string `json:"digest,omitempty"` // SHA-256 of the encrypted file

	// tip
	Next     time.Time `json:"next,omitzero"` // when something must be done next
	Finished bool      `json:"finished,omitempty"`
	Told     []string  `json:"told,omitempty"` // troubles that a finished run has reported, by fingerprint
	// ToldAt is when all that stood was last told; absent: as in the tip before.
	ToldAt  time.Time `json:"told_at,omitzero"`
	Chain   string    `json:"chain,omitempty"`
	Waiting int       `json:"waiting,omitempty"`
}

// ClaimPart is one part as the claim holds it.
type ClaimPart struct {
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload"`
}

// Delivery reads the id out of an event of a delivery.
func (e Event) Delivery() pipeline.DeliveryID {
	return pipeline.DeliveryID{Post: e.Post, Target: e.Target}
}
