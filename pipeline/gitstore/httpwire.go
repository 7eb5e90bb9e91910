package gitstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// header is one header that carries a credential.
type header struct{ key, value string }

// httpWire speaks smart HTTP, version 0.
type httpWire struct {
	client *http.Client
	base   *url.URL // without userinfo
	now    func() time.Time
	// explain turns a refusal into one that says what to do; source tells which credentials were refused.
	explain func(err error, source string) error
	// more finds further credentials after a refusal; it is asked once.
	more func(ctx context.Context) (credentials, bool)

	mu    sync.Mutex
	creds credentials
	asked bool
}

var _ wire = (*httpWire)(nil)

const maxRedirects = 5

func newHTTPWire(base *url.URL, rt http.RoundTripper, now func() time.Time) *httpWire {
	w := &httpWire{base: base, now: now, explain: func(err error, _ string) error { return err }}
	w.client = &http.Client{Transport: rt, CheckRedirect: w.checkRedirect}
	return w
}

func (w *httpWire) setAuth(c credentials) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.creds = c
}

func (w *httpWire) auth() credentials {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.creds
}

func (w *httpWire) authSource() string {
	if s := w.auth().source; s != "" {
		return s
	}
	return "none"
}

// askMore replaces the credentials after a refusal; ok tells that there is something new to try.
func (w *httpWire) askMore(ctx context.Context, refused credentials) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.creds.source != refused.source {
		return true // another request has found some meanwhile
	}
	// explicit choices are not second-guessed: a refusal of those is the answer
	if w.asked || w.more == nil || refused.source != "" && refused.source != "netrc" {
		return false
	}
	w.asked = true
	c, ok := w.more(ctx)
	if ok {
		w.creds = c
	}
	return ok
}

// newRoundTripper is an HTTP transport of its own, so that no other part of the process shares its connections or proxies.
func newRoundTripper(env func(string) string, proxy, caFile string, readFile func(string) ([]byte, error)) (*http.Transport, error) {
	get := func(lower string) string {
		if v := env(lower); v != "" {
			return v
		}
		return env(strings.ToUpper(lower))
	}
	cfg := httpproxy.Config{HTTPProxy: get("http_proxy"), HTTPSProxy: get("https_proxy"), NoProxy: get("no_proxy"), CGI: env("REQUEST_METHOD") != ""}
	if proxy != "" {
		cfg.HTTPProxy, cfg.HTTPSProxy = proxy, proxy
	}
	forURL := cfg.ProxyFunc()
	t := &http.Transport{
		Proxy:                 func(r *http.Request) (*url.URL, error) { return forURL(r.URL) },
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: 3 * time.Minute,
		IdleConnTimeout:       60 * time.Second,
		MaxIdleConnsPerHost:   2,
		ForceAttemptHTTP2:     true,
	}
	if caFile != "" {
		pem, err := readFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificates that git is configured to trust: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", caFile)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

func (w *httpWire) shutdown() { w.client.CloseIdleConnections() }

// checkRedirect follows only the first request, never from https to http, and takes the credentials away from another origin.
func (w *httpWire) checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return errors.New("too many redirects")
	case first.Method != http.MethodGet:
		return fmt.Errorf("a push or fetch was redirected to %s: use that address as the remote", RedactURL(req.URL.String()))
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || via[len(via)-1].URL.Scheme == "https"):
		return fmt.Errorf("refused a redirect to %s", RedactURL(req.URL.String()))
	case urlHasControl(req.URL):
		return fmt.Errorf("refused a redirect to %s: it holds a control character", RedactURL(req.URL.String()))
	}
	trusted := true
	for _, r := range append(via[1:], req) {
		trusted = trusted && sameOrigin(first.URL, r.URL)
	}
	if !trusted {
		req.URL.User = nil
		for _, h := range w.auth().headers {
			req.Header.Del(h.key)
		}
		req.Header.Del("Authorization")
		req.Header.Del("Cookie")
	}
	return nil
}

// sameOrigin tells whether credentials for a may go to b: the same host and port, or the same host's https.
func sameOrigin(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return portOf(a) == portOf(b)
	}
	return a.Scheme == "http" && b.Scheme == "https" && portOf(a) == "80" && portOf(b) == "443"
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

