package cli

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/media"
)

// What the commands have in common that look at the files of a checkout: validate, preview, plan and status.

// workFiles are the files of a folder. Posts are bounded as posts; whatever else is read may be as large as media.
type workFiles struct {
	content.FS
	media media.WorkTree
}

func newWorkFiles(root *os.Root) workFiles {
	return workFiles{FS: content.Dir(root), media: media.WorkTree{Root: root}}
}

// Read implements content.FS.
func (f workFiles) Read(name string) ([]byte, error) {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".yaml", ".yml", ".age":
		return f.FS.Read(name)
	}
	return f.media.Read(name)
}

// build reads the content of the checkout. paths narrow it; none: everything.
func (w *workspace) build(ctx context.Context, paths ...string) (*compose.View, error) {
	return compose.Build(ctx, w.input(paths))
}

// check is build for those who only want to know what is wrong: it keeps no renditions.
func (w *workspace) check(ctx context.Context, paths ...string) (*compose.View, error) {
	in := w.input(paths)
	in.Lean = true
	return compose.Build(ctx, in)
}

func (w *workspace) input(paths []string) compose.Input {
	return compose.Input{Files: w.files, Config: w.cfg, ConfigDiagnostics: w.diags, Providers: w.infos, Paths: paths}
}

// repoPath turns a path as a person gives it into one of the repository.
func (w *workspace) repoPath(arg string) (string, error) {
	rel, err := filepath.Rel(w.root, w.abs(arg))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", usageError{fmt.Errorf("%s lies outside of the repository %s", arg, w.root), "name files or folders inside it"}
	}
	return filepath.ToSlash(rel), nil
}

// exists tells whether a path as a person gives it is there.
func (w *workspace) exists(arg string) bool {
	_, err := os.Lstat(w.abs(arg))
	return err == nil
}

// abs makes a path as a person gives it absolute.
func (w *workspace) abs(arg string) string {
	if !filepath.IsAbs(arg) {
		arg = filepath.Join(w.a.workDir(), arg)
	}
	abs, err := filepath.Abs(arg)
	if err != nil {
		return arg
	}
	return abs
}

// nowFlag adds --now.
func nowFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "now", "", "take this for the present time (RFC 3339)")
}

// at is the time that --now gives, else the present.
func (a *app) at(flag string) (time.Time, error) {
	if flag == "" {
		return a.now().UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return time.Time{}, usageError{fmt.Errorf("--now %q is not a time", flag), "write it like 2026-12-03T09:00:00+01:00"}
	}
	return t.UTC(), nil
}

// note says something on stderr that is no error, unless --quiet.
func (a *app) note(text string) {
	if !a.flags.quiet {
		fmt.Fprintln(a.err, text)
	}
}

// noConfig is the error of a command that needs a broadside.yaml.
func (w *workspace) noConfig() error {
	return hinted{fmt.Errorf("%w (looked in %s)", errNoConfig, w.root), "`broadside init` writes one; or work in another directory with -C"}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// tally counts diagnostics by severity.
func tally(ds []pipeline.Diagnostic) (errors, warnings, notes int) {
	for _, d := range ds {
		switch d.Severity {
		case pipeline.Error:
			errors++
		case pipeline.Warning:
			warnings++
		case pipeline.Note:
			notes++
		}
	}
	return errors, warnings, notes
}
