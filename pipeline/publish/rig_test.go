package publish_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
	"github.com/broadside-pub/broadside/providers/transport"
)

const (
	contentRef = "refs/heads/main"
	ledgerID   = "0123456789abcdef0123456789abcdef"
	network    = "https://sandbox.test"
)

// rig is a repository in memory, a sandbox without sockets, and what a run needs. It lives in a synctest bubble, so that
// waiting takes no time.
type rig struct {
	t     *testing.T
	git   *memgit.Server
	net   *server.Server
	keys  vault.Keys
	rcpts vault.Recipients
	key   vault.SigningKey
	files map[string]string
	dests []string
	// disable holds abilities by destination.
	disable      map[string][]string
	fence        publish.Fence
	compactAfter int

	mu   sync.Mutex
	runs int
}

func newRig(t *testing.T, dests ...string) *rig {
	t.Helper()
	id, err := vault.GenerateIdentity(vault.X25519)
	check(t, err)
	keys, err := vault.Identities(vault.Env{Key: id.Secret})
	check(t, err)
	rc, err := vault.ParseRecipients([]string{id.Recipient})
	check(t, err)
	key, err := vault.NewSigner()
	check(t, err)
	g := &rig{
		t: t, git: memgit.NewServer(), net: server.New(server.Options{Now: time.Now, BaseURL: network}), keys: keys, rcpts: rc, key: key,
		files: map[string]string{}, dests: dests, disable: map[string][]string{}, fence: publish.DefaultFence(),
	}
	sealed, err := vault.SealKey(key, rc)
	check(t, err)
	g.files[vault.KeyPath] = string(sealed)
	for _, d := range dests {
		g.login(d)
	}
	g.config("")
	g.push("set up")
	opt := g.journalOptions("init")
	check(t, journal.Create(t.Context(), opt, key.Line, nil))
	return g
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// login makes an account of that name, or a new token for it, and seals its credential.
func (g *rig) login(dest string) {
	g.t.Helper()
	l, err := g.net.Renew(dest)
	if err != nil {
		l, err = g.net.AddAccount(dest)
		check(g.t, err)
	}
	host, err := vault.Host(network)
	check(g.t, err)
	data, err := vault.Seal(providers.Credential{
		Provider: sandbox.Name, Host: host, Target: string(g.target(dest, l.ID)), Account: dest, Ledger: ledgerID,
		Login: fmt.Sprintf("login-%s-%d", dest, time.Now().UnixNano()), Obtained: time.Now(), Secrets: map[string]string{"token": l.Token},
	}, g.rcpts)
	check(g.t, err)
	g.files["credentials/"+dest+".age"] = string(data)
}

func (g *rig) target(dest, id string) pipeline.Target {
	return pipeline.MakeTarget(sandbox.Name, "sandbox.test", id)
}

// config writes broadside.yaml.
func (g *rig) config(extra string) {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\ntimezone: UTC\nposts: [posts]\nledger: {branch: broadside-ledger, id: %s, signer: %q}\nage: {recipients: [%s]}\ndestinations:\n",
		ledgerID, g.key.Line, g.rcpts.Names()[0])
	ids := map[string]string{}
	for _, l := range g.net.Logins() {
		ids[l.Handle] = l.ID
	}
	for _, d := range g.dests {
		fmt.Fprintf(&b, "  %s:\n    provider: sandbox\n    server: %s\n    account: %s\n    target: %s\n", d, network, d, g.target(d, ids[d]))
		if off := g.disable[d]; len(off) > 0 {
			fmt.Fprintf(&b, "    disable: [%s]\n", strings.Join(off, ", "))
		}
	}
	g.files["broadside.yaml"] = b.String() + extra
}

// push commits all files to the content branch.
func (g *rig) push(message string) gitstore.Hash {
	var ch []gitstore.Change
	for p, d := range g.files {
		ch = append(ch, gitstore.Change{Path: p, Data: []byte(d), Remove: d == ""})
	}
	for p, d := range g.files {
		if d == "" {
			delete(g.files, p)
		}
	}
	return g.git.Commit(contentRef, ch, message)
}

