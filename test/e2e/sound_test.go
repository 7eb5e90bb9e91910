//go:build unix

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/all"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// sound checks the promise: no part is there twice, and what the ledger calls published is there as the ledger says.
func (w *world) sound() *ledger.State {
	w.t.Helper()
	s := w.state()
	shown := map[string][]server.Post{}
	for _, p := range w.net.Posts("") {
		key := p.Handle + "\x00" + p.Label + "\x00" + p.Text
		if shown[key] = append(shown[key], p); len(shown[key]) == 2 {
			w.t.Errorf("%s shows %q of %s twice: %s and %s", p.Handle, p.Text, p.Label, shown[key][0].ID, p.ID)
		}
	}
	for _, d := range s.Deliveries {
		if d.State != pipeline.Published {
			continue
		}
		parent := ""
		for i, text := range w.posts[d.ID.Post] {
			there := shown[d.Dest+"\x00"+d.ID.Post+"\x00"+text]
			switch rec := d.Receipts[i]; {
			case len(there) == 0:
				w.t.Errorf("%s is published, and %q is not there", d.ID, text)
			case there[0].ID != rec.ID:
				w.t.Errorf("%s: the receipt of part %d names %s, the post is %s", d.ID, i, rec.ID, there[0].ID)
			case there[0].Parent != parent:
				w.t.Errorf("%s: part %d is below %q, want %q", d.ID, i, there[0].Parent, parent)
			default:
				parent = there[0].ID
			}
		}
	}
	return s
}

// known wants every delivery in a state that a run or a person can go on from, after a run that began at that time.
func (w *world) known(s *ledger.State, began time.Time) {
	w.t.Helper()
	for _, d := range s.Deliveries {
		switch d.State {
		case pipeline.Published, pipeline.Queued, pipeline.Failed, pipeline.Uncertain:
		case pipeline.Publishing:
			if o := d.Open(); o == nil {
				w.t.Errorf("%s is publishing without an attempt", d.ID)
			} else if end := w.staleAt(d, o); began.After(end) {
				w.t.Errorf("%s is publishing under a lease that was stale from %s; the run began at %s", d.ID, end, began)
			}
		case pipeline.Scheduled:
			if s.Busy(d.ID.Target, "") == nil {
				w.t.Errorf("%s is scheduled after a whole run, and its target was free", d.ID)
			}
		case pipeline.Canceled, pipeline.Adopted, pipeline.Retracted:
			w.t.Errorf("%s is %s", d.ID, d.State)
		}
	}
}

func (w *world) fence() publish.Fence { return publish.DefaultFence().Scaled(w.divisor) }

// staleAt is when others may take an attempt for lost.
func (w *world) staleAt(d *ledger.Delivery, a *ledger.Attempt) time.Time {
	w.t.Helper()
	name, _, _, _ := d.ID.Target.Split()
	for _, info := range all.All() {
		if info.Name == name {
			return a.LeaseUntil.Add(w.fence().Stale(info.LongestRequest))
		}
	}
	w.t.Fatalf("%s belongs to no provider", d.ID)
	return time.Time{}
}

// awaitStale waits until no lease of the ledger is alive any more.
func (w *world) awaitStale() {
	w.t.Helper()
	var last time.Time
	for _, d := range w.state().Deliveries {
		if o := d.Open(); o != nil && w.staleAt(d, o).After(last) {
			last = w.staleAt(d, o)
		}
	}
	<-time.After(time.Until(last) + 10*time.Millisecond)
}

