package gitstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The transports of Options.Transport.
const (
	TransportGo  = "go"  // go-git's protocol code in this process
	TransportGit = "git" // the git command
)

// DefaultTimeout bounds each operation of a Remote where Options gives no other.
const DefaultTimeout = 5 * time.Minute

// Options say how to reach a remote.
type Options struct {
	// URL is the remote: http(s)://, ssh://, user@host:path, file:// or a path. It may hold credentials, as a checkout's
	// URL sometimes does. Empty means the default remote of Repo.
	URL string
	// Repo is the checkout whose git configuration applies, nil for none. It is only read.
	Repo *Repo
	// Transport is TransportGo, TransportGit, or "" for the first, except that a repository known to have sha256 ids
	// needs the second.
	Transport string
	// Env reads the environment; nil stands for an empty one.
	Env func(string) string
	// Now is the clock of Refs.At, which stays zero without one.
	Now func() time.Time
	// TokenEnv names the variable that holds the token for an http(s) remote. It outranks all that is found.
	TokenEnv string
	// SSHKey is a private key file (without passphrase) for an ssh remote; it outranks the agent.
	SSHKey string
	// KnownHosts are the files to check host keys against; by default those that ssh uses.
	KnownHosts []string
	// Git is the git command; by default it is looked up on Env's PATH. TransportGo needs it only for a remote on this
	// machine and for credential helpers.
	Git string
	// Timeout bounds each operation; zero means DefaultTimeout.
	Timeout time.Duration
	// RoundTripper replaces the HTTP transport, which honours Env's proxy variables.
	RoundTripper http.RoundTripper
	// OnSecret is called with each secret as soon as it is found and before it is used, so that it can be masked.
	OnSecret func(string)
}

// Open prepares a remote. Credentials are looked for, but nothing is sent yet. The Remote also has the methods
// Secrets() []string (what to mask) and AuthSource() string (where the credentials came from, for diagnostics).
func Open(ctx context.Context, opt Options) (Remote, error) {
	o, err := newOpener(opt)
	if err != nil {
		return nil, err
	}
	transport := opt.Transport
	if transport == "" {
		transport = TransportGo
		if opt.Repo != nil && opt.Repo.ObjectFormat == SHA256 {
			transport = TransportGit
		}
	}
	switch transport {
	case TransportGo:
		return o.openGo(ctx)
	case TransportGit:
		return o.openGit(ctx)
	}
	return nil, fmt.Errorf("%q is not a git transport: choose %q or %q", opt.Transport, TransportGo, TransportGit)
}

// opener holds what both transports need.
type opener struct {
	opt  Options
	env  func(string) string
	now  func() time.Time
	addr address
	// cfg is the configuration with that of the checkout, own without it where the checkout belongs to another user: what
	// names commands to run or servers to trust comes from own.
	cfg, own *gitConfig
	trusted  bool
	secrets  *secretList
}

func newOpener(opt Options) (*opener, error) {
	o := &opener{opt: opt, env: opt.Env, now: opt.Now, secrets: &secretList{tell: opt.OnSecret}}
	if o.env == nil {
		o.env = func(string) string { return "" }
	}
	if o.now == nil {
		o.now = func() time.Time { return time.Time{} }
	}
	if o.opt.Timeout <= 0 {
		o.opt.Timeout = DefaultTimeout
	}
	raw, dir := opt.URL, ""
	user, err := userConfig(o.env)
	if err != nil {
		return nil, fmt.Errorf("read the git configuration: %w", err)
	}
	o.cfg, o.own, o.trusted = user, user, true
	if opt.Repo != nil {
		dir = opt.Repo.Root
		if o.cfg, err = opt.Repo.config(o.env); err != nil {
			return nil, fmt.Errorf("read the git configuration: %w", err)
		}
		if o.trusted = !opt.Repo.foreign(user); o.trusted {
			o.own = o.cfg
		}
		if raw == "" {
			name := opt.Repo.DefaultRemote()
			if name == "" {
				return nil, errors.New("the checkout has no git remote, or several and none called origin: name one")
			}
			raw = opt.Repo.Remotes[name]
		}
		for name, url := range opt.Repo.Remotes {
			if url == raw && opt.Repo.raw[name] != "" {
				raw = opt.Repo.raw[name] // insteadOf is applied once, below
				break
			}
		}
	}
	if o.addr, err = parseAddress(o.cfg.rewrite(raw), dir); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *opener) git() (*gitCommand, error) { return newGitCommand(o.opt.Git, o.env) }

func (o *opener) openGo(ctx context.Context) (Remote, error) {
	r := &goRemote{url: o.addr.clean, objects: NewObjects(SHA1), now: o.now, timeout: o.opt.Timeout, secrets: o.secrets}
	switch o.addr.scheme {
	case "file":
		w, err := o.localWire()
		if err != nil {
			return nil, err
		}
		r.wire, r.source = w, "none needed"
	case "http", "https":
		w, err := o.httpWire(ctx)
		if err != nil {
			return nil, err
		}
		r.wire, r.authSource = w, w.authSource
	case "ssh":
		w, source, err := o.sshWire()
		if err != nil {
			return nil, err
		}
		r.wire, r.source = w, source
	default:
		return nil, fmt.Errorf("%s: the scheme %q is not supported here; the git transport may know it", o.addr.clean, o.addr.scheme)
	}
	return r, nil
}

// localWire serves a repository on this machine by running git, since go-git would walk all of its objects.
func (o *opener) localWire() (*streamWire, error) {
	g, err := o.git()
	if err != nil {
		return nil, fmt.Errorf("%s: a remote on this machine needs git: %w", o.addr.clean, err)
	}
	path := o.addr.path
	return &streamWire{
		start: func(ctx context.Context, svc service) (*process, error) { return g.startLocal(ctx, svc, path) },
		explain: func(err error) error {
			hint := ""
			if strings.Contains(err.Error(), "dubious ownership") {
				hint = "the repository belongs to another user; if you trust it: git config --global --add safe.directory " +
					filepath.Clean(path)
			}
			return &AuthFailure{URL: o.addr.clean, Hint: hint, Cause: err}
		},
	}, nil
}

func (o *opener) httpWire(ctx context.Context) (*httpWire, error) {
	rt := o.opt.RoundTripper
	if rt == nil {
		t, err := newRoundTripper(o.env, o.httpSetting("proxy", ""), o.httpSetting("sslcainfo", "GIT_SSL_CAINFO"), os.ReadFile)
		if err != nil {
			return nil, err
		}
		rt = t
	}
	creds, err := o.httpCredentials(ctx)
	if err != nil {
		return nil, err
	}
	w := newHTTPWire(o.addr.url, rt, o.now)
	w.setAuth(creds)
	w.more = o.askHelpers
	w.explain = o.explainHTTP
	return w, nil
}

// httpSetting is a setting of git's http section for this URL, outranked by a variable.
func (o *opener) httpSetting(key, variable string) string {
	if variable != "" {
		if v := o.env(variable); v != "" {
			return v
		}
	}
	values := o.own.urlValues("http", key, o.addr.url)
	if len(values) == 0 {
		return ""
	}
	v := values[len(values)-1]
	if rest, ok := strings.CutPrefix(v, "~/"); ok {
		v = filepath.Join(configScope{env: o.env}.home(), rest)
	}
	return v
}
