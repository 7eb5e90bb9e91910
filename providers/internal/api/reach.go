package api

import (
	"context"
	"errors"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"

	"github.com/broadside-pub/broadside/providers"
)

// longURL is the length from which a request line alone may fill the transport's write buffer (4096 bytes), so that
// bytes may leave before the first header is reported as written.
const longURL = 2048

// tracer learns from net/http how far one request got.
type tracer struct {
	long bool
	// asked: the transport asked for a connection, so it is one that reports; sent: a byte of the request may have left.
	asked, sent atomic.Bool
}

func newTracer(urlLength int) *tracer { return &tracer{long: urlLength > longURL} }

func (t *tracer) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) {
			if t.long {
				t.sent.Store(true)
			}
		},
		WroteHeaderField:     func(string, []string) { t.sent.Store(true) },
		WroteHeaders:         func() { t.sent.Store(true) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.sent.Store(true) },
		Got100Continue:       func() { t.sent.Store(true) },
		Got1xxResponse:       func(int, textproto.MIMEHeader) error { t.sent.Store(true); return nil },
		GotFirstResponseByte: func() { t.sent.Store(true) },
	})
}

// of tells how far the request got that failed with err. A transport that reports nothing may have sent it, unless its
// error has a method NotSent that says otherwise.
func (t *tracer) of(err error) providers.Reach {
	if t.sent.Load() {
		return providers.MaybeSent
	}
	var says interface{ NotSent() bool }
	if t.asked.Load() || (errors.As(err, &says) && says.NotSent()) {
		return providers.NotSent
	}
	return providers.MaybeSent
}
