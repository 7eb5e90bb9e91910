package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/report"
)

type moveFlags struct {
	home, newSigner, yes bool
	branch               string
}

func (a *app) cmdLedgerMove() *cobra.Command {
	var f moveFlags
	c := &cobra.Command{
		Use:   "move --home | --branch NAME",
		Short: "Bind the ledger to this repository, or to another content branch, after it was moved or renamed",
		Long: `A ledger belongs to one repository and one content branch, so that a fork or a mirror never publishes. When the
repository itself has moved or was renamed, move binds its ledger to where it is now.

Never do it in a copy while the first repository still publishes: each would send every post.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.ledgerMove(c.Context(), f) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.home, "home", false, "the repository is now at this remote")
	fl.StringVar(&f.branch, "branch", "", "posts are published from this branch from now on")
	fl.BoolVar(&f.newSigner, "new-signer", false, "sign with a new key from now on")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) ledgerMove(ctx context.Context, f moveFlags) error {
	if f.newSigner {
		return hinted{errors.New("a new signer is not supported by this version [unsupported]"), "keep the key that `broadside init` made; it is age-encrypted in the repository"}
	}
	if !f.home && f.branch == "" {
		return usageError{errors.New("what has moved is not said"), "--home: the repository is now at this remote; --branch NAME: posts come from another branch"}
	}
	w, remote, err := a.openRemote(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = remote.Close() }()
	opt := w.journalOptions(remote)
	opt.AnyHome, opt.Signer = true, w.signer
	j, err := journal.Open(ctx, opt)
	if err != nil {
		return err
	}
	old := j.State().Binding
	to := old
	if f.home {
		to.HomeURL, to.RepoID = remote.URL(), w.home(remote).RepoID
	}
	if f.branch != "" {
		if _, ok := j.Refs().Tips["refs/heads/"+f.branch]; !ok {
			return usageError{fmt.Errorf("%s has no branch %q", remote.URL(), f.branch), "push it first"}
		}
		to.ContentBranch = f.branch
	}
	if to == old {
		fmt.Fprintln(a.out, report.Line("nothing to move: the ledger belongs to "+old.HomeURL+", branch "+old.ContentBranch))
		return nil
	}
	fmt.Fprintln(a.err, report.Line("the ledger belongs to "+old.HomeURL+", branch "+old.ContentBranch))
	fmt.Fprintln(a.err, report.Line("it will belong to    "+to.HomeURL+", branch "+to.ContentBranch))
	if f.home {
		fmt.Fprintln(a.err, "if the old repository goes on publishing, every post goes out twice: delete it, or take its key away, first")
	}
	if err := a.confirm("bind it", f.yes); err != nil {
		return err
	}
	err = j.Append(ctx, nil, func(tx *journal.Tx) error { return tx.Add(tx.State.Bind(tx.Stamp, to, a.person(), ledger.WhyMove)) })
	if err != nil {
		return err
	}
	fmt.Fprintln(a.out, report.Line("the ledger belongs to "+to.HomeURL+", branch "+to.ContentBranch))
	return nil
}
