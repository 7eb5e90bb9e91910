package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
)

// Handler returns a transport that calls h in place of a server, without a socket: time may stand still around it. To
// the client it looks like net/http: it reports how far a request got, gives up when the context does, and passes on a
// connection that h breaks off with http.ErrAbortHandler, before its answer or within.
func Handler(h http.Handler) http.RoundTripper { return local{h} }

type local struct{ h http.Handler }

// RoundTrip implements http.RoundTripper.
func (l local) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, notSent(req, err)
	}
	body, err := readBody(req)
	if err != nil {
		return nil, &NotSentError{Err: err}
	}
	MarkSent(req)

	ctx, cancel := context.WithCancel(context.Background())
	in := req.Clone(ctx)
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.ContentLength = int64(len(body))
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:1"
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = req.URL.Host
	}

	w := &answer{header: http.Header{}}
	done := make(chan any, 1)
	go func() {
		defer cancel()
		defer func() { done <- recover() }()
		l.h.ServeHTTP(w, in)
	}()
	select {
	case <-req.Context().Done():
		cancel() // as a server learns that the client has gone
		return nil, req.Context().Err()
	case p := <-done:
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			w.broken = true
		} else if p != nil {
			panic(p)
		}
	}
	return w.response(req)
}

// MarkSent reports to the client's trace that the whole request has left. A transport of a test's own calls it before it
// loses a request that counts as sent.
func MarkSent(req *http.Request) {
	t := httptrace.ContextClientTrace(req.Context())
	if t == nil {
		return
	}
	if t.GetConn != nil {
		t.GetConn(req.URL.Host)
	}
	if t.WroteHeaders != nil {
		t.WroteHeaders()
	}
	if t.WroteRequest != nil {
		t.WroteRequest(httptrace.WroteRequestInfo{})
	}
}

// answer is what the handler writes.
type answer struct {
	header, snapshot http.Header
	status           int
	body             bytes.Buffer
	broken           bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
		a.snapshot = a.header.Clone()
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush sends the header, as net/http does.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

func (a *answer) response(req *http.Request) (*http.Response, error) {
	if a.broken && a.status == 0 {
		return nil, io.EOF
	}
	a.WriteHeader(http.StatusOK)
	data := a.body.Bytes()
	length := int64(len(data))
	if v := a.snapshot.Get("Content-Length"); v != "" {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			a.broken = a.broken || n > length
			length = n
		}
	}
	if req.Method == http.MethodHead {
		data, a.broken = nil, false
	}
	var body io.Reader = bytes.NewReader(data)
	if a.broken {
		body = io.MultiReader(body, failing{})
	}
	if a.snapshot.Get("Content-Type") == "" && len(data) > 0 {
		a.snapshot.Set("Content-Type", http.DetectContentType(data))
	}
	return &http.Response{
		Status:        strings.TrimSpace(strconv.Itoa(a.status) + " " + http.StatusText(a.status)),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.snapshot,
		Body:          io.NopCloser(body),
		ContentLength: length,
		Request:       req,
	}, nil
}

// failing is the end of an answer that breaks off.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
