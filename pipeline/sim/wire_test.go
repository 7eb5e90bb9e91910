package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers/transport"
)

// sent is one request to publish that has left a process.
type sent struct {
	Proc    string
	Dest    string
	Account string
	Post    string
	Part    int // from 1
	Entered time.Time
	Arrived time.Time // zero: never
	Left    time.Time // when the process had its answer, or gave up
	Late    bool      // it was on its way when its sender had given up
	Frozen  bool      // its sender was frozen between its last check and this request
	Made    string    // the post that came of it
}

// use is one use of a refresh token that is good for one.
type use struct {
	Proc, Dest, Token string
	At                time.Time
	Worked, Frozen    bool
}

// wire is a process's way to one destination's network.
type wire struct {
	p *proc
	d pipeline.Destination
}

var errWire = errors.New("connection reset by peer (injected)")

// classOf names what a request is for.
func classOf(r *http.Request) string {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/posts"):
		return "list"
	case r.Method == http.MethodGet:
		return "read"
	case strings.HasSuffix(path, "/token"):
		return "refresh"
	case strings.HasSuffix(path, "/posts"), strings.HasSuffix(path, "/publish"):
		return "publish"
	}
	return "upload"
}

// RoundTrip implements http.RoundTripper.
func (x wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w, kind := x.p.w, classOf(r)
	class := kind
	if kind == "list" {
		class = "read"
	}
	s := &sent{Proc: x.p.name, Dest: x.d.Name, Account: x.d.Account, Post: r.Header.Get("Sandbox-Post"), Entered: time.Now()}
	s.Part, _ = strconv.Atoi(r.Header.Get("Sandbox-Part"))
	if kind == "publish" {
		w.mu.Lock()
		w.sent = append(w.sent, s)
		w.mu.Unlock()
		defer func() {
			if s.Left.IsZero() {
				s.Left = time.Now()
			}
		}()
	}
	o, err := x.p.enter(class, "net/"+x.d.Account)
	if err != nil {
		return nil, &transport.NotSentError{Err: err}
	}
	s.Frozen = o.frozen
	if o.frozen && x.p.step.Freeze.Force {
		// It had left, as far as the process could tell, before the process froze.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
		defer cancel()
		r = r.WithContext(ctx)
	}
	resp, err := x.carry(r, kind, s)
	s.Left = time.Now()
	if dead := x.p.leave(o); dead != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		return nil, dead
	}
	return resp, err
}

// carry takes a request to the network, or loses it.
func (x wire) carry(r *http.Request, kind string, s *sent) (*http.Response, error) {
	w := x.p.w
	f, ok := w.wireFault(x.d.Name, kind)
	if !ok {
		return x.deliver(r, kind, s)
	}
	w.happened("wire: " + f.Kind)
	w.logf("%s: %s %s: %s", x.p.name, x.d.Name, kind, f.Kind)
	switch f.Kind {
	case "unsent":
		return nil, &transport.NotSentError{Err: errWire}
	case "lost":
		transport.MarkSent(r)
		return nil, errWire
	case "hang":
		transport.MarkSent(r)
		<-r.Context().Done()
		return nil, r.Context().Err()
	case "unheard", "hang-done":
		resp, err := x.deliver(r, kind, s)
		if err == nil {
			_ = resp.Body.Close()
		}
		if f.Kind == "hang-done" {
			<-r.Context().Done()
		}
		return nil, errWire
	case "late":
		return x.late(r, kind, s, f.Dur)
	case "stale":
		return x.stale(r, kind, s, f.Dur)
	}
	panic("no such fault: " + f.Kind)
}

// deliver hands a request to the network.
func (x wire) deliver(r *http.Request, kind string, s *sent) (*http.Response, error) {
	w := x.p.w
	if kind != "refresh" {
		if r.Context().Err() == nil {
			s.Arrived = time.Now()
		}
		return transport.Handler(w.net).RoundTrip(r)
	}
	u := use{Proc: x.p.name, Dest: x.d.Name, At: time.Now(), Token: tokenOf(r), Frozen: s.Frozen}
	before := w.holder(u.Token)
	resp, err := transport.Handler(w.net).RoundTrip(r)
	u.Worked = before != "" && w.holder(u.Token) == ""
	w.mu.Lock()
	w.uses = append(w.uses, u)
	w.mu.Unlock()
	return resp, err
}

// holder finds the account whose refresh token this is now, "" for none.
func (w *world) holder(token string) string {
	for _, l := range w.net.Logins() {
		if l.RefreshToken == token && token != "" {
			return l.Handle
		}
	}
	return ""
}

func tokenOf(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		RefreshToken string `json:"refresh_token"`
	}
	_ = json.Unmarshal(body, &in)
	return in.RefreshToken
}

// late breaks the connection, and delivers the request all the same, later.
func (x wire) late(r *http.Request, kind string, s *sent, after time.Duration) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	transport.MarkSent(r)
	s.Late = true
	x.p.w.wg.Go(func() {
		time.Sleep(after)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		again := r.Clone(ctx)
		again.Body = io.NopCloser(bytes.NewReader(body))
		if resp, err := x.deliver(again, kind, s); err == nil {
			_ = resp.Body.Close()
		}
	})
	return nil, errWire
}

// stale answers a list as a replica would that is behind.
func (x wire) stale(r *http.Request, kind string, s *sent, behind time.Duration) (*http.Response, error) {
	resp, err := x.deliver(r, kind, s)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	var page map[string]any
	if json.Unmarshal(body, &page) == nil {
		if list, ok := page["posts"].([]any); ok {
			old := time.Now().Add(-behind)
			page["posts"] = slices.DeleteFunc(list, func(v any) bool {
				m, _ := v.(map[string]any)
				at, _ := m["published_at"].(string)
				t, err := time.Parse(time.RFC3339, at)
				return err == nil && t.After(old)
			})
		}
		body, _ = json.Marshal(page)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// wireFault finds the fault that a request suffers, and uses it up.
func (w *world) wireFault(dest, kind string) (step, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.wires {
		if f.left == 0 || f.Dests[0] != dest || f.Op != kind && f.Op != "any" {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.left--
		return f.step, true
	}
	return step{}, false
}
