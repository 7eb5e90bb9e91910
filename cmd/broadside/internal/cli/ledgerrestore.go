package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/report"
)

func (a *app) cmdLedgerRestore() *cobra.Command {
	var from string
	var yes bool
	c := &cobra.Command{
		Use:   "restore",
		Short: "Bring back a ledger that was deleted, rewound, or written to by somebody without its key",
		Long: `restore looks at the ledger branch, at its mark, at what this checkout remembers of both, and at --from; picks the newest
signed, legal history that holds all the others; shows what it found and what it will do; and asks. It then pushes one
signed commit that holds that history, on top of what is there now: nothing is ever forced or deleted, and what was
pushed by somebody else stays to be looked at.

Where it cannot be known that nothing is missing, everything is held until you have compared the ledger with the networks.`,
		Example: "  broadside ledger restore\n  broadside ledger restore --from ../another-clone\n  broadside ledger restore --from rescue-branch",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.ledgerRestore(c.Context(), from, yes) },
	}
	c.Flags().StringVar(&from, "from", "", "also look at this clone, URL, branch, or commit that a branch is at")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) ledgerRestore(ctx context.Context, from string, yes bool) error {
	w, remote, err := a.openRemote(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = remote.Close() }()
	sources, closeAll, err := w.restoreSources(ctx, remote, from)
	defer closeAll()
	if err != nil {
		return err
	}
	opt := w.journalOptions(remote)
	opt.AnyHome, opt.Signer = true, w.signer
	r, err := journal.Restore(ctx, opt, sources)
	if r != nil {
		fmt.Fprintln(a.err, "found:")
		for _, x := range r.Witnesses() {
			fmt.Fprintln(a.err, report.Line("  "+x.Describe()))
		}
	}
	switch {
	case errors.Is(err, journal.ErrNothingGood):
		return hinted{err, "give one with --from: a clone that has fetched the ledger; a forge's activity log may name the lost commit, make a branch there"}
	case errors.Is(err, journal.ErrDiverged):
		return hinted{err, "look at both with `git log`, then choose one with --from; everything is held afterwards until you release it"}
	case err != nil:
		return err
	case r.Whole:
		fmt.Fprintln(a.out, "there is nothing to restore: the ledger is signed, legal and not rewound")
		return nil
	}
	a.explainRestore(r, w.cfg.Ledger.Branch)
	if err := a.confirm("restore the ledger", yes); err != nil {
		return err
	}
	commit, err := r.Do(ctx)
	if err != nil {
		return err
	}
	opt.AnyHome = false
	if _, err := journal.Open(ctx, opt); err != nil {
		return fmt.Errorf("the restored ledger is still refused: %w", err)
	}
	fmt.Fprintln(a.out, report.Line(fmt.Sprintf("restored: %s and its mark are at %.12s", w.cfg.Ledger.Branch, commit)))
	if !r.Certain {
		fmt.Fprintln(a.out, "everything is held: compare `broadside status` with the networks, then `broadside release all`")
	}
	return nil
}

// explainRestore says what will be done.
func (a *app) explainRestore(r *journal.Restoration, branch string) {
	say := func(format string, args ...any) { fmt.Fprintln(a.err, report.Line("  "+fmt.Sprintf(format, args...))) }
	fmt.Fprintln(a.err, "what will be done:")
	say("a new commit, signed by the ledger's key, takes over all of %s (event file %d)", r.Best.Name, r.Best.Number)
	switch {
	case r.Ledger == nil:
		say("%s, which was deleted, is made again at that commit", branch)
	case !r.Ledger.Good():
		say("%s moves to that commit; what was pushed there without the key stays in its history, and counts no more", branch)
	default:
		say("%s moves on to that commit", branch)
	}
	if r.Mark == nil {
		say("%s-mark is made again at that commit", branch)
	} else {
		say("%s-mark moves on to that commit", branch)
	}
	if r.Diverged {
		say("what other copies hold and this one does not is NOT taken over: you have chosen with --from")
	}
	if !r.Certain {
		say("nothing proves that this was the newest state: everything is held until `broadside release all`")
	}
}

