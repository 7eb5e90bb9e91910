//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

const (
	contentRef = "refs/heads/main"
	ledgerRef  = "refs/heads/broadside-ledger"
	newLedger  = "0123456789abcdef0123456789abcdef"
	gitUser    = "x-access-token"

	// Requests of a world, as patterns for rules of its proxy.
	gitPush       = "/repo.git/git-receive-pack"
	sandboxPlain  = "/api/v1/posts"
	sandboxStaged = "/api/v1/containers/*/publish"
)

// destination is one account of a world.
type destination struct {
	name   string
	off    []string // abilities that it does without
	expiry bool     // its token expires

	provider string // "" for the sandbox, whose account is made by the world
	server   string
	account  string
	id       string            // of the account, for the target
	secrets  map[string]string // of its credential
}

// The four kinds of networks, by what settles a doubt.
func kinds() []destination {
	return []destination{
		{name: "both"},
		{name: "finder", off: []string{"key"}},
		{name: "keyed", off: []string{"find"}},
		{name: "neither", off: []string{"find", "key"}},
	}
}

// setup says how a world differs from the usual.
type setup struct {
	format  string // of the repository's objects, sha1 by default
	divisor int    // of the fence, 100 by default: leases of 6 seconds
	dests   []destination
	life    time.Duration // of tokens that expire
	bare    bool          // no configuration, no key, no ledger: what `broadside init` finds
}

// world is a repository with content, a ledger and a git server, and a sandbox; both behind one proxy.
type world struct {
	t       *testing.T
	dir     string
	bare    string
	home    string
	url     string // of the remote
	format  string
	divisor int
	net     *server.Server
	git     *gittest.Server
	proxy   *faultproxy.Proxy
	token   string // for git
	ledger  string // its id
	age     vault.Identity
	rcpts   vault.Recipients
	key     vault.SigningKey
	dests   []destination
	files   map[string][]byte
	// posts are the texts of each post's parts, by id, as a network shows them.
	posts  map[string][]string
	logins int

	mu      sync.Mutex
	secrets []string
	outputs []*proc
}

func newWorld(t *testing.T, s setup) *world {
	t.Helper()
	if s.format == "" {
		s.format = "sha1"
	}
	if s.divisor == 0 {
		s.divisor = 100
	}
	w := &world{
		t: t, dir: t.TempDir(), ledger: newLedger, format: s.format, divisor: s.divisor, token: "git-" + rand.Text(), files: map[string][]byte{}, posts: map[string][]string{},
		net: server.New(server.Options{Now: time.Now, TokenLife: s.life}),
	}
	t.Cleanup(w.scan) // runs last, when every process has ended
	w.secret(w.token, base64.StdEncoding.EncodeToString([]byte(gitUser+":"+w.token)))
	w.home = filepath.Join(w.dir, "home")
	check(t, os.Mkdir(w.home, 0o755))
	w.bare = gittest.Bare(t, filepath.Join(w.dir, "srv", "repo.git"), s.format)
	gittest.AllowPartial(t, w.bare)
	// Nothing here outlives the test: the disk need not be waited for, nor the repository be kept tidy.
	for _, setting := range []string{"core.fsync=none", "gc.auto=0", "receive.autogc=false"} {
		key, value, _ := strings.Cut(setting, "=")
		gittest.Git(t, w.bare, "config", key, value)
	}
	w.git = gittest.New(t, filepath.Join(w.dir, "srv"))
	w.git.SetAuth(gitUser, w.token)
	w.proxy = faultproxy.New(t, w.front())
	w.url = w.proxy.URL + "/repo.git"
	if s.bare {
		w.files["README.md"] = []byte("Posts.\n")
		w.push("begin")
		return w
	}
	w.keys()
	for _, d := range s.dests {
		w.dests = append(w.dests, w.login(d))
	}
	w.config()
	w.push("set up")
	w.create()
	return w
}

