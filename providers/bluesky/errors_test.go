package bluesky

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/bluesky/blueskytest"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

func TestErrorsSayWhetherAnythingWasPublished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		body        string
		kind        providers.Kind
		unpublished bool
	}{
		"too long":          {400, `{"error":"InvalidRequest","message":"Invalid app.bsky.feed.post record: Record/text must not be longer than 300 graphemes"}`, providers.Invalid, true},
		"unknown code":      {400, `{"error":"SomethingNew"}`, providers.Invalid, true},
		"expired":           {400, `{"error":"ExpiredToken"}`, providers.Unauthorized, true},
		"expired 401":       {401, `{"error":"ExpiredToken"}`, providers.Unauthorized, true},
		"no auth":           {401, `{"error":"AuthMissing"}`, providers.Unauthorized, true},
		"taken down":        {401, `{"error":"AccountTakedown"}`, providers.Forbidden, true},
		"forbidden":         {403, `{"error":"Forbidden"}`, providers.Forbidden, true},
		"limited":           {429, `{"error":"RateLimitExceeded"}`, providers.Throttled, true},
		"limited, odd body": {429, `{"error":"InvalidRequest"}`, providers.Throttled, true},
		"limited by 400":    {400, `{"error":"RateLimitExceeded"}`, providers.Throttled, true},
		"blob gone":         {400, `{"error":"BlobNotFound"}`, providers.Unavailable, true},
		"too large":         {413, `<html>`, providers.Invalid, true},

		"server error":         {500, `{"error":"InternalServerError","message":"Internal Server Error"}`, providers.Ambiguous, false},
		"error behind a 500":   {500, `{"error":"InvalidRequest"}`, providers.Ambiguous, false},
		"upstream":             {502, `{"error":"UpstreamFailure"}`, providers.Ambiguous, false},
		"upstream timeout":     {504, `{"error":"ExpiredToken"}`, providers.Ambiguous, false},
		"request timeout":      {408, `{"error":"InvalidRequest"}`, providers.Ambiguous, false},
		"redirect":             {302, `{"error":"InvalidRequest"}`, providers.Unknown, false},
		"success without body": {200, ``, providers.Ambiguous, false},
		"another record":       {200, `{"uri":"at://did:plc:x/app.bsky.feed.post/3lwafzkjqm25s","cid":"bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"}`, providers.Ambiguous, false},
		"no content id":        {200, `{"uri":"at://did:plc:x/app.bsky.feed.post/3lwafzkjqm25s"}`, providers.Ambiguous, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.through(answer(nsidPut, c.status, c.body))
			p := r.login(t)
			m := seal(t.Context(), t, p, encode(t, draft("x")), testKey, testStart)[0]
			_, err := p.Publish(t.Context(), m)
			e := wantKind(t, err, c.kind, c.unpublished)
			if !strings.HasPrefix(e.Error(), "bluesky: putRecord: ") {
				t.Errorf("says %v", e.Error())
			}
		})
	}
}

func TestThrottledSaysUntilWhen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Points = 4
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, testStart)
	root := send(t.Context(), t, p, ms[:1])[0]
	r.clock.add(10 * time.Minute)
	_, err := p.Reply(t.Context(), ms[1], providers.Thread{Root: root, Parent: root})
	e := wantKind(t, err, providers.Throttled, true)
	if want := testStart.Add(time.Hour).Truncate(time.Second); !e.RetryAt.Equal(want) {
		t.Errorf("retry at %s, want %s", e.RetryAt, want)
	}
}

