package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
)

type statusFlags struct {
	now           string
	all, standing bool
}

func (a *app) cmdStatus() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:     "status [POST]",
		GroupID: "publish",
		Short:   "Show where every post stands, and why something did not go out",
		Long: `status reads the ledger on the remote and says where every post stands at each destination: what is out and where, what
waits and for what, what failed and why, and what to do. It compares what was sent with the files of this checkout: what
was edited or removed since is drift. With a post it tells the whole story.`,
		Args: between("at most one post", 0, 1),
		RunE: func(c *cobra.Command, args []string) error { return a.status(c.Context(), f, args) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "also show what was settled more than 30 days ago")
	fl.BoolVar(&f.standing, "exit-standing", false, "let the exit code tell the troubles that stand: 3 needs a person, 1 failed, 2 invalid, 4 waiting")
	nowFlag(c, &f.now)
	return c
}

func (a *app) status(ctx context.Context, f statusFlags, args []string) error {
	now, err := a.at(f.now)
	if err != nil {
		return err
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	w, j, done, err := a.openLedger(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	v, err := w.build(ctx)
	if err != nil {
		return err
	}
	s := w.standing(v, j, now)
	if len(args) == 1 {
		if err := s.only(args[0]); err != nil {
			return err
		}
		if err := s.stories(j.Files()); err != nil {
			return err
		}
	} else if !f.all {
		s.recent(now)
	}
	if a.flags.json {
		if err := a.printJSON(s); err != nil {
			return err
		}
	} else {
		s.text(a.out, a.style(), len(args) == 1)
	}
	if !f.standing {
		return nil
	}
	if code := runExit(publish.Result{Troubles: s.Troubles, Waiting: s.Waiting}, true); code != exitDone {
		return exitWith{code}
	}
	return nil
}

// text prints a status for people.
func (s *status) text(w io.Writer, st report.Style, detailed bool) {
	for i, p := range s.Posts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s  %s\n", st.Bold(report.Line(p.name())), paintStatus(st, p.Status), st.Dim(report.Line(p.Path)))
		if p.Why != "" {
			fmt.Fprintln(w, "  "+report.Line(p.Why))
		}
		for _, d := range p.Deliveries {
			d.text(w, st, detailed)
		}
		for _, d := range p.Diagnostics {
			fmt.Fprintln(w, "  "+report.Line(d.String()))
			if d.Hint != "" {
				fmt.Fprintln(w, "    hint: "+report.Line(d.Hint))
			}
		}
	}
	if len(s.Posts) == 0 {
		fmt.Fprintln(w, "no posts")
	}
	if detailed {
		return
	}
	fmt.Fprintln(w)
	for _, h := range s.Holds {
		fmt.Fprintln(w, st.Warn("held")+"  "+report.Line(h.String()))
	}
	for _, t := range s.Troubles {
		mark := st.Bad("trouble")
		if t.Invalid {
			mark = st.Warn("invalid")
		}
		fmt.Fprintln(w, mark+"  "+report.Line(t.Message))
		if t.Hint != "" {
			fmt.Fprintln(w, "  hint: "+report.Line(t.Hint))
		}
	}
	fmt.Fprintln(w, report.Line(s.closing()))
	if s.Behind != "" {
		fmt.Fprintln(w, st.Dim(report.Line(s.Behind)))
	}
}

func (d *statusDelivery) text(w io.Writer, st report.Style, detailed bool) {
	fmt.Fprintf(w, "  %s  %s", report.Line(d.Destination), st.State(d.State))
	if d.Held {
		fmt.Fprint(w, " "+st.Warn("(held)"))
	}
	if line := d.line(); line != "" {
		fmt.Fprint(w, "  "+report.Line(line))
	}
	fmt.Fprintln(w)
	for _, r := range d.Receipts {
		if len(d.Receipts) == 1 && !detailed {
			break // it stands in the line
		}
		fmt.Fprintln(w, "    "+report.Line(r.String()))
	}
	for _, x := range []struct{ what, text string }{{"waits", d.Waits}, {"why", d.Why}, {"drift", d.Drift}} {
		if x.text != "" {
			fmt.Fprintln(w, "    "+st.Dim(x.what+":")+" "+report.Line(x.text))
		}
	}
	for _, x := range d.ExtraCopies {
		fmt.Fprintln(w, "    "+st.Bad("extra copy:")+" "+report.Line(x.String()))
	}
	if d.Hint != "" {
		fmt.Fprintln(w, "    hint: "+report.Line(d.Hint))
	}
	if !detailed {
		return
	}
	fmt.Fprintln(w, "    "+st.Dim("target:")+" "+report.Line(string(d.Target)))
	for _, line := range d.Story {
		fmt.Fprintln(w, "    "+report.Line(line))
	}
}

// line is what the one line of a delivery says beside its state.
func (d *statusDelivery) line() string {
	var out []string
	if len(d.Receipts) == 1 && d.Receipts[0].URL != "" {
		out = append(out, d.Receipts[0].URL)
	}
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued:
		out = append(out, "due "+d.Due.UTC().Format(time.RFC3339))
	case pipeline.Published, pipeline.Retracted:
		if n := len(d.Receipts); n > 0 {
			out = append(out, d.Receipts[n-1].SentAt.UTC().Format(time.RFC3339))
		}
	case pipeline.Publishing, pipeline.Failed, pipeline.Uncertain, pipeline.Canceled, pipeline.Adopted:
	}
	if n := len(d.Attempts); n > 1 {
		out = append(out, fmt.Sprintf("%d attempts", n))
	}
	return strings.Join(out, "  ")
}

func paintStatus(st report.Style, s pipeline.PostStatus) string {
	text := string(s)
	switch s {
	case pipeline.StatusPublished:
		return st.Good(text)
	case pipeline.StatusFailed, pipeline.StatusNeedsAttention:
		return st.Bad(text)
	case pipeline.StatusHeld, pipeline.StatusPublishing, pipeline.StatusPartiallyPublished:
		return st.Warn(text)
	case pipeline.StatusDraft, pipeline.StatusScheduled, pipeline.StatusCanceled, pipeline.StatusRetracted, pipeline.StatusProposed:
	}
	return st.Dim(text)
}
