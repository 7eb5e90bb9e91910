package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

func (a *app) cmdDemo() *cobra.Command {
	var keep string
	var serve bool
	c := &cobra.Command{
		Use:     "demo",
		GroupID: "manage",
		Short:   "See the whole thing work on this machine: no account, no configuration, no network needed",
		Long: `demo makes a throw-away repository with a remote of its own, an age key, three posts, and the sandbox: an invented network
with a page to look at. Then it validates, plans and publishes with the very commands that you would use.

One of the three accounts is on a server that loses an answer: it publishes a post and drops the connection, and cannot be
asked for a moment. What is known is written down, the next run finds the post, and it is out once.

It needs git and nothing else, reads no configuration of yours, and touches no repository and no key of yours. The exit code
is 0 if every post ended published exactly once.`,
		Example: "  broadside demo\n  broadside demo --keep /tmp/broadside-demo --serve",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.demo(c.Context(), keep, serve)
		},
	}
	c.Flags().StringVar(&keep, "keep", "", "make everything in this new folder and leave it there")
	c.Flags().BoolVar(&serve, "serve", false, "leave the network and its page up until Ctrl-C")
	return c
}

// demo is one demonstration.
type demo struct {
	a    *app
	dir  string // holds everything
	repo string // the checkout
	bare string // its remote
	git  string // the command
	net  *sandboxNet
	out  *indented
	// tokens of the sandbox, by account.
	tokens map[string]string
}

func (a *app) demo(ctx context.Context, keep string, serve bool) error {
	git, err := exec.LookPath("git")
	if err != nil {
		return hinted{errors.New("the demo needs the git command, and it was not found"), "install git, or add its folder to PATH"}
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	dir, err := demoFolder(keep)
	if err != nil {
		return err
	}
	if keep == "" {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	d := &demo{
		a: a, dir: dir, repo: filepath.Join(dir, "blog"), bare: filepath.Join(dir, "blog.git"), git: git, out: &indented{w: a.out},
		tokens: map[string]string{},
	}
	if err := d.startNetwork(ctx); err != nil {
		return err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = d.net.http.Serve(d.net.listen) // ends when it is closed
	}()
	defer func() {
		_ = d.net.close()
		<-served
	}()
	if err := d.tell(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Canceled
		}
		return err
	}
	d.next(keep != "", serve)
	if serve {
		<-ctx.Done()
	}
	return nil
}

// demoFolder makes the folder for everything.
func demoFolder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "broadside-demo-")
	}
	dir, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", usageError{fmt.Errorf("%s is not empty", keep), "name a folder that does not exist yet"}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", usageError{err, "name another folder"}
	}
	return dir, nil
}

// startNetwork starts the sandbox with three accounts, one of them on a server that loses an answer.
func (d *demo) startNetwork(ctx context.Context) error {
	var conf net.ListenConfig
	l, err := conf.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("the demo's network cannot listen on the loopback address: %w", err)
	}
	rules := []server.Rule{
		{Account: shaky, Post: "hello", Fault: server.DropAfter},
		{Account: shaky, Op: server.List, Fault: server.ServerError, Status: 503},
	}
	if d.net, err = newSandbox(d.a.now, l, demoAccounts, nil, rules); err != nil {
		_ = l.Close()
		return err
	}
	for _, l := range d.net.server.Logins() {
		d.tokens[l.Handle] = l.Token
		d.a.mask.Add(l.Token)
	}
	return nil
}

// tell is the story.
func (d *demo) tell(ctx context.Context) error {
	d.say("A repository with a remote, and a network that exists only on this machine: " + d.net.url)
	if err := d.setUp(ctx); err != nil {
		return err
	}
	d.say("Three posts: a plain one, a thread with a picture, and one that differs from account to account.")
	if err := d.writePosts(ctx); err != nil {
		return err
	}
	d.say("What a pull request would be checked with, and what goes when:")
	if err := errors.Join(d.run(ctx, 0, "validate"), d.run(ctx, 0, "plan")); err != nil {
		return err
	}
	d.say(fmt.Sprintf("The first run. @%s publishes \"hello\", drops the connection, and then cannot be asked: nobody knows.", shaky))
	if err := d.run(ctx, exitPerson, "run"); err != nil {
		return err
	}
	d.say("Exit code 3: a person should know. Nothing was sent a second time. This is what is written down:")
	if err := d.run(ctx, 0, "ledger", "show", "hello", shaky); err != nil {
		return err
	}
	d.say("The next run, fifteen minutes later in real life, asks the network again, and finds the post:")
	if err := d.run(ctx, 0, "run"); err != nil {
		return err
	}
	if err := d.run(ctx, 0, "status"); err != nil {
		return err
	}
	d.say("The queue, the claims and the results are commits on a branch of the remote:")
	if err := d.gitShown(ctx, d.bare, "log", "--reverse", "--format=%h %s", pipeline.DefaultLedgerBranch); err != nil {
		return err
	}
	return d.verify(ctx)
}

// say writes a heading.
func (d *demo) say(text string) {
	fmt.Fprintf(d.a.out, "\n%s\n", d.a.style().Bold(text))
}

// shown writes a command line before its output.
func (d *demo) shown(line string) {
	fmt.Fprintf(d.a.out, "\n%s\n", d.a.style().Dim("$ ")+line)
}

