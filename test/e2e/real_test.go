//go:build unix && realservers

package e2e

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

const login = "/xrpc/com.atproto.server.createSession"

// slow divides the fence of tests that wait for a lease to end: it lasts for 30 seconds, which a real server on a machine
// under load may well need.
const slow = 20

func TestRealPDSTakesAThreadWithAnImage(t *testing.T)      { takesAThreadWithAnImage(t, pds(t)) }
func TestRealMastodonTakesAThreadWithAnImage(t *testing.T) { takesAThreadWithAnImage(t, mastodon(t)) }

func takesAThreadWithAnImage(t *testing.T, n network) {
	t.Parallel()
	w := newRealWorld(t, 10, n)
	w.send("plain", "Plain words, größer als früher 🎉.")
	w.send("thread", "First part.", "Second part.", "IMAGE Ein Diagramm, größer als “vorher”", "Third part.")
	w.do(w.at, []int{0}, "run")
	w.once("plain", nil)
	w.once("thread", nil, []string{"Ein Diagramm, größer als “vorher”"}, nil)
	writes := w.published(n)
	w.do(w.at, []int{0}, "run")
	if w.published(n) != writes {
		t.Error("a second run wrote to the network")
	}
}

func TestRealPDSFromInitToAPost(t *testing.T) {
	n := pds(t)
	fromInitToAPost(t, n, n.dest.secrets["app_password"])
}

func TestRealMastodonFromInitToAPost(t *testing.T) {
	n := mastodon(t)
	fromInitToAPost(t, n, n.dest.secrets["access_token"])
}

// fromInitToAPost goes a newcomer's way, by the binary's own commands.
func fromInitToAPost(t *testing.T, n network, secret string) {
	t.Parallel()
	w := &realWorld{world: newWorld(t, setup{bare: true, divisor: 10}), mark: "mark" + rand.Text(), nets: []network{n}}
	w.secret(secret)
	dir := filepath.Join(w.dir, "clone")
	w.clone(dir)
	w.at = place{dir: dir}
	key := filepath.Join(w.dir, "age.key")
	w.do(w.at, []int{0}, "init", "--key-file", key)
	w.at.env = []string{"BROADSIDE_AGE_KEY_FILE=" + key}
	auth := w.at
	auth.stdin = secret + "\n"
	if n.dest.provider == "bluesky" {
		auth.stdin = n.dest.account + "\n" + auth.stdin
	}
	w.do(auth, []int{0}, "auth", "add", n.dest.name, "--provider", n.dest.provider, "--server", n.dest.server, "--account", n.dest.account, "--allow-private")
	w.posts["hello"] = []string{w.mark + " hello: Hello."}
	at := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	check(t, os.WriteFile(filepath.Join(dir, "posts", "hello.md"),
		fmt.Appendf(nil, "---\nid: hello\npublish_at: %s\ndestinations: [%s]\n---\n\n%s\n", at, n.dest.name, w.posts["hello"][0]), 0o600))
	w.do(w.at, []int{0}, "validate")
	gittest.Git(t, dir, "add", "-A")
	gittest.Git(t, dir, "commit", "-qm", "Set up")
	gittest.Git(t, dir, "push", "-q", "origin", "main")
	w.do(w.at, []int{0}, "run")
	w.adopt(dir, key)
	w.once("hello")
}

// adopt takes over the ledger and the keys that init has made.
func (w *realWorld) adopt(dir, key string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "broadside.yaml"))
	check(w.t, err)
	cfg, diags := content.LoadConfig("broadside.yaml", data, all.All())
	if cfg == nil {
		w.t.Fatalf("broadside.yaml: %v", diags)
	}
	w.ledger, w.key.Line = cfg.Ledger.ID, cfg.Ledger.Signer
	data, err = os.ReadFile(key)
	check(w.t, err)
	for line := range strings.SplitSeq(string(data), "\n") {
		if strings.HasPrefix(line, "AGE-SECRET-KEY-") {
			w.age.Secret = line
			w.secret(line)
		}
	}
	path := "credentials/" + w.nets[0].dest.name + ".age"
	w.files[path], err = os.ReadFile(filepath.Join(dir, path))
	check(w.t, err)
}

// TestRealPDSAndMastodonTakeAPostOnceThoughAnswersAreLost sends the same posts to both through proxies that lose the
// answers to their writes: each is there once, and nobody is asked.
func TestRealPDSAndMastodonTakeAPostOnceThoughAnswersAreLost(t *testing.T) {
	takeAPostOnce(t, pds(t), mastodon(t))
}

func TestRealMastodonTakesAPostOnceThoughAnswersAreLost(t *testing.T) { takeAPostOnce(t, mastodon(t)) }

