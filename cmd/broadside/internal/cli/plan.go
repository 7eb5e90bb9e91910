package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/report"
)

type planFlags struct {
	ledger, now  string
	offline, all bool
}

func (a *app) cmdPlan() *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:     "plan [PATH | POST...]",
		GroupID: "write",
		Short:   "Show what goes out when, in each post's own zone and in UTC",
		Long: `plan works out, from the files of this checkout, what goes out when: in the zone that each post is written in, and in UTC.
It says what will not: drafts, posts that come late, that are held, that are past their deadline, or whose text is out
already. It asks the ledger on the remote where that can be read, or the one that --ledger names, and says when it did not.
It changes nothing.

Exit codes: 0 everything that it shows is valid, 2 something is not.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.plan(c.Context(), f, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.ledger, "ledger", "", "use the ledger in this clone or folder")
	fl.BoolVar(&f.offline, "offline", false, "do not ask the remote")
	fl.BoolVar(&f.all, "all", false, "also show what is settled: published, canceled, adopted")
	nowFlag(c, &f.now)
	return c
}

func (a *app) plan(ctx context.Context, f planFlags, args []string) error {
	now, err := a.at(f.now)
	if err != nil {
		return err
	}
	w, err := a.open(true)
	if err != nil {
		return err
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	var l *ledgerCopy
	unused := ""
	switch {
	case f.ledger != "":
		if l, err = w.ledgerAt(ctx, f.ledger); err != nil {
			return err
		}
	case f.offline:
		unused = "--offline"
	default:
		if l, err = w.remoteLedger(ctx); err != nil {
			if errors.Is(err, context.Canceled) {
				return err
			}
			unused = err.Error()
		}
	}
	v, err := w.build(ctx) // all of them: whether a file is gone shows only so
	if err != nil {
		return err
	}
	want, err := w.chosen(v, args)
	if err != nil {
		return err
	}
	p, err := w.planOf(v, l, now)
	if err != nil {
		return err
	}
	p.Unused = unused
	p.narrow(want, f.all)
	if a.flags.json {
		if err := a.printJSON(p); err != nil {
			return err
		}
	} else {
		p.text(a.out, a.style(), a.flags.verbose)
	}
	if slices.ContainsFunc(p.Entries, func(e planEntry) bool { return e.State == planInvalid }) {
		return errInvalidContent
	}
	return nil
}

// text prints a plan for people.
func (p *plan) text(w io.Writer, st report.Style, verbose bool) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range p.Entries {
		if r.State == planDraft {
			continue
		}
		local, utc := "-", ""
		if !r.Due.IsZero() {
			local, utc = r.Local, r.Due.UTC().Format("2006-01-02 15:04 UTC")
		}
		post := r.Post
		if post == "" {
			post = r.Path
		}
		dest := r.Destination
		if dest == "" {
			dest = "-"
		}
		line := paintPlan(st, r.State)
		if r.Why != "" {
			line += "  " + report.Line(r.Why)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", cell(local), utc, cell(post), cell(dest), line)
	}
	_ = t.Flush()
	for _, r := range p.Entries {
		if r.Hint != "" && r.State != planDraft {
			fmt.Fprintf(w, "  hint: %s\n", report.Line(r.name()+": "+r.Hint))
		}
	}
	if len(p.Drafts) > 0 {
		fmt.Fprintln(w, report.Line(fmt.Sprintf("%s (no publish_at) will not go out: %s", counted(len(p.Drafts), "draft", "drafts"), strings.Join(p.Drafts, ", "))))
	}
	if verbose {
		for _, r := range p.Records {
			fmt.Fprintln(w, report.Line("a run would record: "+r.String()))
		}
	}
	fmt.Fprintln(w, report.Line(p.closing()))
	if p.Ledger == "" {
		fmt.Fprintln(w, st.Warn(report.Line("the ledger was not used ("+p.Unused+"): what is out already, what is held and what is a duplicate is not known")))
		return
	}
	fmt.Fprintln(w, st.Dim(report.Line("ledger: "+p.Ledger)))
}

// cell is text in a table.
func cell(s string) string { return strings.ReplaceAll(report.Line(s), "\t", " ") }

func paintPlan(st report.Style, state string) string {
	switch state {
	case planDue, planScheduled:
		return st.Good(state)
	case planInvalid, planLate, planExpired, planDuplicate, planUsedUp, string(pipeline.Failed):
		return st.Bad(state)
	case planHeld, planNoTarget, planWaiting, string(pipeline.Uncertain):
		return st.Warn(state)
	}
	return st.Dim(state)
}

// localTime writes an instant as clocks show it in the zone that the author wrote it in.
func localTime(t time.Time, zone string) string {
	if zone == "" {
		zone = t.Location().String()
	}
	return t.Format("Mon 2006-01-02 15:04") + " " + zone
}
