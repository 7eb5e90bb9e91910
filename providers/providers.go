// Package providers is the contract between broadside and the networks it publishes to.
//
// It holds interfaces and plain data only: no network is reached from here, and nothing of the pipeline is known here.
// Each network lives in a folder of its own below this one and is described by one Info value.
package providers

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"
)

// Publisher is the one ability that every provider has.
type Publisher interface {
	// Publish sends one part, exactly as m.Payload holds it, and returns its receipt. It makes at most one write that
	// makes something public and never repeats it. Once that write has succeeded nothing later can turn the result into
	// an error: what cannot be read afterwards (a permalink, say) is left empty in the receipt.
	// An error is an *Error; any other error counts as Unknown.
	Publish(ctx context.Context, m Message) (Receipt, error)
}

// Finder looks for a part that may have been published. Without it, a person decides about an uncertain delivery.
type Finder interface {
	// Find returns the receipt of the one post that is equal in content to q.Message, not older than q.Since, and not
	// excluded. ErrNotFound means surely absent at the time of the read: everything back to q.Since was seen. Any other
	// error means that the answer is not sure.
	Find(ctx context.Context, q Query) (Receipt, error)
}

// Keyer tells whether the network makes repetition of an identical Publish harmless. Without it, a write that may have
// been published is never sent again on the strength of its key.
type Keyer interface {
	// KeyRule describes this instance; ok is false where the server does not honour keys.
	KeyRule(ctx context.Context) (rule KeyRule, ok bool, err error)
}

// KeyRule bounds the repetition that a network makes harmless.
type KeyRule struct {
	// Window is how long after the claim an identical Publish is still recognised; 0 means for ever.
	Window time.Duration
	// Exact means that the network decides atomically, so that an identical Publish may follow at once on one whose
	// outcome is unknown. Where it is false the finder decides first, after the fence.
	Exact bool
}

// Replier continues a thread. Without it, a post of several parts is refused when it is validated.
type Replier interface {
	// Reply is Publish below an earlier part.
	Reply(ctx context.Context, m Message, t Thread) (Receipt, error)
}

// Uploader brings media to the network before the post that shows them. Without it, media are refused at validation.
type Uploader interface {
	// Upload may be repeated: what is uploaded and never used is not public.
	Upload(ctx context.Context, m Media) (Handle, error)
}

// Resolver looks up what a name in the text stands for on the network (a handle's permanent id, say).
type Resolver interface {
	// Resolve returns an error of kind NotFound when the network does not know the name; the text is then sent plain.
	Resolve(ctx context.Context, name string) (Handle, error)
}

// Stager prepares a part in steps that are not public, where a network needs more than one call. Without it, Publish
// is the only call.
type Stager interface {
	// Stage does the next step after prev (the zero Handle at first) and returns its handle; done means that Publish
	// may follow. It may be repeated from any earlier handle.
	Stage(ctx context.Context, m Message, prev Handle) (h Handle, done bool, err error)
}

// Editor changes a published part in place. Without it, an edited file only shows as drift.
type Editor interface {
	Edit(ctx context.Context, r Receipt, m Message) error
}

// Deleter takes a published part down. Deleting what is already gone is no error. Without it, a person does it.
type Deleter interface {
	Delete(ctx context.Context, r Receipt) error
}

// Checker asks, read-only, who the credential belongs to and what it may do. Without it, doctor says "unknown".
type Checker interface {
	Check(ctx context.Context) (Account, error)
}

// Refresher makes a credential usable for longer. Without it, expiry is only announced.
type Refresher interface {
	// Refresh returns a credential whose Seq is one higher. It never returns one with fewer secrets than it was given.
	Refresh(ctx context.Context, c Credential) (Credential, error)
	// NeedsRefresh tells whether c must be refreshed before it is used at now.
	NeedsRefresh(c Credential, now time.Time) bool
}

// Limiter reads the limits that an instance sets itself. Without it, Info.Limits hold.
type Limiter interface {
	Limits(ctx context.Context) (Limits, error)
}

// ErrNotFound is a Finder's answer when the part is surely not there.
var ErrNotFound = errors.New("surely not published")

// Message is one part on its way to a network.
type Message struct {
	Post  string // post id
	Part  int    // from 0
	Parts int    // how many the thread has
	// Key is the idempotency key, 64 hex digits: a function of ledger, post, target, part and generation.
	Key string
	// Payload is the sealed part: canonical JSON that Info.Seal made, the same bytes on each repetition of a claim.
	Payload json.RawMessage
	// Stage is the last handle of a Stager, zero elsewhere.
	Stage Handle
}

// Thread is where a reply belongs.
type Thread struct {
	Root   Receipt // the first part
	Parent Receipt // the part before
}

// Receipt is the proof of one published part.
type Receipt struct {
	ID     string    // the network's id, validated by the provider: printable ASCII, at most 512 bytes
	URL    string    // where people see it; may be empty
	SentAt time.Time // by the network's clock where it tells, else ours
	// Ref is what a reply, edit or deletion needs beside the ID (Bluesky's CID); may be empty. Never secret.
	Ref string
}

// Query is what a Finder looks for.
type Query struct {
	Message Message
	Thread  *Thread   // set for every part but the first
	Since   time.Time // the claim less the clock skew
	// Taken tells whether an id already belongs to another receipt.
	Taken func(id string) bool
}

// Handle is something prepared on the network that is not public by itself.
type Handle struct {
	ID      string          `json:"id"`
	Ref     json.RawMessage `json:"ref,omitempty"`     // what Seal needs of it; canonical JSON
	Expires time.Time       `json:"expires,omitzero"`  // zero: does not expire
	Warning string          `json:"warning,omitempty"` // for the report
}

// Account is who a credential belongs to.
type Account struct {
	ID      string   // the permanent id that becomes the last part of the target
	Handle  string   // as people write it
	URL     string   // the profile; may be empty
	Scopes  []string // as the network names them; nil where it does not say
	Expires time.Time
	// Limits are the instance's own, nil where it has none to tell.
	Limits *Limits
	// Missing names abilities that this very server lacks, for people to read.
	Missing []string
}

// Credential is what opens an account. It is sealed with age and never printed.
type Credential struct {
	Version  int    `json:"v"`
	Provider string `json:"provider"`
	// Host is the only host (with port where not the default) that the secrets may be sent to.
	Host    string `json:"host"`
	Target  string `json:"target"`  // provider:host:id
	Account string `json:"account"` // the handle, for people
	Ledger  string `json:"ledger"`  // the id of the ledger it belongs to
	// Login is random, made by `auth add` and `auth login`, and kept by every refresh and rekey.
	Login string `json:"login"`
	// Seq counts refreshes of this login, from 0.
	Seq        int               `json:"seq"`
	Scopes     []string          `json:"scopes,omitempty"`
	Obtained   time.Time         `json:"obtained"`
	Expires    time.Time         `json:"expires,omitzero"` // of the login, not of an access token
	Recipients []string          `json:"recipients"`       // age recipients a run may encrypt this to
	Secrets    map[string]string `json:"secrets"`
}

// Clone returns a copy that shares nothing with c.
func (c Credential) Clone() Credential {
	d := c
	d.Scopes = append([]string(nil), c.Scopes...)
	d.Recipients = append([]string(nil), c.Recipients...)
	d.Secrets = make(map[string]string, len(c.Secrets))
	maps.Copy(d.Secrets, c.Secrets)
	return d
}
