package sandbox_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
	"github.com/broadside-pub/broadside/providers/transport"
)

// open makes a sandbox with the account demo, and an adapter for it.
func open(t *testing.T, o server.Options) (*server.Server, providers.Able) {
	t.Helper()
	o.Now, o.BaseURL = time.Now, "https://sandbox.test"
	s := server.New(o)
	login, err := s.AddAccount("demo")
	if err != nil {
		t.Fatal(err)
	}
	return s, adapter(t, config(login), transport.Handler(s))
}

func adapter(t *testing.T, cfg providers.Config, rt http.RoundTripper) providers.Able {
	t.Helper()
	cfg.Transport, cfg.Now = rt, time.Now
	p, err := sandbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return providers.Abilities(p)
}

// message is part n of a thread, sealed, with this text.
func message(t *testing.T, text string, n int) providers.Message {
	t.Helper()
	info := sandbox.Info()
	e, problems := info.Encode(providers.Draft{
		Post: "launch", Limits: info.Limits,
		Parts: []providers.DraftPart{{Doc: providers.Doc{Blocks: []providers.Block{{Spans: []providers.Span{{Text: text}}}}}}},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	payload, err := info.Seal(providers.SealInput{Part: e.Parts[0]})
	if err != nil {
		t.Fatal(err)
	}
	return providers.Message{Post: "launch", Part: n, Parts: 3, Key: fmt.Sprintf("%064d", n), Payload: payload}
}

func rule(t *testing.T, s *server.Server, r server.Rule) {
	t.Helper()
	if _, err := s.AddRule(r); err != nil {
		t.Fatal(err)
	}
}

func TestEveryFaultIsWhatItSays(t *testing.T) {
	t.Parallel()
	type outcome struct {
		kind  providers.Kind
		reach providers.Reach
		sure  bool // surely unpublished
		posts int
	}
	tried := map[server.Fault]bool{}
	for _, c := range []struct {
		rule server.Rule
		want outcome
	}{
		{server.Rule{Fault: server.RateLimit, Seconds: 30}, outcome{providers.Throttled, providers.Answered, true, 0}},
		{server.Rule{Fault: server.ServerError}, outcome{providers.Ambiguous, providers.Answered, false, 0}},
		{server.Rule{Fault: server.ServerError, Status: 503}, outcome{providers.Ambiguous, providers.Answered, false, 0}},
		{server.Rule{Fault: server.ErrorAfter}, outcome{providers.Ambiguous, providers.Answered, false, 1}},
		{server.Rule{Fault: server.Maintenance}, outcome{providers.Unavailable, providers.Answered, true, 0}},
		{server.Rule{Fault: server.TimeoutBefore}, outcome{providers.Ambiguous, providers.MaybeSent, false, 0}},
		{server.Rule{Fault: server.TimeoutAfter}, outcome{providers.Ambiguous, providers.MaybeSent, false, 1}},
		{server.Rule{Fault: server.DropBefore}, outcome{providers.Ambiguous, providers.MaybeSent, false, 0}},
		{server.Rule{Fault: server.DropAfter}, outcome{providers.Ambiguous, providers.MaybeSent, false, 1}},
		{server.Rule{Fault: server.CutAnswer}, outcome{providers.Ambiguous, providers.Answered, false, 1}},
		{server.Rule{Fault: server.Malformed}, outcome{providers.Ambiguous, providers.Answered, false, 1}},
		{server.Rule{Fault: server.Empty}, outcome{providers.Ambiguous, providers.Answered, false, 1}},
		{server.Rule{Fault: server.Revoked}, outcome{providers.Unauthorized, providers.Answered, true, 0}},
		{server.Rule{Fault: server.Denied}, outcome{providers.Forbidden, providers.Answered, true, 0}},
		{server.Rule{Fault: server.Rejected}, outcome{providers.Invalid, providers.Answered, true, 0}},
		{server.Rule{Fault: server.Slow, Seconds: 600}, outcome{providers.Ambiguous, providers.MaybeSent, false, 0}},
		{server.Rule{Fault: server.HalfThread, Part: 1}, outcome{providers.Unknown, 0, false, 1}}, // part 2 is the first to fail
		{server.Rule{Fault: server.Slow, Seconds: 5}, outcome{providers.Unknown, 0, false, 1}},
		{server.Rule{Fault: server.Lag, Seconds: 5}, outcome{providers.Unknown, 0, false, 1}},
	} {
		tried[c.rule.Fault] = true
		t.Run(string(c.rule.Fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, a := open(t, server.Options{})
				rule(t, s, c.rule)
				m := message(t, "hello", 0)
				_, err := a.Publish.Publish(t.Context(), m)
				got := outcome{posts: len(s.Posts("demo"))}
				if e := providers.AsError(err); e != nil {
					got.kind, got.reach, got.sure = e.Kind, e.Reach, e.SurelyUnpublished()
				}
				if got != c.want {
					t.Errorf("got %+v, want %+v: %v", got, c.want, err)
				}
				// The rule is used up: the same again goes out once, whatever has happened.
				if _, err := a.Publish.Publish(t.Context(), m); err != nil {
					t.Errorf("again: %v", err)
				}
				if n := len(s.Posts("demo")); n != 1 {
					t.Errorf("%d posts in the end", n)
				}
			})
		})
	}
	for _, f := range server.Faults() {
		if !tried[f] {
			t.Errorf("the fault %q is not tried", f)
		}
	}
}

func TestRateLimitIsUnderstoodInEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range server.Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, a := open(t, server.Options{})
				rule(t, s, server.Rule{Fault: server.RateLimit, Seconds: 90, Form: form})
				_, err := a.Publish.Publish(t.Context(), message(t, "hello", 0))
				e := providers.AsError(err)
				if e == nil || e.Kind != providers.Throttled {
					t.Fatalf("got %v", err)
				}
				if form == server.Untold {
					if !e.RetryAt.IsZero() {
						t.Errorf("RetryAt is %v", e.RetryAt)
					}
				} else if d := time.Until(e.RetryAt); d < 89*time.Second || d > 91*time.Second {
					t.Errorf("RetryAt is in %v", d)
				}
			})
		})
	}
}

func TestRulesAimAndAreUsedUp(t *testing.T) {
	t.Parallel()
	s, a := open(t, server.Options{})
	ctx := t.Context()
	rule(t, s, server.Rule{Account: "other", Fault: server.Denied, Times: -1})
	rule(t, s, server.Rule{Post: "elsewhere", Fault: server.Denied, Times: -1})
	rule(t, s, server.Rule{Text: "needle", Fault: server.Rejected, Times: 2})
	rule(t, s, server.Rule{Fault: server.HalfThread})
	rule(t, s, server.Rule{Op: server.List, Skip: 1, Fault: server.ServerError})

	root, err := a.Publish.Publish(ctx, message(t, "one", 0))
	if err != nil {
		t.Fatalf("the first part: %v", err)
	}
	for part := 1; part <= 2; part++ {
		_, err := a.Reply.Reply(ctx, message(t, "more", part), providers.Thread{Root: root, Parent: root})
		if e := providers.AsError(err); e == nil || e.Kind != providers.Invalid {
			t.Errorf("part %d: %v", part+1, err)
		}
	}
	for i := range 3 {
		_, err := a.Publish.Publish(ctx, message(t, fmt.Sprint("a needle ", i), 0))
		if (err != nil) != (i < 2) && !strings.Contains(fmt.Sprint(err), "key_reused") {
			t.Errorf("needle %d: %v", i, err)
		}
	}
	q := providers.Query{Message: message(t, "one", 0), Since: time.Now().Add(-time.Hour), Taken: func(string) bool { return false }}
	for i, wrong := range []bool{false, true, false} {
		if _, err := a.Find.Find(ctx, q); (err != nil) != wrong {
			t.Errorf("list %d: %v", i, err)
		}
	}
	hits := map[server.Fault]int{}
	for _, r := range s.Rules() {
		hits[r.Fault] += r.Hits
	}
	if hits[server.Denied] != 0 || hits[server.Rejected] != 2 || hits[server.HalfThread] != 2 || hits[server.ServerError] != 1 {
		t.Errorf("hits: %v", hits)
	}
}

func TestKeyReusedForOtherBytesIsNotSurelyUnpublished(t *testing.T) {
	t.Parallel()
	s, a := open(t, server.Options{})
	if _, err := a.Publish.Publish(t.Context(), message(t, "one", 0)); err != nil {
		t.Fatal(err)
	}
	_, err := a.Publish.Publish(t.Context(), message(t, "two", 0))
	if e := providers.AsError(err); e == nil || e.Code != "key_reused" || e.SurelyUnpublished() {
		t.Errorf("got %v", err)
	}
	if n := len(s.Posts("")); n != 1 {
		t.Errorf("%d posts", n)
	}
}

func TestKeyIsForgottenAfterItsWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := open(t, server.Options{})
		for i, c := range []struct {
			wait  time.Duration
			posts int
		}{{0, 1}, {59 * time.Minute, 1}, {2 * time.Minute, 2}} {
			time.Sleep(c.wait)
			if _, err := a.Publish.Publish(t.Context(), message(t, "one", 0)); err != nil {
				t.Fatal(err)
			}
			if n := len(s.Posts("")); n != c.posts {
				t.Errorf("%d: %d posts, want %d", i, n, c.posts)
			}
		}
		_, without := open(t, server.Options{KeyWindow: -1})
		if rule, ok, err := without.Key.KeyRule(t.Context()); ok || err != nil {
			t.Errorf("keys are off: %+v, %v, %v", rule, ok, err)
		}
	})
}

func TestFinderLagHidesThePostForItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := open(t, server.Options{})
		rule(t, s, server.Rule{Fault: server.Lag, Seconds: 60})
		m := message(t, "one", 0)
		if _, err := a.Publish.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		q := providers.Query{Message: m, Since: time.Now().Add(-time.Minute), Taken: func(string) bool { return false }}
		if _, err := a.Find.Find(t.Context(), q); !errors.Is(err, providers.ErrNotFound) {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(61 * time.Second)
		if _, err := a.Find.Find(t.Context(), q); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestRefreshTokenIsGoodForOneUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server.New(server.Options{Now: time.Now, BaseURL: "https://sandbox.test"})
		login, err := s.AddExpiring("demo")
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(login)
		a := adapter(t, cfg, transport.Handler(s))
		if a.Refresh.NeedsRefresh(cfg.Credential, time.Now()) {
			t.Error("a new token needs a refresh")
		}
		time.Sleep(2*time.Hour - time.Minute)
		if !a.Refresh.NeedsRefresh(cfg.Credential, time.Now()) {
			t.Error("a token about to expire needs no refresh")
		}
		time.Sleep(time.Minute)
		if _, err := a.Check.Check(t.Context()); providers.AsError(err) == nil || providers.AsError(err).Kind != providers.Unauthorized {
			t.Errorf("expired: %v", err)
		}
		next, err := a.Refresh.Refresh(t.Context(), cfg.Credential)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Refresh.Refresh(t.Context(), cfg.Credential); providers.AsError(err) == nil || providers.AsError(err).Kind != providers.Unauthorized {
			t.Errorf("the old one again: %v", err)
		}
		cfg.Credential = next
		if _, err := adapter(t, cfg, transport.Handler(s)).Check.Check(t.Context()); err != nil {
			t.Errorf("the new one: %v", err)
		}
		if err := s.Revoke("demo"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Refresh.Refresh(t.Context(), next); err == nil {
			t.Error("a revoked login is refreshed")
		}
	})
}

// TestFaultsWorkOverARealConnection: what is tried above without sockets looks the same with them.
func TestFaultsWorkOverARealConnection(t *testing.T) {
	t.Parallel()
	for fault, posts := range map[server.Fault]int{
		server.DropBefore: 0, server.DropAfter: 1, server.CutAnswer: 1, server.Malformed: 1, server.Empty: 1,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := server.New(server.Options{Now: time.Now})
			login, err := s.AddAccount("demo")
			if err != nil {
				t.Fatal(err)
			}
			h := httptest.NewServer(s)
			t.Cleanup(h.Close)
			rt, err := transport.New(transport.Options{AllowPrivate: true})
			if err != nil {
				t.Fatal(err)
			}
			cfg := config(login)
			cfg.Server = h.URL
			a := adapter(t, cfg, rt)
			rule(t, s, server.Rule{Fault: fault})
			_, err = a.Publish.Publish(t.Context(), message(t, "hello", 0))
			if e := providers.AsError(err); e == nil || e.Kind != providers.Ambiguous || e.SurelyUnpublished() {
				t.Errorf("got %v", err)
			}
			if n := len(s.Posts("demo")); n != posts {
				t.Errorf("%d posts, want %d", n, posts)
			}
			r, err := a.Publish.Publish(t.Context(), message(t, "hello", 0))
			if err != nil || !strings.HasPrefix(r.URL, h.URL+"/@demo/") {
				t.Errorf("again: %+v, %v", r, err)
			}
			if n := len(s.Posts("demo")); n != 1 {
				t.Errorf("%d posts in the end", n)
			}
		})
	}
}
