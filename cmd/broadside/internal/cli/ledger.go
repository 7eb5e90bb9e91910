package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
)

func (a *app) cmdLedger() *cobra.Command {
	c := &cobra.Command{
		Use:     "ledger",
		GroupID: "manage",
		Short:   "Look into the ledger, prove it, and mend it",
		Long: `The ledger is the branch on which everything that happened is written down: one signed commit for each decision. A
second branch, its mark, says how far it went, so that nobody can rewind it unseen.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.cmdLedgerShow(), a.cmdLedgerVerify(), a.cmdLedgerApply(), a.cmdLedgerRestore(), a.cmdLedgerMove())
	return c
}

func (a *app) cmdLedgerVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Prove that every event is legal, and that signature, mark and home are right",
		Long: `verify reads the whole ledger on the remote and checks every line: its form, its number, and that it is a legal step from
what came before. It then checks what every run checks: that the newest commit is signed by the ledger's signer, that the
mark shows no rewinding, and that the ledger belongs to this repository. Exit code 1 when anything is wrong.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.ledgerVerify(c.Context()) },
	}
}

// verified is what `ledger verify` prints as JSON.
type verified struct {
	Remote   string           `json:"remote"`
	Commit   gitstore.Hash    `json:"commit,omitempty"`
	Mark     gitstore.Hash    `json:"mark,omitempty"`
	Report   ledger.Report    `json:"report"`
	Refusals []verifiedReason `json:"refusals"`
	OK       bool             `json:"ok"`
}

type verifiedReason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func (a *app) ledgerVerify(ctx context.Context) error {
	w, remote, err := a.openRemote(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = remote.Close() }()
	in, err := journal.Inspect(ctx, w.journalOptions(remote))
	if err != nil {
		return err
	}
	out := verified{Remote: remote.URL(), Mark: in.Mark, Report: in.Report, Refusals: []verifiedReason{}, OK: in.OK()}
	if in.Snap != nil {
		out.Commit = in.Snap.Commit()
	}
	for _, r := range in.Refusals {
		out.Refusals = append(out.Refusals, verifiedReason{r.Code, r.Message, r.Hint})
	}
	switch {
	case a.flags.json:
		if out.Report.Problems == nil {
			out.Report.Problems = []ledger.Problem{}
		}
		if err := a.printJSON(out); err != nil {
			return err
		}
	default:
		a.printVerified(out)
	}
	if !out.OK {
		return exitWith{exitFailed}
	}
	return nil
}

func (a *app) printVerified(v verified) {
	st := a.style()
	for _, p := range v.Report.Problems {
		fmt.Fprintln(a.out, st.Bad("illegal")+"  "+report.Line(p.String()))
	}
	for _, r := range v.Refusals {
		fmt.Fprintln(a.out, st.Bad("refused")+"  "+report.Line(r.Message)+" ["+r.Code+"]")
		fmt.Fprintln(a.out, "  hint: "+report.Line(r.Hint))
	}
	if v.Commit == "" {
		return
	}
	fmt.Fprintln(a.out, report.Line(fmt.Sprintf("%s: %s, %s in %s (through %d), %s", v.Remote, counted(v.Report.Deliveries, "delivery", "deliveries"),
		counted(v.Report.Events, "event", "events"), counted(v.Report.Files, "event file", "event files"), v.Report.Number, counted(len(v.Report.Problems), "problem", "problems"))))
	if v.OK {
		fmt.Fprintln(a.out, st.Good("every event is legal; signature, mark and home are right"))
	}
}

func (a *app) cmdLedgerApply() *cobra.Command {
	return &cobra.Command{
		Use:   "apply FILE",
		Short: "Bring in the results of a run that could not push them",
		Long: `apply reads a results file: what a run had done and could not push, because the remote did not answer or refused. The file
is signed with the ledger's key. What the ledger knows already, or what is no longer legal, is left out and said.`,
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return a.ledgerApply(c.Context(), args[0]) },
	}
}

func (a *app) ledgerApply(ctx context.Context, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return usageError{fmt.Errorf("the results file cannot be read: %w", err), "a run names it in its output and in the job summary"}
	}
	w, j, done, err := a.openLedger(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	applied, skipped, err := publish.Apply(ctx, j, data, w.cfg.Ledger.Signer)
	if err != nil {
		return err
	}
	if a.flags.json {
		if skipped == nil {
			skipped = []string{}
		}
		return a.printJSON(struct {
			Applied int      `json:"applied"`
			Skipped []string `json:"skipped"`
		}{applied, skipped})
	}
	for _, s := range skipped {
		fmt.Fprintln(a.out, report.Line("left out: "+s))
	}
	fmt.Fprintf(a.out, "%s brought in, %d left out\n", counted(applied, "event", "events"), len(skipped))
	if applied > 0 {
		fmt.Fprintln(a.out, "the file has done its work: delete it")
	}
	return nil
}

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

// openRemote opens workspace and remote for a command that must see a ledger which runs refuse.
func (a *app) openRemote(ctx context.Context) (*workspace, gitstore.Remote, error) {
	a.mask.Announce(a.err)
	w, err := a.open(true)
	if err != nil {
		return nil, nil, err
	}
	remote, err := w.remote(ctx)
	return w, remote, err
}

// confirm asks before something that is not easily undone.
func (a *app) confirm(what string, yes bool) error {
	if yes {
		return nil
	}
	answer, err := a.ask(what + "? [y/N] ")
	if err != nil {
		return usageError{errors.New("nobody answered whether to " + what), "answer y on standard input, or give --yes"}
	}
	if s := strings.ToLower(strings.TrimSpace(answer)); s != "y" && s != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}
