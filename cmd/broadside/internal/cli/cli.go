// Package cli is broadside's command line: one file per command, one place for exit codes.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/report"
)

// app is what every command works with: streams, environment, time and the secrets to hide.
type app struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) string
	now    func() time.Time
	start  time.Time
	dir    string
	// tty tells that stdout is a terminal; askable that stdin is one.
	tty, askable bool
	mask         *report.Masker
	// stop is closed when the process is asked to end.
	stop chan struct{}
	// graceLimit is how long a write in flight may take after that, as a time.Duration; 0: the default.
	graceLimit atomic.Int64

	flags globalFlags
	line  *bufio.Reader
	// repo is the checkout that the command works in, once it was looked for.
	repo *gitstore.Repo
	// ownKey is where init puts the age key of the ledger at hand, "" before broadside.yaml was read.
	ownKey string
}

type globalFlags struct {
	dir       string
	json      bool
	remote    string
	transport string
	tokenEnv  string
	branch    string
	verbose   bool
	quiet     bool
}

// Main runs one command and returns the exit code.
func Main(args []string) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(compose.GCPercent)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	mask := report.NewMasker(os.Getenv)
	// Not through the masked streams: they would hide what the runner must hear. Standard error keeps it out of a report
	// that somebody redirects to a file.
	mask.Announce(os.Stderr)
	a := &app{
		in: os.Stdin, out: mask.Writer(os.Stdout), err: mask.Writer(os.Stderr), getenv: os.Getenv, now: time.Now, start: time.Now(),
		dir: dir, tty: term.IsTerminal(int(os.Stdout.Fd())), askable: term.IsTerminal(int(os.Stdin.Fd())), mask: mask,
		stop: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer a.watchSignals(cancel)()
	return a.run(ctx, args)
}

// stopContext is done when the process is asked to end, for commands that have nothing to bring to an end.
func (a *app) stopContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-a.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	if err != nil {
		a.printError(err)
	}
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "broadside",
		Short: "Publish posts to social networks from a git repository, by CI",
		Long: `broadside publishes posts from a git repository. A post is a Markdown file; a pull request proposes it; the merge
approves it; a scheduled job claims what is due by a commit, publishes it, and commits what happened.

Every post goes out once, on time, on every destination - or you are told exactly what is not known.

Start with "broadside demo" (no account needed), then "broadside init" in a repository of yours.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.StringVarP(&a.flags.dir, "dir", "C", "", "work in this directory instead of the present one")
	f.BoolVar(&a.flags.json, "json", false, "print JSON")
	f.StringVar(&a.flags.remote, "remote", "", "URL or name of the git remote (default: origin)")
	f.StringVar(&a.flags.transport, "git-transport", "", `how to reach the remote: "go" (default) or "git", the git command`)
	f.StringVar(&a.flags.tokenEnv, "token-env", "", "name of the environment variable with the remote's token")
	f.StringVar(&a.flags.branch, "branch", "", "content branch (default: the ledger's, else the remote's default branch)")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "say more on stderr")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "say nothing but results and errors")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{err: err, hint: fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())}
	})
	root.AddGroup(
		&cobra.Group{ID: "write", Title: "Write and review:"},
		&cobra.Group{ID: "publish", Title: "Publish:"},
		&cobra.Group{ID: "manage", Title: "Set up and look after:"},
	)
	for _, c := range a.commands() {
		root.AddCommand(c)
	}
	root.SetHelpCommandGroupID("manage")
	root.SetCompletionCommandGroupID("manage")
	return root
}

// workDir is where a command works.
func (a *app) workDir() string {
	if a.flags.dir != "" {
		return a.flags.dir
	}
	return a.dir
}

// noArgs refuses arguments with the field's usual words.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		hint := fmt.Sprintf("`%s --help` lists the commands", c.CommandPath())
		if s := c.SuggestionsFor(args[0]); len(s) > 0 {
			hint = fmt.Sprintf("did you mean `%s %s`?", c.CommandPath(), s[0])
		}
		return usageError{err: fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath()), hint: hint}
	}
	return usageError{err: fmt.Errorf("%q takes no argument %q", c.CommandPath(), args[0]), hint: "`" + c.CommandPath() + " --help` shows its use"}
}

// exactly wants n arguments, named for the message.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usageError{err: fmt.Errorf("%q needs %s", c.CommandPath(), strings.Join(names, " and ")), hint: "`" + c.CommandPath() + " --help` shows its use"}
	}
}

// ask prompts on stderr and reads one line.
func (a *app) ask(prompt string) (string, error) {
	if a.askable {
		fmt.Fprint(a.err, prompt)
	}
	if a.line == nil {
		a.line = bufio.NewReader(a.in)
	}
	s, err := a.line.ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || s == "") {
		return "", usageError{err: fmt.Errorf("nothing was given for %q", strings.TrimSpace(strings.TrimSuffix(prompt, ": "))), hint: "give one line per value on standard input, or run it in a terminal"}
	}
	return strings.TrimRight(s, "\r\n"), nil
}

// askSecret is ask without showing what is typed.
func (a *app) askSecret(prompt string) (string, error) {
	f, ok := a.in.(*os.File)
	if !ok || !a.askable {
		return a.ask(prompt)
	}
	fmt.Fprint(a.err, prompt)
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.err)
	return string(b), err
}
