// Package transport makes the http.RoundTripper that carries every request to a network: it dials public addresses only,
// speaks https only, honours proxies, and never sends a request twice. Beside it are transports that record requests
// instead of sending them, and one that calls an http.Handler without a socket.
//
// The environment is an argument everywhere; nothing here reads it.
package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Options say what may be reached, and how.
type Options struct {
	// AllowPrivate permits addresses that are not public, and plain http to them; through a proxy, which resolves names
	// itself, plain http goes to literal addresses only.
	AllowPrivate bool
	// Proxy names the proxy for a request; nil, or nil returned, means none. The address of a proxy itself may be private.
	Proxy func(*url.URL) (*url.URL, error)
	// CABundle are PEM certificates to trust in place of the system's.
	CABundle []byte
	// DialTimeout bounds connecting and, apart from that, the TLS handshake; 0 means 10 seconds.
	DialTimeout time.Duration
}

// ErrNotPublic is the cause when an address is not public and the destination does not allow that.
var ErrNotPublic = errors.New("the address is not public")

// ErrPlain is the cause when a request would go unencrypted.
var ErrPlain = errors.New("only https is allowed")

// FromEnv reads HTTPS_PROXY, HTTP_PROXY, NO_PROXY (in either case) and SSL_CERT_FILE through getenv.
func FromEnv(getenv func(string) string) (Options, error) {
	either := func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return getenv(strings.ToLower(name))
	}
	config := &httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
		CGI: getenv("REQUEST_METHOD") != "",
	}
	o := Options{Proxy: config.ProxyFunc()}
	if file := getenv("SSL_CERT_FILE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return Options{}, fmt.Errorf("SSL_CERT_FILE cannot be read: %w", err)
		}
		o.CABundle = pem
	}
	return o, nil
}

// guarded checks each request before http.Transport sees it; addresses are checked again when they are dialled.
type guarded struct {
	o    Options
	next *http.Transport
}

// route is what a dial must know of its request. All requests that may share a connection have the same one.
type route struct{ proxied, plain bool }

type routeKey struct{}

// New returns a guarded transport. It speaks HTTP/1.1 on one connection for each request: a reused connection that has
// died in the meantime makes a write's outcome unknown, and HTTP/2 repeats requests by itself. It follows no redirect.
func New(o Options) (http.RoundTripper, error) {
	if o.DialTimeout <= 0 {
		o.DialTimeout = 10 * time.Second
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(o.CABundle) > 0 {
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(o.CABundle) {
			return nil, errors.New("the file of trusted certificates (SSL_CERT_FILE) holds none in PEM form")
		}
	}
	g := &guarded{o: o}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	g.next = &http.Transport{
		Proxy:                  g.proxy,
		DialContext:            g.dial,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    o.DialTimeout,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 256 << 10,
		Protocols:              protocols,
	}
	return g, nil
}

func (g *guarded) proxy(req *http.Request) (*url.URL, error) {
	if g.o.Proxy == nil {
		return nil, nil
	}
	return g.o.Proxy(req.URL)
}

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := g.proxy(req)
	if err != nil {
		return nil, notSent(req, fmt.Errorf("the proxy setting cannot be used: %w", err))
	}
	r := route{proxied: proxy != nil, plain: req.URL.Scheme != "https"}
	if r.plain && !g.o.AllowPrivate {
		return nil, notSent(req, ErrPlain)
	}
	if r.proxied {
		// The proxy resolves names, so that only what the name itself tells can be checked here.
		if err := g.checkHost(req.URL.Hostname(), r.plain); err != nil {
			return nil, notSent(req, err)
		}
	}
	return g.next.RoundTrip(req.WithContext(context.WithValue(req.Context(), routeKey{}, r)))
}

func (g *guarded) checkHost(host string, plain bool) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.check(a, plain)
	}
	if plain {
		return fmt.Errorf("%w through a proxy to the name %s, which may be public: use https, give a private address, or "+
			"list it in NO_PROXY", ErrPlain, host)
	}
	if g.o.AllowPrivate {
		return nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, local := range [...]string{"localhost", "local", "internal", "home.arpa"} {
		if host == local || strings.HasSuffix(host, "."+local) {
			return fmt.Errorf("%w: %s", ErrNotPublic, host)
		}
	}
	return nil
}

// check judges one address that is about to be reached.
func (g *guarded) check(a netip.Addr, plain bool) error {
	public := Public(a)
	switch {
	case !public && !g.o.AllowPrivate:
		return fmt.Errorf("%w: %s", ErrNotPublic, a)
	case public && plain:
		return fmt.Errorf("%w to the public address %s", ErrPlain, a)
	}
	return nil
}

// dial connects; the check stands between resolving a name and connecting to what it resolved to.
func (g *guarded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	r, _ := ctx.Value(routeKey{}).(route)
	d := &net.Dialer{Timeout: g.o.DialTimeout}
	if !r.proxied {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %s", ErrNotPublic, address)
			}
			return g.check(ap.Addr(), r.plain)
		}
	}
	return d.DialContext(ctx, network, address)
}

// NotSentError is a transport's error that promises that no byte of the request left.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent is true: the HTTP client of the providers asks for it.
func (e *NotSentError) NotSent() bool { return true }

// notSent closes the body, as every RoundTripper must, and wraps err.
func notSent(req *http.Request, err error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return &NotSentError{Err: err}
}
