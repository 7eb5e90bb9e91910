package webhook_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/transport"
	"github.com/broadside-pub/broadside/providers/webhook"
	"github.com/broadside-pub/broadside/providers/webhook/webhooktest"
)

const key = "5d41402abc4b2a76b9719d911017c592aaaaaaaa0123456789abcdef01234567"

var claimed = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// world is a receiver, a clock, and the way between.
type world struct {
	t    *testing.T
	now  time.Time
	r    *webhooktest.Receiver
	next http.RoundTripper // in place of the receiver, where set
}

func newWorld(t *testing.T, o webhooktest.Options) *world {
	t.Helper()
	w := &world{t: t, now: claimed.Add(time.Second)}
	o.Now = func() time.Time { return w.now }
	w.r = webhooktest.New(o)
	w.next = transport.Handler(w.r)
	return w
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) { return w.next.RoundTrip(r) }

func (w *world) adapter(change ...func(*providers.Config)) providers.Publisher {
	w.t.Helper()
	cfg := w.r.Config()
	cfg.Transport, cfg.Now = w, func() time.Time { return w.now }
	for _, c := range change {
		c(&cfg)
	}
	p, err := webhook.Info().New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// answering answers every request without the receiver.
func answering(status int, header map[string]string, body string) http.RoundTripper {
	return transport.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
}

func messages(t *testing.T, d providers.Draft) []providers.Message {
	t.Helper()
	info := webhook.Info()
	d.Post = "launch-1-0"
	encoded, problems := info.Encode(d)
	for _, p := range problems {
		t.Fatalf("%+v", p)
	}
	var out []providers.Message
	for i, p := range encoded.Parts {
		k := key[:63] + strconv.Itoa(i)
		k = strings.Replace(k, "5d", "5"+strconv.Itoa(i), 1)
		raw, err := info.Seal(providers.SealInput{Part: p, Index: i, Key: k, ClaimedAt: claimed})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, providers.Message{Post: d.Post, Part: i, Parts: len(encoded.Parts), Key: k, Payload: raw})
	}
	return out
}

func TestMessageHoldsThePart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, webhooktest.Options{Answer: true})
	p := providers.DraftPart{Doc: providers.Doc{Blocks: []providers.Block{
		{Kind: providers.Paragraph, Spans: []providers.Span{
			{Text: "Version "}, {Text: "1.0", Style: providers.Bold}, {Text: " is out: "}, {Text: "notes", URL: "https://example.com/1?a=b&c"},
		}},
	}}, Media: []providers.Media{{
		Path: "media/launch.png", SHA256: strings.Repeat("ab", 32), MIME: "image/png", Bytes: 1234, Width: 16, Height: 9, Alt: "A <chart>",
	}}}
	d := providers.Draft{
		Title: "Launch", Lang: "en", Parts: []providers.DraftPart{p, part("Second")},
		Settings: map[string]any{"extra": map[string]any{"channel": "news"}},
	}
	ms := messages(t, d)
	pub := w.adapter()
	first, err := pub.Publish(t.Context(), ms[0])
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	second, err := providers.Abilities(pub).Reply.Reply(t.Context(), ms[1], providers.Thread{Root: first, Parent: first})
	if err != nil {
		t.Fatal(err)
	}
	got := w.r.Messages()
	want := `{"data":{"extra":{"channel":"news"},"html":"<p>Version <strong>1.0</strong> is out: ` +
		`<a href=\"https://example.com/1?a=b&amp;c\">notes</a></p>","lang":"en","media":[{"alt":"A <chart>","bytes":1234,` +
		`"height":9,"mime":"image/png","path":"media/launch.png","sha256":"` + strings.Repeat("ab", 32) + `","width":16}],` +
		`"part":1,"parts":2,"post":"launch-1-0","text":"Version 1.0 is out: notes (https://example.com/1?a=b&c)","title":"Launch"},` +
		`"id":"msg_5041402abc4b2a76b9719d911017c592aaaaaaaa","timestamp":"2026-11-30T09:00:00.000Z","type":"post.published"}`
	if diff := cmp.Diff(want, string(got[0].Raw)); diff != "" {
		t.Errorf("the message (-want +got):\n%s", diff)
	}
	want = `{"data":{"extra":{"channel":"news"},"html":"<p>Second</p>","lang":"en",` +
		`"parent":{"id":"msg_5041402abc4b2a76b9719d911017c592aaaaaaaa","ref":"1000","url":"https://blog.test/posts/1000"},` +
		`"part":2,"parts":2,"post":"launch-1-0","text":"Second","title":"Launch"},` +
		`"id":"msg_5141402abc4b2a76b9719d911017c592aaaaaaaa","timestamp":"2026-11-30T09:00:00.000Z","type":"post.published"}`
	if diff := cmp.Diff(want, string(got[1].Raw)); diff != "" {
		t.Errorf("the second message (-want +got):\n%s", diff)
	}
	if want := (providers.Receipt{
		ID: "msg_5141402abc4b2a76b9719d911017c592aaaaaaaa", Ref: "1001", URL: "https://blog.test/posts/1001", SentAt: w.now,
	}); !cmp.Equal(second, want) {
		t.Errorf("the receipt: %s", cmp.Diff(want, second))
	}
}

