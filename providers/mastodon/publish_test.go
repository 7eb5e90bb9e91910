package mastodon_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon"
	"github.com/broadside-pub/broadside/providers/mastodon/mastodontest"
)

const statuses = "POST /api/v1/statuses"

func TestPublishSendsExactlyWhatWasApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	m := w.one("Hello", map[string]any{
		"visibility": "unlisted", "content_warning": "greeting", "language": "pt-BR",
		"poll": map[string]any{"options": []any{"a", "b"}, "expires_in": uint64(600), "hide_totals": true},
	})
	if _, err := w.adapter().Publish.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := `{"language":"pt","poll":{"expires_in":600,"hide_totals":true,"multiple":false,"options":["a","b"]},` +
		`"sensitive":true,"spoiler_text":"greeting","status":"Hello","visibility":"unlisted"}`
	if diff := cmp.Diff(want, w.body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.last.Header.Get("Idempotency-Key"); got != m.Key {
		t.Errorf("the key is %q, want %q", got, m.Key)
	}
	// Plain posts leave nothing to the account's defaults either.
	if _, err := w.adapter().Publish.Publish(t.Context(), w.one("Plain", nil)); err != nil {
		t.Fatal(err)
	}
	if want := `{"sensitive":false,"status":"Plain","visibility":"public"}`; w.body != want {
		t.Errorf("sent %s, want %s", w.body, want)
	}
	for _, r := range w.requests {
		if r != statuses {
			t.Errorf("an unexpected request: %s", r)
		}
	}
}

func TestThreadKeepsVisibilityAndWarning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	able := w.adapter()
	ms := w.messages(providers.Draft{
		Parts:    []providers.DraftPart{part("One"), part("Two")},
		Settings: map[string]any{"visibility": "private", "content_warning": "long", "poll": map[string]any{"options": []any{"a", "b"}}},
	}, able)
	first, err := able.Publish.Publish(t.Context(), ms[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := able.Reply.Reply(t.Context(), ms[1], providers.Thread{Root: first, Parent: first}); err != nil {
		t.Fatal(err)
	}
	got := w.s.Statuses()
	if got[1].InReplyTo != first.ID || got[1].Visibility != "private" || got[1].Spoiler != "long" || got[1].Poll != nil || got[0].Poll == nil {
		t.Errorf("got %+v", got)
	}
	ms[1].Key = "another"
	_, err = able.Reply.Reply(t.Context(), ms[1], providers.Thread{Parent: providers.Receipt{ID: "4711"}})
	wantError(t, err, providers.NotFound, "trying to reply to")
	_, err = able.Reply.Reply(t.Context(), ms[1], providers.Thread{})
	if e := errorOf(t, err, providers.Invalid); e.Reach != providers.NotSent {
		t.Errorf("reach %s", e.Reach)
	}
}

func TestErrorsSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	reset := start.Add(4 * time.Minute)
	for _, c := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   providers.Error
		surely bool
	}{
		{
			name: "media that are not ready", status: 422,
			body:   `{"error":"Validation failed: Cannot attach files that have not finished processing. Try again in a moment!"}`,
			want:   providers.Error{Kind: providers.Unavailable, Message: "Validation failed: Cannot attach files that have not finished processing. Try again in a moment!", RetryAt: start.Add(15 * time.Second)},
			surely: true,
		},
		{
			name: "too long", status: 422, body: `{"error":"Validation failed: Text character limit of 500 exceeded"}`,
			want:   providers.Error{Kind: providers.Invalid, Message: "Validation failed: Text character limit of 500 exceeded"},
			surely: true,
		},
		{
			name: "throttled, with an ISO 8601 reset", status: 429, header: map[string]string{"X-RateLimit-Reset": "2026-11-30T09:04:00.000000Z"},
			body: `{"error":"Too many requests"}`, surely: true,
			want: providers.Error{Kind: providers.Throttled, Message: "Too many requests", RetryAt: reset},
		},
		{
			name: "dead token", status: 401, body: `{"error":"invalid_token","error_description":"The access token was revoked"}`, surely: true,
			want: providers.Error{Kind: providers.Unauthorized, Message: "invalid_token: The access token was revoked"},
		},
		{
			name: "missing scope", status: 403, body: `{"error":"This action is outside the authorized scopes"}`, surely: true,
			want: providers.Error{Kind: providers.Forbidden, Message: "This action is outside the authorized scopes; the access token needs the scopes read, write:statuses and write:media"},
		},
		{
			name: "a proxy's gateway timeout", status: 504, body: `<html>504</html>`,
			want: providers.Error{Kind: providers.Ambiguous},
		},
		{
			name: "a race at the server", status: 503, body: `{"error":"There was a temporary problem serving your request, please try again"}`,
			want: providers.Error{Kind: providers.Ambiguous, Message: "There was a temporary problem serving your request, please try again"},
		},
		{name: "an unreadable success", status: 200, body: `<html>welcome</html>`, want: providers.Error{
			Kind: providers.Ambiguous, Message: "the answer is not the expected JSON: invalid character '<' looking for beginning of value",
		}},
		{name: "a success without an id", status: 200, body: `{"url":"https://x/"}`, want: providers.Error{
			Kind: providers.Ambiguous, Message: "the answer names no status",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mastodontest.Options{})
			w.answer[statuses] = answering(c.status, c.header, c.body)
			_, err := w.adapter().Publish.Publish(t.Context(), w.one("Hello", nil))
			var e *providers.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			c.want.Op, c.want.Status, c.want.Reach = "mastodon: publish", c.status, providers.Answered
			if diff := cmp.Diff(c.want, *e); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e.SurelyUnpublished() != c.surely {
				t.Errorf("surely unpublished: %v", e.SurelyUnpublished())
			}
		})
	}
}

