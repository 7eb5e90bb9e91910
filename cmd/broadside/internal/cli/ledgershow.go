package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/report"
)

func (a *app) cmdLedgerShow() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "show [POST [DESTINATION]]",
		Short: "Tell what happened: the newest commits, or the whole story of a post",
		Args:  between("at most a post and a destination", 0, 2),
		RunE:  func(c *cobra.Command, args []string) error { return a.ledgerShow(c.Context(), args, limit) },
	}
	c.Flags().IntVarP(&limit, "limit", "n", 20, "how many commits to show, without a post; 0 for all")
	return c
}

// shownFile is one event file.
type shownFile struct {
	Number int            `json:"number"`
	Path   string         `json:"path"`
	Events []ledger.Event `json:"events"`
}

func (a *app) ledgerShow(ctx context.Context, args []string, limit int) error {
	_, j, done, err := a.openLedger(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	files, s := j.Files(), j.State()
	if len(args) == 0 {
		list, err := eventFiles(files, limit, func(ledger.Event) bool { return true })
		if err != nil {
			return err
		}
		if a.flags.json {
			return a.printJSON(list)
		}
		for _, f := range list {
			a.showFile(f)
		}
		if s.Number > len(list) {
			a.note(fmt.Sprintf("%d earlier commits are not shown (--limit)", s.Number-len(list)))
		}
		return nil
	}
	stories, err := deliveriesOf(s, args)
	if err != nil {
		return err
	}
	if a.flags.json {
		list, err := eventFiles(files, 0, func(e ledger.Event) bool {
			return slices.ContainsFunc(stories, func(d *ledger.Delivery) bool { return d.ID == e.Delivery() })
		})
		if err != nil {
			return err
		}
		return a.printJSON(list)
	}
	for i, d := range stories {
		lines, err := ledger.Story(files, d.ID)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		fmt.Fprintln(a.out, a.style().Bold(report.Line(fmt.Sprintf("%s at %s", d.ID.Post, d.Dest)))+"  "+a.style().State(d.State))
		for _, l := range lines {
			fmt.Fprintln(a.out, "  "+report.Line(l))
		}
	}
	return nil
}

// deliveriesOf finds a post's deliveries, or one of them, by destination.
func deliveriesOf(s *ledger.State, args []string) ([]*ledger.Delivery, error) {
	if len(args) == 2 {
		d, err := findDelivery(s, args[0], args[1])
		return []*ledger.Delivery{d}, err
	}
	var out []*ledger.Delivery
	for _, d := range s.Deliveries {
		if d.ID.Post == args[0] {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(x, y *ledger.Delivery) int {
		return cmp.Or(cmp.Compare(x.Dest, y.Dest), cmp.Compare(x.ID.Target, y.ID.Target))
	})
	if len(out) == 0 {
		_, err := findDelivery(s, args[0], "")
		return nil, err
	}
	return out, nil
}

// eventFiles reads the newest files that hold an event which keep wants, oldest first.
func eventFiles(files ledger.Files, limit int, keep func(ledger.Event) bool) ([]shownFile, error) {
	paths, err := files.List("events/")
	if err != nil {
		return nil, err
	}
	var found []ledger.EventFile
	for _, p := range paths {
		if f, ok := ledger.ParseEventPath(p); ok {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(x, y ledger.EventFile) int { return cmp.Compare(y.Number, x.Number) })
	out := []shownFile{}
	for _, f := range found {
		if limit > 0 && len(out) == limit {
			break
		}
		data, err := files.Read(f.Path)
		if err != nil {
			return nil, err
		}
		events, err := ledger.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		events = slices.DeleteFunc(events, func(e ledger.Event) bool { return !keep(e) })
		if len(events) > 0 {
			out = append(out, shownFile{Number: f.Number, Path: f.Path, Events: events})
		}
	}
	slices.Reverse(out)
	return out, nil
}

// showFile prints one commit as its message says it.
func (a *app) showFile(f shownFile) {
	last := f.Events[len(f.Events)-1]
	lines := strings.Split(ledger.Message(f.Events, last.Run, ""), "\n")
	lines[0] = strings.TrimSuffix(lines[0], " [skip ci]")
	fmt.Fprintln(a.out, report.Line(fmt.Sprintf("%6d  %s  %s  (%s)", f.Number, last.At.UTC().Format(time.DateTime), lines[0], last.Run)))
	for _, l := range lines[1:] {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "Broadside-Run") {
			fmt.Fprintln(a.out, report.Line("        "+l))
		}
	}
}
