package mastodon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon"
	"github.com/broadside-pub/broadside/providers/mastodon/mastodontest"
	"github.com/broadside-pub/broadside/providers/transport"
)

// world is a fake server, a clock, and the way between.
type world struct {
	t *testing.T
	s *mastodontest.Server

	mu       sync.Mutex
	now      time.Time
	requests []string // "POST /api/v1/statuses"
	last     *http.Request
	body     string
	answer   map[string]func(*http.Request) (*http.Response, error) // in place of the fake's, by request
	next     http.RoundTripper
}

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, o mastodontest.Options) *world {
	t.Helper()
	w := &world{t: t, now: start, answer: map[string]func(*http.Request) (*http.Response, error){}}
	if o.Now == nil {
		o.Now = w.clock
	}
	w.s = mastodontest.New(o)
	w.next = transport.Handler(w.s)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	name := r.Method + " " + r.URL.Path
	w.mu.Lock()
	w.requests = append(w.requests, name)
	w.last = r
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			w.mu.Unlock()
			return nil, err
		}
		w.body = string(b)
		r.Body = io.NopCloser(strings.NewReader(w.body))
	}
	answer := w.answer[name]
	w.mu.Unlock()
	if answer != nil {
		return answer(r)
	}
	return w.next.RoundTrip(r)
}

func (w *world) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, r := range w.requests {
		if r == name {
			n++
		}
	}
	return n
}

// answering gives an answer in place of the fake's.
func answering(status int, header map[string]string, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		transport.MarkSent(r)
		h := http.Header{"Content-Type": {"application/json"}}
		for k, v := range header {
			h.Set(k, v)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func (w *world) config(change ...func(*providers.Config)) providers.Config {
	cfg := mastodontest.Config()
	cfg.Transport, cfg.Now = w, w.clock
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

func (w *world) adapter(change ...func(*providers.Config)) providers.Able {
	w.t.Helper()
	p, err := mastodon.New(w.config(change...))
	if err != nil {
		w.t.Fatal(err)
	}
	return providers.Abilities(p)
}

// post is a part on its way, as a claim leaves it.
func (w *world) messages(d providers.Draft, able providers.Able) []providers.Message {
	w.t.Helper()
	info := mastodon.Info()
	if d.Limits.Text == 0 {
		d.Limits = info.Limits
	}
	encoded, problems := info.Encode(d)
	for _, p := range problems {
		if p.Error {
			w.t.Fatalf("%+v", p)
		}
	}
	handles := map[string]providers.Handle{}
	var out []providers.Message
	for i, part := range encoded.Parts {
		for _, m := range part.Media {
			h, err := able.Upload.Upload(w.t.Context(), m)
			if err != nil {
				w.t.Fatal(err)
			}
			handles[providers.MediaKey(m)] = h
		}
		key := hex.EncodeToString(sha256.New().Sum([]byte(part.Text + strconv.Itoa(i))))
		raw, err := info.Seal(providers.SealInput{Part: part, Index: i, Key: key, ClaimedAt: w.clock(), Media: handles})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, providers.Message{Post: "launch-1-0", Part: i, Parts: len(encoded.Parts), Key: key, Payload: raw})
	}
	return out
}

// one is the message of a post with one part.
func (w *world) one(text string, settings map[string]any, media ...providers.Media) providers.Message {
	w.t.Helper()
	p := part(text)
	p.Media = media
	return w.messages(providers.Draft{Parts: []providers.DraftPart{p}, Settings: settings}, w.adapter())[0]
}

// query asks for m as of a claim a second ago.
func (w *world) query(m providers.Message) providers.Query {
	return providers.Query{Message: m, Since: start.Add(-2 * time.Minute), Taken: func(string) bool { return false }}
}

func picture(n int, alt string) providers.Media {
	data := []byte("not really a picture, number " + strconv.Itoa(n))
	sum := sha256.Sum256(data)
	return providers.Media{
		Path: "media/picture.png", SHA256: hex.EncodeToString(sum[:]), MIME: "image/png", Bytes: int64(len(data)),
		Width: 16, Height: 9, Alt: alt, Open: func() ([]byte, error) { return data, nil },
	}
}

// wantError fails unless err is an error of this kind that says all of words.
func wantError(t *testing.T, err error, kind providers.Kind, words ...string) {
	t.Helper()
	_ = errorOf(t, err, kind, words...)
}

// errorOf is wantError, and returns the error.
func errorOf(t *testing.T, err error, kind providers.Kind, words ...string) *providers.Error {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			t.Errorf("%q does not say %q", e.Error(), w)
		}
	}
	return e
}