func (w *httpWire) open(ctx context.Context, svc service) (conversation, error) {
	creds := w.auth()
	conv, err := w.openWith(ctx, svc, creds)
	var he *HTTPError
	if errors.As(err, &he) && he.Status == http.StatusUnauthorized && w.askMore(ctx, creds) {
		conv, err = w.openWith(ctx, svc, w.auth())
	}
	if err != nil {
		return nil, err
	}
	return conv, nil
}

func (w *httpWire) openWith(ctx context.Context, svc service, creds credentials) (*httpConversation, error) {
	u := w.base.JoinPath("info/refs")
	u.RawQuery = "service=" + string(svc)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	w.dress(req, w.base, creds)
	req.Header.Set("Accept", "*/*")
	res, err := w.client.Do(req)
	if err != nil {
		return nil, cleanURLError(err)
	}
	defer res.Body.Close()
	if err := w.checkStatus(res, creds); err != nil {
		return nil, err
	}
	if got := mediaType(res); got != "application/x-"+string(svc)+"-advertisement" {
		return nil, fmt.Errorf("%w: %s instead of a list of refs; is this the address of a git repository, and does no "+
			"proxy or login page stand before it?", ErrProtocol, quoteRef(clip(got, 60)))
	}
	a, err := readAdvert(res.Body)
	if err != nil {
		return nil, err
	}
	if d, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		a.date = d
	}
	base := *w.base
	if final := res.Request.URL; final.Host != u.Host || final.Scheme != u.Scheme || final.Path != u.Path {
		path, ok := strings.CutSuffix(final.Path, "/info/refs")
		if !ok {
			return nil, fmt.Errorf("%w: redirected to %s, which is not a git repository", ErrProtocol, RedactURL(final.String()))
		}
		base = url.URL{Scheme: final.Scheme, Host: final.Host, Path: path}
	}
	return &httpConversation{w: w, svc: svc, base: &base, a: a, creds: creds}, nil
}

// dress adds what every request carries. Credentials go only to the origin that they were found for.
func (w *httpWire) dress(req *http.Request, base *url.URL, creds credentials) {
	req.Header.Set("User-Agent", "git/2 ("+agentName+")")
	req.Header.Set("Pragma", "no-cache")
	if sameOrigin(w.base, base) {
		for _, h := range creds.headers {
			req.Header.Set(h.key, h.value)
		}
	}
}

func (w *httpWire) checkStatus(res *http.Response, creds credentials) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	e := &HTTPError{Status: res.StatusCode, RetryAfter: w.retryAfter(res.Header.Get("Retry-After"))}
	if strings.HasPrefix(mediaType(res), "text/plain") {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
		e.Text = clip(string(b), 400)
	}
	if errors.Is(e, ErrAuth) {
		return w.explain(e, creds.source)
	}
	return e
}

func (w *httpWire) retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return time.Duration(min(n, 86400)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(w.now()))
	}
	return 0
}

func mediaType(res *http.Response) string {
	t, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return res.Header.Get("Content-Type")
	}
	return t
}

type httpConversation struct {
	w     *httpWire
	svc   service
	base  *url.URL
	a     *advert
	creds credentials
}

func (c *httpConversation) advert() *advert { return c.a }
func (c *httpConversation) said() string    { return "" }
func (c *httpConversation) close()          {}

func (c *httpConversation) exchange(ctx context.Context, body []byte) (io.ReadCloser, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	u := c.base.JoinPath(string(c.svc))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &errNotSent{err}
	}
	c.w.dress(req, c.base, c.creds)
	req.Header.Set("Content-Type", "application/x-"+string(c.svc)+"-request")
	req.Header.Set("Accept", "application/x-"+string(c.svc)+"-result")
	res, err := c.w.client.Do(req)
	if err != nil {
		err = cleanURLError(err)
		if !connected.Load() {
			return nil, &errNotSent{err}
		}
		return nil, err
	}
	err = c.w.checkStatus(res, c.creds)
	if want := "application/x-" + string(c.svc) + "-result"; err == nil && mediaType(res) != want {
		err = fmt.Errorf("%w: %s instead of %s", ErrProtocol, quoteRef(clip(mediaType(res), 60)), want)
	}
	if err != nil {
		res.Body.Close()
		return nil, err
	}
	return res.Body, nil
}

// cleanURLError drops the method and URL that net/http puts before its errors: the caller names the remote.
func cleanURLError(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
