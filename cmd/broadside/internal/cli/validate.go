package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
)

type validateFlags struct {
	format, ledger, now string
	fix                 bool
}

func (a *app) cmdValidate() *cobra.Command {
	var f validateFlags
	c := &cobra.Command{
		Use:     "validate [PATH...]",
		GroupID: "write",
		Short:   "Check broadside.yaml and posts, offline",
		Long: `validate reads broadside.yaml and the posts - all of them, or the files and folders that are named - exactly as a run
would, and says everything that is wrong with them: what, in which file, line and column, and what to do. It needs no
network, no secret and no git history, and starts no process, so that a pull request from a stranger can be checked.

What only the ledger knows - that an id is used up, or that the same text went out before - is said when --ledger names
one: a clone that has the ledger branch (its signature is checked), or a folder with the branch checked out (which is
believed as it is).

Exit codes: 0 nothing is wrong (there may be warnings), 2 something is.`,
		Example: "  broadside validate\n  broadside validate posts/2026/12\n  broadside validate --format github --ledger ../ledger\n  broadside validate --fix",
		RunE:    func(c *cobra.Command, args []string) error { return a.validate(c.Context(), f, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.format, "format", "text", `"text", "json", or "github": text and annotations on the lines of a pull request`)
	fl.BoolVar(&f.fix, "fix", false, "write an id into every post that has none")
	fl.StringVar(&f.ledger, "ledger", "", "also check against the ledger in this clone or folder")
	nowFlag(c, &f.now)
	return c
}

func (a *app) validate(ctx context.Context, f validateFlags, args []string) error {
	format := f.format
	if a.flags.json {
		format = "json"
	}
	if !slices.Contains([]string{"text", "json", "github"}, format) {
		return usageError{fmt.Errorf("there is no format %q", format), `use "text", "json" or "github"`}
	}
	now, err := a.at(f.now)
	if err != nil {
		return err
	}
	w, err := a.open(false)
	if err != nil {
		return err
	}
	if w.cfg == nil && len(w.diags) == 0 {
		return w.noConfig()
	}
	if w.cfg == nil || pipeline.HasErrors(w.diags) {
		return a.printValidation(format, w.diags, "nothing else was checked: broadside.yaml is not valid")
	}
	paths, only, err := w.selection(args)
	if err != nil {
		return err
	}
	if only {
		return a.printValidation(format, w.diags, "checked broadside.yaml alone")
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	if f.fix {
		if err := w.fixIDs(ctx, paths); err != nil {
			return err
		}
	}
	look := w.check
	if f.ledger != "" {
		look = w.build // what went out is compared with the renditions
	}
	v, err := look(ctx, paths...)
	if err != nil {
		return err
	}
	diags := v.Diagnostics
	unseen := "the ledger was not looked at: that an id is used up, or a text was published before, shows only with --ledger"
	if f.ledger != "" {
		l, err := w.ledgerAt(ctx, f.ledger)
		if err != nil {
			return err
		}
		diags = append(slices.Clone(diags), againstLedger(v, l.State, now)...)
		pipeline.SortDiagnostics(diags)
		unseen = ""
	}
	return a.printValidation(format, diags, closingOf(v, diags), unseen)
}

// selection turns arguments into paths of the repository. only tells that broadside.yaml alone was named, which is
// checked in any case.
func (w *workspace) selection(args []string) (paths []string, only bool, err error) {
	for _, arg := range args {
		p, err := w.repoPath(arg)
		switch {
		case err != nil:
			return nil, false, err
		case p == compose.ConfigPath:
			only = true
		case p == ".":
			return nil, false, nil
		default:
			paths = append(paths, p)
		}
	}
	return paths, only && len(paths) == 0, nil
}

// printValidation prints diagnostics in a format and ends with the exit code that they deserve.
func (a *app) printValidation(format string, ds []pipeline.Diagnostic, closing ...string) error {
	switch format {
	case "json":
		if ds == nil {
			ds = []pipeline.Diagnostic{}
		}
		if err := a.printJSON(ds); err != nil {
			return err
		}
	default:
		for _, d := range ds {
			if d.Severity != pipeline.Note || a.flags.verbose {
				a.printDiagnostic(a.out, d)
			}
		}
		if format == "github" {
			report.Annotations(a.getenv, a.out, ds)
		}
		for _, line := range closing {
			if line != "" && !a.flags.quiet {
				fmt.Fprintln(a.out, report.Line(line))
			}
		}
	}
	return severityOf(ds)
}

// closingOf says what validate looked at and what came of it.
func closingOf(v *compose.View, ds []pipeline.Diagnostic) string {
	errs, warnings, notes := tally(ds)
	parts := []string{counted(len(v.Tree.Posts), "post", "posts"), counted(errs, "error", "errors"), counted(warnings, "warning", "warnings")}
	if notes > 0 {
		parts = append(parts, counted(notes, "note", "notes")+" (`broadside preview` shows them)")
	}
	s := strings.Join(parts, ", ")
	if v.Drafts > 0 {
		s += "; " + counted(v.Drafts, "draft", "drafts") + " (no publish_at) will not go out"
	}
	return s
}

// againstLedger says what only the ledger knows: ids that are used up, destinations that came too late, and texts that
// went out before.
func againstLedger(v *compose.View, s *ledger.State, now time.Time) []pipeline.Diagnostic {
	out := append(publish.Conflicts(v, s), publish.LateDestinations(v, s, now)...)
	for _, it := range v.Items {
		if it.Errors || it.Skip || it.Draft() || it.Post.AllowDuplicate || it.ID.Target == "" || it.ID.Post == "" {
			continue
		}
		if d := s.Deliveries[it.ID]; d != nil && d.State != pipeline.Scheduled && d.State != pipeline.Queued && d.State != pipeline.Failed {
			continue
		}
		at := it.At.PublishAt.Pos
		if at.Line == 0 {
			at = it.Post.PublishAt.Pos
		}
		for _, o := range s.EqualSource(it.ID.Target, it.Rendition.Source, now.Add(-publish.DuplicateWithin)) {
			if o.ID != it.ID {
				out = append(out, pipeline.Diagnostic{
					Code: string(pipeline.ReasonDuplicate), Severity: pipeline.Error, File: it.Post.Path, Line: at.Line,
					Column: at.Column, Message: fmt.Sprintf("the same text is out, or on its way, at %s as %s", it.Destination.Name, o.ID.Post),
					Hint: "change the text, or set allow_duplicate: true", Post: it.ID.Post, Destination: it.Destination.Name,
				})
				break
			}
		}
	}
	return out
}