func TestRateLimitOfTheServerIsHonoured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{StatusLimit: 2})
	able := w.adapter()
	var err error
	for _, s := range []string{"a", "b", "c"} {
		w.pass(time.Second)
		_, err = able.Publish.Publish(t.Context(), w.one(s, nil))
	}
	if e := errorOf(t, err, providers.Throttled, "Too many requests"); !e.RetryAt.Equal(start.Add(5*time.Minute + time.Second)) {
		t.Errorf("RetryAt is %v", e.RetryAt)
	}
}

// A proxy that answers 504 before the key is stored leaves a status that the key does not know
// (mastodon/mastodon#21840): only the finder sees it.
func TestStatusWithoutItsKeyIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{NoIdempotency: true})
	m := w.one(release, nil)
	w.answer[statuses] = func(r *http.Request) (*http.Response, error) {
		if resp, err := w.next.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
		return answering(504, nil, "")(r)
	}
	_, err := w.adapter().Publish.Publish(t.Context(), m)
	if e := errorOf(t, err, providers.Ambiguous); e.SurelyUnpublished() {
		t.Error("counts as surely unpublished")
	}
	r, err := w.adapter().Find.Find(t.Context(), w.query(m))
	if got := w.s.Statuses(); err != nil || len(got) != 1 || r.ID != got[0].ID {
		t.Errorf("found %+v, %v of %+v", r, err, got)
	}
}

func TestKeyRuleIsForMastodonOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    mastodontest.Options
		want bool
	}{
		{"Mastodon", mastodontest.Options{}, true},
		{"Mastodon nightly", mastodontest.Options{Version: "4.6.0-nightly.2026-11-20"}, true},
		{"Mastodon of old", mastodontest.Options{Version: "3.5.19", NoV2Instance: true}, true},
		{"glitch-soc", mastodontest.Options{Version: "4.5.0-alpha.2+glitch"}, true},
		{"Hometown", mastodontest.Options{Version: "4.2.10+hometown-1.1.1", Software: "hometown"}, true},
		{"snac", mastodontest.Snac(), false},
		{"Pixelfed", mastodontest.Options{Version: "3.5.3 (compatible; Pixelfed 0.12.3)", Software: "pixelfed"}, false},
		{"Akkoma", mastodontest.Options{Version: "2.7.2 (compatible; Akkoma 3.15.0)", Software: "akkoma"}, false},
		{"GoToSocial", mastodontest.Options{Version: "0.19.1+git-3a1b2c", Software: "gotosocial"}, false},
		{"GoToSocial that claims to be Mastodon", mastodontest.Options{Version: "4.5.0", Software: "gotosocial"}, false},
		{"something that names itself Mastodon", mastodontest.Options{Version: "4.5.0 (compatible; Something 1.0)"}, false},
		{"a server that does not say", mastodontest.Options{NoNodeInfo: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule, ok, err := newWorld(t, c.o).adapter().Key.KeyRule(t.Context())
			want := providers.KeyRule{}
			if c.want {
				want.Window = time.Hour
			}
			if err != nil || ok != c.want || rule != want {
				t.Errorf("got %+v, %v, %v", rule, ok, err)
			}
		})
	}
	w := newWorld(t, mastodontest.Options{})
	w.answer["GET /.well-known/nodeinfo"] = answering(503, nil, "")
	_, ok, err := w.adapter().Key.KeyRule(t.Context())
	wantError(t, err, providers.Unavailable)
	if ok {
		t.Error("ok with an error")
	}
}

func TestKeyIsForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	m := w.one(release, nil)
	for _, d := range []time.Duration{0, 59 * time.Minute, 2 * time.Minute} {
		w.pass(d)
		if _, err := w.adapter().Publish.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.s.Statuses()); n != 2 {
		t.Errorf("%d statuses, want two: the window has passed for the third", n)
	}
}

func TestDeleteTellsGoneFromUnable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	r, err := w.adapter().Publish.Publish(t.Context(), w.one("Hello", nil))
	if err != nil {
		t.Fatal(err)
	}
	other := w.adapter(func(c *providers.Config) { c.Credential.Secrets["access_token"] = mastodontest.OtherToken })
	wantError(t, other.Delete.Delete(t.Context(), r), providers.Forbidden, "alice@mastodon.test")
	for range 2 {
		if err := w.adapter().Delete.Delete(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	if got := w.s.Statuses(); len(got) != 0 {
		t.Errorf("still there: %+v", got)
	}

	w = newWorld(t, mastodontest.Options{NoDelete: true})
	if r, err = w.adapter().Publish.Publish(t.Context(), w.one("Hello", nil)); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.adapter().Delete.Delete(t.Context(), r), providers.Unsupported, r.ID)
	wantError(t, w.adapter().Delete.Delete(t.Context(), providers.Receipt{ID: "a b"}), providers.Invalid)
}

func TestEditReplacesEverythingButWhatCannotChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	able := w.adapter()
	settings := map[string]any{"content_warning": "cw", "poll": map[string]any{"options": []any{"a", "b"}, "expires_in": "2h"}}
	r, err := able.Publish.Publish(t.Context(), w.one("Hello", settings))
	if err != nil {
		t.Fatal(err)
	}
	ends := w.s.Statuses()[0].Poll.ExpiresAt
	w.pass(time.Hour)
	delete(settings, "content_warning")
	if err := able.Edit.Edit(t.Context(), r, w.one("Hello again", settings)); err != nil {
		t.Fatal(err)
	}
	got := w.s.Statuses()[0]
	if got.Text != "Hello again" || got.Spoiler != "" || got.EditedAt.IsZero() || !got.Poll.ExpiresAt.Equal(ends) {
		t.Errorf("got %+v with the poll %+v, which ended at %v", got, got.Poll, ends)
	}
	wantError(t, able.Edit.Edit(t.Context(), r, w.one("x", map[string]any{"visibility": "private"})), providers.Unsupported, "is public and cannot become private")
	w.pass(2 * time.Hour)
	wantError(t, able.Edit.Edit(t.Context(), r, w.one("x", settings)), providers.Unsupported, "has ended")

	p := part("With a picture")
	p.Media = []providers.Media{picture(1, "first")}
	ms := w.messages(providers.Draft{Parts: []providers.DraftPart{p}}, able)
	if r, err = able.Publish.Publish(t.Context(), ms[0]); err != nil {
		t.Fatal(err)
	}
	ms[0].Payload = json.RawMessage(strings.Replace(string(ms[0].Payload), `"first"`, `"better"`, 1))
	if err := able.Edit.Edit(t.Context(), r, ms[0]); err != nil {
		t.Fatal(err)
	}
	if got := w.s.Statuses()[1].Media; len(got) != 1 || got[0].Description != "better" {
		t.Errorf("the media are %+v", got)
	}

	w = newWorld(t, mastodontest.Options{NoEdit: true})
	if r, err = w.adapter().Publish.Publish(t.Context(), w.one("Hello", nil)); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.adapter().Edit.Edit(t.Context(), r, w.one("x", nil)), providers.Unsupported, "cannot edit")
}

func TestCheckNamesAccountLimitsAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{MaxCharacters: 1000})
	a, err := w.adapter().Check.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != mastodontest.AccountID || a.Handle != "alice@mastodon.test" || a.URL != "https://mastodon.test/@alice" || a.Limits.Text != 1000 || a.Missing != nil {
		t.Errorf("got %+v", a)
	}
	a, err = newWorld(t, mastodontest.Snac()).adapter().Check.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"idempotency keys", "delete", "polls", "lists of private statuses"}, a.Missing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = w.adapter(func(c *providers.Config) { c.Credential.Secrets["access_token"] = mastodontest.OtherToken }).Check.Check(t.Context())
	wantError(t, err, providers.Forbidden, "bob@mastodon.test", mastodontest.OtherAccountID, mastodontest.AccountID, "alice@mastodon.test")
	_, err = w.adapter(func(c *providers.Config) { c.Credential.Secrets["access_token"] = "expired" }).Check.Check(t.Context())
	wantError(t, err, providers.Unauthorized, "The access token is invalid")
	w.answer["GET /api/v1/accounts/verify_credentials"] = answering(422, nil, `{"error":"This method requires an authenticated user"}`)
	_, err = w.adapter().Check.Check(t.Context())
	wantError(t, err, providers.Unauthorized, "requires an authenticated user")
}

