// Package providertest is the conformance suite that every provider passes against a fake of its network: what the
// contract of package providers promises, asked of the adapter from outside.
//
// Faults are put between adapter and fake, on the way, so that a fake need know nothing of them. Each subtest runs in a
// bubble of package testing/synctest with a fresh fake: waiting costs nothing, and a goroutine that stays behind fails it.
// A fake is therefore an http.Handler without sockets and without goroutines that outlive a request.
package providertest

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// Harness is what the suite needs to know about one provider.
type Harness struct {
	Info providers.Info
	// Disable takes abilities away, as a destination may, so that an adapter is tried as a network without them.
	Disable []providers.Ability
	// Start makes a fresh fake with one account and no posts. Its clock is now.
	Start func(t testing.TB, now func() time.Time) Network
	// Draft returns what a draft needs beside its parts (a title, settings); the suite puts its own parts in. Limits and
	// Server are filled in. Nil means that it needs nothing.
	Draft func() providers.Draft
	// Samples are further drafts, with parts, that must encode without an error and be published.
	Samples func() []providers.Draft
	// Name is a name that the fake resolves, for a Resolver.
	Name string
	// CheckRequest looks at every request that the adapter makes: against the network's published description, say. An
	// error fails the subtest.
	CheckRequest func(req *http.Request, body []byte) error
	// Deviations are the subtests that this provider cannot pass, by name, each with the reason. They are skipped, and
	// print it.
	Deviations map[string]string
}

// Network is a running fake.
type Network struct {
	Handler http.Handler
	// Config is what the adapter is made from; Transport and Now are set by the suite.
	Config providers.Config
	// Posts returns every post that the public can see, the oldest first.
	Posts func() []Post
}

// Post is one post as the fake holds it.
type Post struct {
	ID     string // as in a receipt
	Parent string // the ID of the post that it answers, or ""
	Text   string // as people read it
	Lang   string // "" where the fake does not keep it
	Media  []Media
}

// Media is one file of a Post.
type Media struct {
	SHA256 string // of the bytes that arrived, hex
	Alt    string
}

// subtest is one promise. It runs only where the provider has every ability in needs.
type subtest struct {
	name  string
	needs []providers.Ability
	run   func(*session)
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	tests := subtests(h)
	known := map[string]bool{}
	for _, s := range tests {
		known[s.name] = true
	}
	for name, reason := range h.Deviations {
		if !known[name] {
			t.Errorf("the deviation %q names no subtest", name)
		}
		if reason == "" {
			t.Errorf("the deviation %q has no reason", name)
		}
	}
	for _, s := range tests {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if reason := h.Deviations[s.name]; reason != "" {
				t.Skipf("deviation: %s", reason)
			}
			for _, a := range s.needs {
				if !h.can(a) {
					t.Skipf("%s lacks the ability %q", h.Info.Name, a)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				e := newSession(t, h)
				s.run(e)
				e.finish()
			})
		})
	}
}

// can tells whether the provider has an ability that is not disabled.
func (h Harness) can(a providers.Ability) bool {
	return slices.Contains(h.Info.Abilities, a) && !slices.Contains(h.Disable, a)
}

func subtests(h Harness) []subtest {
	var out []subtest
	for _, group := range [][]subtest{
		describing(), publishing(), finding(), failing(), keepingSecrets(), encoding(h), changing(), preparing(), asking(),
	} {
		out = append(out, group...)
	}
	return out
}