// settle runs until every delivery is in one of the wanted states, which depend on its destination.
func (w *world) settle(at place, want func(*ledger.Delivery) bool) *ledger.State {
	w.t.Helper()
	var open []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		w.awaitStale()
		began := time.Now()
		p := w.do(at, []int{0, 3, 4}, "run")
		s := w.sound()
		w.known(s, began)
		if w.t.Failed() {
			w.t.Logf("the run that began at %s said\n%s\nthe ledger:\n%s", began.UTC().Format(time.RFC3339Nano), p.said(), w.story())
		}
		if open = nil; len(s.Deliveries) == 0 {
			open = append(open, "no delivery at all")
		}
		for _, d := range s.Deliveries {
			if !want(d) {
				open = append(open, fmt.Sprintf("%s at %s is %s (%s: %s)", d.ID.Post, d.Dest, d.State, d.Reason, d.Detail))
			}
		}
		if len(open) == 0 || w.t.Failed() {
			return s
		}
	}
	slices.Sort(open)
	w.t.Fatalf("not settled:\n%s", strings.Join(open, "\n"))
	return nil
}

// story is everything that the ledger has recorded, for a person to find out what went wrong.
func (w *world) story() string {
	var b strings.Builder
	for path := range strings.SplitSeq(gittest.Git(w.t, w.bare, "ls-tree", "-r", "--name-only", ledgerRef, "events/"), "\n") {
		b.WriteString(path + "\n" + gittest.Git(w.t, w.bare, "show", ledgerRef+":"+path) + "\n")
	}
	return b.String()
}

// settled is what a delivery comes to by itself: where nothing settles a doubt, a person must.
func settled(d *ledger.Delivery) bool {
	return d.State == pipeline.Published || d.Dest == "neither" && d.State == pipeline.Uncertain
}

func published(d *ledger.Delivery) bool { return d.State == pipeline.Published }

// writes counts the requests that change something at the sandbox and need a lease: uploads do not.
func (w *world) writes() int {
	n := 0
	for _, r := range w.proxy.Requests() {
		if r.Method != http.MethodGet && strings.HasPrefix(r.Path, "/api/") && r.Path != "/api/v1/media" {
			n++
		}
	}
	return n
}

// texts are what an account shows, the oldest first.
func (w *world) texts(dest string) []string {
	var out []string
	for _, p := range w.net.Posts(dest) {
		out = append(out, p.Text)
	}
	return out
}

// scan looks for secrets in all that was printed and in every object of the repository.
func (w *world) scan() {
	for _, l := range w.net.Logins() {
		w.secret(l.Token, l.RefreshToken)
	}
	for _, p := range w.outputs {
		if s := leaked(unmasked(p.said()), w.secrets); s != "" {
			w.t.Errorf("%v printed the secret %.8s…:\n%s", p.cmd.Args[1:], s, p.said())
		}
	}
	for _, pattern := range []string{"*-summary", "*-output"} {
		files, _ := filepath.Glob(filepath.Join(w.dir, pattern))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				w.t.Error(err)
			}
			if s := leaked(string(data), w.secrets); s != "" {
				w.t.Errorf("%s holds the secret %.8s…:\n%s", f, s, data)
			}
		}
	}
	out, err := gittest.Run(context.Background(), w.bare, "cat-file", "--batch-all-objects", "--batch")
	if err != nil {
		w.t.Errorf("the repository cannot be read: %v", err)
	}
	if s := leaked(out, w.secrets); s != "" {
		w.t.Errorf("the repository holds the secret %.8s…", s)
	}
}

// unmasked leaves out the commands by which a runner is told what to mask.
func unmasked(said string) string {
	lines := strings.Split(said, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "::add-mask::") }), "\n")
}

func leaked(in string, secrets []string) string {
	for _, s := range secrets {
		if strings.Contains(in, s) {
			return s
		}
	}
	return ""
}

func TestALeakIsSeen(t *testing.T) {
	t.Parallel()
	if s := leaked(unmasked("::add-mask::hush\nfine"), []string{"hush"}); s != "" {
		t.Errorf("saw %q where it was only masked", s)
	}
	if leaked(unmasked("::add-mask::hush\nall of hush"), []string{"x", "hush"}) != "hush" {
		t.Error("did not see it")
	}
}
