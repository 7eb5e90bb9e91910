package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
	"github.com/broadside-pub/broadside/providers/transport"
)

// workspace is the repository that a command works in.
type workspace struct {
	a    *app
	root string
	repo *gitstore.Repo // nil where there is no git checkout
	// infos are the providers by name.
	infos map[string]providers.Info
	cfg   *pipeline.Config
	diags []pipeline.Diagnostic
	files content.FS
}

// errNoConfig tells that there is no broadside.yaml.
var errNoConfig = errors.New("there is no broadside.yaml here")

// open finds the repository and reads its configuration. With must, a broadside.yaml that is missing or wrong is an
// error.
func (a *app) open(must bool) (*workspace, error) {
	w := &workspace{a: a, infos: map[string]providers.Info{}}
	for _, i := range all.All() {
		w.infos[i.Name] = i
	}
	dir, err := filepath.Abs(a.workDir())
	if err != nil {
		return nil, err
	}
	repo, err := gitstore.DiscoverEnv(dir, a.getenv)
	switch {
	case errors.Is(err, gitstore.ErrNoRepository):
		w.root = dir
	case err != nil:
		return nil, err
	default:
		w.repo, w.root = &repo, repo.Root
		a.repo = w.repo
	}
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil, fmt.Errorf("the repository cannot be read: %w", err)
	}
	w.files = newWorkFiles(root) // closed when the workspace is collected: every command has one
	cfg, diags, err := compose.ReadConfig(w.files, w.infos)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !must:
		return w, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, w.noConfig()
	case err != nil:
		return nil, err
	}
	w.cfg, w.diags = cfg, diags
	if cfg != nil {
		a.ownKey = a.keyHome(cfg.Ledger.ID)
	}
	if must && pipeline.HasErrors(diags) {
		for _, d := range diags {
			a.printDiagnostic(a.err, d)
		}
		return nil, errInvalidContent
	}
	return w, nil
}

// remoteURL is the address that --remote, CI or the checkout names.
func (w *workspace) remoteURL() (string, error) {
	named := w.a.flags.remote
	if named != "" && (strings.Contains(named, "/") || strings.Contains(named, ":")) {
		return named, nil
	}
	if w.repo == nil {
		return "", usageError{fmt.Errorf("%s is not inside a git checkout", w.root), "run it in a checkout, or name the remote with --remote URL"}
	}
	if named == "" {
		named = "origin"
	}
	url, ok := w.repo.Remotes[named]
	if !ok {
		return "", hinted{fmt.Errorf("this checkout has no remote %q", named), "`git remote add " + named + " URL`, or name one with --remote"}
	}
	return url, nil
}

// remote opens the git remote. Its credentials are masked before they are used.
func (w *workspace) remote(ctx context.Context) (gitstore.Remote, error) {
	url, err := w.remoteURL()
	if err != nil {
		return nil, err
	}
	return gitstore.Open(ctx, gitstore.Options{
		URL: url, Repo: w.repo, Transport: w.a.flags.transport, Env: w.a.getenv, Now: w.a.now, TokenEnv: w.a.flags.tokenEnv,
		OnSecret: func(s string) { w.a.mask.Add(s) },
	})
}

// contentBranch is the branch that posts are published from: the flag, CI's default branch, the ledger's own, or the
// remote's HEAD.
func (w *workspace) contentBranch(refs gitstore.Refs, bound string) string {
	switch {
	case w.a.flags.branch != "":
		return w.a.flags.branch
	case bound != "":
		return bound
	case refs.Head != "":
		return strings.TrimPrefix(refs.Head, "refs/heads/")
	case w.repo != nil && w.repo.Branch != "":
		return w.repo.Branch
	}
	return "main"
}

// home is where this command runs, as far as it is known. The branch is checked only where CI or a flag names one.
func (w *workspace) home(remote gitstore.Remote) journal.Home {
	h := journal.Home{URL: remote.URL(), ContentBranch: w.a.flags.branch}
	if w.a.getenv("GITHUB_ACTIONS") == "true" {
		h.RepoID = w.a.getenv("GITHUB_REPOSITORY_ID")
	}
	return h
}

// journal opens the ledger. write tells whether the command will append to it.
func (w *workspace) journal(ctx context.Context, remote gitstore.Remote, write bool) (*journal.Journal, error) {
	opt := w.journalOptions(remote)
	if write {
		opt.Signer = w.signer
	}
	return journal.Open(ctx, opt)
}

