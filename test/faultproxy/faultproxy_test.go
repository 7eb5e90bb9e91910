package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// upstream answers 201 with a body of twenty bytes and counts its requests.
type upstream struct {
	*httptest.Server
	hits atomic.Int64
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.hits.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprintf("%s %s %s %s", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, body))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, strings.Repeat("0123456789", 2))
	}))
	t.Cleanup(u.Close)
	return u
}

// outcome is what a client gets to see of one exchange.
type outcome struct {
	status int
	seen   string
	body   string
	err    error // of the exchange, or else of reading the body
}

// post sends one POST on a connection of its own, so that nothing is repeated by net/http.
func post(t *testing.T, url string, timeout time.Duration) outcome {
	t.Helper()
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return outcome{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return outcome{resp.StatusCode, resp.Header.Get("X-Seen"), string(body), err}
}

func TestAFaultIsWhatTheClientSees(t *testing.T) {
	t.Parallel()
	timedOut := func(a outcome) bool {
		var timeout interface{ Timeout() bool }
		return errors.As(a.err, &timeout) && timeout.Timeout()
	}
	for _, c := range []struct {
		fault Fault
		hits  int64
		ok    func(outcome) bool
	}{
		{None, 1, func(a outcome) bool { return a.err == nil && a.status == 201 && len(a.body) == 20 }},
		{DropBefore, 0, func(a outcome) bool { return errors.Is(a.err, io.EOF) }},
		{DropAnswer, 1, func(a outcome) bool { return errors.Is(a.err, io.EOF) }},
		{BadGateway, 1, func(a outcome) bool { return a.err == nil && a.status == 502 }},
		{HangBefore, 0, timedOut},
		{HangAnswer, 1, timedOut},
		{CutBody, 1, func(a outcome) bool {
			return a.status == 201 && a.body == "0123456789" && errors.Is(a.err, io.ErrUnexpectedEOF)
		}},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			p := New(t, u.URL, Rule{Method: http.MethodPost, Path: "/a/*", Times: 1, Fault: c.fault})
			timeout := 20 * time.Second
			if !c.fault.forwards() || c.fault == HangAnswer {
				timeout = time.Second
			}
			if got := post(t, p.URL+"/a/b", timeout); !c.ok(got) {
				t.Errorf("the client got %+v", got)
			}
			if n := u.hits.Load(); n != c.hits {
				t.Errorf("the upstream was asked %d times, want %d", n, c.hits)
			}
			if got := post(t, p.URL+"/a/b", 20*time.Second); got.err != nil || got.status != 201 {
				t.Errorf("after the fault the client got %+v", got)
			}
		})
	}
}

func TestARuleStrikesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	p := New(t, u.URL,
		Rule{Method: http.MethodGet, Fault: DropBefore},
		Rule{Path: "/write", Skip: 1, Times: 2, Fault: BadGateway},
		Rule{Path: "/write", Skip: 1, Times: 1, Fault: DropAnswer},
	)
	// The third rule counts only what the second leaves to it: the first and the fourth.
	var got []string
	for range 5 {
		a := post(t, p.URL+"/write", 20*time.Second)
		got = append(got, fmt.Sprint(a.status, a.err != nil))
	}
	want := "[201 false 502 false 502 false 0 true 201 false]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if a := post(t, p.URL+"/read", 20*time.Second); a.status != 201 {
		t.Errorf("another path got %+v", a)
	}
	if p.Count(http.MethodPost, "/write") != 5 || p.Count("", "") != 6 || p.Count(http.MethodGet, "") != 0 {
		t.Errorf("counted wrongly: %v", p.Requests())
	}
}