func takeAPostOnce(t *testing.T, nets ...network) {
	t.Parallel()
	faults := []faultproxy.Fault{faultproxy.DropAnswer, faultproxy.BadGateway, faultproxy.CutBody}
	w := newRealWorld(t, 10, nets...)
	for _, n := range w.nets {
		for _, f := range faults {
			n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Times: 1, Fault: f})
		}
	}
	for i := range faults {
		id := "post-" + string(rune('a'+i))
		w.send(id, "Once, though the answer is lost.")
		w.do(w.at, []int{0}, "run")
		w.once(id)
	}
	w.do(w.at, []int{0}, "run", "--exit-standing")
}

// TestRealPDSTakesAPostThatDidNotArriveAtOnce loses a request on its way. The record key makes repetition harmless, so
// that nothing need wait.
func TestRealPDSTakesAPostThatDidNotArriveAtOnce(t *testing.T) {
	t.Parallel()
	n := pds(t)
	w := newRealWorld(t, 10, n)
	n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Times: 1, Fault: faultproxy.DropBefore})
	w.send("post", "Sent twice, published once.")
	w.do(w.at, []int{0}, "run")
	w.once("post")
}

// TestRealMastodonSendsAgainOnlyWhatIsSurelyAbsent loses a request on its way to a server without idempotency keys. When
// nobody can be writing any more it is sent again, if two reads prove that it is not there. The server does not page, so
// that they prove it only where the account has older posts; else a person is asked.
func TestRealMastodonSendsAgainOnlyWhatIsSurelyAbsent(t *testing.T) {
	t.Parallel()
	n := mastodon(t)
	w := newRealWorld(t, slow, n)
	n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Times: 1, Fault: faultproxy.DropBefore})
	w.send("post", "Sent twice, published once.")
	w.do(w.at, []int{3}, "run")
	w.do(w.at, []int{0}, "run") // too early to tell
	if c := n.proxy.Count(http.MethodPost, n.write); c != 1 {
		t.Errorf("%d writes while the first may still arrive", c)
	}
	d := delivery(w.state(), "post", n.dest.name)
	<-time.After(time.Until(w.staleAt(d, d.Last())) + 10*time.Millisecond)
	p := w.do(w.at, []int{0, 3}, "run", "--exit-standing")
	if d = delivery(w.state(), "post", n.dest.name); d.State != pipeline.Published {
		if p.code != 3 || d.State != pipeline.Uncertain || n.proxy.Count(http.MethodPost, n.write) != 1 {
			t.Errorf("unsure, it is %+v after %d writes; the run ended with %d and said\n%s", d, n.proxy.Count(http.MethodPost, n.write), p.code, p.said())
		}
		w.do(w.at, []int{0}, "resolve", "post", n.dest.name, "retry")
		w.do(w.at, []int{0}, "run", "--exit-standing")
	}
	w.once("post")
}

func TestRealPDSIsReconciledByTheNextRun(t *testing.T)      { reconciledByTheNextRun(t, pds(t)) }
func TestRealMastodonIsReconciledByTheNextRun(t *testing.T) { reconciledByTheNextRun(t, mastodon(t)) }

// reconciledByTheNextRun kills a run while a write of its is answered, so that only the finder can tell.
func reconciledByTheNextRun(t *testing.T, n network) {
	t.Parallel()
	w := newRealWorld(t, slow, n)
	n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Times: 1, Fault: faultproxy.HoldAnswer})
	w.send("post", "Published by one, found by another.")
	p := w.start(w.at, "run")
	p.held(n.proxy)
	p.signal(syscall.SIGKILL)
	p.wait()
	w.awaitStale()
	w.do(w.at, []int{0}, "run")
	w.once("post")
	if d := delivery(w.state(), "post", n.dest.name); d != nil && d.Receipts[0].ByWhom != "finder" {
		t.Errorf("the receipt comes from %s", d.Receipts[0].ByWhom)
	}
}

func TestRealPDSThreadSurvivesARestart(t *testing.T) { threadSurvivesARestart(t, pds(t), 1) }

// On Mastodon the part that is not recorded is the last one: that a later one is not there either, a server that does not
// page could not prove.
func TestRealMastodonThreadSurvivesARestart(t *testing.T) { threadSurvivesARestart(t, mastodon(t), 2) }

// threadSurvivesARestart kills a run in a thread: so many parts are recorded, one is out and not recorded, the rest is not
// sent.
func threadSurvivesARestart(t *testing.T, n network, recorded int) {
	t.Parallel()
	w := newRealWorld(t, slow, n)
	n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Skip: recorded, Times: 1, Fault: faultproxy.HoldAnswer})
	w.send("thread", "First part.", "Second part.", "IMAGE dots", "Third part.")
	p := w.start(w.at, "run")
	p.held(n.proxy)
	p.signal(syscall.SIGKILL)
	p.wait()
	w.awaitStale()
	w.do(w.at, []int{0}, "run")
	w.once("thread", nil, []string{"dots"}, nil)
}

