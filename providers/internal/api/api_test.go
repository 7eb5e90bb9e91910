package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
	"github.com/broadside-pub/broadside/providers/transport"
)

const secret = "s3cret/+ token"

func client(server string, rt http.RoundTripper, o api.Options) *api.Client {
	if o.Name == "" {
		o.Name = "net"
	}
	return api.New(providers.Config{
		Server: server, Transport: rt, Now: time.Now,
		Credential: providers.Credential{Secrets: map[string]string{"token": secret}},
	}, o)
}

// handled is a client whose server is h, without a socket.
func handled(h http.HandlerFunc) *api.Client {
	return client("https://net.test/base", transport.Handler(h), api.Options{})
}

func asError(t *testing.T, err error) *providers.Error {
	t.Helper()
	var e *providers.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want a *providers.Error", err, err)
	}
	return e
}

func TestDoSendsWhatTheRequestSays(t *testing.T) {
	t.Parallel()
	type sent struct{ Method, URL, Type, Auth, Agent, Extra, Body string }
	for name, c := range map[string]struct {
		r    api.Request
		want sent
	}{
		"get": {
			api.Request{Path: "/x/" + api.PathEscape("a/b ?"), Query: url.Values{"q": {"1&2"}}, Bearer: secret},
			sent{Method: "GET", URL: "/base/x/a%2Fb%20%3F?q=1%262", Auth: "Bearer " + secret, Agent: "broadside"},
		},
		"JSON without escapes for HTML": {
			api.Request{Method: "POST", Path: "/x", JSON: map[string]string{"a": "<b>&"}, Header: http.Header{"x-extra": {"1"}}},
			sent{Method: "POST", URL: "/base/x", Type: "application/json", Agent: "broadside", Extra: "1", Body: `{"a":"<b>&"}`},
		},
		"raw JSON byte for byte": {
			api.Request{Method: "PUT", Path: "/x", JSON: json.RawMessage(`{ "b":1 }`)},
			sent{Method: "PUT", URL: "/base/x", Type: "application/json", Agent: "broadside", Body: `{ "b":1 }`},
		},
		"form": {
			api.Request{Method: "POST", Path: "/x", Form: url.Values{"b": {"2 3"}, "a": {"1"}}},
			sent{Method: "POST", URL: "/base/x", Type: "application/x-www-form-urlencoded", Agent: "broadside", Body: "a=1&b=2+3"},
		},
		"bytes": {
			api.Request{Method: "POST", Path: "/x", Body: []byte("raw"), ContentType: "image/png"},
			sent{Method: "POST", URL: "/base/x", Type: "image/png", Agent: "broadside", Body: "raw"},
		},
		"address of its own": {
			api.Request{URL: "https://other.test/y?a=b#frag", Query: url.Values{"c": {"d"}}, Header: http.Header{"User-Agent": {"me"}}},
			sent{Method: "GET", URL: "https://other.test/y?a=b&c=d", Agent: "me"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got sent
			cl := handled(func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = sent{
					Method: r.Method, URL: r.URL.RequestURI(), Type: r.Header.Get("Content-Type"), Auth: r.Header.Get("Authorization"),
					Agent: r.Header.Get("User-Agent"), Extra: r.Header.Get("X-Extra"), Body: string(b),
				}
				if r.URL.Host != "net.test" {
					got.URL = r.URL.String()
				}
			})
			if _, err := cl.Do(t.Context(), c.r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMultipartIsEqualForEqualRequests(t *testing.T) {
	t.Parallel()
	var bodies [][]byte
	var form *multipart.Form
	cl := handled(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, b)
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			t.Error(err)
			return
		}
		if form, err = multipart.NewReader(bytes.NewReader(b), params["boundary"]).ReadForm(1 << 20); err != nil {
			t.Error(err)
		}
	})
	r := api.Request{
		Method: "POST", Path: "/x", Form: url.Values{"b": {"2"}, "a": {"1"}},
		Files: []api.File{{Field: "file", Name: "a\"b\r\n.png", ContentType: "image/png", Data: []byte("data")}},
	}
	for range 2 {
		if _, err := cl.Do(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Error("the bodies differ")
	}
	if form.Value["a"][0] != "1" || form.File["file"][0].Filename != `a%22b%0D%0A.png` {
		t.Errorf("the form is %+v", form)
	}
}

func TestDoRefusesWithoutSending(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server string
		r      api.Request
	}{
		"no server":              {"", api.Request{Path: "/x"}},
		"server without scheme":  {"net.test", api.Request{Path: "/x"}},
		"server with password":   {"https://a:b@net.test", api.Request{Path: "/x"}},
		"server with query":      {"https://net.test?x", api.Request{Path: "/x"}},
		"other scheme":           {"https://net.test", api.Request{URL: "ftp://net.test/x"}},
		"plain http elsewhere":   {"https://net.test", api.Request{URL: "http://net.test/x"}},
		"plain http, other port": {"http://net.test:1", api.Request{URL: "http://net.test:2/x"}},
		"password in the URL":    {"https://net.test", api.Request{URL: "https://u:p@net.test/x"}},
		"path without slash":     {"https://net.test", api.Request{Path: "@evil.test/x"}},
		"two bodies":             {"https://net.test", api.Request{Path: "/x", JSON: 1, Body: []byte("x")}},
		"not JSON":               {"https://net.test", api.Request{Path: "/x", JSON: func() {}}},
		"bad method":             {"https://net.test", api.Request{Path: "/x", Method: "G T"}},
		"key without body": {"https://net.test", api.Request{
			Path: "/x", Method: "POST", Header: http.Header{"Idempotency-Key": {"k"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := client(c.server, transport.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("it was sent")
			})), api.Options{})
			_, err := cl.Do(t.Context(), c.r)
			if e := asError(t, err); e.Kind != providers.Invalid || !e.SurelyUnpublished() || e.Reach != providers.NotSent {
				t.Errorf("got %v", e)
			}
		})
	}
}

