//go:build realservers

package bluesky

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/bluesky/blueskytest"
	"github.com/broadside-pub/broadside/test/faultproxy"
	"github.com/broadside-pub/broadside/test/servers"
)

// realRig is an account of its own on a real PDS.
type realRig struct {
	pds     *servers.PDSServer
	account servers.Account
	cfg     providers.Config
}

func newRealRig(t *testing.T) *realRig {
	t.Helper()
	pds := servers.PDS(t)
	r := &realRig{pds: pds, account: pds.NewAccount(t)}
	transport := &http.Transport{DisableKeepAlives: true}
	r.cfg = providers.Config{
		Account: r.account.Handle, TargetID: r.account.DID, Transport: transport, Now: time.Now, Private: true,
		Credential: providers.Credential{
			Version: 1, Provider: name, Account: r.account.Handle, Secrets: map[string]string{secretPassword: r.account.AppPassword},
		},
	}
	r.at(t, pds.URL)
	return r
}

// at reaches the server by another address, a proxy's.
func (r *realRig) at(t *testing.T, server string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Server, r.cfg.Credential.Host = server, u.Host
}

func (r *realRig) provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (r *realRig) login(t *testing.T) *Provider {
	t.Helper()
	c, err := r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Credential = c
	return r.provider(t)
}

func TestRealPDSTakesAThreadWithEverything(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	p := r.login(t)
	other := r.pds.NewAccount(t)
	d := draft("", "zweiter Teil 🎉 #go", "third part")
	d.Lang = "de"
	d.Settings = map[string]any{setTags: []any{"release"}, setLabels: []any{"graphic-media"}}
	d.Parts[0] = providers.DraftPart{
		Doc: para(plain("Hé 👩‍👩‍👧 "), link("notes", "https://example.com/ü"), plain(" "), hashtag("go"), plain(" "),
			mention(other.Handle), plain(" "), mention("nobody-"+other.Handle)),
		Media: []providers.Media{pngOf(t, 40, 30, 99, "a grey square"), pngOf(t, 4, 4, 9, "")},
	}
	ms := seal(t.Context(), t, p, encode(t, d), testKey, time.Now())
	rs := send(t.Context(), t, p, ms)

	recs := r.pds.Records(t, r.account.DID)
	if len(recs) != 3 {
		t.Fatalf("%d records", len(recs))
	}
	for i, rec := range recs {
		var thread *providers.Thread
		if i > 0 {
			thread = &providers.Thread{Root: rs[0], Parent: rs[i-1]}
		}
		s, err := complete("", ms[i].Payload, thread)
		if err != nil {
			t.Fatal(err)
		}
		if rec.URI != rs[i].ID || rec.CID != rs[i].Ref || rec.Key() != s.RKey || !sameJSON(rec.Value, s.Record) {
			t.Errorf("part %d is %s %s %s, sent %s", i, rec.URI, rec.CID, rec.Value, s.Record)
		}
		// What the fake makes of the record is what the real server made of it.
		if cid, err := blueskytest.RecordCID(s.Record); err != nil || cid != rec.CID {
			t.Errorf("part %d: the fake's content id is %s, %v, the server's %s", i, cid, err, rec.CID)
		}
	}
	if v := string(recs[0].Value); strings.Count(v, "facet#mention") != 1 || !strings.Contains(v, other.DID) || !strings.Contains(v, `"alt":"a grey square"`) {
		t.Errorf("the first part is %s", v)
	}
}

func TestRealPDSTakesACardWithItsPicture(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	p := r.login(t)
	d := draft("a card")
	d.Settings = map[string]any{setCard: map[string]any{"url": "https://example.com/1.0", "title": "Version 1.0", "thumb": true}}
	d.Parts[0].Media = []providers.Media{pngOf(t, 40, 30, 50, "")}
	send(t.Context(), t, p, seal(t.Context(), t, p, encode(t, d), testKey, time.Now()))
	if v := string(r.pds.Records(t, r.account.DID)[0].Value); !strings.Contains(v, `"thumb"`) {
		t.Errorf("the record is %s", v)
	}
}