func TestARequestIsForwardedAndRecordedAsItWasSent(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	p := New(t, u.URL+"/base/", Rule{Fault: DropAnswer, Skip: 1, Times: 1})
	a := post(t, p.URL+"/x%2Fy//z?q=a+b", 20*time.Second)
	if want := "POST /base/x%2Fy//z q=a+b hello"; a.seen != want {
		t.Errorf("the upstream saw %q, want %q", a.seen, want)
	}
	post(t, p.URL+"/second", 20*time.Second)
	r := p.Requests()
	if len(r) != 2 {
		t.Fatalf("%d requests recorded", len(r))
	}
	if r[0].Method != "POST" || r[0].Path != "/x/y//z" || r[0].Query != "q=a+b" || string(r[0].Body) != "hello" ||
		r[0].Fault != None || r[0].Status != 201 || r[0].Header.Get("Content-Length") == "0" {
		t.Errorf("first: %+v", r[0])
	}
	if r[1].Path != "/second" || r[1].Fault != DropAnswer || r[1].Status != 201 {
		t.Errorf("second: %+v", r[1])
	}
}

// complaints gathers what a proxy holds against a test, without failing this one.
type complaints struct {
	testing.TB
	cleanup []func()
	errors  []string
}

func (c *complaints) Helper() {}

func (c *complaints) Cleanup(f func()) { c.cleanup = append(c.cleanup, f) }

func (c *complaints) Errorf(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}

func (c *complaints) finish() {
	for _, f := range c.cleanup {
		f()
	}
}

func TestAFaultThatNeverStruckFailsTheTest(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	c := &complaints{TB: t}
	p := New(c, u.URL, Rule{Path: "/never", Times: 1, Fault: DropAnswer}, Rule{Path: "/other", Fault: DropAnswer})
	post(t, p.URL+"/else", 20*time.Second)
	c.finish()
	if len(c.errors) != 1 || !strings.Contains(c.errors[0], "/never") {
		t.Errorf("complaints: %q", c.errors)
	}
}

func TestAHangingExchangeEndsWithTheProxy(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	c := &complaints{TB: t}
	p := New(c, u.URL, Rule{Times: 1, Fault: HangAnswer})
	done := make(chan outcome)
	go func() { done <- post(t, p.URL, 20*time.Second) }()
	for u.hits.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	c.finish()
	if a := <-done; a.err == nil {
		t.Errorf("the client got %+v", a)
	}
	if len(c.errors) != 0 {
		t.Errorf("complaints: %q", c.errors)
	}
}

func TestAHeldExchangeGoesOnWhenItIsReleased(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  Fault
		before int64 // how often the upstream was asked while the exchange is held
	}{{HoldBefore, 0}, {HoldAnswer, 1}} {
		t.Run(c.fault.String(), func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			p := New(t, u.URL, Rule{Times: 1, Fault: c.fault})
			done := make(chan outcome, 1)
			go func() { done <- post(t, p.URL, 20*time.Second) }()
			if r := <-p.Held(); r.Fault != c.fault || string(r.Body) != "hello" {
				t.Errorf("held %+v", r)
			}
			if n := u.hits.Load(); n != c.before {
				t.Errorf("the upstream was asked %d times, want %d", n, c.before)
			}
			select {
			case got := <-done:
				t.Errorf("the client got %+v before the release", got)
			default:
			}
			p.Release()
			if got := <-done; got.err != nil || got.status != 201 {
				t.Errorf("after the release the client got %+v", got)
			}
			if n := u.hits.Load(); n != 1 {
				t.Errorf("the upstream was asked %d times in the end", n)
			}
		})
	}
}

func TestAHeldRequestArrivesThoughItsClientHasGone(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	p := New(t, u.URL, Rule{Times: 1, Fault: HoldBefore})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, strings.NewReader("hello"))
		if err == nil {
			_, err = (&http.Transport{}).RoundTrip(req)
		}
		gone <- err
	}()
	<-p.Held()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("the client ended with %v", err)
	}
	p.Release()
	for deadline := time.Now().Add(20 * time.Second); u.hits.Load() != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the request never arrived")
		}
	}
}