func (w *workspace) journalOptions(remote gitstore.Remote) journal.Options {
	return journal.Options{
		Remote: remote, Config: w.cfg.Ledger, Home: w.home(remote), Clock: w.a.clock(), Sleep: sleep, Rand: rand.Reader,
		Run: w.a.person(), RunURL: w.a.runURL(), Actor: w.a.person(),
	}
}

// signer opens the ledger's signing key from the checkout.
func (w *workspace) signer(context.Context) (ssh.Signer, error) {
	data, err := w.files.Read(vault.KeyPath)
	if err != nil {
		return nil, hinted{fmt.Errorf("the ledger's signing key cannot be read: %w", err), "it lies on the content branch, written by `broadside init`: pull, or restore it from the history"}
	}
	keys, err := w.a.keys()
	if err != nil {
		return nil, err
	}
	k, err := vault.OpenKey(data, vault.KeyPath, keys)
	if err != nil {
		return nil, err
	}
	w.a.mask.Add(k.Secrets()...)
	if !vault.SameSigner(k.Line, w.cfg.Ledger.Signer) {
		return nil, hinted{fmt.Errorf("%s is not the signer that broadside.yaml names", vault.KeyPath), "restore one of them from the history"}
	}
	return k.Signer, nil
}

// keys are the age keys that the environment gives, else the one where init puts it, or a passphrase where somebody can be
// asked.
func (a *app) keys() (vault.Keys, error) {
	env := vault.Env{Key: a.getenv("BROADSIDE_AGE_KEY"), KeyFile: a.getenv("BROADSIDE_AGE_KEY_FILE")}
	if env.Key == "" && env.KeyFile == "" && a.ownKey != "" {
		if _, err := os.Lstat(a.ownKey); err == nil {
			env.KeyFile = a.ownKey
		}
	}
	if p := a.getenv("BROADSIDE_AGE_PASSPHRASE"); p != "" {
		a.mask.Add(p)
		env.Passphrase = func(string) (string, error) { return p, nil }
	} else if a.askable {
		env.Passphrase = func(what string) (string, error) { return a.askSecret("passphrase for " + what + ": ") }
	}
	k, err := vault.Identities(env)
	if err == nil {
		a.mask.Add(k.Secrets()...)
	}
	return k, err
}

// person names who gives a command, for the ledger: "person:" and a login name without spaces.
func (a *app) person() string {
	for _, v := range []string{"GITHUB_TRIGGERING_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN", "CI_COMMIT_AUTHOR", "USER", "LOGNAME"} {
		if s := cleanName(a.getenv(v)); s != "" {
			return "person:" + s
		}
	}
	if s := cleanName(gitstore.UserName(a.repo, a.getenv)); s != "" {
		return "person:" + s
	}
	return "person:unknown"
}

func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.@[]", r) {
			return r
		}
		return -1
	}, s)
}

// runURL is where a person can look this CI job up; "" elsewhere.
func (a *app) runURL() string {
	if a.getenv("GITHUB_ACTIONS") == "true" {
		return fmt.Sprintf("%s/%s/actions/runs/%s", a.getenv("GITHUB_SERVER_URL"), a.getenv("GITHUB_REPOSITORY"), a.getenv("GITHUB_RUN_ID"))
	}
	return a.getenv("CI_JOB_URL")
}

// clock is the machine's own.
func (a *app) clock() pipeline.Clock { return machineClock{a} }

type machineClock struct{ a *app }

func (c machineClock) Wall() time.Time     { return c.a.now().Round(0) }
func (c machineClock) Mono() time.Duration { return c.a.now().Sub(c.a.start) }

// sleep waits, or returns early with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nonce is a run's random name.
func nonce() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

// transport carries requests to one destination: guarded, and only to public addresses unless the destination says
// otherwise. Where the environment's proxy or certificates cannot be used, every request fails before it is sent.
func (a *app) transport(d pipeline.Destination) http.RoundTripper {
	o, err := transport.FromEnv(a.getenv)
	if err == nil {
		o.AllowPrivate = d.Private
		var rt http.RoundTripper
		if rt, err = transport.New(o); err == nil {
			return rt
		}
	}
	return unusable{err}
}

// unusable is a transport that sends nothing.
type unusable struct{ err error }

func (u unusable) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, &transport.NotSentError{Err: u.err}
}

// log is the debug log: silent unless --verbose.
func (a *app) log() *slog.Logger {
	level := slog.LevelWarn
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey {
			return slog.Attr{}
		}
		if k := at.Value.Kind(); k == slog.KindString || k == slog.KindAny && at.Key != slog.LevelKey {
			at.Value = slog.StringValue(report.Line(at.Value.String()))
		}
		return at
	}}))
}

// writePrivate writes a file that only its owner can read, and never over another.
func writePrivate(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