// front is one server for git and the sandbox.
func (w *world) front() string {
	git, err := url.Parse(w.git.URL(""))
	check(w.t, err)
	mux := http.NewServeMux()
	mux.Handle("/repo.git/", &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(git) },
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	})
	mux.Handle("/", w.net)
	s := httptest.NewServer(mux)
	w.t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// keys makes the age key and the ledger's signer.
func (w *world) keys() {
	var err error
	w.age, err = vault.GenerateIdentity(vault.X25519)
	check(w.t, err)
	w.rcpts, err = vault.ParseRecipients([]string{w.age.Recipient})
	check(w.t, err)
	w.key, err = vault.NewSigner()
	check(w.t, err)
	w.files[vault.KeyPath], err = vault.SealKey(w.key, w.rcpts)
	check(w.t, err)
	w.secret(w.age.Secret)
	for line := range strings.SplitSeq(strings.Join(w.key.Secrets(), "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, "-----") {
			w.secret(line)
		}
	}
}

// secret takes note of what must never be seen.
func (w *world) secret(secrets ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range secrets {
		if s != "" && !slices.Contains(w.secrets, s) {
			w.secrets = append(w.secrets, s)
		}
	}
}

// login makes an account, or new tokens for one that is there, and seals a credential with a login of its own.
func (w *world) login(d destination) destination {
	w.t.Helper()
	if d.provider == "" {
		d.provider, d.server, d.account = "sandbox", w.proxy.URL, d.name
		l, err := w.net.Renew(d.name)
		switch {
		case err == nil:
		case d.expiry:
			l, err = w.net.AddExpiring(d.name)
		default:
			l, err = w.net.AddAccount(d.name)
		}
		check(w.t, err)
		d.id, d.secrets = l.ID, map[string]string{"token": l.Token}
		if d.expiry {
			d.secrets["refresh_token"], d.secrets["token_expires"] = l.RefreshToken, l.Expires.Format(time.RFC3339)
		}
	}
	host, err := vault.Host(d.server)
	check(w.t, err)
	w.logins++
	data, err := vault.Seal(providers.Credential{
		Provider: d.provider, Host: host, Target: string(d.target()), Account: d.account, Ledger: w.ledger,
		Login: fmt.Sprintf("login-%s-%d", d.name, w.logins), Obtained: time.Now(), Secrets: d.secrets,
	}, w.rcpts)
	check(w.t, err)
	for name, s := range d.secrets {
		if name != "token_expires" {
			w.secret(s)
		}
	}
	w.files["credentials/"+d.name+".age"] = data
	return d
}

func (d destination) target() pipeline.Target {
	u, err := url.Parse(d.server)
	if err != nil {
		return ""
	}
	return pipeline.MakeTarget(d.provider, u.Host, d.id)
}

// config writes broadside.yaml.
func (w *world) config() {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\ntimezone: UTC\nposts: [posts]\nledger: {branch: broadside-ledger, id: %s, signer: %q}\nage: {recipients: [%s]}\ndestinations:\n",
		w.ledger, w.key.Line, w.age.Recipient)
	for _, d := range w.dests {
		fmt.Fprintf(&b, "  %s:\n    provider: %s\n    server: %s\n    account: %s\n    target: %q\n    allow_private: true\n",
			d.name, d.provider, d.server, d.account, d.target())
		if len(d.off) > 0 {
			fmt.Fprintf(&b, "    disable: [%s]\n", strings.Join(d.off, ", "))
		}
	}
	w.files["broadside.yaml"] = []byte(b.String())
}

// push commits all files to the content branch.
func (w *world) push(message string) {
	w.t.Helper()
	gittest.Commit(w.t, w.bare, contentRef, message, w.files)
}

// post writes a post that is due; its parts are plain texts, of which each destination of the world gets all.
func (w *world) post(id string, parts ...string) {
	w.t.Helper()
	w.postAt(id, time.Now().Add(-time.Second), w.names(), parts...)
}

