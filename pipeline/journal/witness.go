package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// maxChanges bounds how often one event file can have changed: it is written once and compacted away once, and comes back
// with a restore.
const maxChanges = 64

// Source names a place that may hold a copy of the ledger.
type Source struct {
	// Name is what people are told of it.
	Name   string
	Remote gitstore.Remote
	Refs   []string // full names, those that hold the ledger
	// Chosen tells that a person named it: it decides where histories do not agree.
	Chosen bool
}

// Witness is one copy of the ledger: a ref of a repository, read and judged.
type Witness struct {
	Name   string
	Commit gitstore.Hash
	Number int // of its last event file, as far as they are legal
	State  *ledger.State
	// Fault says why it is not to be believed; "" for a signed, legal ledger of this id.
	Fault string
	// Chosen tells that a person named it.
	Chosen bool

	remote gitstore.Remote
	ref    string
	snap   gitstore.Snapshot
	last   ledger.EventFile
	blob   gitstore.Hash // of the last event file
	home   bool          // it is on the remote that is to be restored
}

// Good tells that it may be restored from.
func (w *Witness) Good() bool { return w.Fault == "" }

// witness reads a ref and judges it. It returns nil where the ref is not there.
func witness(ctx context.Context, opt Options, name string, remote gitstore.Remote, ref string) (*Witness, error) {
	snap, err := remote.Fetch(ctx, ref, gitstore.FetchOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot fetch %s from %s: %w", ref, remote.URL(), err)
	}
	if snap == nil {
		return nil, nil
	}
	w := &Witness{Name: name, Commit: snap.Commit(), remote: remote, ref: ref, snap: snap}
	w.Fault = w.judge(opt)
	if w.Good() {
		if err := w.lastFile(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// judge says what is wrong with a witness, "" for nothing.
func (w *Witness) judge(opt Options) string {
	key, err := parseSigner(opt.Config.Signer)
	if err != nil {
		return "ledger.signer in broadside.yaml is not a public key"
	}
	if _, err := gitstore.VerifySSH(w.snap.Raw(), []ssh.PublicKey{key}); err != nil {
		return "it is not signed by the ledger's signer (" + err.Error() + ")"
	}
	rep, err := ledger.Verify(filesOf(w.snap))
	switch {
	case errors.Is(err, ledger.ErrNoLedger):
		return "it holds no ledger"
	case err != nil:
		return "it cannot be read: " + err.Error()
	case !rep.OK():
		return fmt.Sprintf("%d of its events are not legal, the first: %s", len(rep.Problems), rep.Problems[0])
	}
	w.State, w.Number = rep.State, rep.Number
	if b := rep.State.Binding; opt.Config.ID != "" && b.Ledger != opt.Config.ID {
		return "it is another ledger, " + b.Ledger
	}
	return ""
}

// lastFile finds the newest event file. Its token is random: whoever has this file has all that came before it.
func (w *Witness) lastFile() error {
	es, err := w.snap.Entries("events/")
	if err != nil {
		return err
	}
	for _, e := range es {
		if f, ok := ledger.ParseEventPath(e.Path); ok && f.Number > w.last.Number {
			w.last, w.blob = f, e.Blob
		}
	}
	return nil
}

// contains tells whether w's history holds all of o's. Both are good.
func (w *Witness) contains(ctx context.Context, o *Witness) (bool, error) {
	if w.Commit == o.Commit {
		return true, nil
	}
	if o.Number > w.Number {
		return false, nil
	}
	if o.last.Path == "" { // compacted to the last event: only git can tell
		return w.descends(ctx, o)
	}
	e, ok, err := w.snap.Entry(o.last.Path)
	if err != nil {
		return false, err
	}
	if ok {
		return e.Blob == o.blob, nil
	}
	if w.last.Number == 0 || o.Number < w.last.Number {
		// It may have been compacted away.
		changes, err := w.remote.History(ctx, w.ref, o.last.Path, maxChanges)
		if err != nil {
			return false, err
		}
		for _, c := range changes {
			if c.Blob == o.blob {
				return true, nil
			}
		}
	}
	return false, nil
}

// descends tells whether o's commit is proven to be in w's own git history: a ref at o moves to w without force.
func (w *Witness) descends(ctx context.Context, o *Witness) (bool, error) {
	if slices.Contains(w.snap.Parents(), o.Commit) {
		return true, nil
	}
	if !o.Good() || o.last.Path == "" {
		return false, nil
	}
	changes, err := w.remote.History(ctx, w.ref, o.last.Path, maxChanges)
	if err != nil {
		return false, err
	}
	for _, c := range changes {
		if c.Commit == o.Commit {
			return true, nil
		}
	}
	return false, nil
}

// Describe says in one line what a witness is.
func (w *Witness) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: commit %.12s", w.Name, w.Commit)
	if w.State != nil && w.Number > 0 {
		fmt.Fprintf(&b, ", %d event files, the last of %s", w.Number, w.State.Tip.At.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if w.Fault != "" {
		b.WriteString("; not to be believed: " + w.Fault)
	}
	return b.String()
}
