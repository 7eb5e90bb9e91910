package providertest

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

var jsonHeader = map[string]string{"Content-Type": "application/json"}

func text(s string) io.Reader { return strings.NewReader(s) }

// mostRead is how much of an answer an adapter may read before it gives up on it.
const mostRead = 64 << 20

// failing holds what is known after a request that failed. Each fault hits the request that publishes.
func failing() []subtest {
	out := []subtest{
		{name: "no connection is surely unpublished", run: func(s *session) {
			_, _, e := s.hit(s.draft(plain(hello)), noDial)
			if e == nil || e.Kind != providers.Unavailable || !e.SurelyUnpublished() {
				s.t.Errorf("got %v, want an error of kind %s, surely unpublished", e, providers.Unavailable)
			}
			s.wantPosts(0)
		}},
		{name: "lost request is not surely unpublished", run: func(s *session) {
			c, _, e := s.hit(s.draft(plain(hello)), loseRequest)
			s.wantUnsure(e)
			s.wantPosts(0)
			if s.able.Find != nil {
				s.wantAbsent(c.query(0, nil))
			}
		}},
		{name: "lost answer is not surely unpublished, and recovered", run: func(s *session) {
			s.wantRecovered(loseAnswer)
		}},
		{name: "silence ends in time, and is recovered", run: func(s *session) {
			began := time.Now()
			s.wantRecovered(hang)
			if took := time.Since(began); took > s.h.Info.LongestRequest+s.h.Info.Settle+time.Minute {
				s.t.Errorf("the call ended after %v, Info promises %v", took, s.h.Info.LongestRequest)
			}
		}},
		{name: "huge answer is not read to its end", run: func(s *session) {
			body := &endless{}
			s.wantHonest(s.hit(s.draft(plain(hello)), answer(true, http.StatusOK, jsonHeader, body)))
			if body.read > mostRead {
				s.t.Errorf("%d bytes of the answer were read", body.read)
			}
		}},
		{name: "redirected write is not repeated", run: func(s *session) {
			for _, status := range []int{301, 302, 303, 307, 308} {
				t := newSession(s.t, s.h)
				mark := t.wire.mark()
				to := map[string]string{"Location": s.net.Config.Server + "/elsewhere"}
				_, _, e := t.hit(t.draft(plain(hello)), answer(false, status, to, text("")))
				t.wantUnsure(e)
				for _, x := range t.wire.since(mark) {
					if strings.Contains(x.URL, "/elsewhere") {
						t.t.Errorf("HTTP %d was followed with %s", status, x.Method)
					}
				}
				t.finish()
			}
		}},
	}
	for _, c := range []struct {
		status int
		kind   providers.Kind
	}{
		{401, providers.Unauthorized}, {403, providers.Forbidden}, {422, providers.Invalid}, {429, providers.Throttled},
	} {
		out = append(out, subtest{name: "status " + strconv.Itoa(c.status), run: func(s *session) {
			_, _, e := s.hit(s.draft(plain(hello)), answer(false, c.status, jsonHeader, text(`{"error":"refused"}`)))
			switch {
			case e == nil || e.Kind != c.kind || e.Status != c.status || e.Reach != providers.Answered:
				s.t.Errorf("got %v, want an answered error of kind %s with the status", e, c.kind)
			case !e.SurelyUnpublished():
				s.t.Error("it does not count as surely unpublished")
			}
			s.wantPosts(0)
		}})
	}
	for _, c := range []struct {
		name string
		tell func(now time.Time) (value string, want time.Time)
	}{
		{"429 with seconds", func(now time.Time) (string, time.Time) { return "120", now.Add(2 * time.Minute) }},
		{"429 with a date", func(now time.Time) (string, time.Time) {
			at := now.Add(3 * time.Minute).UTC().Truncate(time.Second)
			return at.Format(http.TimeFormat), at
		}},
	} {
		out = append(out, subtest{name: "status " + c.name, run: func(s *session) {
			var want time.Time
			_, _, e := s.hit(s.draft(plain(hello)), func(req *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
				var value string
				value, want = c.tell(time.Now())
				header := map[string]string{"Content-Type": "application/json", "Retry-After": value}
				return answer(false, http.StatusTooManyRequests, header, text(`{}`))(req, forward)
			})
			if e == nil || e.Kind != providers.Throttled {
				s.t.Fatalf("got %v, want an error of kind %s", e, providers.Throttled)
			}
			if d := e.RetryAt.Sub(want); d < -2*time.Second || d > 2*time.Second {
				s.t.Errorf("RetryAt is %v, want %v", e.RetryAt, want)
			}
		}})
	}
	for _, status := range []int{500, 502, 503, 504, 408} {
		out = append(out, subtest{name: "status " + strconv.Itoa(status) + " is not surely unpublished", run: func(s *session) {
			s.wantHonest(s.hit(s.draft(plain(hello)), answer(true, status, nil, text("<html><h1>trouble</h1></html>"))))
			t := newSession(s.t, s.h)
			_, _, e := t.hit(t.draft(plain(hello)), answer(false, status, jsonHeader, text(`{}`)))
			t.wantUnsure(e)
			t.finish()
		}})
	}
	for _, c := range []struct {
		name  string
		fault fault
	}{
		{"HTML instead of an answer", answer(true, 200, map[string]string{"Content-Type": "text/html"}, text("<html>hi</html>"))},
		{"empty answer", answer(true, 200, jsonHeader, text(""))},
		{"empty object", answer(true, 200, jsonHeader, text("{}"))},
		{"wrong types", answer(true, 200, jsonHeader, text(`{"id":{"a":1},"uri":7,"url":[]}`))},
		{"answer cut off", cut},
	} {
		out = append(out, subtest{name: c.name + " is not surely unpublished", run: func(s *session) {
			s.wantHonest(s.hit(s.draft(plain(hello)), c.fault))
		}})
	}
	return out
}

