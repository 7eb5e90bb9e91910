//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

// TestLostAnswerIsSettledOrTold loses the answer to a write in each way, on each kind of network: it is settled at once
// where something settles it, else a person is asked, once.
func TestLostAnswerIsSettledOrTold(t *testing.T) {
	t.Parallel()
	for _, fault := range []faultproxy.Fault{faultproxy.DropAnswer, faultproxy.CutBody, faultproxy.BadGateway} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{dests: kinds(), divisor: 10})
			w.post("post", "Once only.")
			w.push("a post")
			at := w.checkout()
			w.proxy.Add(faultproxy.Rule{Path: sandboxPlain, Method: "POST", Times: len(kinds()), Fault: fault})
			w.do(at, []int{3}, "run")
			for _, d := range kinds() {
				want := pipeline.Published
				if d.name == "neither" {
					want = pipeline.Uncertain
				}
				w.wantState("post", d.name, want)
				if n := len(w.net.Posts(d.name)); n != 1 {
					t.Errorf("%s shows %d posts", d.name, n)
				}
			}
			writes := w.writes()
			w.do(at, []int{0}, "run") // told once
			w.do(at, []int{3}, "run", "--exit-standing")
			if n := w.writes() - writes; n != 0 {
				t.Errorf("%d further writes", n)
			}
			w.do(at, []int{0}, "resolve", "post", "neither", "published", "--url", "https://sandbox.example/1", "--id", w.net.Posts("neither")[0].ID)
			w.wantState("post", "neither", pipeline.Published)
			w.do(at, []int{0}, "run", "--exit-standing")
		})
	}
}

// TestResultsThatCannotBePushedAreKept has the remote refuse every push after the claim: what happened goes to a file,
// the exit code says so, the next run does not send it again, and the file can be brought in.
func TestResultsThatCannotBePushedAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{dests: kinds()[3:]})
	w.post("post", "Out, and not recorded.")
	w.push("a post")
	at := w.checkout()
	kept := filepath.Join(w.dir, "kept")
	check(t, os.Mkdir(kept, 0o755))
	at.env = append(at.env, "RUNNER_TEMP="+kept)
	w.proxy.Add(faultproxy.Rule{Path: sandboxPlain, Times: 1, Fault: faultproxy.HoldAnswer})
	p := w.start(at, "run")
	p.held(w.proxy)
	gittest.Hook(t, w.bare, "pre-receive", "echo 'the repository is read only today' >&2; exit 1\n")
	w.proxy.Release()
	if code := p.wait(); code != 5 || !strings.Contains(p.said(), "read only today") {
		t.Errorf("it ended with %d and said\n%s", code, p.said())
	}
	files, err := filepath.Glob(filepath.Join(kept, "broadside-results-*.json"))
	check(t, err)
	if len(files) != 1 || !strings.Contains(p.said(), files[0]) {
		t.Fatalf("the files %v are not named in\n%s", files, p.said())
	}
	data, err := os.ReadFile(files[0])
	check(t, err)
	if s := leaked(string(data), w.secrets); s != "" {
		t.Errorf("the file holds the secret %.8s…", s)
	}
	check(t, os.Remove(filepath.Join(w.bare, "hooks", "pre-receive")))
	w.awaitStale()
	w.do(at, []int{3}, "run")
	w.wantState("post", "neither", pipeline.Uncertain)
	w.do(at, []int{0}, "ledger", "apply", files[0])
	w.wantState("post", "neither", pipeline.Published)
	w.do(at, []int{0}, "run", "--exit-standing")
	if n := len(w.net.Posts("")); n != 1 {
		t.Errorf("%d posts are out", n)
	}
}
