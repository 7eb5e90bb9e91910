//go:build realservers

package mastodon_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon"
	"github.com/broadside-pub/broadside/test/faultproxy"
	"github.com/broadside-pub/broadside/test/servers"
)

// real is a real server with an adapter for its user.
type real struct {
	t     *testing.T
	s     *servers.MastodonServer
	token string
	me    string
}

func newReal(t *testing.T) *real {
	t.Helper()
	s := servers.Mastodon(t)
	return &real{t: t, s: s, token: s.Token(t), me: s.AccountID(t)}
}

// adapter talks to the server, or to a proxy before it.
func (r *real) adapter(base string, change ...func(*providers.Config)) providers.Able {
	r.t.Helper()
	cfg := providers.Config{
		Server: base, Account: r.s.User, TargetID: r.me, Now: time.Now, Private: true,
		Transport:  &http.Transport{Proxy: nil, DisableKeepAlives: true},
		Credential: providers.Credential{Secrets: map[string]string{"access_token": r.token}},
	}
	for _, c := range change {
		c(&cfg)
	}
	p, err := mastodon.New(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return providers.Abilities(p)
}

// messages encodes with the server's own limits, uploads and seals.
func (r *real) messages(able providers.Able, d providers.Draft) []providers.Message {
	r.t.Helper()
	limits, err := able.Limit.Limits(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	d.Limits = limits
	w := &world{t: r.t, now: time.Now()}
	return w.messages(d, able)
}

// mark makes a text that no other test has.
func mark() string { return "mark" + rand.Text() }

// holding lists the user's public statuses that hold text.
func (r *real) holding(text string) []servers.Status {
	var out []servers.Status
	for _, s := range r.s.Statuses(r.t) {
		if strings.Contains(s.Content, text) {
			out = append(out, s)
		}
	}
	return out
}

func realPicture(t *testing.T, alt string) providers.Media {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 16, 9))
	seed := make([]byte, 1)
	for x := range 16 {
		_, _ = rand.Read(seed)
		img.SetNRGBA(x, 4, color.NRGBA{R: seed[0], A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return providers.Media{
		Path: "media/picture.png", SHA256: hex.EncodeToString(sum[:]), MIME: "image/png", Bytes: int64(b.Len()), Width: 16, Height: 9,
		Alt: alt, Open: func() ([]byte, error) { return b.Bytes(), nil },
	}
}

func TestRealMastodonPublishesWhatWasWritten(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	able := r.adapter(r.s.URL)
	m := mark()
	text := m + " says: *not bold*, `code`, 5 < 6 & 7 > 6, Größe 汉字 👨‍👩‍👧\n\nhttps://example.com/a_b?c=1&d=2#e and #golang"
	ms := r.messages(able, providers.Draft{Lang: "de", Parts: []providers.DraftPart{part(text)}})
	before := time.Now().Add(-time.Minute)
	receipt, err := able.Publish.Publish(t.Context(), ms[0])
	if err != nil {
		t.Fatal(err)
	}
	got := r.s.Status(t, receipt.ID)
	if got.Visibility != "public" || !strings.Contains(got.Content, "汉字") || got.URL != receipt.URL {
		t.Errorf("published %+v as %+v", receipt, got)
	}
	if receipt.SentAt.Before(before) || receipt.SentAt.After(time.Now().Add(time.Minute)) {
		t.Errorf("sent at %v", receipt.SentAt)
	}
	found, err := r.adapter(r.s.URL).Find.Find(t.Context(), providers.Query{Message: ms[0], Since: before})
	if err != nil || found.ID != receipt.ID {
		t.Errorf("found %+v, %v, want %+v", found, err, receipt)
	}
}

func TestRealMastodonPublishesAThreadWithAPicture(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	able := r.adapter(r.s.URL)
	m := mark()
	second := part(m + " two")
	second.Media = []providers.Media{realPicture(t, "Ein Diagramm, größer als “vorher”")}
	d := providers.Draft{
		Parts:    []providers.DraftPart{part(m + " one"), second, part(m + " three")},
		Settings: map[string]any{"content_warning": "release notes"},
	}
	ms := r.messages(able, d)
	since := time.Now().Add(-time.Minute)
	var receipts []providers.Receipt
	for i := range ms {
		var receipt providers.Receipt
		var err error
		if i == 0 {
			receipt, err = able.Publish.Publish(t.Context(), ms[i])
		} else {
			receipt, err = able.Reply.Reply(t.Context(), ms[i], providers.Thread{Root: receipts[0], Parent: receipts[i-1]})
		}
		if err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, receipt)
	}
	for i, receipt := range receipts {
		got := r.s.Status(t, receipt.ID)
		parent := ""
		q := providers.Query{Message: ms[i], Since: since}
		if i > 0 {
			parent = receipts[i-1].ID
			q.Thread = &providers.Thread{Root: receipts[0], Parent: receipts[i-1]}
		}
		if got.InReplyTo != parent || got.SpoilerText != "release notes" {
			t.Errorf("part %d is %+v, want it below %q", i, got, parent)
		}
		if i == 1 && (len(got.Media) != 1 || got.Media[0].Description != second.Media[0].Alt) {
			t.Errorf("the media are %+v", got.Media)
		}
		if found, err := able.Find.Find(t.Context(), q); err != nil || found.ID != receipt.ID {
			t.Errorf("part %d: found %+v, %v, want %+v", i, found, err, receipt)
		}
	}
}

func TestRealMastodonFindsWhatALostAnswerHid(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	for name, fault := range map[string]faultproxy.Fault{
		"no answer": faultproxy.DropAnswer, "a gateway's answer": faultproxy.BadGateway, "half an answer": faultproxy.CutBody,
	} {
		proxy := faultproxy.New(t, r.s.URL, faultproxy.Rule{Method: http.MethodPost, Path: "/api/v1/statuses", Times: 1, Fault: fault})
		able := r.adapter(proxy.URL)
		m := mark()
		ms := r.messages(able, providers.Draft{Parts: []providers.DraftPart{part(m)}})
		since := time.Now().Add(-time.Minute)
		_, err := able.Publish.Publish(t.Context(), ms[0])
		if e := providers.AsError(err); e == nil || e.SurelyUnpublished() {
			t.Fatalf("%s: got %v, want an error that leaves it open", name, err)
		}
		there := r.holding(m)
		if len(there) != 1 || proxy.Count(http.MethodPost, "/api/v1/statuses") != 1 {
			t.Fatalf("%s: %d statuses after %d requests", name, len(there), proxy.Count(http.MethodPost, "/api/v1/statuses"))
		}
		found, err := able.Find.Find(t.Context(), providers.Query{Message: ms[0], Since: since})
		if err != nil || found.ID != there[0].ID {
			t.Errorf("%s: found %+v, %v, want %s", name, found, err, there[0].ID)
		}
		taken := func(id string) bool { return id == found.ID }
		if again, err := able.Find.Find(t.Context(), providers.Query{Message: ms[0], Since: since, Taken: taken}); err == nil {
			t.Errorf("%s: found %+v beside the one that is taken", name, again)
		}
	}
}

func TestRealMastodonIsNotTrustedWithAKey(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	able := r.adapter(r.s.URL)
	if rule, ok, err := able.Key.KeyRule(t.Context()); err != nil || ok {
		t.Fatalf("got %+v, %v, %v of a server that ignores keys", rule, ok, err)
	}
	m := mark()
	ms := r.messages(able, providers.Draft{Parts: []providers.DraftPart{part(m)}})
	for range 2 {
		if _, err := able.Publish.Publish(t.Context(), ms[0]); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.holding(m)); n != 2 {
		t.Errorf("%d statuses: this server honours keys after all", n)
	}
}

func TestRealMastodonEditsAndSaysThatItDeletesNothing(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	able := r.adapter(r.s.URL)
	m := mark()
	receipt, err := able.Publish.Publish(t.Context(), r.messages(able, providers.Draft{Parts: []providers.DraftPart{part(m)}})[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := able.Edit.Edit(t.Context(), receipt, r.messages(able, providers.Draft{Parts: []providers.DraftPart{part(m + " better")}})[0]); err != nil {
		t.Fatal(err)
	}
	if got := r.s.Status(t, receipt.ID); !strings.Contains(got.Content, m+" better") {
		t.Errorf("it reads %q", got.Content)
	}
	wantError(t, able.Delete.Delete(t.Context(), receipt), providers.Unsupported, receipt.ID)
	if err := able.Delete.Delete(t.Context(), providers.Receipt{ID: "179605396486eed131ea7a72c4952429e1fca67000"}); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
}

func TestRealMastodonTellsAccountAndLimits(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	a, err := r.adapter(r.s.URL).Check.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != r.me || !strings.HasPrefix(a.Handle, r.s.User+"@") || a.Limits.Text != 100000 || a.Limits.Media != 4 {
		t.Errorf("got %+v with %+v", a, a.Limits)
	}
	if !slices.Contains(a.Missing, "idempotency keys") || !slices.Contains(a.Missing, "delete") {
		t.Errorf("missing: %v", a.Missing)
	}
	_, err = r.adapter(r.s.URL, func(c *providers.Config) { c.TargetID = "somebody-else" }).Check.Check(t.Context())
	wantError(t, err, providers.Forbidden, r.me, "somebody-else")
	_, err = r.adapter(r.s.URL, func(c *providers.Config) { c.Credential.Secrets["access_token"] = "wrong" }).Check.Check(t.Context())
	wantError(t, err, providers.Unauthorized)
}

func TestRealMastodonIsNotSaidToLackWhatItMayHide(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	able := r.adapter(r.s.URL)
	ms := r.messages(able, providers.Draft{Parts: []providers.DraftPart{part(mark())}, Settings: map[string]any{"visibility": "private"}})
	since := time.Now().Add(-time.Minute)
	if _, err := able.Publish.Publish(t.Context(), ms[0]); err != nil {
		t.Fatal(err)
	}
	if found, err := able.Find.Find(t.Context(), providers.Query{Message: ms[0], Since: since}); err == nil || errors.Is(err, providers.ErrNotFound) {
		t.Errorf("got %+v, %v of a server that lists no private statuses", found, err)
	}
}
