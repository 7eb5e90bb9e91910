package transport_test

import (
	"bufio"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers/transport"
)

func get(t *testing.T, rt http.RoundTripper, address string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

func guarded(t *testing.T, o transport.Options) http.RoundTripper {
	t.Helper()
	rt, err := transport.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestPublicKnowsEveryRange(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.32.0.1": true, "100.128.0.1": true, "2606:4700::1111": true, "2a00:1450::1": true,
		"192.0.1.1": true, "198.20.0.1": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "100.127.255.255": false, "127.0.0.1": false, "127.9.9.9": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "192.0.2.1": false,
		"198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "fec0::1": false,
		"ff02::1": false, "2001:db8::1": false, "100::1": false, "2001::1": false, "64:ff9b:1::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a00:1": false, "64:ff9b::808:808": true, // NAT64
		"2002:7f00:1::": false, "2002:c0a8:101::1": false, "2002:808:808::1": true, // 6to4
		"::ffff:0:127.0.0.1": false, "::ffff:0:8.8.8.8": true,
	} {
		if got := transport.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("Public(%s) = %v", address, got)
		}
	}
	if transport.Public(netip.Addr{}) {
		t.Error("the zero address counts as public")
	}
}

func TestNewRefusesWhatIsNotPublicWhenDialling(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
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
			reached.Add(1)
			_ = c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	rt := guarded(t, transport.Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "[::ffff:0:127.0.0.1]"} {
		_, err := get(t, rt, "https://"+host+":"+itoa(port)+"/")
		if !errors.Is(err, transport.ErrNotPublic) {
			t.Errorf("%s: got %v, want %v", host, err, transport.ErrNotPublic)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func itoa(n int) string { return strings.TrimPrefix((&net.TCPAddr{Port: n}).String(), ":") }

func TestNewSpeaksHTTPSOnly(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	if _, err := get(t, guarded(t, transport.Options{}), s.URL); !errors.Is(err, transport.ErrPlain) {
		t.Errorf("got %v, want %v", err, transport.ErrPlain)
	}
	if status, err := get(t, guarded(t, transport.Options{AllowPrivate: true}), s.URL); err != nil || status != 404 {
		t.Errorf("private is allowed: got %d, %v", status, err)
	}
	// Allowed to reach a private address is not allowed to send secrets in the open to a public one.
	_, err := get(t, guarded(t, transport.Options{AllowPrivate: true}), "http://8.8.8.8:9/")
	if !errors.Is(err, transport.ErrPlain) {
		t.Errorf("got %v, want %v", err, transport.ErrPlain)
	}
}

func TestNewTrustsTheGivenCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := transport.FromEnv(func(k string) string { return map[string]string{"SSL_CERT_FILE": file}[k] })
	if err != nil {
		t.Fatal(err)
	}
	o.AllowPrivate = true
	if status, err := get(t, guarded(t, o), s.URL); err != nil || status != 404 {
		t.Errorf("got %d, %v", status, err)
	}
	if _, err := transport.New(transport.Options{CABundle: []byte("no PEM")}); err == nil {
		t.Error("a file without certificates is taken")
	}
	if _, err := transport.FromEnv(func(k string) string { return map[string]string{"SSL_CERT_FILE": file + "x"}[k] }); err == nil {
		t.Error("a missing file is taken")
	}
}

// proxy is a CONNECT and plain proxy that notes what it is asked for and refuses it.
func proxy(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	var got []string
	done := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done <- r.Method + " " + r.RequestURI
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		for {
			select {
			case a := <-done:
				got = append(got, a)
			default:
				return got
			}
		}
	}
}

func TestProxyIsHonouredAndStillGuarded(t *testing.T) {
	t.Parallel()
	address, asked := proxy(t)
	env := map[string]string{"https_proxy": address, "HTTP_PROXY": address, "NO_PROXY": "direct.test"}
	o, err := transport.FromEnv(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	rt := guarded(t, o)
	if _, err := get(t, rt, "https://example.com/x"); err == nil {
		t.Error("the proxy refuses, and there is no error")
	}
	for _, private := range []string{"https://10.0.0.1/", "https://metadata.google.internal/", "https://[::ffff:10.0.0.1]/", "https://printer.local/"} {
		if _, err := get(t, rt, private); !errors.Is(err, transport.ErrNotPublic) {
			t.Errorf("%s: got %v, want %v", private, err, transport.ErrNotPublic)
		}
	}
	if _, err := get(t, rt, "https://direct.test/"); err == nil {
		t.Error("direct.test exists")
	}
	if _, err := get(t, rt, "https://127.0.0.1:1/"); !errors.Is(err, transport.ErrNotPublic) {
		t.Errorf("loopback: got %v", err)
	}
	if diff := cmp.Diff([]string{"CONNECT example.com:443"}, asked()); diff != "" {
		t.Errorf("the proxy was asked for (-want +got):\n%s", diff)
	}
}

// A proxy resolves names itself: nobody here can tell whether what a name stands for is private.
func TestPlainThroughAProxyReachesPrivateAddressesOnly(t *testing.T) {
	t.Parallel()
	address, asked := proxy(t)
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	rt := guarded(t, transport.Options{AllowPrivate: true, Proxy: func(*url.URL) (*url.URL, error) { return to, nil }})
	for _, plain := range []string{"http://social.example/x", "http://printer.local/", "http://8.8.8.8/", "http://127.1/", "http://2130706433/"} {
		if _, err := get(t, rt, plain); !errors.Is(err, transport.ErrPlain) {
			t.Errorf("%s: got %v, want %v", plain, err, transport.ErrPlain)
		}
	}
	if _, err := get(t, rt, "http://10.0.0.1/x"); err != nil {
		t.Errorf("a private address: %v", err)
	}
	if _, err := get(t, rt, "https://printer.local/"); err == nil || errors.Is(err, transport.ErrPlain) {
		t.Errorf("https to a name: %v", err)
	}
	if diff := cmp.Diff([]string{"GET http://10.0.0.1/x", "CONNECT printer.local:443"}, asked()); diff != "" {
		t.Errorf("the proxy was asked for (-want +got):\n%s", diff)
	}
}

func TestNewMakesOneConnectionForEachRequest(t *testing.T) {
	t.Parallel()
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("it speaks %s", r.Proto)
		}
	}))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	rt := guarded(t, transport.Options{
		AllowPrivate: true, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	})
	for range 3 {
		if _, err := get(t, rt, s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections for 3 requests", n)
	}
}

func TestHandlerLooksLikeAConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		body string
		err  error // of RoundTrip
		cut  error // of the body
	}{
		{name: "plain", h: func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write([]byte(r.Method + r.Host + string(b)))
		}, body: "POSTnet.testhello"},
		{name: "aborted before", h: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, err: io.EOF},
		{name: "aborted within", h: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		}, body: "half", cut: io.ErrUnexpectedEOF},
		{name: "shorter than it says", h: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("half"))
		}, body: "half", cut: io.ErrUnexpectedEOF},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://net.test/x", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.Handler(c.h).RoundTrip(req)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		}
		if err != nil {
			continue
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(b) != c.body || !errors.Is(err, c.cut) {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, b, err, c.body, c.cut)
		}
	}
}

// post sends a form as a client would that nobody may repeat for.
func post(t *testing.T, rt http.RoundTripper, address, contentType, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bufio.NewReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer tok-secret")
	req.Header.Set("X-Note", "with tok-secret inside")
	return rt.RoundTrip(req)
}

func TestDryRunSendsNoWriteAndRecordsIt(t *testing.T) {
	t.Parallel()
	var arrived []string
	next := transport.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived = append(arrived, r.Method) }))
	dry := transport.DryRun(next, "tok-secret", "hook-secret")
	if _, err := get(t, dry, "https://net.test/read?access_token=abc&x=1"); err != nil {
		t.Errorf("a read: %v", err)
	}
	for _, c := range [][2]string{
		{"application/json", `{"text":"tok-secret <b>","password":"p","nested":[{"refreshJwt":"j"}]}`},
		{"application/json", `{"b":1,  "a":2}`},
		{"application/x-www-form-urlencoded", "status=hi&client_secret=x"},
		{"image/png", "\x89PNG"},
	} {
		_, err := post(t, dry, "https://u:p@net.test/hook-secret", c[0], c[1])
		var says interface{ NotSent() bool }
		if !errors.Is(err, transport.ErrDryRun) || !errors.As(err, &says) || !says.NotSent() {
			t.Errorf("got %v, want %v, surely not sent", err, transport.ErrDryRun)
		}
	}
	if diff := cmp.Diff([]string{"GET"}, arrived); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	auth := http.Header{"Authorization": {"[redacted]"}, "X-Note": {"with [redacted] inside"}}
	with := func(ct string) http.Header {
		h := auth.Clone()
		h.Set("Content-Type", ct)
		return h
	}
	const at = "https://net.test/[redacted]"
	want := []transport.Recorded{
		{Method: "GET", URL: "https://net.test/read?access_token=%5Bredacted%5D&x=1", Header: http.Header{}, Sent: true, Status: 200},
		{Method: "POST", URL: at, Header: with("application/json"), Bytes: 70, Body: `{"nested":[{"refreshJwt":"[redacted]"}],"password":"[redacted]","text":"[redacted] \u003cb\u003e"}`},
		{Method: "POST", URL: at, Header: with("application/json"), Bytes: 15, Body: `{"b":1,  "a":2}`},
		{Method: "POST", URL: at, Header: with("application/x-www-form-urlencoded"), Bytes: 25, Body: "client_secret=%5Bredacted%5D&status=hi"},
		{Method: "POST", URL: at, Header: with("image/png"), Bytes: 4},
	}
	if diff := cmp.Diff(want, dry.Requests()); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	offline := transport.DryRun(nil)
	if _, err := get(t, offline, "https://net.test/"); !errors.Is(err, transport.ErrDryRun) {
		t.Errorf("a read with nothing behind: %v", err)
	}
}

func TestRecordPassesEverythingOn(t *testing.T) {
	t.Parallel()
	var body string
	rec := transport.Record(transport.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b) + r.Header.Get("Authorization")
		w.WriteHeader(http.StatusCreated)
	})), "tok-secret")
	resp, err := post(t, rec, "https://net.test/", "text/plain", "say tok-secret")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if body != "say tok-secretBearer tok-secret" {
		t.Errorf("arrived %q", body)
	}
	if got := rec.Requests(); len(got) != 1 || got[0].Status != 201 || got[0].Body != "say [redacted]" || !got[0].Sent {
		t.Errorf("recorded %+v", got)
	}
	req := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "net.test"}}
	if resp, err := rec.RoundTrip(req.WithContext(t.Context())); err != nil {
		t.Errorf("a request without header and body: %v", err)
	} else {
		_ = resp.Body.Close()
	}
}
