package providertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/providertest"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// brokenEnv names, in a process of its own, the fault to build into the adapter that the suite is run on.
const brokenEnv = "PROVIDERTEST_BROKEN"

// adapter is the sandbox's, to be broken.
type adapter struct {
	*sandbox.Provider
	how string
	cfg providers.Config
}

// broken are adapters that break one promise each, by the subtests that must say so.
var broken = map[string][]string{
	"repeats":           {"lost answer is not surely unpublished, and recovered"},
	"claims not sent":   {"lost request is not surely unpublished", "status 500 is not surely unpublished"},
	"finds nothing":     {"find gives the receipt of publish", "find is not sure when the network fails"},
	"finds anything":    {"find answers that nothing is there", "find passes over what is taken"},
	"tells secrets":     {"no secret in an error"},
	"secret in address": {"no secret in an address"},
	"replies to root":   {"thread keeps its order", "thread is resumed from receipts"},
	"loses a secret":    {"refresh keeps what it is given"},
	"keeps Seq":         {"refresh keeps what it is given"},
	"deletes once":      {"delete takes the post down, twice is fine"},
	"forgets to close":  {"publish makes one post and tells its id"},
	"writes in check":   {"check names the account and only reads"},
	"dials in New":      {"New reaches no network"},
	"random encode":     {"encode is pure"},
	"loose JSON":        {"payloads are canonical JSON"},
	"random seal":       {"seal is pure"},
	"drops alt":         {"media and alt text arrive"},
	"no limits":         {"limit of text", "limit of alt text", "limit of media", "limit of parts"},
	"drops language":    {"language arrives"},
	"ignores key":       {"same key posts once"},
	"lacks an ability":  {"abilities are those declared"},
	"publishes early":   {"stage is not public and may be repeated"},
	"no RetryAt":        {"status 429 with seconds", "status 429 with a date"},
	"no help":           {"info is complete"},
	"sends bad request": {"publish makes one post and tells its id"},
}

// TestSuiteCatches runs the suite on each broken adapter, in a process of its own, since it must fail.
func TestSuiteCatches(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range slices.Sorted(maps.Keys(broken)) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestBrokenAdapter$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+how)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the suite passes\n%s", out)
			}
			for _, name := range broken[how] {
				if !strings.Contains(string(out), "--- FAIL: TestBrokenAdapter/"+strings.ReplaceAll(name, " ", "_")+" ") {
					t.Errorf("the subtest %q does not fail\n%s", name, out)
				}
			}
		})
	}
}

// TestBrokenAdapter is what TestSuiteCatches runs; by itself it runs the suite on the whole adapter.
func TestBrokenAdapter(t *testing.T) {
	how := os.Getenv(brokenEnv)
	h := providertest.Harness{Info: breakInfo(how), Name: "bob", Start: start}
	if how == "sends bad request" {
		h.CheckRequest = func(*http.Request, []byte) error { return errors.New("not in the description") }
	}
	providertest.Run(t, h)
}

func start(t testing.TB, now func() time.Time) providertest.Network {
	s := server.New(server.Options{Now: now, BaseURL: "https://sandbox.test"})
	login, err := s.AddExpiring("demo")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddAccount("bob"); err != nil {
		t.Fatal(err)
	}
	return providertest.Network{
		Handler: s,
		Config: providers.Config{
			Server: "https://sandbox.test", Account: "demo", TargetID: login.ID,
			Credential: providers.Credential{Secrets: map[string]string{
				"token": login.Token, "refresh_token": login.RefreshToken, "token_expires": login.Expires.Format(time.RFC3339),
				"note": "kept by every refresh",
			}},
		},
		Posts: func() []providertest.Post {
			var out []providertest.Post
			for _, p := range s.Posts("demo") {
				v := providertest.Post{ID: p.ID, Parent: p.Parent, Text: p.Text, Lang: p.Lang}
				for _, m := range p.Media {
					v.Media = append(v.Media, providertest.Media{SHA256: m.SHA256, Alt: m.Alt})
				}
				out = append(out, v)
			}
			return out
		},
	}
}