func TestRealPDSSecondRunnerSendsNothing(t *testing.T)      { secondRunnerSendsNothing(t, pds(t)) }
func TestRealMastodonSecondRunnerSendsNothing(t *testing.T) { secondRunnerSendsNothing(t, mastodon(t)) }

// secondRunnerSendsNothing starts a run while another one's write is under way.
func secondRunnerSendsNothing(t *testing.T, n network) {
	t.Parallel()
	w := newRealWorld(t, 10, n)
	n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Times: 1, Fault: faultproxy.HoldAnswer})
	w.send("post", "By one runner only.")
	first := w.start(w.at, "run")
	first.held(n.proxy)
	w.do(w.checkout(), []int{4}, "run")
	if c := n.proxy.Count(http.MethodPost, n.write); c != 1 {
		t.Errorf("%d writes", c)
	}
	n.proxy.Release()
	if code := first.wait(); code != 0 {
		t.Errorf("the first runner ended with %d and said\n%s", code, first.said())
	}
	w.once("post")
}

func TestRealPDSPostIsTakenDown(t *testing.T) {
	t.Parallel()
	n := pds(t)
	w := newRealWorld(t, 10, n)
	w.send("thread", "First part.", "Second part.")
	w.do(w.at, []int{0}, "run")
	w.once("thread")
	able := w.adapter(n)
	d := delivery(w.state(), "thread", n.dest.name)
	for part := range 2 {
		check(t, able.Delete.Delete(t.Context(), receiptOf(d, part)))
	}
	if got := n.there(t, w.mark); len(got) != 0 {
		t.Errorf("the server still shows %+v", got)
	}
	w.do(w.at, []int{0}, "run")
	if got := n.there(t, w.mark); len(got) != 0 {
		t.Errorf("a further run published %+v again", got)
	}
}

// TestRealMastodonSaysThatItTakesNothingDown has a server that knows no deletion: it must not be taken for done.
func TestRealMastodonSaysThatItTakesNothingDown(t *testing.T) {
	t.Parallel()
	n := mastodon(t)
	w := newRealWorld(t, 10, n)
	w.send("post", "Here to stay.")
	w.do(w.at, []int{0}, "run")
	err := w.adapter(n).Delete.Delete(t.Context(), receiptOf(delivery(w.state(), "post", n.dest.name), 0))
	if e := providers.AsError(err); err == nil || e.Kind != providers.Unsupported {
		t.Errorf("deleting ended with %v", err)
	}
	w.once("post")
}

// TestRealPDSSessionIsReused publishes by several runs, one of which is killed: they make one session between them.
func TestRealPDSSessionIsReused(t *testing.T) {
	t.Parallel()
	n := pds(t)
	w := newRealWorld(t, slow, n)
	for _, id := range []string{"post-a", "post-b", "post-c"} {
		w.send(id, "One of several.")
		w.do(w.at, []int{0}, "run")
		w.once(id)
	}
	n.proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: n.write, Times: 1, Fault: faultproxy.HoldBefore})
	w.send("post-d", "Of a run that dies.")
	p := w.start(w.at, "run")
	p.held(n.proxy)
	p.signal(syscall.SIGKILL)
	p.wait()
	w.awaitStale()
	w.do(w.at, []int{0}, "run")
	w.once("post-d")
	if c := n.proxy.Count(http.MethodPost, login); c != 1 {
		t.Errorf("%d sessions were begun", c)
	}
}

// TestRealPDSRefusedPasswordFailsNothingForGood has an app password that the server does not know.
func TestRealPDSRefusedPasswordFailsNothingForGood(t *testing.T) {
	t.Parallel()
	n := pds(t)
	right := n.dest.secrets
	n.dest.secrets = map[string]string{"app_password": "aaaa-bbbb-cccc-dddd"}
	w := newRealWorld(t, 10, n)
	w.send("post", "After a new login.")
	w.do(w.at, []int{3}, "run")
	if d := delivery(w.state(), "post", n.dest.name); d == nil || d.State != pipeline.Queued {
		t.Errorf("it is %+v", d)
	}
	logins := n.proxy.Count(http.MethodPost, login)
	w.do(w.at, []int{0, 4}, "run")
	if c := n.proxy.Count(http.MethodPost, login) - logins; c != 0 {
		t.Errorf("the refused password was tried %d times more", c)
	}
	n.dest.secrets = right
	w.login(n.dest)
	w.push("a new login")
	w.do(w.at, []int{0}, "run")
	w.once("post")
}