func (w *world) names() []string {
	var out []string
	for _, d := range w.dests {
		out = append(out, d.name)
	}
	return out
}

// postAt is post with its time and destinations. A text of "IMAGE alt" attaches an image of its own to the part before.
func (w *world) postAt(id string, at time.Time, dests []string, parts ...string) {
	w.t.Helper()
	var body strings.Builder
	var shown []string
	for i, p := range parts {
		if alt, ok := strings.CutPrefix(p, "IMAGE "); ok {
			path := fmt.Sprintf("media/%s-%d.png", id, i)
			w.files[path] = picture(w.t)
			fmt.Fprintf(&body, "![%s](/%s)\n\n", alt, path)
			continue
		}
		if len(shown) > 0 {
			body.WriteString("---\n\n")
		}
		shown = append(shown, p)
		body.WriteString(p + "\n\n")
	}
	w.files["posts/"+id+".md"] = fmt.Appendf(nil, "---\nid: %s\npublish_at: %s\ndestinations: [%s]\n---\n\n%s",
		id, at.UTC().Format(time.RFC3339), strings.Join(dests, ", "), body.String())
	w.posts[id] = shown
}

// picture is a small PNG that no other test has.
func picture(t *testing.T) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 16, 9))
	noise := make([]byte, 16*9*3)
	_, err := rand.Read(noise)
	check(t, err)
	for i := range 16 * 9 {
		m.SetNRGBA(i%16, i/16, color.NRGBA{R: noise[3*i], G: noise[3*i+1], B: noise[3*i+2], A: 255})
	}
	var b bytes.Buffer
	check(t, png.Encode(&b, m))
	return b.Bytes()
}

// clock is the machine's own.
type clock struct{}

var epoch = time.Now()

func (clock) Wall() time.Time     { return time.Now().Round(0) }
func (clock) Mono() time.Duration { return time.Since(epoch) }

// journalOptions reach the ledger past the proxy.
func (w *world) journalOptions() journal.Options {
	w.t.Helper()
	transport := gitstore.TransportGo
	if w.format == "sha256" {
		transport = gitstore.TransportGit
	}
	remote, err := gitstore.Open(w.t.Context(), gitstore.Options{URL: w.bare, Transport: transport, Env: gittest.Getenv(w.home), Now: time.Now})
	check(w.t, err)
	w.t.Cleanup(func() { _ = remote.Close() })
	return journal.Options{
		Remote: remote, Config: pipeline.LedgerConfig{Branch: "broadside-ledger", ID: w.ledger, Signer: w.key.Line},
		Home: journal.Home{URL: w.url, ContentBranch: "main"}, Clock: clock{}, Rand: rand.Reader, Run: "person:test", Actor: "person:test",
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Signer: func(context.Context) (ssh.Signer, error) { return w.key.Signer, nil },
	}
}

// create makes the ledger.
func (w *world) create() {
	w.t.Helper()
	check(w.t, journal.Create(w.t.Context(), w.journalOptions(), w.key.Line, nil))
}

// state reads the ledger, whose whole history must be legal.
func (w *world) state() *ledger.State {
	w.t.Helper()
	j, err := journal.Open(w.t.Context(), w.journalOptions())
	check(w.t, err)
	rep, err := ledger.Verify(j.Files())
	check(w.t, err)
	if len(rep.Problems) > 0 {
		w.t.Fatalf("the ledger's history is not legal: %v", rep.Problems)
	}
	return j.State()
}

// tip is the ledger's commit.
func (w *world) tip() string { return gittest.Tip(w.t, w.bare, ledgerRef) }

// delivery finds one by post and destination; nil where the ledger has none.
func delivery(s *ledger.State, post, dest string) *ledger.Delivery {
	for _, d := range s.Deliveries {
		if d.ID.Post == post && d.Dest == dest {
			return d
		}
	}
	return nil
}
