package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/broadside-pub/broadside/providers"
)

// KindOf is what a status other than 2xx means by default, for a write or for a read.
func KindOf(status int, write bool) providers.Kind {
	switch {
	case status == http.StatusUnauthorized:
		return providers.Unauthorized
	case status == http.StatusForbidden:
		return providers.Forbidden
	case status == http.StatusNotFound, status == http.StatusGone:
		return providers.NotFound
	case status == http.StatusTooManyRequests:
		return providers.Throttled
	case status == http.StatusRequestTimeout, status >= 500:
		if write {
			return providers.Ambiguous
		}
		return providers.Unavailable
	case status >= 400:
		return providers.Invalid
	}
	// A 3xx or 1xx to a write: what stands behind the redirect may have acted, or may not.
	return providers.Unknown
}

// status makes the error of an answer other than 2xx.
func (c *Client) status(r Request, resp *Response, why string) *providers.Error {
	var e *providers.Error
	if c.o.Classify != nil {
		e = c.o.Classify(resp)
	}
	if e == nil {
		e = &providers.Error{Kind: resp.Kind, Message: why}
	}
	e.Op = c.op(r.Op)
	e.Status = resp.Status
	e.Reach = providers.Answered
	if e.RetryAt.IsZero() && (e.Kind == providers.Throttled || e.Kind == providers.Unavailable) {
		e.RetryAt = RetryAt(resp.Header, resp.At)
	}
	return c.clean(r, e)
}

// Fail makes the error of an answer that the provider itself has judged: a refusal inside a 200, say.
func (c *Client) Fail(r Request, resp *Response, kind providers.Kind, code, message string) *providers.Error {
	e := &providers.Error{Kind: kind, Op: c.op(r.Op), Reach: providers.Answered, Code: code, Message: message}
	if resp != nil {
		e.Status = resp.Status
		if kind == providers.Throttled || kind == providers.Unavailable {
			e.RetryAt = RetryAt(resp.Header, resp.At)
		}
	}
	return c.clean(r, e)
}

// Unusable makes the error of a 2xx answer that does not hold what it must: Ambiguous after a Write, else Unknown.
func (c *Client) Unusable(r Request, resp *Response, why string) *providers.Error {
	return c.unusable(r, resp, why, nil)
}

func (c *Client) unusable(r Request, resp *Response, why string, cause error) *providers.Error {
	kind := providers.Unknown
	if r.Write {
		kind = providers.Ambiguous
	}
	e := c.Fail(r, resp, kind, "", why)
	if cause != nil {
		e.Err = c.cause(r, cause)
	}
	return e
}

// refused is the error of a request that was never begun.
func (c *Client) refused(r Request, err error) *providers.Error {
	return c.clean(r, &providers.Error{
		Kind: providers.Invalid, Reach: providers.NotSent, Op: c.op(r.Op), Message: err.Error(),
	})
}

// transport is the error of a request that got no answer.
func (c *Client) transport(r Request, reach providers.Reach, err error) *providers.Error {
	kind := providers.Unavailable
	if r.Write && reach != providers.NotSent {
		kind = providers.Ambiguous
	}
	return &providers.Error{Kind: kind, Reach: reach, Op: c.op(r.Op), Err: c.cause(r, err)}
}

func (c *Client) op(call string) string {
	if call == "" {
		return c.o.Name
	}
	return c.o.Name + ": " + call
}

// clean sanitizes every text of e.
func (c *Client) clean(r Request, e *providers.Error) *providers.Error {
	e.Code = Sanitize(c.redact(e.Code, r), maxCode)
	e.Message = Sanitize(c.redact(e.Message, r), maxMessage)
	if e.ID != "" && !ValidID(e.ID) {
		e.ID = ""
	}
	if e.Err != nil {
		e.Err = c.cause(r, e.Err)
	}
	return e
}

// trouble is a cause whose text is sanitized. It can be asked what it is, but the original, whose text may hold an
// address with a secret, cannot be taken out of it.
type trouble struct {
	text string
	is   func(error) bool
	time bool
}

func (t *trouble) Error() string        { return t.text }
func (t *trouble) Is(target error) bool { return t.is(target) }
func (t *trouble) Timeout() bool        { return t.time }

func (c *Client) cause(r Request, err error) error {
	if have, ok := errors.AsType[*trouble](err); ok {
		return have
	}
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Err.Error()
	}
	var n net.Error
	t := &trouble{
		text: Sanitize(c.redact(text, r), maxMessage),
		is:   func(target error) bool { return errors.Is(err, target) },
		time: errors.As(err, &n) && n.Timeout(),
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.text = "no answer in time"
		t.time = true
	case errors.Is(err, context.Canceled):
		t.text = "canceled"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		t.text = "the connection was closed before the answer was complete"
	}
	return t
}