func TestServerErrorOnATakenKeyIsNotTheAdaptersConcern(t *testing.T) {
	t.Parallel()
	// What the fake does where createRecord meets an existing key, as the real server does: the reason for putRecord.
	r := newRig(t)
	p := r.login(t)
	m := seal(t.Context(), t, p, encode(t, draft("x")), testKey, testStart)[0]
	send(t.Context(), t, p, []providers.Message{m})
	s, err := complete("createRecord", m.Payload, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.api.Do(t.Context(), api.Request{
		Op: "createRecord", Method: http.MethodPost, Path: method("com.atproto.repo.createRecord"), Write: true,
		Bearer: r.cfg.Credential.Secrets[secretAccess],
		JSON:   map[string]any{"repo": r.account.DID, "collection": collection, "rkey": s.RKey, "record": s.Record},
	})
	if e := wantKind(t, err, providers.Ambiguous, false); e.Status != http.StatusInternalServerError {
		t.Errorf("got %v", e.Error())
	}
}

func TestFakeRefusesWhatTheNetworkRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	put := func(record string) error {
		raw := `{"record":` + record + `,"rkey":"3lwafzkjqm25s"}`
		_, err := p.Publish(t.Context(), providers.Message{Payload: []byte(raw)})
		return err
	}
	const head = `{"$type":"app.bsky.feed.post","createdAt":"2026-12-03T09:00:00.000Z",`
	facet := func(start, end string) string {
		return head + `"text":"é é","facets":[{"index":{"byteStart":` + start + `,"byteEnd":` + end + `},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}]}`
	}
	for name, record := range map[string]string{
		"301 graphemes":    head + `"text":"` + strings.Repeat("x", 301) + `"}`,
		"3001 bytes":       head + `"text":"` + strings.Repeat("👩‍👩‍👧‍👦", 121) + `"}`,
		"no text":          head + `"langs":[]}`,
		"other type":       `{"$type":"app.bsky.feed.like","text":"x","createdAt":"2026-12-03T09:00:00.000Z"}`,
		"no time":          `{"$type":"app.bsky.feed.post","text":"x"}`,
		"four languages":   head + `"text":"x","langs":["a1","b","c","d"]}`,
		"unknown field":    head + `"text":"x","title":"y"}`,
		"facet in a rune":  facet("1", "3"),
		"facet ends in it": facet("0", "1"),
		"facet outside":    facet("0", "6"),
		"facet of nothing": facet("2", "2"),
		"facet negative":   facet("-1", "2"),
		"no alt":           head + `"text":"x","embed":{"$type":"app.bsky.embed.images","images":[{"image":{}}]}}`,
		"no such blob":     head + `"text":"x","embed":{"$type":"app.bsky.embed.images","images":[{"alt":"","image":{"$type":"blob","mimeType":"image/png","ref":{"$link":"` + blobCID([]byte("x")) + `"},"size":1}}]}}`,
		"hollow reply":     head + `"text":"x","reply":{"root":{},"parent":{}}}`,
	} {
		if err := put(record); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := put(facet("0", "2")); err != nil {
		t.Errorf("a good facet: %v", err)
	}
	if n := len(r.Records(r.account.DID)); n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestRecordCIDIsThatOfTheRealNetwork(t *testing.T) {
	t.Parallel()
	// An empty map in DAG-CBOR is the one byte a0.
	got, err := blueskytest.RecordCID([]byte(`{}`))
	if want := "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if _, err := blueskytest.RecordCID([]byte(`{"x":1.5}`)); err == nil {
		t.Error("a fraction has a content id")
	}
}

func FuzzAnswersNeverBreakTheAdapter(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `{"uri":1}`, `{"error":"InvalidSwap"}`, `{"error":"ExpiredToken","message":"\u202e"}`,
		`{"did":"did:plc:x","accessJwt":"a","refreshJwt":"b"}`, `{"blob":{"$type":"blob","ref":{"$link":"x"}}}`, "\xff", `{"value":{}}`,
	} {
		f.Add(200, s)
		f.Add(400, s)
		f.Add(500, s)
	}
	m := providers.Message{Payload: []byte(`{"record":{"text":"x"},"rkey":"3lwafzkjqm25s"}`)}
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 200 + (status%400+400)%400
		cfg := providers.Config{
			Server: "https://pds.test", TargetID: "did:plc:x", Now: func() time.Time { return testStart },
			Transport: roundTrip(func(req *http.Request) (*http.Response, error) { return answer("", status, body)(req, nil) }),
			Credential: providers.Credential{Secrets: map[string]string{
				secretAccess: jwt(`{"sub":"did:plc:x","exp":9999999999}`), secretRefresh: "topsecretrefresh", secretPassword: "topsecretpassword",
			}},
		}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		r, err := p.Publish(ctx, m)
		checkError(t, err)
		if err == nil && (r.ID == "" || len(r.ID) > 512 || r.Ref == "") {
			t.Errorf("receipt %+v", r)
		}
		if e := providers.AsError(err); e != nil && (status >= 500 || status < 300) && e.SurelyUnpublished() {
			t.Errorf("HTTP %d counts as surely unpublished", status)
		}
		_, err = p.Find(ctx, providers.Query{Message: m})
		if !errors.Is(err, providers.ErrNotFound) {
			checkError(t, err)
		} else if status < 400 || status >= 500 || !strings.Contains(body, "RecordNotFound") {
			t.Errorf("HTTP %d %q counts as surely absent", status, body)
		}
		_, err = p.Check(ctx)
		checkError(t, err)
		c, err := p.Refresh(ctx, cfg.Credential)
		checkError(t, err)
		if len(c.Secrets) < len(cfg.Credential.Secrets) {
			t.Error("a secret was lost")
		}
		_, err = p.Resolve(ctx, "a.test")
		checkError(t, err)
		checkError(t, p.Delete(ctx, providers.Receipt{ID: "at://did:plc:x/app.bsky.feed.post/3lwafzkjqm25s"}))
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	if s := e.Error(); strings.Contains(s, "topsecret") || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x1b") {
		t.Fatalf("says %q", s)
	}
}
