//go:build unix

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

// TestDryRunWritesNothing has everything before it that a run could want to write: posts to schedule and to send, a token
// to refresh, media to upload, and a lease to recover.
func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{dests: []destination{{name: "alpha"}, {name: "beta", off: []string{"find", "key"}}, {name: "gamma", expiry: true}}, life: time.Minute})
	w.postAt("lost", time.Now().Add(-time.Minute), []string{"beta"}, "Sent, and never recorded.")
	w.push("a post")
	at := w.checkout()
	w.proxy.Add(faultproxy.Rule{Path: sandboxPlain, Times: 1, Fault: faultproxy.HangAnswer})
	p := w.start(at, "run")
	until(t, "the post to arrive", func() bool { return len(w.net.Posts("beta")) == 1 })
	p.signal(syscall.SIGKILL)
	p.wait()
	w.post("plain", "Plain words.")
	w.post("thread", "First part.", "Second part.")
	w.post("image", "With a picture.", "IMAGE a few dots")
	w.push("three posts")
	w.awaitStale()

	refs := gittest.Git(t, w.bare, "for-each-ref")
	asked := len(w.net.Requests())
	posts := len(w.net.Posts(""))
	p = w.do(at, []int{0, 4}, "run", "--dry-run")
	js := w.do(at, []int{0, 4}, "run", "--dry-run", "--json")
	if now := gittest.Git(t, w.bare, "for-each-ref"); now != refs {
		t.Errorf("the refs were\n%s\nand are\n%s", refs, now)
	}
	for _, r := range w.net.Requests()[asked:] {
		if r.Method != http.MethodGet {
			t.Errorf("it sent %+v", r)
		}
	}
	if n := len(w.net.Posts("")); n != posts {
		t.Errorf("%d posts are out, %d were before", n, posts)
	}
	for _, text := range []string{"Plain words.", "First part.", "Second part.", "With a picture."} {
		n := 0
		for line := range strings.SplitSeq(p.said(), "\n") {
			if strings.Contains(line, "would send: POST "+w.proxy.URL+"/api/v1/") && strings.Contains(line, text) {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%q would be sent %d times, want once to each destination; it said\n%s", text, n, p.said())
		}
	}
	var res struct {
		DryRun   bool  `json:"dry_run"`
		Outcomes []any `json:"outcomes"`
	}
	if err := json.Unmarshal([]byte(js.out.String()), &res); err != nil || !res.DryRun || len(res.Outcomes) != 9 {
		t.Errorf("%v, %+v in\n%s", err, res, js.out.String())
	}
	w.scanFor("sbx_", "sbr_", "Bearer") // how tokens of the sandbox begin, whosever they are
}

// scanFor fails if any process has printed one of these.
func (w *world) scanFor(words ...string) {
	w.t.Helper()
	for _, p := range w.outputs {
		if s := leaked(p.said(), words); s != "" {
			w.t.Errorf("%v printed %q:\n%s", p.cmd.Args[1:], s, p.said())
		}
	}
}
