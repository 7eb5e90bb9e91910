package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Op names one call of the API, for rules and the log.
type Op string

// The calls.
const (
	Publish   Op = "publish"
	List      Op = "list"
	Get       Op = "get"
	Edit      Op = "edit"
	Delete    Op = "delete"
	Upload    Op = "upload"
	Container Op = "container"
	Process   Op = "process"
	Account   Op = "account"
	Resolve   Op = "resolve"
	Instance  Op = "instance"
	Refresh   Op = "refresh"
)

// maxBody bounds the bytes of a request.
const maxBody = 32 << 20

// call is one request to the API.
type call struct {
	op   Op
	r    *http.Request
	body []byte
	who  *account // nil for calls that need none
	post string   // header Sandbox-Post
	part int      // header Sandbox-Part, from 1; 0 where it says nothing
	made *post    // what the call brought into being
	same bool     // the idempotency key was known
}

// reply is an answer before it is written.
type reply struct {
	status int
	header map[string]string
	body   any
}

func ok(body any) *reply { return &reply{status: http.StatusOK, body: body} }

// apiError is the body of every refusal.
type apiError struct {
	Code       string  `json:"code"`
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retry_after,omitempty"`
}

func refuse(status int, code, message string) *reply {
	return &reply{status: status, body: map[string]apiError{"error": {Code: code, Message: message}}}
}

// api wraps one call: who asks, which fault it suffers, what is logged.
func (s *Server) api(op Op, run func(*call) *reply) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{op: op, r: r, post: r.Header.Get("Sandbox-Post")}
		c.part, _ = strconv.Atoi(r.Header.Get("Sandbox-Part"))
		entry := Request{At: s.o.Now(), Op: op, Method: r.Method, Path: r.URL.Path, Post: c.post, Part: c.part}
		var answered *reply
		defer func() { // also when a fault breaks the connection off
			if c.who != nil {
				entry.Account = c.who.handle
			}
			if c.made != nil {
				entry.Made = c.made.ID
			}
			if answered != nil {
				entry.Status = answered.status
			}
			entry.Repeat = c.same
			s.record(entry)
		}()

		var err error
		if c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
			answered = bodyTrouble(err)
			answered.write(w)
			return
		}
		s.identify(c)
		hit := s.match(c)
		if hit == nil {
			answered = s.serve(c, run)
			answered.write(w)
			return
		}
		entry.Fault = hit.Fault
		s.suffer(w, c, hit, func() *reply { return s.serve(c, run) }, func(a *reply) { answered = a })
	})
}

func bodyTrouble(err error) *reply {
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the request is too large")
	}
	return refuse(http.StatusBadRequest, "bad_request", "the request broke off")
}

// serve runs the call for an account whose token is good.
func (s *Server) serve(c *call, run func(*call) *reply) *reply {
	public := c.op == Instance || c.op == Refresh || c.op == ""
	if c.who == nil && !public {
		return refuse(http.StatusUnauthorized, "invalid_token", "the access token is unknown, expired or revoked")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return run(c).settle()
}

// settle fixes the body as it is now: it may show what another request is about to change.
func (a *reply) settle() *reply {
	if a.body == nil {
		return a
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(a.body); err != nil {
		return refuse(http.StatusInternalServerError, "internal", "the answer cannot be encoded")
	}
	a.body = json.RawMessage(b.Bytes())
	return a
}

// bytes is the body of a settled answer, or of a refusal.
func (a *reply) bytes() []byte {
	if a.body == nil {
		return nil
	}
	if raw, ok := a.body.(json.RawMessage); ok {
		return raw
	}
	return a.settle().bytes()
}

// write sends the answer.
func (a *reply) write(w http.ResponseWriter) {
	h := w.Header()
	for k, v := range a.header {
		h.Set(k, v)
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.bytes()) // where the client has gone there is nobody to tell
}

// decode reads a JSON body strictly.
func (c *call) decode(into any) *reply {
	ct, _, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(ct) != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "bad_request", "the body must be application/json")
	}
	d := json.NewDecoder(strings.NewReader(string(c.body)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "bad_request", "the body cannot be read: "+err.Error())
	}
	if d.More() {
		return refuse(http.StatusBadRequest, "bad_request", "the body holds more than one value")
	}
	return nil
}

// base is the address that links begin with.
func (s *Server) base(r *http.Request) string {
	if s.o.BaseURL != "" {
		return strings.TrimSuffix(s.o.BaseURL, "/")
	}
	scheme := "http"
	if r.TLS != nil || r.URL.Scheme == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// stamp is a time as the API writes it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
