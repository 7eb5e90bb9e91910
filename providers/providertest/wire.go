package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/broadside-pub/broadside/providers/transport"
)

// wire is the way between adapter and fake. It keeps what passed, and does one thing to one request.
type wire struct {
	next  http.RoundTripper
	posts func() []Post
	check func(*http.Request, []byte) error

	mu      sync.Mutex
	seen    []exchange
	open    int // bodies handed out and not closed
	trouble []error
	armed   fault
	skip    int // requests to let pass before armed acts
}

// exchange is one request as it passed.
type exchange struct {
	Method, URL string
	Body        []byte
	Grew        bool // the fake held more posts afterwards: this is the write that publishes
}

// fault does something to one request; forward brings it to the fake.
type fault func(req *http.Request, forward func() (*http.Response, error)) (*http.Response, error)

// errLost is what a client sees of a broken connection.
var errLost = errors.New("read tcp 127.0.0.1:1->127.0.0.1:2: connection reset by peer")

// arm lets the n-th request from now (from 0) suffer f.
func (w *wire) arm(n int, f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skip, w.armed = n, f
}

// mark returns a place in the record, for since.
func (w *wire) mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// since returns what passed after a mark.
func (w *wire) since(mark int) []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]exchange(nil), w.seen[mark:]...)
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	if err := req.Context().Err(); err != nil {
		return nil, &transport.NotSentError{Err: err}
	}
	if w.check != nil {
		if err := w.check(req.Clone(context.WithoutCancel(req.Context())), body); err != nil {
			w.mu.Lock()
			w.trouble = append(w.trouble, err)
			w.mu.Unlock()
		}
	}
	w.mu.Lock()
	at := len(w.seen)
	w.seen = append(w.seen, exchange{Method: req.Method, URL: req.URL.String(), Body: body})
	act := w.armed
	if act != nil {
		if w.skip--; w.skip >= 0 {
			act = nil
		} else {
			w.armed = nil
		}
	}
	w.mu.Unlock()

	forward := func() (*http.Response, error) {
		before := len(w.posts())
		out := req.Clone(req.Context())
		out.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := w.next.RoundTrip(out)
		grew := len(w.posts()) > before
		w.mu.Lock()
		w.seen[at].Grew = grew
		w.mu.Unlock()
		return resp, err
	}
	if act == nil {
		act = pass
	}
	resp, err := act(req, forward)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.open++
	w.mu.Unlock()
	resp.Body = &watched{ReadCloser: resp.Body, w: w}
	return resp, nil
}

// watched is a body that tells when it is closed.
type watched struct {
	io.ReadCloser
	w    *wire
	once sync.Once
}

func (b *watched) Close() error {
	b.once.Do(func() {
		b.w.mu.Lock()
		defer b.w.mu.Unlock()
		b.w.open--
	})
	return b.ReadCloser.Close()
}

func pass(_ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
	return forward()
}

// noDial fails before a byte has left.
func noDial(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return nil, &transport.NotSentError{Err: errors.New("dial tcp: connection refused")}
}

// loseRequest breaks the connection after the request has left; the fake never sees it.
func loseRequest(req *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	transport.MarkSent(req)
	return nil, errLost
}

// loseAnswer lets the fake act and breaks the connection then.
func loseAnswer(_ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
	if resp, err := forward(); err == nil {
		_ = resp.Body.Close()
	}
	return nil, errLost
}

// hang lets the fake act and then says nothing more.
func hang(req *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
	if resp, err := forward(); err == nil {
		_ = resp.Body.Close()
	}
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// answer gives an answer of its own; the fake acts only if acts is set.
func answer(acts bool, status int, header map[string]string, body io.Reader) fault {
	return func(req *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
		if acts {
			if resp, err := forward(); err == nil {
				_ = resp.Body.Close()
			}
		} else {
			transport.MarkSent(req)
		}
		resp := &http.Response{
			Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1, Request: req,
		}
		for k, v := range header {
			resp.Header.Set(k, v)
		}
		return resp, nil
	}
}

// cut lets the fake act and breaks its answer off in the middle of the body.
func cut(_ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
	resp, err := forward()
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(all[:len(all)/2]), broken{}))
	return resp, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// endless is a body without an end; it counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat(" ", len(p)))
	e.read += int64(n)
	return n, nil
}
