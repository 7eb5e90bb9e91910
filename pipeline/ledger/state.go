package ledger

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// State is what a ledger says, folded up to one commit. Only Apply changes it.
type State struct {
	Binding    Binding
	Number     int // of the last event file; 0 before the first
	Deliveries map[pipeline.DeliveryID]*Delivery
	Holds      map[string]Hold
	// Credentials is the newest refresh by login.
	Credentials map[string]CredentialState
	Tip         Tip
	// Troubles that no state holds: receipts outside their own open attempt.
	Extra []ExtraCopy

	// owner marks the deliveries that this State alone may change in place; all others are copied first.
	owner atomic.Pointer[owner]
	// busy holds the deliveries with an open attempt, by target and by login.
	busyTarget map[pipeline.Target]pipeline.DeliveryID
	busyLogin  map[string]pipeline.DeliveryID
	index      atomic.Pointer[index]
	// ahead counts the events that were applied since the last file.
	ahead int
}

// Binding is where the ledger belongs.
type Binding struct {
	Ledger, HomeURL, RepoID, ContentBranch, Signer string
	At                                             time.Time
	Why                                            string
	// Baseline is when the ledger was first bound: what was due before it was never this ledger's to send.
	Baseline time.Time
}

// Delivery is the state of one post at one target.
type Delivery struct {
	ID    pipeline.DeliveryID
	Dest  string
	State pipeline.State
	Due   time.Time
	By    time.Time
	// FirstSeen is when the first `scheduled` was written.
	FirstSeen time.Time
	Path      string
	Blob      string
	Config    string
	Source    string // of the last `scheduled`
	Slot      string

	Gen       int
	Attempts  []Attempt
	Receipts  map[int]PartReceipt
	NotBefore time.Time
	Reason    pipeline.Reason
	Detail    string
	// Absent counts how often a finder said "surely absent" since a person's last word: it requeues once.
	Absent int
	// Doubt tells that an earlier attempt with the present bytes may have been published, and only the key makes
	// repetition harmless: it must end inside the key's window measured from Sent of that attempt.
	Doubt bool
	// Prepared holds unexpired handles by step.
	Prepared map[string]PreparedStep
	// Login is that of the last `claimed`, or `scheduled` that named one: a new one reopens what failed.
	Login string
	// Changed is when the state last changed; Touched, when the last event of this delivery was written, and Number,
	// in which event file.
	Changed time.Time
	Touched time.Time
	Number  int

	owner *owner
}

// Attempt is one try.
type Attempt struct {
	ID         string
	Run        string
	Gen        int
	At         time.Time
	LeaseUntil time.Time
	Content    string
	Source     string
	Rendition  string
	Parts      []ClaimPart
	Purpose    string
	Login      string
	Sent       time.Time
	Evidence   string
	// Open until it has ended or all receipts are there.
	Open    bool
	EndedAt time.Time
	State   pipeline.State
	Reason  pipeline.Reason
	Detail  string
}

// PartReceipt is the receipt of one part in the ledger.
type PartReceipt struct {
	Part    int
	ID      string
	URL     string
	Ref     string
	SentAt  time.Time
	At      time.Time
	Attempt string
	ByWhom  string
}

// PreparedStep is a handle made before the claim.
type PreparedStep struct {
	State      string
	Handle     json.RawMessage
	Expires    time.Time
	LeaseUntil time.Time
	At         time.Time
	Run        string
}

// Hold forbids claims in a scope.
type Hold struct {
	ID     string
	Scope  string
	Reason string
	Detail string
	Login  string // the login that was refused; a newer one lifts the hold
	At     time.Time
	By     string
}

// CredentialState is the newest refresh of a login.
type CredentialState struct {
	Login  string
	Seq    int
	File   string
	Digest string
	// Pending is a refresh that was begun and not finished.
	Pending      bool
	PendingUntil time.Time
	PendingRun   string
	PendingSeq   int
	At           time.Time
}

// Tip is the last tip event.
type Tip struct {
	At       time.Time
	Run      string
	Content  string
	Config   string
	Next     time.Time
	Finished bool
	Told     []string
	ToldAt   time.Time // of the last tip that told something
	Waiting  int
	Chain    string
}

// ExtraCopy is a receipt that no open attempt accounts for.
type ExtraCopy struct {
	Delivery pipeline.DeliveryID
	Dest     string
	Receipt  PartReceipt
	// Known tells that a person has said to know of it; it is then no trouble any more.
	Known bool
}

// Open returns the open attempt, or nil.
func (d *Delivery) Open() *Attempt {
	if n := len(d.Attempts); n > 0 && d.Attempts[n-1].Open {
		return &d.Attempts[n-1]
	}
	return nil
}

// Last returns the last attempt, or nil.
func (d *Delivery) Last() *Attempt {
	if n := len(d.Attempts); n > 0 {
		return &d.Attempts[n-1]
	}
	return nil
}
