package bluesky

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/bluesky/blueskytest"
)

var testStart = time.Date(2026, 12, 3, 9, 0, 0, 123_456_789, time.UTC)

const testKey = "d1f0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e"

// clock is a time that only moves when a test moves it.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// rig is a fake server with one account, and an adapter for it.
type rig struct {
	*blueskytest.Server
	clock   *clock
	account blueskytest.Account
	cfg     providers.Config
}

func newRig(t *testing.T) *rig {
	t.Helper()
	c := &clock{t: testStart}
	r := &rig{Server: blueskytest.New(c.now), clock: c}
	web := httptest.NewServer(r.Server)
	t.Cleanup(web.Close)
	t.Cleanup(func() { checkRequests(t, r.Requests()) })
	r.account = r.AddAccount("alice.test")
	u, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = providers.Config{
		Server: web.URL, Account: r.account.Handle, TargetID: r.account.DID, Transport: web.Client().Transport, Now: c.now,
		Credential: providers.Credential{
			Version: 1, Provider: name, Host: u.Host, Target: "bluesky:" + u.Host + ":" + r.account.DID,
			Account: r.account.Handle, Login: "login-1",
			Secrets: map[string]string{secretPassword: r.account.AppPassword},
		},
	}
	return r
}

// checkRequests holds the accepted requests of a test against the official lexicons, where they are at hand.
func checkRequests(t *testing.T, rs []blueskytest.Request) {
	t.Helper()
	if os.Getenv(blueskytest.SpecsEnv) == "" && os.Getenv(blueskytest.RequireSpecsEnv) != "1" {
		return // TestRequestsFollowTheLexicons says that this is not checked
	}
	lex := blueskytest.OfficialLexicons(t)
	for _, r := range rs {
		if r.Status != http.StatusOK {
			continue
		}
		if err := lex.CheckRequest(r); err != nil {
			t.Errorf("a request is not as the lexicons have it: %v", err)
		}
	}
}

// provider makes an adapter with the present credential.
func (r *rig) provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// login gives the rig a session, as a run does before it claims.
func (r *rig) login(t *testing.T) *Provider {
	t.Helper()
	c, err := r.provider(t).Refresh(t.Context(), r.cfg.Credential)
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Credential = c
	return r.provider(t)
}

// through sends every request of the adapter through f.
func (r *rig) through(f func(*http.Request, http.RoundTripper) (*http.Response, error)) {
	next := r.cfg.Transport
	r.cfg.Transport = roundTrip(func(req *http.Request) (*http.Response, error) { return f(req, next) })
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errLost = errors.New("the connection was reset")

// loseAnswers drops the first n answers to a method, after the server has acted.
func loseAnswers(nsid string, n int) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	var mu sync.Mutex
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || n == 0 || !strings.HasSuffix(req.URL.Path, nsid) {
			return resp, err
		}
		n--
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return nil, errLost
	}
}

// answer replaces the answers to a method.
func answer(nsid string, status int, body string, header ...string) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, nsid) {
			return next.RoundTrip(req)
		}
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{
			StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: req, ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

func para(spans ...providers.Span) providers.Doc {
	return providers.Doc{Blocks: []providers.Block{{Kind: providers.Paragraph, Spans: spans}}}
}

func plain(s string) providers.Span { return providers.Span{Text: s} }

// draft is a draft of parts that each have one line of text.
func draft(lines ...string) providers.Draft {
	d := providers.Draft{Post: "launch", Limits: limits()}
	for _, l := range lines {
		d.Parts = append(d.Parts, providers.DraftPart{Doc: para(plain(l))})
	}
	return d
}

// pngOf makes an image of its own for each shade.
func pngOf(t *testing.T, w, h int, shade uint8, alt string) providers.Media {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			img.SetGray(x, y, color.Gray{Y: shade})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return providers.Media{
		Path: "media/a.png", SHA256: hex.EncodeToString(sum[:]), MIME: "image/png", Bytes: int64(b.Len()),
		Width: w, Height: h, Alt: alt, Open: func() ([]byte, error) { return b.Bytes(), nil },
	}
}

// encode renders a draft that has no errors.
func encode(t *testing.T, d providers.Draft) providers.Encoded {
	t.Helper()
	e, ps := Encode(d)
	for _, p := range ps {
		if p.Error {
			t.Fatalf("%s: %s", p.Code, p.Message)
		}
	}
	return e
}

// seal prepares and seals every part, as a run does.
func seal(ctx context.Context, t *testing.T, p *Provider, e providers.Encoded, key string, at time.Time) []providers.Message {
	t.Helper()
	var out []providers.Message
	for i, part := range e.Parts {
		in := providers.SealInput{
			Part: part, Index: i, Key: key, ClaimedAt: at,
			Media: map[string]providers.Handle{}, Names: map[string]providers.Handle{},
		}
		for _, m := range part.Media {
			h, err := p.Upload(ctx, m)
			if err != nil {
				t.Fatal(err)
			}
			in.Media[providers.MediaKey(m)] = h
		}
		for _, n := range part.Resolve {
			h, err := p.Resolve(ctx, n)
			if e := providers.AsError(err); e != nil && e.Kind == providers.NotFound {
				continue
			} else if e != nil {
				t.Fatal(e)
			}
			in.Names[n] = h
		}
		raw, err := Seal(in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, providers.Message{Post: "launch", Part: i, Parts: len(e.Parts), Key: key, Payload: raw})
	}
	return out
}

// send publishes a thread and returns its receipts.
func send(ctx context.Context, t *testing.T, p *Provider, ms []providers.Message) []providers.Receipt {
	t.Helper()
	var out []providers.Receipt
	for i, m := range ms {
		var r providers.Receipt
		var err error
		if i == 0 {
			r, err = p.Publish(ctx, m)
		} else {
			r, err = p.Reply(ctx, m, providers.Thread{Root: out[0], Parent: out[i-1]})
		}
		if err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
		out = append(out, r)
	}
	return out
}

// wantKind checks an error's kind and whether it says that nothing was published.
func wantKind(t *testing.T, err error, kind providers.Kind, unpublished bool) providers.Error {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error of kind %q", err, kind)
	}
	if e.Kind != kind || e.SurelyUnpublished() != unpublished {
		t.Fatalf("got kind %q, surely unpublished %t, want %q, %t: %v", e.Kind, e.SurelyUnpublished(), kind, unpublished, e)
	}
	return *e
}