// wantUnsure fails unless e leaves open whether the post exists.
func (s *session) wantUnsure(e *providers.Error) {
	s.t.Helper()
	if e == nil {
		s.t.Error("no error, though the network never answered as it should")
	} else if e.SurelyUnpublished() {
		s.t.Errorf("counts as surely unpublished: %v", e)
	}
}

// wantHonest fails where the fake holds the post and the adapter says surely not, or returns a receipt of another.
func (s *session) wantHonest(_ claim, r providers.Receipt, e *providers.Error) {
	s.t.Helper()
	p := s.wantPosts(1)[0]
	switch {
	case e == nil && r.ID != p.ID:
		s.t.Errorf("the receipt names %q, the post is %q", r.ID, p.ID)
	case e != nil && e.SurelyUnpublished():
		s.t.Errorf("counts as surely unpublished, and the network holds the post: %v", e)
	}
}

// wantRecovered publishes under f, after which the network holds the post, and recovers it in every way there is.
func (s *session) wantRecovered(f fault) {
	s.t.Helper()
	c, _, e := s.hit(s.draft(plain(hello)), f)
	s.wantUnsure(e)
	p := s.wantPosts(1)[0]
	s.renew()
	if s.able.Find != nil {
		s.settled()
		r, err := s.able.Find.Find(s.ctx, c.query(0, nil))
		if err != nil || r.ID != p.ID {
			s.t.Errorf("found %+v, %v, want the post %q", r, err, p.ID)
		}
	}
	if s.able.Key == nil {
		return
	}
	rule, ok, err := s.able.Key.KeyRule(s.ctx)
	if err != nil {
		s.t.Fatalf("KeyRule: %v", err)
	}
	if ok && rule.Exact {
		if r := s.mustSend(c, 0, nil); r.ID != p.ID {
			s.t.Errorf("repeated, it is %q, want the post %q", r.ID, p.ID)
		}
		s.wantPosts(1)
	}
}
