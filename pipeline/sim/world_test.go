package sim

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
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
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

const (
	contentRef = "refs/heads/main"
	ledgerRef  = "refs/heads/broadside-ledger"
	markRef    = "refs/heads/broadside-ledger-mark"
	backupRef  = "refs/heads/rescue"
	ledgerID   = "0123456789abcdef0123456789abcdef"
	network    = "https://sandbox.test"
	homeURL    = "mem://server"
)

// secret is what all worlds share: making keys takes longer than a world.
type secret struct {
	keys   vault.Keys
	to     vault.Recipients
	signer vault.SigningKey
	sealed []byte // the signer
	image  []byte
}

var secrets = sync.OnceValue(func() secret {
	var s secret
	id, err := vault.GenerateIdentity(vault.X25519)
	must(err)
	s.keys, err = vault.Identities(vault.Env{Key: id.Secret})
	must(err)
	s.to, err = vault.ParseRecipients([]string{id.Recipient})
	must(err)
	s.signer, err = vault.NewSigner()
	must(err)
	s.sealed, err = vault.SealKey(s.signer, s.to)
	must(err)
	m := image.NewRGBA(image.Rect(0, 0, 4, 4))
	draw.Draw(m, m.Bounds(), image.NewUniform(color.RGBA{R: 200, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	must(png.Encode(&b, m))
	s.image = b.Bytes()
	return s
})

// must ends the test binary: the simulation itself is broken.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// world is everything there is while a plan is carried out.
type world struct {
	t       *testing.T
	plan    *plan
	verbose bool
	start   time.Time
	git     *memgit.Server
	net     *server.Server
	wg      sync.WaitGroup
	runs    int
	logins  int

	// content guards what follows: a race edits while steps go on.
	content sync.Mutex
	model   *model
	pushed  map[string]string        // the files of the content tip
	past    map[gitstore.Hash]*model // the model at every content commit
	truths  map[gitstore.Hash]truth  // what every content commit wants
	old     []gitstore.Hash          // content commits in order

	mu     sync.Mutex
	moves  []move
	sent   []*sent
	uses   []use
	wires  []*armed
	gits   []*armed
	stale  map[string]bool
	saved  [][]byte
	told   map[string]bool
	broken []broken
	lines  []string
	counts map[string]int
	// restored tells that a person brought the ledger back from a copy.
	restored bool
	attacked bool
}

// armed is a fault that waits for its operations.
type armed struct {
	step
	left int
}

// move is one ref that moved on the remote.
type move struct {
	memgit.Event
	At time.Time
}

func (w *world) happened(what string) { w.happenedTimes(what, 1) }

func (w *world) happenedTimes(what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 {
		w.counts[what] += n
	}
}

func (w *world) logf(format string, args ...any) {
	if !w.verbose {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, clock(time.Since(w.start))+"  "+fmt.Sprintf(format, args...))
}

// broken is a promise that was not kept: which one, and how.
type broken struct{ kind, text string }

func (b broken) String() string { return b.text }

// breakf notes a broken promise. The format tells which.
func (w *world) breakf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.logf("BROKEN: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, broken{format, text})
}

type logWriter struct {
	w    *world
	name string
}

func (l logWriter) Write(b []byte) (int, error) {
	l.w.logf("%s %s", l.name, strings.TrimSpace(string(b)))
	return len(b), nil
}

// newWorld makes a repository with a ledger and an account for each destination.
func newWorld(t *testing.T, p *plan, verbose bool) *world {
	w := &world{
		t: t, plan: p, verbose: verbose, start: time.Now(), git: memgit.NewServer(),
		pushed: map[string]string{}, past: map[gitstore.Hash]*model{}, truths: map[gitstore.Hash]truth{},
		stale: map[string]bool{}, told: map[string]bool{}, counts: map[string]int{},
	}
	w.net = server.New(server.Options{Now: time.Now, BaseURL: network, KeyWindow: p.KeyWindow, TokenLife: p.TokenLife})
	w.git.SetAtomic(p.Atomic)
	if p.Date {
		w.git.SetClock(time.Now)
	}
	w.git.OnPush(func(e memgit.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.moves = append(w.moves, move{e, time.Now()})
	})
	w.git.SetFaults(w.gitFault)
	w.model = &model{posts: map[string]*post{}, creds: map[string]string{}, target: map[string]pipeline.Target{}, account: map[string]string{}}
	for _, d := range p.Dests {
		w.newLogin(d.Name, d.Name)
	}
	w.commit("set up")
	must(journal.Create(t.Context(), w.journalOptions("init"), secrets().signer.Line, nil))
	w.git.Force(backupRef, w.git.Tip(ledgerRef))
	return w
}

func (w *world) ledgerConfig() pipeline.LedgerConfig {
	return pipeline.LedgerConfig{Branch: "broadside-ledger", ID: ledgerID, Signer: secrets().signer.Line}
}

// journalOptions are a person's: nothing goes wrong for people, so that what they do is done.
func (w *world) journalOptions(who string) journal.Options {
	p := w.newProc(fmt.Sprintf("%s%d", who, w.seq()), step{Who: len(w.plan.Runners)})
	return journal.Options{
		Remote: remote{w.git.Remote(memgit.RemoteOptions{Name: who, Now: p.Wall}), p}, Config: w.ledgerConfig(),
		Home: journal.Home{URL: homeURL, ContentBranch: "main"}, Clock: p, Sleep: p.sleep, Rand: p, Run: "person:" + who, Actor: who,
		Signer: func(context.Context) (ssh.Signer, error) { return secrets().signer.Signer, nil },
	}
}

func (w *world) seq() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts["\x00seq"]++
	return w.counts["\x00seq"]
}

// newLogin makes a new token for a destination at an account of the network, and its credential.
func (w *world) newLogin(name, account string) {
	d := w.dest(name)
	var l server.Login
	var err error
	if _, known := w.loginOf(account); known {
		l, err = w.net.Renew(account)
	} else if d.Expiring {
		l, err = w.net.AddExpiring(account)
	} else {
		l, err = w.net.AddAccount(account)
	}
	must(err)
	w.model.account[name], w.model.target[name] = account, target(l.ID)
	w.model.creds[name] = w.seal(l, target(l.ID))
}

func target(id string) pipeline.Target {
	return pipeline.MakeTarget(sandbox.Name, "sandbox.test", id)
}

func (w *world) seal(l server.Login, at pipeline.Target) string {
	w.logins++
	c := providers.Credential{
		Provider: sandbox.Name, Host: "sandbox.test", Target: string(at), Account: l.Handle, Ledger: ledgerID,
		Login: fmt.Sprintf("login-%s-%d", l.Handle, w.logins), Obtained: time.Now(), Secrets: map[string]string{"token": l.Token},
	}
	if l.RefreshToken != "" {
		c.Expires = l.Expires
		c.Secrets["refresh_token"], c.Secrets["token_expires"] = l.RefreshToken, l.Expires.UTC().Format(time.RFC3339)
	}
	data, err := vault.Seal(c, secrets().to)
	must(err)
	return string(data)
}

func (w *world) loginOf(account string) (server.Login, bool) {
	for _, l := range w.net.Logins() {
		if l.Handle == account {
			return l, true
		}
	}
	return server.Login{}, false
}

func (w *world) dest(name string) dest {
	return w.plan.Dests[slices.IndexFunc(w.plan.Dests, func(d dest) bool { return d.Name == name })]
}

// save keeps results that a run could not push.
func (w *world) save(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved = append(w.saved, bytes.Clone(data))
	w.counts["results saved to a file"]++
	return nil
}

// checkout is a runner's own folder: the files of some content commit, perhaps an old one.
func (w *world) checkout(who int) string {
	dir := filepath.Join(w.t.TempDir(), "checkout")
	if len(w.old) == 0 {
		return dir
	}
	back := int(w.latency(fmt.Sprint("checkout", who), w.runs, time.Second)) % 3
	m := w.past[w.old[max(0, len(w.old)-1-back)]]
	for path, data := range m.files(w) {
		full := filepath.Join(dir, path)
		must(os.MkdirAll(filepath.Dir(full), 0o700))
		must(os.WriteFile(full, []byte(data), 0o600))
	}
	return dir
}

// heard takes in what a run tells the world.
func (w *world) heard(p *proc, res publish.Result, err error) {
	if err != nil {
		w.logf("%s ends: %v", p.name, err)
		w.unfit(p, err)
	}
	if err != nil {
		w.happened("run ended by an error")
	}
	for _, t := range res.Troubles {
		w.logf("%s tells: new=%t %s", p.name, t.New, t.Message)
	}
	w.tell(res.Troubles)
}

// tell notes what people have heard of.
func (w *world) tell(ts []publish.Trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range ts {
		if t.New {
			w.told[t.Fingerprint] = true
		}
	}
}