// commandLine writes a command as a shell takes it.
func commandLine(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; strings.ContainsAny(w, " %") {
			out[i] = "'" + w + "'"
		}
	}
	return strings.Join(out, " ")
}

// run executes one of broadside's commands as main would, in the demo's repository and environment.
func (d *demo) run(ctx context.Context, want int, args ...string) error {
	return d.runIn(ctx, want, "", d.out, args...)
}

func (d *demo) runIn(ctx context.Context, want int, input string, out io.Writer, args ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if out == d.out {
		d.shown("broadside " + commandLine(args...))
	}
	a := d.child(strings.NewReader(input))
	a.out, a.err = out, out
	if got := a.run(ctx, args); got != want && ctx.Err() == nil {
		return fmt.Errorf("`broadside %s` ended with exit code %d, the demo expects %d: this is a fault in broadside", strings.Join(args, " "), got, want)
	}
	return ctx.Err()
}

// child is a program of its own in all but the process.
func (d *demo) child(in io.Reader) *app {
	return &app{in: in, out: d.out, err: d.out, getenv: d.getenv, now: d.a.now, start: d.a.start, dir: d.repo, tty: d.a.tty, mask: d.a.mask, stop: d.a.stop}
}

// inherited are the variables of the real environment that the demo's programs get.
var inherited = []string{
	"PATH", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "SystemRoot", "PATHEXT", "COMSPEC", "WINDIR", "LD_LIBRARY_PATH", "GIT_EXEC_PATH",
	"TZ", "TERM", "NO_COLOR",
}

// environment is the demo's own: a home in its folder, and a git that knows nobody's configuration.
func (d *demo) environment() map[string]string {
	env := map[string]string{
		"HOME": d.dir, "XDG_CONFIG_HOME": filepath.Join(d.dir, "config"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_TERMINAL_PROMPT": "0", "USER": "demo",
	}
	for _, name := range inherited {
		if v := d.a.getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

func (d *demo) getenv(name string) string { return d.environment()[name] }

// gitQuiet runs git and shows nothing unless it fails.
func (d *demo) gitQuiet(ctx context.Context, dir string, args ...string) error {
	var out bytes.Buffer
	if err := d.gitTo(ctx, &out, dir, args...); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(out.String()))
	}
	return nil
}

// gitShown runs git as a person would see it.
func (d *demo) gitShown(ctx context.Context, dir string, args ...string) error {
	line := "git "
	if dir == d.bare {
		line += "-C " + filepath.Base(d.bare) + " "
	}
	d.shown(line + commandLine(args...))
	return d.gitTo(ctx, d.out, dir, args...)
}

func (d *demo) gitTo(ctx context.Context, out io.Writer, dir string, args ...string) error {
	fixed := []string{
		"-C", dir, "--no-pager", "-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false",
		"-c", "init.defaultBranch=main", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.autocrlf=false", "-c", "gc.auto=0",
	}
	c := exec.CommandContext(ctx, d.git, append(fixed, args...)...) //nolint:gosec // git, found on PATH, with the demo's own arguments
	for k, v := range d.environment() {
		c.Env = append(c.Env, k+"="+v)
	}
	c.Stdout, c.Stderr = out, out
	c.WaitDelay = 5 * time.Second
	return c.Run()
}

// next says how to go on.
func (d *demo) next(kept, serve bool) {
	d.say("What next")
	switch {
	case kept:
		fmt.Fprintf(d.a.out, "Everything is in %s. To look around:\n\n", d.dir)
		fmt.Fprintf(d.a.out, "  cd %s\n  export XDG_CONFIG_HOME=%s\n", d.repo, filepath.Join(d.dir, "config"))
		fmt.Fprintln(d.a.out, "  broadside status hello\n  broadside preview\n  broadside ledger verify\n  git fetch -q && git log origin/"+pipeline.DefaultLedgerBranch)
	case !serve:
		fmt.Fprintln(d.a.out, "Nothing of it is left. `broadside demo --keep DIR` leaves it to look around in, --serve leaves the network and its page up.")
	}
	if serve {
		fmt.Fprintf(d.a.out, "\nThe network is up at %s until Ctrl-C.", d.net.url)
		if kept {
			fmt.Fprintf(d.a.out, " To publish something yourself, in another terminal and the folder above:\n\n"+
				"  broadside new \"My own post\" --at now --to %s --text \"Hello from me.\"\n  git add -A && git commit -m Post && git push && broadside run", demoAccounts[0])
		}
		fmt.Fprintln(d.a.out)
	}
	fmt.Fprintln(d.a.out, "\nFor accounts of your own: `broadside init` in a repository of yours.")
}

// indented sets lines off. It is safe for concurrent use: a run tells its progress from every lane.
type indented struct {
	w   io.Writer
	mu  sync.Mutex
	mid bool // in the middle of a line
}

// Write implements io.Writer.
func (i *indented) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var b bytes.Buffer
	for line := range bytes.Lines(p) {
		if !i.mid && len(bytes.TrimSpace(line)) > 0 {
			b.WriteString("  ")
		}
		b.Write(line)
		i.mid = !bytes.HasSuffix(line, []byte("\n"))
	}
	if _, err := i.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
