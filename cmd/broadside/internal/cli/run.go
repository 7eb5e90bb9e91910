package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers/transport"
)

func (a *app) cmdRun() *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:     "run",
		GroupID: "publish",
		Short:   "Publish what is due: claim it on the ledger, send it, record what happened",
		Long: `run looks at the tips of the content branch and of the ledger on the remote (never only at the checkout), claims what
is due by a commit on the ledger, publishes it, and commits what happened. It is safe to run at any time, any number of
times, in several places at once.

Exit codes: 0 done or nothing due, 1 something failed, 2 content that is not valid, 3 something needs a person,
4 something waits and will pass later, 5 what happened could not be recorded. Troubles count when no finished run has told
them yet, and once a day while they stand; --exit-standing counts all. With --waiting-ok what only waits is 0, so that a CI
job is not red for it.

SIGINT or SIGTERM lets a write in flight come to its end, for as long as --grace says; a second one ends that too, and keeps
what happened in a file where it cannot be pushed.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.runRun(c.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.dry, "dry-run", false, "everything but claim and publish; print the requests that would be made, without secrets")
	f.BoolVar(&o.standing, "exit-standing", false, "let the exit code tell every trouble that stands, not only what is new")
	f.BoolVar(&o.waitingOK, "waiting-ok", false, "exit with 0 instead of 4 where something waits and nothing else is to be said")
	f.DurationVar(&o.grace, "grace", 0, "how long a write in flight may take after SIGINT or SIGTERM (default 5s under CI, else 45s)")
	f.StringVar(&o.report, "report", "", "also write the result as JSON to this file")
	return c
}

type runFlags struct {
	dry, standing, waitingOK bool
	grace                    time.Duration
	report                   string
}

// unrecordedError ends a run whose results are in a file: whatever else happened, that comes first.
type unrecordedError struct{ err error }

func (e unrecordedError) Error() string { return e.err.Error() }
func (e unrecordedError) Unwrap() error { return e.err }

func (a *app) runRun(ctx context.Context, o runFlags) error {
	w, err := a.open(false)
	if err != nil {
		return err
	}
	remote, err := w.remote(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = remote.Close() }()
	opt, err := a.runOptions(ctx, w, remote)
	if err != nil {
		return err
	}
	opt.DryRun, opt.Full = o.dry, o.standing
	if o.grace > 0 {
		opt.Grace = o.grace
	}
	a.graceLimit.Store(int64(opt.Grace))
	var planned *planned
	if o.dry {
		planned = newPlanned(a)
		opt.Transport = planned.transport
	}
	res, err := publish.Run(ctx, a.stop, opt)
	if err != nil {
		if p := new(journal.PushError); res.Unrecorded == "" && !errors.As(err, &p) {
			return err
		}
	}
	err = errors.Join(err, a.reportRun(res, planned, o.report))
	if err != nil && res.Unrecorded != "" {
		return unrecordedError{err}
	}
	if err != nil {
		return err
	}
	code := runExit(res, o.standing)
	if code == exitDone || code == exitWaiting && o.waitingOK {
		return nil
	}
	return exitWith{code}
}

// runOptions are the options of a real run in this process.
func (a *app) runOptions(ctx context.Context, w *workspace, remote gitstore.Remote) (publish.Options, error) {
	name, err := nonce()
	if err != nil {
		return publish.Options{}, err
	}
	opt := publish.Options{
		Remote: remote, Branch: a.flags.branch, Home: w.home(remote), Providers: w.infos, Transport: a.transport,
		Keys:  func(context.Context) (vault.Keys, error) { return a.keys() },
		Clock: a.clock(), Sleep: sleep, Rand: rand.Reader, Nonce: name, RunURL: a.runURL(), Fence: a.fence(), Grace: a.grace(),
		Mask: a.hide, Log: a.log(), SaveResults: a.saveResults,
	}
	if w.repo != nil {
		opt.Local = w.root
	}
	if w.cfg != nil && !pipeline.HasErrors(w.diags) {
		opt.Hint = w.cfg
	}
	if !a.flags.quiet && !a.flags.json {
		opt.Progress = a.progress
	}
	return opt, nil
}

// grace is the default of --grace: a CI runner kills soon after it asks.
func (a *app) grace() time.Duration {
	if a.getenv("CI") != "" {
		return 5 * time.Second
	}
	return 45 * time.Second
}

// progress prints what happens while it happens.
func (a *app) progress(p publish.Progress) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", p.What)
	if p.Post != "" {
		b.WriteString(" " + p.Post)
	}
	if p.Dest != "" {
		b.WriteString(" -> " + p.Dest)
	}
	if p.Text != "" {
		b.WriteString("  " + p.Text)
	}
	if p.URL != "" {
		b.WriteString("  " + p.URL)
	}
	fmt.Fprintln(a.err, report.Line(b.String()))
}

// saveResults keeps what could not be pushed, beside the checkout's git directory or in the runner's temporary folder.
func (a *app) saveResults(data []byte) (string, error) {
	dir := a.getenv("RUNNER_TEMP")
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, "broadside-results-*.json")
	if err != nil {
		return "", err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return "", err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return "", err
	}
	path, err := filepath.Abs(f.Name())
	if err != nil {
		path = f.Name()
	}
	return path, f.Close()
}

// reportRun writes the result everywhere it is wanted.
func (a *app) reportRun(res publish.Result, planned *planned, path string) error {
	if planned != nil {
		for _, q := range planned.requests() {
			fmt.Fprintln(a.err, report.Line("would send: "+strings.TrimSpace(q.Method+" "+q.URL+" "+q.Body)))
		}
	}
	if a.flags.json {
		if err := report.JSON(a.out, res); err != nil {
			return err
		}
	} else {
		report.Text(a.out, res, a.style())
	}
	if path != "" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := errors.Join(report.JSON(a.mask.Writer(f), res), f.Close()); err != nil {
			return err
		}
	}
	return report.GitHub(a.getenv, a.commandsTo(), a.mask.Hide, res)
}

// commandsTo is where workflow commands are written: a CI runner reads both streams, a program that reads JSON only one.
func (a *app) commandsTo() io.Writer {
	if a.flags.json {
		return a.err
	}
	return a.out
}

// planned gathers the requests that a dry run would make. Reads pass, writes do not.
type planned struct {
	a    *app
	mu   sync.Mutex
	seen []*transport.Recorder
}

func newPlanned(a *app) *planned { return &planned{a: a} }

func (p *planned) transport(d pipeline.Destination) http.RoundTripper {
	r := transport.DryRun(p.a.transport(d))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, r)
	return r
}

func (p *planned) requests() []transport.Recorded {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []transport.Recorded
	for _, r := range p.seen {
		for _, q := range r.Requests() {
			if !q.Sent {
				out = append(out, q)
			}
		}
	}
	return out
}
