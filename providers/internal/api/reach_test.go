package api_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// listen serves each connection with serve.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func readRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func TestReachIsWhatHappened(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	reads := listen(t, func(c net.Conn) { _ = readRequest(bufio.NewReader(c)) })
	garbage := listen(t, func(c net.Conn) {
		_ = readRequest(bufio.NewReader(c))
		_, _ = c.Write([]byte("HELLO\r\n\r\n"))
	})
	half := listen(t, func(c net.Conn) {
		_ = readRequest(bufio.NewReader(c))
		_, _ = c.Write([]byte("HTTP/1.1 201 Crea"))
	})
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // its clients hang up, as they must
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	_ = l.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	for _, c := range []struct {
		name, server string
		ctx          context.Context
		path         string
		want         providers.Reach
	}{
		{"nobody listens", nobody, t.Context(), "/", providers.NotSent},
		{"no such host", "http://nobody.invalid", t.Context(), "/", providers.NotSent},
		{"certificate not trusted", untrusted.URL, t.Context(), "/", providers.NotSent},
		{"TLS with a plain server", strings.Replace(garbage, "http", "https", 1), t.Context(), "/", providers.NotSent},
		{"canceled before", silent, canceled, "/", providers.NotSent},
		{"silent", silent, t.Context(), "/", providers.MaybeSent},
		{"read and closed", reads, t.Context(), "/", providers.MaybeSent},
		{"long address, read and closed", reads, t.Context(), "/" + strings.Repeat("x", 8000), providers.MaybeSent},
		{"no HTTP", garbage, t.Context(), "/", providers.MaybeSent},
		{"half an answer", half, t.Context(), "/", providers.MaybeSent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rt := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
			t.Cleanup(rt.CloseIdleConnections)
			for _, write := range []bool{true, false} {
				cl := client(c.server, rt, api.Options{Timeout: 300 * time.Millisecond})
				_, err := cl.Do(c.ctx, api.Request{Method: "POST", Path: c.path, JSON: map[string]int{"a": 1}, Write: write})
				e := asError(t, err)
				want := providers.Unavailable
				if write && c.want == providers.MaybeSent {
					want = providers.Ambiguous
				}
				if e.Reach != c.want || e.Kind != want || e.SurelyUnpublished() != (c.want == providers.NotSent) {
					t.Errorf("write %v: got reach %s, kind %s: %v; want %s, %s", write, e.Reach, e.Kind, e, c.want, want)
				}
			}
		})
	}
}

// TestUnknownTransportMaySend: a transport that tells the trace nothing cannot be said not to have sent.
func TestUnknownTransportMaySend(t *testing.T) {
	t.Parallel()
	_, err := client("https://net.test", failing{errors.New("x")}, api.Options{}).Do(t.Context(), api.Request{Method: "POST", Path: "/", Write: true})
	if e := asError(t, err); e.Reach != providers.MaybeSent || e.Kind != providers.Ambiguous {
		t.Errorf("got %v", e)
	}
}

// dying answers one request on a connection and closes it when the next has arrived on it: the moment in which net/http
// sends by itself what it takes for repeatable. It counts the requests that arrived.
func dying(t *testing.T) (server string, arrived *atomic.Int32) {
	t.Helper()
	arrived = new(atomic.Int32)
	server = listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; readRequest(r) == nil; n++ {
			arrived.Add(1)
			if n == 1 {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
		}
	})
	return server, arrived
}

func TestWriteIsNotRepeatedOnADeadConnection(t *testing.T) {
	t.Parallel()
	key := http.Header{"Idempotency-Key": {"k"}}
	for _, r := range []api.Request{
		{Method: "POST", JSON: map[string]int{"a": 1}, Header: key},
		{Method: "POST", Form: map[string][]string{"a": {"1"}}, Header: key},
		{Method: "PUT", Body: []byte("x"), Header: key},
		{Method: "POST", JSON: map[string]int{"a": 1}},
		{Method: "DELETE"},
		{Method: "DELETE", JSON: map[string]int{"a": 1}, Header: key},
		{Method: "POST", Files: []api.File{{Field: "f", Name: "f", Data: []byte("x")}}, Header: key},
	} {
		server, arrived := dying(t)
		rt := &http.Transport{}
		t.Cleanup(rt.CloseIdleConnections)
		cl := client(server, rt, api.Options{})
		if _, err := cl.Do(t.Context(), api.Request{Path: "/"}); err != nil {
			t.Fatal(err)
		}
		r.Path, r.Write = "/", true
		_, err := cl.Do(t.Context(), r)
		if e := asError(t, err); e.Reach != providers.MaybeSent || e.Kind != providers.Ambiguous {
			t.Errorf("%s: got %v", r.Method, e)
		}
		if n := arrived.Load(); n != 2 {
			t.Errorf("%s: %d requests arrived, want 2", r.Method, n)
		}
	}
}

// TestDeadConnectionIsTheTrap shows that the server above makes net/http repeat a request that can be rewound, so that
// the test before can fail.
func TestDeadConnectionIsTheTrap(t *testing.T) {
	t.Parallel()
	server, arrived := dying(t)
	rt := &http.Transport{}
	t.Cleanup(rt.CloseIdleConnections)
	for range 2 {
		// The request is the point: made without the client, as others would make it.
		var reused bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, bytes.NewReader([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "k")
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatalf("%v, connection reused: %v", err, reused)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if n := arrived.Load(); n != 3 {
		t.Errorf("%d requests arrived, want 3: net/http does not repeat, and the test above proves nothing", n)
	}
}
