//go:build unix

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// wantState fails unless a delivery is in this state.
func (w *world) wantState(post, dest string, want pipeline.State) {
	w.t.Helper()
	if d := delivery(w.sound(), post, dest); d == nil || d.State != want {
		w.t.Errorf("%s at %s is %+v, want %s", post, dest, d, want)
	}
}

// renew gives a destination a new login, and pushes its credential.
func (w *world) renew(name string) {
	w.t.Helper()
	for _, d := range w.dests {
		if d.name == name {
			w.login(destination{name: d.name, off: d.off, expiry: d.expiry})
		}
	}
	w.push("a new login")
}

func TestRefusedCredentialFailsNothingForGood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		expiry bool
	}{{"revoked token", false}, {"spent refresh token", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{dests: []destination{{name: "alpha", expiry: c.expiry}, {name: "beta"}}, divisor: 10, life: time.Minute})
			if c.expiry {
				_, err := w.net.Renew("alpha") // the refresh token that was sealed is good no more
				check(t, err)
			} else {
				check(t, w.net.Revoke("alpha"))
			}
			w.post("one", "First.", "Second.")
			w.post("two", "Another.")
			w.push("two posts")
			at := w.checkout()
			p := w.do(at, []int{3}, "run")
			if !strings.Contains(p.said(), "auth add alpha") {
				t.Errorf("it does not say what to do:\n%s", p.said())
			}
			for _, post := range []string{"one", "two"} {
				w.wantState(post, "beta", pipeline.Published)
			}
			// A held destination sends nothing, and is told once.
			asked := w.asked("alpha")
			w.do(at, []int{0, 4}, "run")
			if n := w.asked("alpha") - asked; n != 0 {
				t.Errorf("%d requests were made for the held destination", n)
			}
			for _, d := range w.sound().Deliveries {
				if d.Dest == "alpha" && d.State != pipeline.Queued && d.State != pipeline.Scheduled {
					t.Errorf("%s is %s", d.ID, d.State)
				}
			}
			w.renew("alpha")
			w.do(at, []int{0}, "run")
			for _, post := range []string{"one", "two"} {
				w.wantState(post, "alpha", pipeline.Published)
			}
		})
	}
}

// asked counts the requests to the network that were made with a login of the account, or with none.
func (w *world) asked(account string) int {
	n := 0
	for _, r := range w.net.Requests() {
		if r.Account == account || r.Account == "" {
			n++
		}
	}
	return n
}

func TestExpiringTokenIsRefreshedOnceAndPushed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{dests: []destination{{name: "alpha", expiry: true}}, divisor: 10, life: time.Hour})
	// The credential says that its token ends now.
	d := w.dests[0]
	d.secrets["token_expires"] = time.Now().UTC().Format(time.RFC3339)
	w.login(d)
	for i, text := range []string{"First.", "Second."} {
		w.post("post-"+string(rune('a'+i)), text)
		w.push("a post")
		w.do(w.checkout(), []int{0}, "run")
	}
	if got := w.texts("alpha"); len(got) != 2 {
		t.Errorf("the account shows %q", got)
	}
	if n := w.proxy.Count(http.MethodPost, "/api/v1/token"); n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

func TestHeldSendsNothingUntilReleased(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		held func(post, dest string) bool
	}{
		{"destination", []string{"destination", "alpha"}, func(_, dest string) bool { return dest == "alpha" }},
		{"post", []string{"one"}, func(post, _ string) bool { return post == "one" }},
		{"all", []string{"all"}, func(string, string) bool { return true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{dests: []destination{{name: "alpha"}, {name: "beta"}}, divisor: 10})
			w.post("one", "First.")
			w.post("two", "Another.")
			w.push("two posts")
			at := w.checkout()
			w.do(at, []int{0}, append([]string{"hold"}, c.args...)...)
			w.do(at, []int{3}, "run")
			s := w.sound()
			n := 0
			for _, d := range s.Deliveries {
				if held := c.held(d.ID.Post, d.Dest); held == published(d) {
					t.Errorf("%s at %s is %s", d.ID.Post, d.Dest, d.State)
				} else if !held {
					n++
				}
			}
			if got := len(w.net.Posts("")); got != n {
				t.Errorf("%d posts are out, want %d", got, n)
			}
			w.do(at, []int{0}, append([]string{"release"}, c.args...)...)
			w.do(at, []int{0}, "run")
			if got := len(w.net.Posts("")); got != 4 {
				t.Errorf("%d posts are out after the release", got)
			}
			w.sound()
		})
	}
}