// restoreSources are the places to look for copies: this checkout, and what --from names.
func (w *workspace) restoreSources(ctx context.Context, remote gitstore.Remote, from string) (out []journal.Source, closeAll func(), err error) {
	var open []gitstore.Remote
	closeAll = func() {
		for _, r := range open {
			_ = r.Close()
		}
	}
	at := func(url, name string, chosen bool, pick func(gitstore.Refs) []string) (bool, error) {
		r := remote
		if url != "" {
			if r, err = gitstore.Open(ctx, gitstore.Options{
				URL: url, Transport: w.a.flags.transport, Env: w.a.getenv, Now: w.a.now,
				TokenEnv: w.a.flags.tokenEnv, OnSecret: func(s string) { w.a.mask.Add(s) },
			}); err != nil {
				return false, err
			}
			open = append(open, r)
		}
		refs, err := r.Refs(ctx)
		if err != nil {
			return false, err
		}
		found := pick(refs)
		if len(found) > 0 {
			out = append(out, journal.Source{Name: name, Remote: r, Refs: found, Chosen: chosen})
		}
		return len(found) > 0, nil
	}
	if w.repo != nil {
		// What the checkout remembers is a help, not a need.
		if _, err := at(w.root, "this checkout", false, w.ledgerRefs); err != nil {
			w.a.log().Debug("the checkout's own refs could not be read", "err", err)
		}
	}
	if from == "" {
		return out, closeAll, nil
	}
	if abs, ok := w.place(from); ok {
		found, err := at(abs, from, true, w.ledgerRefs)
		if err == nil && !found {
			err = usageError{fmt.Errorf("%s has no branch %s", from, w.cfg.Ledger.Branch), "fetch it there first: git fetch origin " + w.cfg.Ledger.Branch}
		}
		return out, closeAll, err
	}
	named := func(refs gitstore.Refs) []string { return refsNamed(refs, from) }
	found, err := at("", remote.URL(), true, named)
	if err == nil && !found && w.repo != nil {
		found, err = at(w.root, "this checkout", true, named)
	}
	if err == nil && !found {
		err = usageError{fmt.Errorf("--from %s is no folder, no branch, and no commit that a branch is at", from), "make a branch at the commit: git branch rescue COMMIT"}
	}
	return out, closeAll, err
}

// place tells whether --from names a repository, by path or URL.
func (w *workspace) place(from string) (string, bool) {
	if strings.Contains(from, "://") || strings.Contains(from, "@") && strings.Contains(from, ":") {
		return from, true
	}
	abs := w.abs(from)
	st, err := os.Stat(abs)
	return abs, err == nil && st.IsDir()
}

// ledgerRefs are the refs of a repository that hold the ledger or its mark, its own or those it remembers of a remote.
func (w *workspace) ledgerRefs(refs gitstore.Refs) []string {
	var out []string
	for _, ref := range slices.Sorted(maps.Keys(refs.Tips)) {
		name, ok := strings.CutPrefix(ref, "refs/heads/")
		if rest, remote := strings.CutPrefix(ref, "refs/remotes/"); remote {
			_, name, ok = strings.Cut(rest, "/")
		}
		if ok && (name == w.cfg.Ledger.Branch || name == w.cfg.Ledger.Branch+"-mark") {
			out = append(out, ref)
		}
	}
	return out
}

// refsNamed finds refs by name, or by the commit that they are at.
func refsNamed(refs gitstore.Refs, name string) []string {
	for _, ref := range []string{name, "refs/heads/" + name, "refs/tags/" + name, "refs/remotes/" + name, "refs/" + name} {
		if _, ok := refs.Tips[ref]; ok && strings.HasPrefix(ref, "refs/") {
			return []string{ref}
		}
	}
	const least = 7
	if len(name) < least || strings.Trim(name, "0123456789abcdef") != "" {
		return nil
	}
	for _, ref := range slices.Sorted(maps.Keys(refs.Tips)) {
		if strings.HasPrefix(string(refs.Tips[ref]), name) {
			return []string{ref}
		}
	}
	return nil
}
