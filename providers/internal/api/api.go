// Package api is the HTTP client that every provider uses. It knows how far a request got, bounds what it reads, keeps
// secrets out of errors, and never sends anything twice.
//
// It knows no network: what an answer means beyond its status is said by the provider's Classify.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// The defaults of Options.
const (
	DefaultTimeout = 30 * time.Second
	DefaultMaxBody = 4 << 20
)

// maxRedirects bounds how often a read follows its own host.
const maxRedirects = 5

// Options say how one provider uses the client.
type Options struct {
	Name    string        // the provider's name, the first word of each error
	Timeout time.Duration // per request; 0 means DefaultTimeout
	MaxBody int64         // most bytes of an answer, after decompression; 0 means DefaultMaxBody
	// Classify says what an answer other than 2xx means; nil, or nil returned, falls back on the status. Op, Status and
	// Reach of what it returns are filled in, RetryAt too where it is zero, and its texts are sanitized.
	Classify func(*Response) *providers.Error
	// Secrets are redacted from every error, beside those of the credential and each request's own.
	Secrets []string
}

// Client sends requests to one server.
type Client struct {
	base    *url.URL
	baseErr error
	rt      http.RoundTripper
	now     func() time.Time
	o       Options
	secrets []string
}

// New returns a client whose base URL is cfg.Server. It reaches no network; a base URL that is none fails each request.
func New(cfg providers.Config, o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	c := &Client{rt: cfg.Transport, now: cfg.Now, o: o}
	c.base, c.baseErr = parseBase(cfg.Server)
	c.secrets = append(c.secrets, o.Secrets...)
	for _, s := range cfg.Credential.Secrets {
		c.secrets = append(c.secrets, s)
	}
	return c
}

// Request is one call.
type Request struct {
	Op     string // the call's name in errors: "putRecord"
	Method string // GET unless it says otherwise
	// Path is joined to the base URL. It is escaped already: see PathEscape.
	Path string
	// URL takes the place of base and Path: absolute, and https or of the base's own scheme and host.
	URL    string
	Query  url.Values
	Header http.Header
	Bearer string // sent as "Authorization: Bearer"

	// At most one of JSON, Body, and Form with Files is the body.
	JSON        any
	Form        url.Values // urlencoded, or the fields of multipart where there are Files
	Files       []File
	Body        []byte
	ContentType string // of Body

	// Write marks a call that may make something public or change it: what it did is Ambiguous, never Unavailable, where
	// no answer tells. Uploads of what is not public are no writes in this sense.
	Write   bool
	Timeout time.Duration // in place of Options.Timeout
}

// File is one file of a multipart body.
type File struct {
	Field       string
	Name        string
	ContentType string
	Data        []byte
}

// Response is an answer that was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	At     time.Time // by our clock, when the answer had been read
	// Kind is what the status means by itself, for this request; Classify may start from it. Unknown for a 2xx.
	Kind providers.Kind
}

// Do sends r once and reads the answer. The error is a *providers.Error, also for each status other than 2xx; beside
// such a status the answer is returned too.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = c.o.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	u, err := c.target(r)
	if err != nil {
		return nil, c.refused(r, err)
	}
	for hop := 0; ; hop++ {
		resp, next, err := c.once(ctx, r, u)
		if err != nil || next == nil {
			return resp, err
		}
		if hop == maxRedirects {
			return resp, c.status(r, resp, fmt.Sprintf("more than %d redirects", maxRedirects))
		}
		u = next
	}
}

// JSON is Do, and decodes the answer into out unless that is nil. What cannot be decoded is Ambiguous after a Write,
// Unknown otherwise.
func (c *Client) JSON(ctx context.Context, r Request, out any) (*Response, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return resp, err
	}
	if out == nil {
		return resp, nil
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return resp, c.Unusable(r, resp, "the answer is not the expected JSON: "+jsonTrouble(err))
	}
	return resp, nil
}

// jsonTrouble describes err without the answer's own text.
func jsonTrouble(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s where %s belongs, at %q", t.Value, t.Type, t.Field)
	}
	return err.Error()
}

// once makes one exchange. next is the URL of a redirect that may be followed.
func (c *Client) once(ctx context.Context, r Request, u *url.URL) (resp *Response, next *url.URL, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, c.transport(r, providers.NotSent, err)
	}
	reach := newTracer(len(u.String()))
	req, err := r.build(reach.context(ctx), u)
	if err != nil {
		return nil, nil, c.refused(r, err)
	}
	answer, err := c.rt.RoundTrip(req)
	if err != nil {
		return nil, nil, c.transport(r, reach.of(err), err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, c.o.MaxBody+1))
	resp = &Response{Status: answer.StatusCode, Header: answer.Header, Body: body, At: c.now()}
	if resp.Status < 200 || resp.Status > 299 {
		resp.Kind = KindOf(resp.Status, r.Write)
	}
	tooLarge := int64(len(body)) > c.o.MaxBody
	if tooLarge {
		resp.Body = body[:c.o.MaxBody]
	}

	switch {
	case resp.Status >= 300 && resp.Status < 400:
		if next := c.follow(r, u, answer.Header.Get("Location"), resp.Status); next != nil {
			return resp, next, nil
		}
		return resp, nil, c.status(r, resp, "a redirect that is not followed")
	case resp.Status < 200 || resp.Status > 299:
		return resp, nil, c.status(r, resp, "")
	case err != nil:
		return resp, nil, c.unusable(r, resp, "the answer broke off", err)
	case tooLarge:
		return resp, nil, c.unusable(r, resp, fmt.Sprintf("the answer is larger than %d bytes", c.o.MaxBody), nil)
	}
	return resp, nil, nil
}

// follow returns where a redirect leads, or nil where it is not followed: writes never are, nor is any other host.
func (c *Client) follow(r Request, from *url.URL, location string, status int) *url.URL {
	if r.Write || (r.Method != http.MethodGet && r.Method != http.MethodHead) || location == "" {
		return nil
	}
	if status == http.StatusNotModified || status == http.StatusMultipleChoices {
		return nil
	}
	to, err := from.Parse(location)
	if err != nil || to.Scheme != from.Scheme || to.Host != from.Host || to.User != nil {
		return nil
	}
	to.Fragment = ""
	return to
}