func breakInfo(how string) providers.Info {
	info := sandbox.Info()
	var calls atomic.Int64
	info.New = func(cfg providers.Config) (providers.Publisher, error) {
		if how == "ignores key" || how == "repeats" || how == "secret in address" || how == "no RetryAt" {
			cfg.Transport = meddler{cfg, how}
		}
		p, err := sandbox.New(cfg)
		if err != nil {
			return nil, err
		}
		a := &adapter{Provider: p.(*sandbox.Provider), how: how, cfg: cfg}
		if how == "dials in New" {
			_ = a.raw(context.Background(), http.MethodGet, "/api/v1/instance", true)
		}
		return a, nil
	}
	seal, encode := info.Seal, info.Encode
	info.Encode = func(d providers.Draft) (providers.Encoded, []providers.Problem) {
		calls.Add(1)
		if how == "no limits" {
			d.Limits = providers.Limits{}
		}
		if how == "drops language" {
			d.Lang = ""
		}
		e, ps := encode(d)
		for i := range e.Parts {
			switch how {
			case "random encode":
				e.Parts[i].Text += fmt.Sprint(calls.Load())
			case "loose JSON":
				e.Parts[i].Payload = append(json.RawMessage(" "), e.Parts[i].Payload...)
			case "drops alt":
				for n := range e.Parts[i].Media {
					e.Parts[i].Media[n].Alt = ""
				}
				e.Parts[i].Payload = dropAlt(e.Parts[i].Payload)
			}
		}
		return e, ps
	}
	info.Seal = func(in providers.SealInput) (json.RawMessage, error) {
		b, err := seal(in)
		if n := calls.Add(1); how == "random seal" {
			b = append(b, fmt.Append(nil, n)...)
		}
		return b, err
	}
	switch how {
	case "lacks an ability":
		info.Abilities = info.Abilities[1:]
	case "no help":
		info.Settings[0].Help = ""
	}
	return info
}

func dropAlt(b json.RawMessage) json.RawMessage {
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		return b
	}
	if ms, ok := v["media"].([]any); ok {
		for _, m := range ms {
			delete(m.(map[string]any), "alt")
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return b
	}
	return out
}

// raw sends a request past the client, and closes its answer or not.
func (a *adapter) raw(ctx context.Context, method, path string, closes bool) error {
	body := ""
	if method == http.MethodPost {
		body = `{"text":"raw","visibility":"public"}`
	}
	req, err := http.NewRequestWithContext(ctx, method, a.cfg.Server+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.cfg.Credential.Secrets["token"])
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.cfg.Transport.RoundTrip(req)
	if err == nil && closes {
		err = resp.Body.Close()
	}
	return err
}

func (a *adapter) Publish(ctx context.Context, m providers.Message) (providers.Receipt, error) {
	if a.how == "forgets to close" {
		_ = a.raw(ctx, http.MethodGet, "/api/v1/instance", false)
	}
	r, err := a.Provider.Publish(ctx, m)
	e := providers.AsError(err)
	switch {
	case e == nil:
	case a.how == "repeats":
		return a.Provider.Publish(ctx, m)
	case a.how == "claims not sent":
		e.Reach = providers.NotSent
	case a.how == "tells secrets":
		e.Err = errors.New(a.cfg.Credential.Secrets["token"])
	}
	return r, err
}

func (a *adapter) Reply(ctx context.Context, m providers.Message, t providers.Thread) (providers.Receipt, error) {
	if a.how == "replies to root" {
		t.Parent = t.Root
	}
	return a.Provider.Reply(ctx, m, t)
}

func (a *adapter) Find(ctx context.Context, q providers.Query) (providers.Receipt, error) {
	switch a.how {
	case "finds nothing":
		return providers.Receipt{}, providers.ErrNotFound
	case "finds anything":
		return providers.Receipt{ID: "1", SentAt: a.cfg.Now()}, nil
	}
	return a.Provider.Find(ctx, q)
}

func (a *adapter) Delete(ctx context.Context, r providers.Receipt) error {
	if a.how == "deletes once" {
		if err := a.raw(ctx, http.MethodDelete, "/api/v1/posts/"+r.ID, true); err != nil {
			return err
		}
		_, err := a.Provider.Find(ctx, providers.Query{})
		return err
	}
	return a.Provider.Delete(ctx, r)
}

func (a *adapter) Check(ctx context.Context) (providers.Account, error) {
	if a.how == "writes in check" {
		_ = a.raw(ctx, http.MethodPost, "/api/v1/posts", true)
	}
	return a.Provider.Check(ctx)
}

func (a *adapter) Stage(ctx context.Context, m providers.Message, prev providers.Handle) (providers.Handle, bool, error) {
	if a.how == "publishes early" {
		_ = a.raw(ctx, http.MethodPost, "/api/v1/posts", true)
	}
	return a.Provider.Stage(ctx, m, prev)
}

func (a *adapter) Refresh(ctx context.Context, c providers.Credential) (providers.Credential, error) {
	c, err := a.Provider.Refresh(ctx, c)
	switch {
	case err != nil:
	case a.how == "loses a secret":
		delete(c.Secrets, "note")
	case a.how == "keeps Seq":
		c.Seq--
	}
	return c, err
}

// meddler breaks what an adapter does on the way.
type meddler struct {
	cfg providers.Config
	how string
}

func (m meddler) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		out.Body = io.NopCloser(strings.NewReader(string(b)))
	}
	switch m.how {
	case "ignores key", "repeats":
		out.Header.Del("Idempotency-Key")
	case "secret in address":
		out.URL.RawQuery = "token=" + m.cfg.Credential.Secrets["token"]
	}
	resp, err := m.cfg.Transport.RoundTrip(out)
	if err == nil && m.how == "no RetryAt" {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}
