// Package faultproxy puts an HTTP proxy with faults in front of a server, so that a test can lose exactly the request or
// exactly the answer that it means to lose. It records what passed, so that a test can say what the client sent.
//
// It speaks plain HTTP/1.1 on loopback and buffers both directions: it is for tests of what a client makes of a broken
// exchange, and not for streaming. The proxy itself never sends a request twice.
package faultproxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"sync"
	"testing"
)

// Fault is what goes wrong with one exchange.
type Fault int

// The faults. All but the first read the whole request, so that to the client every byte of it has been sent.
const (
	None       Fault = iota // forward, and answer as the upstream does
	DropBefore              // close the connection; the upstream never hears of it
	DropAnswer              // forward, wait for the answer, then close the connection without a byte of it
	BadGateway              // forward, then answer 502 in place of the upstream's answer
	HangBefore              // answer nothing; the upstream never hears of it
	HangAnswer              // forward, then answer nothing
	CutBody                 // forward, send the answer's headers and half of its body, then close the connection
	HoldBefore              // wait for Release, whether or not the client does, then forward and answer
	HoldAnswer              // forward, wait for Release, then answer
)

// String names the fault.
func (f Fault) String() string {
	names := [...]string{"None", "DropBefore", "DropAnswer", "BadGateway", "HangBefore", "HangAnswer", "CutBody", "HoldBefore", "HoldAnswer"}
	if f < 0 || int(f) >= len(names) {
		return "invalid"
	}
	return names[f]
}

func (f Fault) forwards() bool { return f != DropBefore && f != HangBefore }

// Rule says which exchanges suffer a fault. The first rule that matches and is not used up decides.
type Rule struct {
	Method string // the request's method; empty matches any
	Path   string // a pattern of package path's Match for the request's path; empty matches any
	Skip   int    // so many matching requests pass unharmed first
	Times  int    // and so many then suffer; 0 means all of them
	Fault  Fault
}

func (r Rule) matches(req *http.Request) bool {
	if r.Method != "" && r.Method != req.Method {
		return false
	}
	if r.Path == "" {
		return true
	}
	ok, err := path.Match(r.Path, req.URL.Path)
	return err == nil && ok
}

// Request is one exchange as the proxy saw it.
type Request struct {
	Method string
	Path   string
	Query  string
	Header http.Header
	Body   []byte
	Fault  Fault
	Status int // the upstream's answer, 0 while it has not answered or was not asked
}

// Proxy is a running proxy; its URL stands for the upstream's.
type Proxy struct {
	URL string

	t        testing.TB
	upstream *url.URL
	server   *httptest.Server
	closing  chan struct{}
	held     chan Request

	mu       sync.Mutex
	rules    []*counted
	requests []*Request
	gate     chan struct{} // closed by Release
}

// mostHeld bounds how many exchanges can be held and not yet received from Held.
const mostHeld = 256

// counted is a rule and how often it has matched.
type counted struct {
	Rule
	seen int
}

// New starts a proxy in front of the upstream's base URL and stops it when the test ends. A rule with Times that has not
// struck so often by then fails the test: what it was to prove has not been tried.
func New(t testing.TB, upstream string, rules ...Rule) *Proxy {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, upstream: u, closing: make(chan struct{}), held: make(chan Request, mostHeld), gate: make(chan struct{})}
	p.Add(rules...)
	p.server = httptest.NewServer(p)
	p.URL = p.server.URL
	t.Cleanup(p.finish)
	return p
}

// Add appends rules.
func (p *Proxy) Add(rules ...Rule) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rules {
		if _, err := path.Match(r.Path, ""); err != nil {
			p.t.Fatalf("faultproxy: pattern %q: %v", r.Path, err)
		}
		p.rules = append(p.rules, &counted{Rule: r})
	}
}

// Clear removes every rule: what arrives from now on passes. The rules removed may have struck or not.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Requests returns what has arrived so far, in that order.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, 0, len(p.requests))
	for _, r := range p.requests {
		all = append(all, *r)
	}
	return all
}

// Count returns how many requests with this method and path pattern have arrived; empty matches any.
func (p *Proxy) Count(method, pattern string) int {
	n := 0
	for _, r := range p.Requests() {
		req := &http.Request{Method: r.Method, URL: &url.URL{Path: r.Path}}
		if (Rule{Method: method, Path: pattern}).matches(req) {
			n++
		}
	}
	return n
}

// Held gives each exchange as it begins to be held: from then on it waits at the point that its fault names.
func (p *Proxy) Held() <-chan Request { return p.held }

// Release lets every exchange go on that is held now.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.gate)
	p.gate = make(chan struct{})
}

// hold waits for Release. It returns false when the test ends instead.
func (p *Proxy) hold(r *Request) bool {
	p.mu.Lock()
	gate, copied := p.gate, *r
	p.mu.Unlock()
	p.held <- copied
	select {
	case <-gate:
		return true
	case <-p.closing:
		return false
	}
}

// finish lets go of what hangs, stops the server and reports rules that have not struck.
func (p *Proxy) finish() {
	close(p.closing)
	p.server.CloseClientConnections()
	p.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if struck := max(0, r.seen-r.Skip); struck < r.Times {
			p.t.Errorf("faultproxy: rule %+v struck %d times", r.Rule, struck)
		}
	}
}

// ServeHTTP implements http.Handler for the proxy's own server.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		// The client has gone before it had sent everything: nothing was received, nothing is forwarded.
		panic(http.ErrAbortHandler)
	}
	seen := p.record(req, body)
	var a answer
	if seen.Fault == HoldBefore && !p.hold(seen) {
		drop(w)
		return
	}
	if seen.Fault.forwards() {
		a, err = p.forward(req, body)
		if err != nil {
			p.t.Errorf("faultproxy: %s %s: upstream: %v", req.Method, req.URL.Path, err)
			http.Error(w, "the upstream does not answer", http.StatusBadGateway)
			return
		}
		p.mu.Lock()
		seen.Status = a.status
		p.mu.Unlock()
	}
	switch seen.Fault {
	case HoldAnswer:
		if !p.hold(seen) {
			drop(w)
			return
		}
		a.write(w)
	case None, HoldBefore:
		a.write(w)
	case DropBefore, DropAnswer:
		drop(w)
	case BadGateway:
		http.Error(w, "bad gateway", http.StatusBadGateway)
	case HangBefore, HangAnswer:
		select {
		case <-req.Context().Done():
		case <-p.closing:
		}
		drop(w)
	case CutBody:
		if len(a.body) == 0 {
			p.t.Errorf("faultproxy: the answer to %s %s has no body to cut", req.Method, req.URL.Path)
		}
		a.cut(w)
	}
}

// record notes the request and decides its fault.
func (p *Proxy) record(req *http.Request, body []byte) *Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &Request{
		Method: req.Method, Path: req.URL.Path, Query: req.URL.RawQuery,
		Header: req.Header.Clone(), Body: slices.Clone(body),
	}
	for _, rule := range p.rules {
		if !rule.matches(req) || rule.Times > 0 && rule.seen >= rule.Skip+rule.Times {
			continue
		}
		rule.seen++
		if rule.seen > rule.Skip {
			r.Fault = rule.Fault
			break
		}
	}
	p.requests = append(p.requests, r)
	return r
}