func TestRepeatedMessageIsTheSameBytesWithANewTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, webhooktest.Options{})
	m := messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0]
	for range 2 {
		if _, err := w.adapter().Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(20 * time.Hour)
	}
	got := w.r.Messages()
	if len(got) != 2 || string(got[0].Raw) != string(got[1].Raw) || got[0].ID != got[1].ID {
		t.Errorf("the messages differ: %s and %s", got[0].Raw, got[1].Raw)
	}
	if d := got[1].Sent.Sub(got[0].Sent); d != 20*time.Hour {
		t.Errorf("the second was sent %v later", d)
	}
}

func TestKeysCountOnlyWhereTheReceiverDeduplicates(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		w := newWorld(t, webhooktest.Options{Deduplicate: on})
		rule, ok, err := providers.Abilities(w.adapter()).Key.KeyRule(t.Context())
		want := providers.KeyRule{}
		if on {
			want = providers.KeyRule{Window: 24 * time.Hour, Exact: true}
		}
		if err != nil || ok != on || rule != want {
			t.Errorf("deduplicates %v: got %+v, %v, %v", on, rule, ok, err)
		}
	}
}

func TestAnswerDecides(t *testing.T) {
	t.Parallel()
	soon := claimed.Add(time.Second + 90*time.Second)
	for _, c := range []struct {
		name    string
		status  int
		header  map[string]string
		body    string
		kind    providers.Kind
		message string
		retryAt time.Time
		surely  bool
	}{
		{name: "gone", status: 410, kind: providers.Forbidden, message: "the endpoint is gone and asks not to be called again; " +
			"add the credential of another one", surely: true},
		{
			name: "busy", status: 503, header: map[string]string{"Retry-After": "90"}, body: "later", kind: providers.Unavailable,
			message: "later", retryAt: soon, surely: true,
		},
		{name: "busy without a time", status: 503, body: "x", kind: providers.Ambiguous, message: "x"},
		{name: "throttled", status: 429, header: map[string]string{"Retry-After": "90"}, kind: providers.Throttled, retryAt: soon, surely: true},
		{name: "bad gateway", status: 502, kind: providers.Ambiguous},
		{name: "time ran out on the way", status: 504, header: map[string]string{"Retry-After": "90"}, kind: providers.Ambiguous},
		{name: "wrong signature", status: 401, body: `{"error":"bad signature"}`, kind: providers.Unauthorized, message: "bad signature", surely: true},
		{name: "unknown", status: 404, kind: providers.NotFound, surely: true},
		{name: "refused", status: 400, body: `{"message":"no such channel"}`, kind: providers.Invalid, message: "no such channel", surely: true},
		{
			name: "moved", status: 301, header: map[string]string{"Location": "https://elsewhere.test/"}, kind: providers.Unknown,
			message: "a redirect that is not followed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, webhooktest.Options{})
			w.next = answering(c.status, c.header, c.body)
			_, err := w.adapter().Publish(t.Context(), messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0])
			var e *providers.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			got := *e
			want := providers.Error{
				Kind: c.kind, Reach: providers.Answered, Op: "webhook: publish", Status: c.status, Message: c.message, RetryAt: c.retryAt,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e.SurelyUnpublished() != c.surely {
				t.Errorf("surely unpublished: %v", e.SurelyUnpublished())
			}
		})
	}
}

func TestSuccessStandsWhateverTheBodyIs(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", "<html>", `{"id":`, `{"id":{},"url":7}`, `{"id":"has space","url":"javascript:alert(1)"}`, `[]`,
		`{"url":"` + webhooktest.URL + `"}`, strings.Repeat("x", 1<<20),
	} {
		w := newWorld(t, webhooktest.Options{})
		w.next = answering(http.StatusOK, nil, body)
		got, err := w.adapter().Publish(t.Context(), messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0])
		want := providers.Receipt{ID: "msg_5041402abc4b2a76b9719d911017c592aaaaaaaa", SentAt: w.now}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%.40q: %v, %s", body, err, cmp.Diff(want, got))
		}
	}
}