// post writes a post due at a time to destinations.
func (g *rig) post(id string, at time.Time, body string, dests ...string) {
	g.files["posts/"+id+".md"] = fmt.Sprintf("---\nid: %s\npublish_at: %s\ndestinations: [%s]\n---\n\n%s\n", id, at.UTC().Format(time.RFC3339), strings.Join(dests, ", "), body)
	g.push("post " + id)
}

func (g *rig) journalOptions(run string) journal.Options {
	return journal.Options{
		Remote: g.git.Remote(memgit.RemoteOptions{Name: run, Now: time.Now}), Config: pipeline.LedgerConfig{Branch: "broadside-ledger", ID: ledgerID, Signer: g.key.Line},
		Home: journal.Home{URL: "mem://server", ContentBranch: "main"}, Clock: bubble{}, Sleep: sleep, Rand: rand.Reader, Run: run, Actor: "test",
		Signer: func(context.Context) (ssh.Signer, error) { return g.key.Signer, nil },
	}
}

// bubble is the clock of a synctest bubble.
type bubble struct{}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (bubble) Wall() time.Time     { return time.Now().Round(0) }
func (bubble) Mono() time.Duration { return time.Since(epoch) }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// options are those of one run.
func (g *rig) options() publish.Options {
	g.mu.Lock()
	g.runs++
	name := fmt.Sprintf("run%06d", g.runs)
	g.mu.Unlock()
	return publish.Options{
		Remote: g.git.Remote(memgit.RemoteOptions{Name: name, Now: time.Now}), Branch: "main", Home: journal.Home{URL: "mem://server", ContentBranch: "main"},
		Providers: map[string]providers.Info{sandbox.Name: sandbox.Info()},
		Keys:      func(context.Context) (vault.Keys, error) { return g.keys, nil },
		Transport: func(pipeline.Destination) http.RoundTripper { return transport.Handler(g.net) },
		Clock:     bubble{}, Sleep: sleep, Rand: rand.Reader, Nonce: name, Fence: g.fence, CompactAfter: g.compactAfter, Grace: 5 * time.Second,
		Mask: func(...string) {}, Log: slog.New(slog.DiscardHandler),
		Progress: func(p publish.Progress) { g.t.Logf("%s %s %s %s %s %s", name, p.What, p.Post, p.Dest, p.Text, p.URL) },
	}
}

// run runs once.
func (g *rig) run() publish.Result {
	g.t.Helper()
	res, err := publish.Run(g.t.Context(), nil, g.options())
	if err != nil {
		g.t.Fatalf("run: %v", err)
	}
	return res
}

// state reads the ledger.
func (g *rig) state() *ledger.State {
	g.t.Helper()
	j, err := journal.Open(g.t.Context(), g.journalOptions("reader"))
	check(g.t, err)
	rep, err := ledger.Verify(j.Files())
	check(g.t, err)
	if len(rep.Problems) > 0 {
		g.t.Fatalf("the ledger's history is not legal: %v", rep.Problems)
	}
	return j.State()
}

// delivery finds one by post and destination.
func (g *rig) delivery(post, dest string) *ledger.Delivery {
	g.t.Helper()
	for _, d := range g.state().Deliveries {
		if d.ID.Post == post && d.Dest == dest {
			return d
		}
	}
	g.t.Fatalf("no delivery of %s at %s", post, dest)
	return nil
}

// texts are what an account shows, oldest first.
func (g *rig) texts(dest string) []string {
	var out []string
	for _, p := range g.net.Posts(dest) {
		out = append(out, p.Text)
	}
	return out
}

var holdAll = ledger.HoldInput{Hold: "a-hold", Scope: ledger.ScopeAll, Reason: pipeline.ReasonByPerson}

// picture is a small PNG.
func picture(t *testing.T) string {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 8, 8))
	draw.Draw(m, m.Bounds(), image.NewUniform(color.RGBA{R: 255, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	check(t, png.Encode(&b, m))
	return b.String()
}
