package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
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

// openRemote opens workspace and remote for a command that must see a ledger which runs refuse.
func (a *app) openRemote(ctx context.Context) (*workspace, gitstore.Remote, error) {
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