func TestRealPDSTakesAPostOnce(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, time.Now())
	first := send(t.Context(), t, p, ms)
	again := send(t.Context(), t, p, ms)
	for i := range first {
		if first[i].ID != again[i].ID || first[i].Ref != again[i].Ref {
			t.Errorf("part %d: %+v, then %+v", i, first[i], again[i])
		}
	}
	if n := len(r.pds.Records(t, r.account.DID)); n != 2 {
		t.Errorf("%d records", n)
	}

	var s sealed
	if err := json.Unmarshal(ms[0].Payload, &s); err != nil {
		t.Fatal(err)
	}
	changed, err := json.Marshal(sealed{RKey: s.RKey, Record: json.RawMessage(strings.Replace(string(s.Record), "one", "other", 1))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Publish(t.Context(), providers.Message{Payload: changed})
	wantKind(t, err, providers.Duplicate, false)
	if got := r.pds.Records(t, r.account.DID)[0].Text(); got != "one" {
		t.Errorf("the post now reads %q", got)
	}
}

func TestRealPDSPostIsFoundAfterALostAnswer(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	proxy := faultproxy.New(t, r.pds.URL, faultproxy.Rule{Path: method(nsidPut), Times: 2, Fault: faultproxy.DropAnswer})
	r.at(t, proxy.URL)
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, time.Now())

	if _, err := p.Find(t.Context(), providers.Query{Message: ms[0]}); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("before publishing: %v", err)
	}
	_, err := p.Publish(t.Context(), ms[0])
	if e := wantKind(t, err, providers.Ambiguous, false); e.Reach != providers.MaybeSent {
		t.Errorf("reach %v", e.Reach)
	}
	root, err := p.Find(t.Context(), providers.Query{Message: ms[0], Since: time.Now().Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	thread := providers.Thread{Root: root, Parent: root}
	_, err = p.Reply(t.Context(), ms[1], thread)
	wantKind(t, err, providers.Ambiguous, false)
	second, err := p.Reply(t.Context(), ms[1], thread)
	if err != nil {
		t.Fatal(err)
	}
	recs := r.pds.Records(t, r.account.DID)
	if len(recs) != 2 || recs[0].URI != root.ID || recs[0].CID != root.Ref || recs[1].URI != second.ID || recs[1].CID != second.Ref {
		t.Errorf("the server holds %+v, the receipts are %+v and %+v", recs, root, second)
	}
	if n := proxy.Count(http.MethodPost, method(nsidPut)); n != 3 {
		t.Errorf("%d writes", n)
	}
}

func TestRealPDSDeletesTwice(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	p := r.login(t)
	m := seal(t.Context(), t, p, encode(t, draft("one")), testKey, time.Now())
	got := send(t.Context(), t, p, m)[0]
	for range 2 {
		if err := p.Delete(t.Context(), got); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.pds.Records(t, r.account.DID)); n != 0 {
		t.Errorf("%d records", n)
	}
	if _, err := p.Find(t.Context(), providers.Query{Message: m[0]}); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("found: %v", err)
	}
}

func TestRealPDSContinuesASession(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	proxy := faultproxy.New(t, r.pds.URL)
	r.at(t, proxy.URL)
	r.login(t)
	first := r.cfg.Credential
	for range 3 {
		r.login(t)
	}
	p := r.provider(t)
	a, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := providers.Account{ID: r.account.DID, Handle: r.account.Handle, URL: a.URL, Scopes: []string{"com.atproto.appPass"}}
	if d := cmp.Diff(want, a); d != "" {
		t.Error(d)
	}
	if p.NeedsRefresh(r.cfg.Credential, time.Now()) || !p.NeedsRefresh(r.cfg.Credential, time.Now().Add(2*time.Hour)) {
		t.Error("the session's end is misread")
	}
	// An answer that is lost spends a refresh token; the old one still works.
	if _, err := p.Refresh(t.Context(), first); err != nil {
		t.Errorf("within the grace: %v", err)
	}
	if n := proxy.Count(http.MethodPost, method(nsidLogin)); n != 1 {
		t.Errorf("%d logins", n)
	}
	// A refresh token that the server does not know leads to the app password.
	r.cfg.Credential.Secrets[secretRefresh] = jwt(`{"exp":9999999999}`)
	r.login(t)
	if n := proxy.Count(http.MethodPost, method(nsidLogin)); n != 2 {
		t.Errorf("%d logins", n)
	}
}

func TestRealPDSChecksAnAppPassword(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	if a, err := r.provider(t).Check(t.Context()); err != nil || a.ID != r.account.DID {
		t.Errorf("%+v, %v", a, err)
	}
	r.cfg.Credential.Secrets[secretPassword] = "aaaa-bbbb-cccc-dddd"
	_, err := r.provider(t).Check(t.Context())
	wantKind(t, err, providers.Unauthorized, true)
	_, err = r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	wantKind(t, err, providers.Unauthorized, true)

	r.cfg.Credential.Secrets[secretAccess] = jwt(`{"sub":"` + r.account.DID + `","exp":9999999999}`)
	p := r.provider(t)
	_, err = p.Publish(t.Context(), providers.Message{Payload: json.RawMessage(`{"record":{"$type":"app.bsky.feed.post"},"rkey":"3lwafzkjqm25s"}`)})
	wantKind(t, err, providers.Unauthorized, true)
}

func TestRealPDSRefusesWhatTheFakeRefuses(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	p := r.login(t)
	blobless := `,"embed":{"$type":"app.bsky.embed.images","images":[{"alt":"","image":{"$type":"blob","mimeType":"image/png","ref":{"$link":"` + blobCID([]byte("x")) + `"},"size":1}}]}`
	for name, c := range map[string]struct {
		fields string
		kind   providers.Kind
	}{
		"too long":       {`,"text":"` + strings.Repeat("x", 301) + `"`, providers.Invalid},
		"four languages": {`,"text":"x","langs":["de","en","fr","es"]`, providers.Invalid},
		"no text":        {``, providers.Invalid},
		"no such blob":   {`,"text":"x"` + blobless, providers.Unavailable},
	} {
		raw := `{"record":{"$type":"app.bsky.feed.post","createdAt":"2026-12-03T09:00:00.000Z"` + c.fields + `},"rkey":"3lwafzkjqm25s"}`
		_, err := p.Publish(t.Context(), providers.Message{Payload: json.RawMessage(raw)})
		if e := providers.AsError(err); e == nil || e.Kind != c.kind || !e.SurelyUnpublished() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, handle := range []string{"nobody-at-all.test", "nobody.invalid"} {
		_, err := p.Resolve(t.Context(), handle)
		wantKind(t, err, providers.NotFound, true)
	}
	if n := len(r.pds.Records(t, r.account.DID)); n != 0 {
		t.Errorf("%d records", n)
	}
}