func TestStatusHasItsKind(t *testing.T) {
	t.Parallel()
	for status, want := range map[int][2]providers.Kind{ // read, write
		400: {providers.Invalid, providers.Invalid},
		401: {providers.Unauthorized, providers.Unauthorized},
		403: {providers.Forbidden, providers.Forbidden},
		404: {providers.NotFound, providers.NotFound},
		408: {providers.Unavailable, providers.Ambiguous},
		409: {providers.Invalid, providers.Invalid},
		410: {providers.NotFound, providers.NotFound},
		413: {providers.Invalid, providers.Invalid},
		418: {providers.Invalid, providers.Invalid},
		422: {providers.Invalid, providers.Invalid},
		429: {providers.Throttled, providers.Throttled},
		500: {providers.Unavailable, providers.Ambiguous},
		503: {providers.Unavailable, providers.Ambiguous},
		599: {providers.Unavailable, providers.Ambiguous},
		304: {providers.Unknown, providers.Unknown},
	} {
		for i, write := range []bool{false, true} {
			cl := handled(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			resp, err := cl.Do(t.Context(), api.Request{Op: "call", Method: "POST", Path: "/", Write: write})
			e := asError(t, err)
			if e.Kind != want[i] || e.Status != status || e.Reach != providers.Answered || e.Op != "net: call" {
				t.Errorf("HTTP %d, write %v: got %+v, want kind %s", status, write, e, want[i])
			}
			if resp == nil || resp.Status != status {
				t.Errorf("HTTP %d: the answer is not returned: %+v", status, resp)
			}
		}
	}
}

func TestClassifyIsCompletedAndCleaned(t *testing.T) {
	t.Parallel()
	cl := client("https://net.test", transport.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusForbidden)
	})), api.Options{Classify: func(r *api.Response) *providers.Error {
		if r.Kind != providers.Forbidden {
			t.Errorf("the answer's kind is %s", r.Kind)
		}
		return &providers.Error{
			Kind: providers.Throttled, Code: "Slow\nDown", Message: "no\x1b[31m " + secret + strings.Repeat(" x", 500), ID: "a b",
		}
	}})
	_, err := cl.Do(t.Context(), api.Request{Op: "call", Path: "/"})
	e := asError(t, err)
	if e.Op != "net: call" || e.Status != 403 || e.Reach != providers.Answered || e.Kind != providers.Throttled {
		t.Errorf("got %+v", e)
	}
	if d := time.Until(e.RetryAt); d < 58*time.Second || d > 61*time.Second {
		t.Errorf("RetryAt is in %v", d)
	}
	if e.Code != "Slow Down" || !strings.HasPrefix(e.Message, "no[31m [redacted] x") || len(e.Message) > 300 || e.ID != "" {
		t.Errorf("not cleaned: %+v", e)
	}
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 8<<20))
	_ = z.Close()
	for name, h := range map[string]http.HandlerFunc{
		"HTML":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"empty":     func(http.ResponseWriter, *http.Request) {},
		"two":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{} {}`)) },
		"wrongtype": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ID":{"a":"` + secret + `"}}`)) },
		"too large": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 5<<20)) },
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"ID":`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(h)
			t.Cleanup(s.Close)
			rt := &http.Transport{}
			t.Cleanup(rt.CloseIdleConnections)
			for _, c := range []struct {
				write bool
				kind  providers.Kind
			}{{true, providers.Ambiguous}, {false, providers.Unknown}} {
				var out struct{ ID string }
				_, err := client(s.URL, rt, api.Options{}).JSON(t.Context(), api.Request{Method: "POST", Path: "/", Write: c.write}, &out)
				e := asError(t, err)
				if e.Kind != c.kind || e.Reach != providers.Answered || e.SurelyUnpublished() {
					t.Errorf("write %v: got %v, want kind %s", c.write, e, c.kind)
				}
				if strings.Contains(e.Error(), secret) {
					t.Errorf("the error holds what the answer said: %v", e)
				}
			}
		})
	}
}

func TestRedirectsAreFollowedByReadsOnTheirOwnHostOnly(t *testing.T) {
	t.Parallel()
	var asked []string
	h := func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there?x=1#frag", http.StatusFound)
		case "/away":
			w.Header().Set("Location", "https://evil.test/x")
			w.WriteHeader(http.StatusFound)
		case "/down":
			w.Header().Set("Location", "http://net.test/there")
			w.WriteHeader(http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		}
	}
	for _, c := range []struct {
		name string
		r    api.Request
		ok   bool
		want []string
	}{
		{"read on its host", api.Request{Path: "/here", Bearer: "tok"}, true, []string{"GET net.test/here Bearer tok", "GET net.test/there Bearer tok"}},
		{"read elsewhere", api.Request{Path: "/away", Bearer: "tok"}, false, []string{"GET net.test/away Bearer tok"}},
		{"read without TLS", api.Request{Path: "/down"}, false, []string{"GET net.test/down "}},
		{"write", api.Request{Path: "/here", Write: true}, false, []string{"GET net.test/here "}},
		{"post", api.Request{Path: "/here", Method: "POST"}, false, []string{"POST net.test/here "}},
	} {
		asked = nil
		_, err := client("https://net.test", transport.Handler(http.HandlerFunc(h)), api.Options{}).Do(t.Context(), c.r)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, asked); diff != "" {
			t.Errorf("%s asked (-want +got):\n%s", c.name, diff)
		}
	}
	asked = nil
	if _, err := client("https://net.test", transport.Handler(http.HandlerFunc(h)), api.Options{}).Do(t.Context(), api.Request{Path: "/loop"}); err == nil || len(asked) > 6 {
		t.Errorf("a loop: %v after %d requests", err, len(asked))
	}
}

func TestTimeoutIsBoundedAndNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cl := client("https://net.test", transport.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		})), api.Options{Timeout: 20 * time.Second})
		for _, c := range []struct {
			r    api.Request
			kind providers.Kind
			took time.Duration
		}{
			{api.Request{Method: "POST", Path: "/", Write: true}, providers.Ambiguous, 20 * time.Second},
			{api.Request{Path: "/"}, providers.Unavailable, 20 * time.Second},
			{api.Request{Path: "/", Timeout: time.Minute}, providers.Unavailable, time.Minute},
		} {
			began := time.Now()
			_, err := cl.Do(t.Context(), c.r)
			e := asError(t, err)
			if e.Kind != c.kind || e.Reach != providers.MaybeSent || e.SurelyUnpublished() || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", e)
			}
			if time.Since(began) != c.took {
				t.Errorf("it took %v, want %v", time.Since(began), c.took)
			}
		}
	})
}

func TestErrorsHoldNoSecretInAnyForm(t *testing.T) {
	t.Parallel()
	const bearer = "bearer-token-of-this-request"
	forms := func(s string) []string {
		return []string{
			s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
			base64.RawURLEncoding.EncodeToString([]byte(s)), fmt.Sprintf("%x", s), fmt.Sprintf("%X", s),
		}
	}
	inside := []string{"a:", "ab:", "user:"} // as in Basic authentication, at each offset
	for _, s := range []string{secret, bearer} {
		said := forms(s)
		for _, p := range inside {
			said = append(said, base64.StdEncoding.EncodeToString([]byte(p+s+"!!")))
		}
		for _, form := range said {
			fail := failing{err: &url.Error{Op: "Get", URL: "https://net.test/?t=" + form, Err: errors.New("refused: " + form)}}
			_, err := client("https://net.test", fail, api.Options{}).Do(t.Context(), api.Request{Path: "/", Bearer: bearer})
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), form) {
					t.Errorf("%q is in %q", form, e)
				}
			}
		}
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
