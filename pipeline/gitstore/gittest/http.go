package gittest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server is a smart-HTTP git server for all repositories below a directory.
type Server struct {
	root    string
	backend string
	http    *httptest.Server

	mu          sync.Mutex
	user, pass  string
	token       string
	faults      map[Point][]Fault
	beforePush  func()
	onHang      func()
	clock       func() time.Time
	redirect    string
	authHeaders []string

	requests, received, sent atomic.Int64
}

// New starts a server for a test.
func New(tb testing.TB, root string) *Server {
	tb.Helper()
	s, err := Start(tb.Context(), root)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server; Close stops it.
func Start(ctx context.Context, root string) (*Server, error) {
	libexec, err := Run(ctx, root, "--exec-path")
	if err != nil {
		return nil, err
	}
	s := &Server{root: root, backend: filepath.Join(libexec, "git-http-backend"), faults: map[Point][]Fault{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	return s, nil
}

// Close stops the server and cuts its connections.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// URL is the address of a repository, given by its path below the root; without one it is the server's.
func (s *Server) URL(repo string) string {
	return strings.TrimSuffix(s.http.URL+"/"+strings.TrimPrefix(filepath.ToSlash(repo), "/"), "/")
}

// SetAuth asks for these credentials from now on; an empty user asks for none.
func (s *Server) SetAuth(user, pass string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.pass = user, pass
}

// SetBearer asks for an Authorization: Bearer header instead.
func (s *Server) SetBearer(token string) { s.mu.Lock(); defer s.mu.Unlock(); s.token = token }

// SetClock replaces the clock of the Date header.
func (s *Server) SetClock(now func() time.Time) { s.mu.Lock(); defer s.mu.Unlock(); s.clock = now }

// SetRedirect answers every request with a redirect to another server; "" takes that back.
func (s *Server) SetRedirect(base string) { s.mu.Lock(); defer s.mu.Unlock(); s.redirect = base }

// BeforePush is called when a push has been received, before git sees it: the moment for a race. It must not fail the
// test by FailNow, since it runs in another goroutine.
func (s *Server) BeforePush(f func()) { s.mu.Lock(); defer s.mu.Unlock(); s.beforePush = f }

// OnHang is called when a request that will get no answer has been served.
func (s *Server) OnHang(f func()) { s.mu.Lock(); defer s.mu.Unlock(); s.onHang = f }

// Fail makes the next requests at a point fail, one fault for each.
func (s *Server) Fail(at Point, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[at] = append(s.faults[at], faults...)
}

// Requests counts requests since the last Reset.
func (s *Server) Requests() int64 { return s.requests.Load() }

// Received counts the bytes that clients sent.
func (s *Server) Received() int64 { return s.received.Load() }

// Sent counts the bytes that clients were sent.
func (s *Server) Sent() int64 { return s.sent.Load() }

// AuthHeaders lists the Authorization headers of all requests since the last Reset, joined where a request had several.
func (s *Server) AuthHeaders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.authHeaders...)
}

// Reset sets the counters to zero.
func (s *Server) Reset() {
	s.requests.Store(0)
	s.received.Store(0)
	s.sent.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authHeaders = nil
}

func pointOf(r *http.Request) Point {
	switch {
	case strings.HasSuffix(r.URL.Path, "/info/refs") && strings.Contains(r.URL.RawQuery, "git-receive-pack"):
		return RefsForPush
	case strings.HasSuffix(r.URL.Path, "/info/refs"):
		return RefsForFetch
	case strings.HasSuffix(r.URL.Path, "/git-receive-pack"):
		return PushRequest
	default:
		return FetchRequest
	}
}

// admit takes note of a request and decides on its fault.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (f Fault, race func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.Add(1)
	s.authHeaders = append(s.authHeaders, strings.Join(r.Header.Values("Authorization"), ", "))
	if s.clock != nil {
		w.Header().Set("Date", s.clock().UTC().Format(http.TimeFormat))
	}
	if s.redirect != "" {
		http.Redirect(w, r, s.redirect+r.URL.RequestURI(), http.StatusFound)
		return None, nil, false
	}
	user, pass, _ := r.BasicAuth()
	denied := s.user != "" && (user != s.user || pass != s.pass) ||
		s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token || len(r.Header.Values("Authorization")) > 1
	if denied {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "Invalid username or password.", http.StatusUnauthorized)
		return None, nil, false
	}
	at := pointOf(r)
	if q := s.faults[at]; len(q) > 0 {
		f, s.faults[at] = q[0], q[1:]
	}
	if at == PushRequest {
		race = s.beforePush
	}
	return f, race, true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	f, race, ok := s.admit(w, r)
	if !ok {
		return
	}
	body, err := io.ReadAll(r.Body)
	s.received.Add(int64(len(body)))
	if err != nil || refuse(w, f) {
		return
	}
	if race != nil {
		race()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	res := s.run(r)
	s.answer(w, r, f, res)
}

// refuse answers for the faults that keep git from running.
func refuse(w http.ResponseWriter, f Fault) bool {
	switch f {
	case DropBefore:
		hangUp(w)
	case EmptyNotRun:
		w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		w.WriteHeader(http.StatusOK)
	case HTMLInstead:
		page(w)
	case Status401:
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "Invalid username or password.", http.StatusUnauthorized)
	case Status403:
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
	case Status404:
		http.Error(w, "Repository not found.", http.StatusNotFound)
	case Status413:
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	case Status429:
		w.Header().Set("Retry-After", "7")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	case Status500:
		http.Error(w, "boom", http.StatusInternalServerError)
	case None, DropAfter, Truncate, Empty200, HTML200, NoRefStatus, GarbledSide, Status502Ran, Hang:
		return false
	}
	return true
}

func page(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<html><body>Please sign in to the corporate proxy</body></html>")
}

func hangUp(w http.ResponseWriter) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

// run lets git answer.
func (s *Server) run(r *http.Request) *httptest.ResponseRecorder {
	env := append(Env(s.root), "GIT_PROJECT_ROOT="+s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=tester")
	if v := r.Header.Get("Git-Protocol"); v != "" {
		env = append(env, "GIT_PROTOCOL="+v)
	}
	h := &cgi.Handler{Path: s.backend, Env: env, Stderr: io.Discard}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// answer sends git's answer, spoilt by the fault.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, f Fault, res *httptest.ResponseRecorder) {
	out := res.Body.Bytes()
	switch f {
	case DropAfter:
		hangUp(w)
		return
	case Hang:
		s.mu.Lock()
		f := s.onHang
		s.mu.Unlock()
		if f != nil {
			f()
		}
		<-r.Context().Done()
		return
	case HTML200:
		page(w)
		return
	case Status502Ran:
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	case Empty200:
		out = nil
	case NoRefStatus:
		report := "000eunpack ok\n0000"
		out = fmt.Appendf(nil, "%04x\x01%s0000", len(report)+5, report)
	case None, DropBefore, EmptyNotRun, HTMLInstead, Status401, Status403, Status404, Status413, Status429, Status500:
	case Truncate: // below
	case GarbledSide:
		out = append([]byte("0009\x07oops"), out...)
	}
	maps.Copy(w.Header(), res.Header())
	if f == Truncate {
		w.Header().Set("Content-Length", fmt.Sprint(len(out)))
		out = out[:len(out)/2]
	}
	w.WriteHeader(res.Code)
	n, _ := w.Write(out)
	s.sent.Add(int64(n))
	if f == Truncate {
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	}
}
