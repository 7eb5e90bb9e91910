package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/preview"
)

func (a *app) cmdPreview() *cobra.Command {
	var dest string
	c := &cobra.Command{
		Use:     "preview [PATH | POST...]",
		GroupID: "write",
		Short:   "Show every part exactly as it will be sent, with its length against the limit",
		Long: `preview shows what posts become at each destination: every part exactly as it will be sent, its length by the network's
own rule against the limit, media with their alt texts, settings, and what there is to say. Posts are named by file, folder
or id; without a name all are shown. It needs no network, no secret and no ledger.`,
		Example: "  broadside preview launch-1-0\n  broadside preview posts/2026/12/launch.md --destination fosstodon",
		RunE:    func(c *cobra.Command, args []string) error { return a.preview(c.Context(), args, dest) },
	}
	c.Flags().StringVar(&dest, "destination", "", "show this destination only")
	return c
}

func (a *app) preview(ctx context.Context, args []string, dest string) error {
	w, err := a.open(true)
	if err != nil {
		return err
	}
	if _, ok := w.cfg.Destination(dest); dest != "" && !ok {
		return w.unknownDestination(dest)
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	v, err := w.named(ctx, args)
	if err != nil {
		return err
	}
	posts := preview.Posts(v, dest)
	if a.flags.json {
		if err := a.printJSON(posts); err != nil {
			return err
		}
	} else {
		preview.Text(a.out, posts, a.style())
		if len(posts) == 0 {
			fmt.Fprintln(a.out, "there are no posts")
		}
	}
	for _, d := range v.Diagnostics {
		if !ofPost(posts, d) {
			a.printDiagnostic(a.err, d)
		}
	}
	return severityOf(v.Diagnostics)
}

// ofPost tells that a diagnostic has been shown with its post.
func ofPost(posts []preview.Post, d pipeline.Diagnostic) bool {
	return slices.ContainsFunc(posts, func(p preview.Post) bool { return p.Path == d.File })
}

// named reads the posts that arguments name by path or by id; none: all.
func (w *workspace) named(ctx context.Context, args []string) (*compose.View, error) {
	var paths, ids []string
	for _, arg := range args {
		if !w.exists(arg) && pipeline.ValidPostID(arg) {
			ids = append(ids, arg)
			continue
		}
		p, err := w.repoPath(arg)
		if err != nil {
			return nil, err
		}
		if p == "." {
			return w.build(ctx)
		}
		paths = append(paths, p)
	}
	if len(ids) == 0 {
		return w.build(ctx, paths...)
	}
	all, err := w.build(ctx)
	if err != nil {
		return nil, err
	}
	var missing []error
	for _, id := range ids {
		n := len(paths)
		for _, p := range all.Tree.Posts {
			if p.ID == id {
				paths = append(paths, p.Path)
			}
		}
		if len(paths) == n {
			missing = append(missing, fmt.Errorf("there is no file, folder or post %q", id))
		}
	}
	if len(missing) > 0 {
		return nil, usageError{errors.Join(missing...), "`broadside plan` lists the posts"}
	}
	return w.build(ctx, paths...)
}