func TestLimitsAreTheInstances(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mastodontest.Options{
		"v2":                       {MaxCharacters: 1234},
		"v1":                       {MaxCharacters: 1234, NoV2Instance: true},
		"v1 without configuration": {MaxCharacters: 1234, NoV2Instance: true, NoConfig: true},
	} {
		w := newWorld(t, o)
		able := w.adapter()
		for range 2 {
			l, err := able.Limit.Limits(t.Context())
			if err != nil || l.Text != 1234 || l.URLLength != 23 || l.Media != 4 || l.Alt != 1500 || l.Unit != "graphemes" || l.Date != "2026-11-30" {
				t.Errorf("%s: got %+v, %v", name, l, err)
			}
			if !strings.HasPrefix(l.Source, "https://mastodon.test/api/v") {
				t.Errorf("%s: the source is %q", name, l.Source)
			}
			l.MIME[0] = "changed by the caller"
		}
		if n := w.count("GET /api/v2/instance"); n != 1 {
			t.Errorf("%s: asked %d times", name, n)
		}
	}
	w := newWorld(t, mastodontest.Options{})
	w.answer["GET /api/v2/instance"] = answering(200, nil, `{"configuration":{"statuses":{"max_characters":"5000","max_media_attachments":-1},"polls":{"max_options":null}}}`)
	l, err := w.adapter().Limit.Limits(t.Context())
	if err != nil || l.Text != 5000 || l.Media != 4 || l.PollOptions != 4 {
		t.Errorf("odd numbers: got %+v, %v", l, err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	for want, change := range map[string]func(*providers.Config){
		"needs a server":     func(c *providers.Config) { c.Server = "" },
		"never sent to evil": func(c *providers.Config) { c.Server = "https://evil.test" },
		"no access_token":    func(c *providers.Config) { c.Credential.Secrets = nil },
		"a clock":            func(c *providers.Config) { c.Now = nil },
	} {
		if _, err := mastodon.New(w.config(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, change := range []func(*providers.Config){
		func(c *providers.Config) { c.Server += ":443" },
		func(c *providers.Config) { c.Server = strings.ToUpper(c.Server) },
	} {
		if _, err := mastodon.New(w.config(change)); err != nil {
			t.Errorf("another spelling of the server: %v", err)
		}
	}
}

func TestUnsealedPayloadIsNeverSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	p := part("x")
	p.Media = []providers.Media{picture(1, "alt")}
	encoded, _ := mastodon.Info().Encode(providers.Draft{Parts: []providers.DraftPart{p}, Limits: mastodon.Info().Limits})
	for _, payload := range []string{
		string(encoded.Parts[0].Payload), ``, `[]`, `{"status":"x"}`, `{"status":"x","visibility":"public","scheduled_at":"2030-01-01"}`,
		`{"status":"x","visibility":"public"}{}`,
	} {
		_, err := w.adapter().Publish.Publish(t.Context(), providers.Message{Payload: json.RawMessage(payload)})
		if e := errorOf(t, err, providers.Invalid); e.Reach != providers.NotSent {
			t.Errorf("%s: reach %s", payload, e.Reach)
		}
	}
	if w.count(statuses) != 0 {
		t.Error("something was sent")
	}
}

func FuzzAnswerNeverMakesABadReceipt(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `{"id":"1","url":"https://x/1","created_at":"2026-11-30T09:00:00Z","in_reply_to_id":12}`,
		`{"id":1}`, `{"id":"1","url":"javascript:x"}`, `{"id":"a b"}`, `{"id":"1","created_at":17,"poll":{"options":[]}}`,
		`{"id":"1","media_attachments":[{"id":null}]}`, `{"id":"1","edited_at":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := newWorld(t, mastodontest.Options{})
		w.answer[statuses] = answering(200, nil, string(body))
		r, err := w.adapter().Publish.Publish(t.Context(), w.one("Hello", nil))
		if err != nil {
			if e := providers.AsError(err); e.SurelyUnpublished() {
				t.Fatalf("a 200 counts as surely unpublished: %v", err)
			}
			return
		}
		if r.ID == "" || strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c > '~' }) || r.SentAt.IsZero() {
			t.Fatalf("%q made the receipt %+v", body, r)
		}
		if r.URL != "" && !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://") {
			t.Fatalf("%q made the URL %q", body, r.URL)
		}
	})
}
