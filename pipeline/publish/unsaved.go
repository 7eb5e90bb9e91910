package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// unsaved is a result that could not be pushed.
type unsaved struct {
	decide journal.Decide
	files  []savedFile
}

func (r *run) keep(decide journal.Decide, files []savedFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsaved = append(r.unsaved, unsaved{decide, files})
}

// Saved is the results file: what happened and could not be pushed. It is signed as a ledger commit is.
type Saved struct {
	Version   int         `json:"v"`
	Ledger    string      `json:"ledger"`
	Run       string      `json:"run"`
	Events    string      `json:"events"` // JSON Lines
	Files     []savedFile `json:"files,omitempty"`
	Signature string      `json:"signature,omitempty"`
}

// payload is what the signature covers.
func (s Saved) payload() ([]byte, error) {
	s.Signature = ""
	return json.Marshal(s)
}

// saveUnrecorded writes the results file.
func (r *run) saveUnrecorded() error {
	r.mu.Lock()
	pending := r.unsaved
	r.mu.Unlock()
	if len(pending) == 0 || r.opt.SaveResults == nil {
		return nil
	}
	s := r.j.State().Fork()
	out := Saved{Version: 1, Ledger: s.Binding.Ledger, Run: r.opt.Nonce}
	var events []ledger.Event
	for _, p := range pending {
		es, err := journal.Dry(s, r.j.Stamp(), p.decide)
		if err != nil {
			continue // an earlier result made it needless
		}
		events = append(events, es...)
		out.Files = append(out.Files, p.files...)
	}
	if !slices.ContainsFunc(events, func(e ledger.Event) bool { return e.Kind != ledger.TipEv }) && len(out.Files) == 0 {
		return nil // nothing happened that is not known
	}
	data, err := ledger.Encode(events)
	if err != nil {
		return err
	}
	out.Events = string(data)
	payload, err := out.payload()
	if err != nil {
		return err
	}
	key, err := r.signer(context.Background())
	if err != nil {
		return err
	}
	if out.Signature, err = gitstore.SignSSH(key, payload); err != nil {
		return err
	}
	if data, err = json.MarshalIndent(out, "", "  "); err != nil {
		return err
	}
	path, err := r.opt.SaveResults(append(data, '\n'))
	if err != nil {
		return fmt.Errorf("what happened could neither be pushed nor saved: %w", err)
	}
	r.result.Unrecorded = path
	return nil
}

// Apply brings a results file into the ledger. Events that the ledger already has, or that are no longer legal, are
// returned as skipped, with the reason.
func Apply(ctx context.Context, j *journal.Journal, data []byte, signer string) (applied int, skipped []string, err error) {
	var s Saved
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, nil, fmt.Errorf("not a results file: %w", err)
	}
	if s.Version != 1 {
		return 0, nil, fmt.Errorf("results file of version %d: this binary knows version 1", s.Version)
	}
	payload, err := s.payload()
	if err != nil {
		return 0, nil, err
	}
	if err := gitstore.VerifySSHPayload(payload, s.Signature, signer); err != nil {
		return 0, nil, fmt.Errorf("the results file is not signed by this ledger's signer: %w", err)
	}
	if id := j.State().Binding.Ledger; s.Ledger != id {
		return 0, nil, fmt.Errorf("the results file belongs to ledger %s, this is %s", s.Ledger, id)
	}
	events, err := ledger.Decode([]byte(s.Events))
	if err != nil {
		return 0, nil, err
	}
	err = j.Append(ctx, nil, func(tx *journal.Tx) error {
		applied, skipped = 0, nil
		fresh := map[string]bool{}
		for _, e := range events {
			if e.Kind == ledger.TipEv || has(tx.State, e) {
				continue
			}
			if overtaken(tx.State, e) {
				skipped = append(skipped, e.File+" holds a newer login's credential")
				continue
			}
			if err := tx.Add(e, nil); err != nil {
				skipped = append(skipped, err.Error())
				continue
			}
			applied++
			if e.Kind == ledger.Refreshed {
				fresh[e.File+" "+e.Digest] = true
			}
		}
		for _, f := range s.Files {
			// Only with its own event: what the ledger holds may be newer.
			if fresh[f.Path+" "+sha256Hex(f.Data)] {
				tx.File(gitstore.Change{Path: f.Path, Data: f.Data})
			}
		}
		return nil
	})
	return applied, skipped, err
}

// overtaken tells that a refresh belongs to a login that another has replaced since: its file holds the newer one's.
func overtaken(s *ledger.State, e ledger.Event) bool {
	if e.Kind != ledger.Refreshed {
		return false
	}
	for _, c := range s.Credentials {
		if c.Login != e.Login && c.File == e.File && c.At.After(e.At) {
			return true
		}
	}
	return false
}

// has tells that a receipt is in the ledger already.
func has(s *ledger.State, e ledger.Event) bool {
	if e.Kind != ledger.Receipt {
		return false
	}
	d := s.Deliveries[e.Delivery()]
	return d != nil && d.Receipts[e.Part].ID == e.ID
}

// IsInvalidConfig tells whether err is about broadside.yaml.
func IsInvalidConfig(err error) (*InvalidConfigError, bool) {
	var e *InvalidConfigError
	return e, errors.As(err, &e)
}
