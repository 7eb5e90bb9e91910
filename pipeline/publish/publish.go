// Package publish is the run: it looks, plans, claims, publishes and records.
//
// Nothing is sent that has not been claimed by a commit on the ledger, nothing is claimed that the content tip does not
// hold, and what came of a write is decided in one place (outcome.go) from how far the request got.
package publish

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

// Options are what a run works with. All but Local, RunURL, Progress and DryRun are required.
type Options struct {
	Remote gitstore.Remote
	// Branch is the content branch's short name; "" for the one that the ledger is bound to.
	Branch string
	// Local is the root of a checkout whose files may be used where they equal the remote's; "" for none.
	Local string
	// Hint is broadside.yaml as the checkout has it, used only to find the ledger before the content tip is read.
	Hint *pipeline.Config
	Home journal.Home
	// Providers by name.
	Providers map[string]providers.Info
	// Keys opens credentials and the ledger's signing key. It is called once, when they are first needed.
	Keys func(context.Context) (vault.Keys, error)
	// Transport carries the requests to one destination.
	Transport func(pipeline.Destination) http.RoundTripper
	Clock     pipeline.Clock
	Sleep     func(context.Context, time.Duration) error
	Rand      io.Reader
	Nonce     string // the run's random name
	RunURL    string
	Fence     Fence
	// Grace is how long a write that is under way may take after the run was asked to end.
	Grace time.Duration
	// Mask is told every secret before it is used.
	Mask func(secrets ...string)
	// CompactAfter is how many event files are folded into the archive; 0 means the constant of that name.
	CompactAfter int
	// Progress hears what happens, as it happens; nil for nobody.
	Progress func(Progress)
	// Tell hears what a person should know, before the ledger notes it as told; nil for nobody. Result has it too.
	Tell func([]Trouble)
	Log  *slog.Logger
	// Full looks at everything even where nothing is due and nothing has changed.
	Full bool
	// DryRun reads only: no refresh, no upload, no recovery, no claim, no write.
	DryRun bool
	// SaveResults keeps results that could not be pushed; it returns where they are.
	SaveResults func(data []byte) (path string, err error)
}

// Progress is one thing that happened.
type Progress struct {
	What string // scheduled, preparing, claimed, publishing, published, queued, failed, uncertain, canceled, held, recovered, note
	Post string
	Dest string
	Text string
	URL  string
}

// Result is what a run did and what it leaves.
type Result struct {
	Run         string                `json:"run"`
	Content     string                `json:"content"`
	Started     time.Time             `json:"started"`
	Ended       time.Time             `json:"ended"`
	Outcomes    []Outcome             `json:"outcomes"`
	Troubles    []Trouble             `json:"troubles"`
	Diagnostics []pipeline.Diagnostic `json:"diagnostics"`
	// Next is when something must be done next; zero for never.
	Next time.Time `json:"next,omitzero"`
	// Waiting counts deliveries that are due and will pass later.
	Waiting int `json:"waiting"`
	Drafts  int `json:"drafts"`
	// Idle tells that nothing was due and nothing had changed, so that nothing was read.
	Idle bool `json:"idle"`
	// Unrecorded is the file with results that could not be pushed.
	Unrecorded string `json:"unrecorded,omitempty"`
	DryRun     bool   `json:"dry_run,omitempty"`
}

// Outcome is what this run did with one delivery.
type Outcome struct {
	Post        string          `json:"post"`
	Destination string          `json:"destination"`
	Target      pipeline.Target `json:"target"`
	State       pipeline.State  `json:"state"`
	Reason      pipeline.Reason `json:"reason,omitempty"`
	Detail      string          `json:"detail,omitempty"`
	URLs        []string        `json:"urls,omitempty"`
	IDs         []string        `json:"ids,omitempty"`
	Due         time.Time       `json:"due,omitzero"`
	SentAt      time.Time       `json:"sent_at,omitzero"`
	NotBefore   time.Time       `json:"not_before,omitzero"`
}

// Trouble is something a person should know of. It is told once, then once a day while it stands.
type Trouble struct {
	Fingerprint string         `json:"fingerprint"`
	Post        string         `json:"post,omitempty"`
	Destination string         `json:"destination,omitempty"`
	State       pipeline.State `json:"state,omitempty"`
	Code        string         `json:"code"`
	Message     string         `json:"message"`
	Hint        string         `json:"hint,omitempty"`
	// Person tells that only a person can end it.
	Person bool `json:"person"`
	// Failed tells that something did not go out.
	Failed bool `json:"failed"`
	// Invalid tells that the author must change a file.
	Invalid bool `json:"invalid"`
	// Settled tells that nobody can do anything about it any more: it is told once, not daily.
	Settled bool `json:"settled,omitempty"`
	// New tells that no finished run has told it within a day.
	New bool `json:"new"`
}
