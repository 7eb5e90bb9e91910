package mastodon_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon/mastodontest"
	"github.com/broadside-pub/broadside/providers/transport"
)

// TestRequestsAndFakeFollowTheDescription makes every kind of request there is, and holds each of them, and what the fake
// answers, against the published description.
func TestRequestsAndFakeFollowTheDescription(t *testing.T) {
	t.Parallel()
	d := describe(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, mastodontest.Options{Now: time.Now, Processing: 2})
		c := &checked{d: d, next: transport.Handler(w.s), answers: true}
		w.next = c
		able := w.adapter(func(c *providers.Config) { c.Now = time.Now })
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := able.Check.Check(t.Context())
		must(err)
		focused := picture(1, "A chart")
		focused.Focus = &[2]float64{0.1, 0.2}
		pictures := part("Look")
		pictures.Media = []providers.Media{focused, picture(2, "")}
		ms := w.messages(providers.Draft{Parts: []providers.DraftPart{part("One"), pictures}, Lang: "en", Settings: map[string]any{
			"visibility": "unlisted", "content_warning": "cw", "poll": map[string]any{"options": []any{"a", "b"}},
		}}, able)
		first, err := able.Publish.Publish(t.Context(), ms[0])
		must(err)
		second, err := able.Reply.Reply(t.Context(), ms[1], providers.Thread{Root: first, Parent: first})
		must(err)
		q := providers.Query{Message: ms[1], Since: time.Now().Add(-time.Minute), Thread: &providers.Thread{Root: first, Parent: first}}
		found, err := able.Find.Find(t.Context(), q)
		must(err)
		if found.ID != second.ID {
			t.Errorf("found %q, want %q", found.ID, second.ID)
		}
		must(able.Edit.Edit(t.Context(), first, ms[0]))
		must(able.Edit.Edit(t.Context(), second, ms[1]))
		must(able.Delete.Delete(t.Context(), second))
		must(able.Delete.Delete(t.Context(), second))

		for _, err := range c.trouble {
			t.Error(err)
		}
		for _, op := range []string{
			"POST /api/v1/statuses", "GET /api/v1/statuses/{id}", "PUT /api/v1/statuses/{id}", "DELETE /api/v1/statuses/{id}",
			"GET /api/v1/statuses/{id}/source", "GET /api/v1/accounts/{id}/statuses", "GET /api/v1/accounts/verify_credentials",
			"POST /api/v2/media", "GET /api/v1/media/{id}", "GET /api/v2/instance",
		} {
			if c.seen[op] == 0 {
				t.Errorf("%s was not made", op)
			}
		}
	})
}

// TestDescriptionCatchesWrongRequests proves that the check can fail.
func TestDescriptionCatchesWrongRequests(t *testing.T) {
	t.Parallel()
	d := describe(t)
	for name, c := range map[string]struct{ method, target, body string }{
		"no such operation":     {"POST", "/api/v1/status", `{"status":"x"}`},
		"no such field":         {"POST", "/api/v1/statuses", `{"status":"x","spoiler":"y"}`},
		"no such visibility":    {"POST", "/api/v1/statuses", `{"status":"x","visibility":"friends"}`},
		"a number for a text":   {"POST", "/api/v1/statuses", `{"status":1}`},
		"neither text nor else": {"POST", "/api/v1/statuses", `{"visibility":"public"}`},
		"no body":               {"POST", "/api/v1/statuses", ``},
		"no such parameter":     {"GET", "/api/v1/accounts/1/statuses?max=3", ``},
		"a parameter's type":    {"GET", "/api/v1/accounts/1/statuses?limit=many", ``},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, "https://mastodon.test"+c.target, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer x")
		if err := d.checkRequest(r, []byte(c.body)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