func TestSecretAddressStaysOutOfErrors(t *testing.T) {
	t.Parallel()
	m := messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0]
	w := newWorld(t, webhooktest.Options{})
	for name, next := range map[string]http.RoundTripper{
		"echo":     answering(400, nil, "cannot post to "+webhooktest.URL+" at "+webhooktest.Path+" token b8f2c04e7d19"),
		"redirect": answering(302, map[string]string{"Location": webhooktest.URL + "2"}, ""),
		"dial":     &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return nil, errors.New("no way to " + r.URL.String()) }},
	} {
		w.next = next
		_, err := w.adapter().Publish(t.Context(), m)
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			for _, secret := range []string{webhooktest.Path, "b8f2c04e7d19", "0d3f9a6c51", strings.TrimPrefix(webhooktest.Secret, "whsec_")} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %q holds %q", name, err, secret)
				}
			}
		}
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url, secret, host, want string
	}{
		"no address":        {"", webhooktest.Secret, "", "not an http or https address"},
		"other scheme":      {"ftp://x.test/", webhooktest.Secret, "", "not an http or https address"},
		"password":          {"https://a:hunter2hunter2@x.test/", webhooktest.Secret, "", "user name or password"},
		"other host":        {webhooktest.URL, webhooktest.Secret, "evil.test", "another host"},
		"no secret":         {webhooktest.URL, "", "", "no signing secret"},
		"no prefix":         {webhooktest.URL, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "", "whsec_"},
		"no Base64":         {webhooktest.URL, "whsec_!!!", "", "Base64"},
		"too short":         {webhooktest.URL, "whsec_c2hvcnQ=", "", "5 bytes"},
		"one bad among two": {webhooktest.URL, webhooktest.Secret + " whsec_", "", "0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := webhook.New(providers.Config{
				Credential: providers.Credential{Host: c.host, Secrets: map[string]string{"url": c.url, "secret": c.secret}},
				Transport:  answering(200, nil, ""), Now: time.Now,
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "MfKQ9r8") {
				t.Errorf("%q holds a secret", err)
			}
		})
	}
	for host, address := range map[string]string{"x.test": "https://X.test:443/hook", "x.test:8443": "https://x.test:8443/", "y.test": "http://y.test:80/"} {
		_, err := webhook.New(providers.Config{
			Credential: providers.Credential{Host: host, Secrets: map[string]string{"url": address, "secret": webhooktest.Secret}},
			Transport:  answering(200, nil, ""), Now: time.Now,
		})
		if err != nil {
			t.Errorf("%s for %s: %v", host, address, err)
		}
	}
}

func TestSecretInUseSignsWhileItIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, webhooktest.Options{})
	p := w.adapter(func(c *providers.Config) {
		c.Credential.Secrets["secret"] = "whsec_YSBzZWNvbmQga2V5IG9mIHRoaXJ0eS10d28gYnl0ZXM= " + webhooktest.Secret
	})
	if _, err := p.Publish(t.Context(), messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0]); err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(w.r.Messages()[0].Header.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures", n)
	}
}

func TestWrongSecretIsUnauthorized(t *testing.T) {
	t.Parallel()
	w := newWorld(t, webhooktest.Options{})
	p := w.adapter(func(c *providers.Config) {
		c.Credential.Secrets["secret"] = "whsec_YSBzZWNvbmQga2V5IG9mIHRoaXJ0eS10d28gYnl0ZXM="
	})
	_, err := p.Publish(t.Context(), messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0])
	if e := providers.AsError(err); e == nil || e.Kind != providers.Unauthorized {
		t.Errorf("got %v", err)
	}
}

func TestUnsealedPayloadIsNeverSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, webhooktest.Options{})
	encoded, _ := webhook.Info().Encode(providers.Draft{Parts: []providers.DraftPart{part("One")}})
	for _, payload := range []string{string(encoded.Parts[0].Payload), `{}`, `[]`, ``, `{"id":"x"}`} {
		_, err := w.adapter().Publish(t.Context(), providers.Message{Key: key, Payload: []byte(payload)})
		if e := providers.AsError(err); e == nil || e.Kind != providers.Invalid || e.Reach != providers.NotSent {
			t.Errorf("%s: got %v", payload, err)
		}
	}
	if w.r.Requests() != 0 {
		t.Error("something was sent")
	}
}

func TestOverTCPTheSameHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, webhooktest.Options{Deduplicate: true})
	s := httptest.NewServer(w.r)
	t.Cleanup(s.Close)
	tr := &http.Transport{DisableKeepAlives: true}
	w.next = tr
	p := w.adapter(func(c *providers.Config) {
		c.Credential.Host = ""
		c.Credential.Secrets["url"] = s.URL + webhooktest.Path + "?token=b8f2c04e7d19"
	})
	m := messages(t, providers.Draft{Parts: []providers.DraftPart{part("One")}})[0]
	for range 2 {
		if _, err := p.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.r.Messages()) != 1 || w.r.Requests() != 2 {
		t.Errorf("%d messages in %d requests", len(w.r.Messages()), w.r.Requests())
	}
	s.Close()
	_, err := p.Publish(t.Context(), m)
	if e := providers.AsError(err); e == nil || e.Kind != providers.Unavailable || e.Reach != providers.NotSent {
		t.Errorf("with nobody there: %v", err)
	}
}
