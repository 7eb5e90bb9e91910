package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/report"
)

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
