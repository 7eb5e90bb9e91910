package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// ledgerCopy is a ledger that was read for looking only.
type ledgerCopy struct {
	State *ledger.State
	Where string
}

// ledgerAt reads the ledger that --ledger names: a folder that holds the ledger branch's files, or a repository that has
// the branch, checked out or not.
func (w *workspace) ledgerAt(ctx context.Context, where string) (*ledgerCopy, error) {
	abs := where
	if !strings.Contains(where, "://") {
		abs = w.abs(where)
		if st, err := os.Stat(filepath.Join(abs, ledger.FormatPath)); err == nil && st.Mode().IsRegular() {
			return w.ledgerFolder(abs)
		}
		if _, err := os.Stat(abs); err != nil {
			return nil, usageError{fmt.Errorf("--ledger %s: %w", where, err), "name a clone that has the ledger branch, or a folder with the branch checked out"}
		}
	}
	remote, err := gitstore.Open(ctx, gitstore.Options{
		URL: abs, Transport: w.a.flags.transport, Env: w.a.getenv, Now: w.a.now,
		TokenEnv: w.a.flags.tokenEnv, OnSecret: func(s string) { w.a.mask.Add(s) },
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = remote.Close() }()
	refs, err := remote.Refs(ctx)
	if err != nil {
		return nil, err
	}
	ref, ok := refOf(refs, w.cfg.Ledger.Branch)
	if !ok {
		return nil, usageError{fmt.Errorf("%s has no branch %s", where, w.cfg.Ledger.Branch), "fetch it there: git fetch origin " + w.cfg.Ledger.Branch}
	}
	snap, err := remote.Fetch(ctx, ref, gitstore.FetchOptions{})
	if err != nil {
		return nil, err
	}
	if snap == nil {
		return nil, fmt.Errorf("%s of %s is gone while it was read", ref, where)
	}
	if err := signedBy(w.cfg.Ledger.Signer, snap); err != nil {
		return nil, hinted{fmt.Errorf("the ledger in %s is not to be believed: commit %.12s: %w", where, snap.Commit(), err), "it must be signed by the ledger.signer of broadside.yaml"}
	}
	s, err := ledger.Load(journal.FilesOf(snap))
	if err != nil {
		return nil, fmt.Errorf("the ledger in %s: %w", where, err)
	}
	return w.ours(&ledgerCopy{State: s, Where: where})
}

// ours refuses another repository's ledger.
func (w *workspace) ours(l *ledgerCopy) (*ledgerCopy, error) {
	if id := w.cfg.Ledger.ID; id != "" && l.State.Binding.Ledger != id {
		return nil, usageError{fmt.Errorf("the ledger in %s is %s, broadside.yaml names %s", l.Where, l.State.Binding.Ledger, id), "give the ledger of this repository"}
	}
	return l, nil
}

// refOf finds a branch among refs: as a branch, or as what a clone remembers of its remote's.
func refOf(refs gitstore.Refs, branch string) (string, bool) {
	for _, ref := range []string{"refs/heads/" + branch, "refs/remotes/origin/" + branch} {
		if _, ok := refs.Tips[ref]; ok {
			return ref, true
		}
	}
	var more []string
	for ref := range refs.Tips {
		if rest, ok := strings.CutPrefix(ref, "refs/remotes/"); ok {
			if _, name, ok := strings.Cut(rest, "/"); ok && name == branch {
				more = append(more, ref)
			}
		}
	}
	if len(more) == 0 {
		return "", false
	}
	return slices.Min(more), true
}

// signedBy checks a commit against an authorized-key line.
func signedBy(line string, snap gitstore.Snapshot) error {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return fmt.Errorf("ledger.signer is not a public key: %w", err)
	}
	_, err = gitstore.VerifySSH(snap.Raw(), []ssh.PublicKey{key})
	return err
}

// ledgerFolder reads a folder that holds the files of the ledger branch. No process is started for it.
func (w *workspace) ledgerFolder(dir string) (*ledgerCopy, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	s, err := ledger.Load(ledgerFolder{root.FS()})
	if err != nil {
		return nil, fmt.Errorf("the ledger in %s: %w", dir, err)
	}
	return w.ours(&ledgerCopy{State: s, Where: dir})
}

// ledgerFolder shows a folder as the files of a ledger.
type ledgerFolder struct{ fsys fs.FS }

// List implements ledger.Files.
func (f ledgerFolder) List(prefix string) ([]string, error) {
	var out []string
	err := fs.WalkDir(f.fsys, strings.TrimSuffix(prefix, "/"), func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular():
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// Read implements ledger.Files.
func (f ledgerFolder) Read(name string) ([]byte, error) { return fs.ReadFile(f.fsys, name) }

// remoteLedger opens the remote's ledger for looking. The error says why it was not used.
func (w *workspace) remoteLedger(ctx context.Context) (*ledgerCopy, error) {
	remote, err := w.remote(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = remote.Close() }()
	j, err := w.journal(ctx, remote, false)
	if err != nil {
		return nil, err
	}
	return &ledgerCopy{State: j.State(), Where: remote.URL()}, nil
}

// emptyLedger is the state that a look without a ledger starts from.
func (w *workspace) emptyLedger(st ledger.Stamp) (*ledger.State, error) {
	s := ledger.New()
	id := w.cfg.Ledger.ID
	if id == "" {
		id = strings.Repeat("0", 32)
	}
	e, err := s.Bind(st, ledger.Binding{Ledger: id, HomeURL: "none", ContentBranch: "none", Signer: w.cfg.Ledger.Signer}, "person:nobody", ledger.WhyInit)
	if err != nil {
		return nil, err
	}
	return s, s.Apply(e)
}

// byTarget finds the destination whose deliveries these are.
func (w *workspace) byTarget(t pipeline.Target) *pipeline.Destination {
	for i := range w.cfg.Destinations {
		if w.cfg.Destinations[i].Target == t {
			return &w.cfg.Destinations[i]
		}
	}
	return nil
}
