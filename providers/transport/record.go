package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/broadside-pub/broadside/providers/internal/api"
)

// ErrDryRun is the cause when a request was recorded instead of sent.
var ErrDryRun = errors.New("dry run: the request was not sent")

// maxRecorded bounds the bytes kept of one body.
const maxRecorded = 64 << 10

// Recorded is one request with its secrets redacted.
type Recorded struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header"`
	Body   string      `json:"body,omitempty"` // at most 64 KiB; binary bodies by their size
	Bytes  int         `json:"bytes"`          // of the whole body
	Sent   bool        `json:"sent"`
	Status int         `json:"status,omitempty"` // 0 where there was no answer
}

// Recorder is a transport that records what passes through it. It is safe for concurrent use.
type Recorder struct {
	next    http.RoundTripper
	dry     bool
	secrets []string

	mu   sync.Mutex
	seen []Recorded
}

// Record returns a transport that sends everything through next and records it with the secrets redacted.
func Record(next http.RoundTripper, secrets ...string) *Recorder {
	return &Recorder{next: next, secrets: secrets}
}

// DryRun returns a transport that records and sends nothing, but for reads (GET and HEAD) where next is not nil. What is
// not sent fails with ErrDryRun, surely not sent.
func DryRun(next http.RoundTripper, secrets ...string) *Recorder {
	return &Recorder{next: next, dry: true, secrets: secrets}
}

// Requests returns what was recorded so far, in order.
func (r *Recorder) Requests() []Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, &NotSentError{Err: err}
	}
	rec := r.redact(req, body)
	read := req.Method == http.MethodGet || req.Method == http.MethodHead
	if r.dry && (!read || r.next == nil) {
		r.add(rec)
		return nil, &NotSentError{Err: ErrDryRun}
	}
	out := req.Clone(req.Context())
	out.Body = nil
	if len(body) > 0 {
		out.Body = io.NopCloser(struct{ io.Reader }{bytes.NewReader(body)}) // not to be rewound, as in the client
		out.ContentLength = int64(len(body))
	}
	out.GetBody = nil
	rec.Sent = true
	at := r.add(rec)
	resp, err := r.next.RoundTrip(out)
	if err == nil {
		r.mu.Lock()
		r.seen[at].Status = resp.StatusCode
		r.mu.Unlock()
	}
	return resp, err
}

func (r *Recorder) add(rec Recorded) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, rec)
	return len(r.seen) - 1
}

func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }()
	return io.ReadAll(req.Body)
}

// secretHeaders are those whose values never appear.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "Api-Key", "Dpop"}

func (r *Recorder) redact(req *http.Request, body []byte) Recorded {
	clean := func(s string) string { return api.Redact(s, r.secrets...) }
	rec := Recorded{Method: req.Method, Header: http.Header{}, Bytes: len(body)}
	u := *req.URL
	u.User = nil
	u.RawQuery = redactQuery(u.RawQuery)
	rec.URL = clean(u.String())
	for k, vs := range req.Header {
		for _, v := range vs {
			if slices.Contains(secretHeaders, k) {
				v = hidden
			}
			rec.Header[k] = append(rec.Header[k], clean(v))
		}
	}
	shown := body
	if len(shown) > maxRecorded {
		shown = shown[:maxRecorded]
	}
	switch ct := req.Header.Get("Content-Type"); {
	case strings.HasPrefix(ct, "application/json") && len(shown) == len(body):
		rec.Body = clean(redactJSON(body))
	case strings.HasPrefix(ct, "application/x-www-form-urlencoded") && len(shown) == len(body):
		rec.Body = clean(redactQuery(string(body)))
	case strings.HasPrefix(ct, "text/"):
		rec.Body = clean(strings.ToValidUTF8(string(shown), "\uFFFD"))
	}
	return rec
}

const hidden = "[redacted]"

// secretField tells whether a field of this name holds a secret, in any network's spelling.
func secretField(name string) bool {
	n := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	for _, s := range [...]string{"password", "passwd", "token", "secret", "apikey", "jwt", "assertion", "codeverifier"} {
		if strings.HasSuffix(n, s) {
			return true
		}
	}
	return n == "code"
}

func redactQuery(q string) string {
	if q == "" {
		return ""
	}
	vs, err := url.ParseQuery(q)
	if err != nil {
		return hidden
	}
	for k := range vs {
		if secretField(k) {
			vs[k] = []string{hidden}
		}
	}
	return vs.Encode()
}

func redactJSON(b []byte) string {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return hidden
	}
	changed := false
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				if _, text := e.(string); text && secretField(k) {
					v[k] = hidden
					changed = true
				} else {
					walk(e)
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	if !changed {
		return string(b)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return hidden
	}
	return string(out)
}
