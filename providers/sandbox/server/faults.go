package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong with a call.
type Fault string

// The faults.
const (
	RateLimit     Fault = "rate_limit"     // 429; Seconds until the reset, told in Form
	ServerError   Fault = "server_error"   // Status (default 500), nothing done
	ErrorAfter    Fault = "error_after"    // done, and Status (default 502) all the same
	Maintenance   Fault = "maintenance"    // 503 with the code that promises that nothing was done
	TimeoutBefore Fault = "timeout_before" // nothing done, no answer until the client gives up
	TimeoutAfter  Fault = "timeout_after"  // done, no answer until the client gives up
	DropBefore    Fault = "drop_before"    // nothing done, connection closed
	DropAfter     Fault = "drop_after"     // done, connection closed without an answer
	CutAnswer     Fault = "cut_answer"     // done, connection closed in the middle of the answer
	Malformed     Fault = "malformed"      // done, HTML in place of the answer
	Empty         Fault = "empty"          // done, 200 without a body
	Revoked       Fault = "revoked"        // 401
	Denied        Fault = "denied"         // 403
	Rejected      Fault = "rejected"       // 422
	Slow          Fault = "slow"           // done after Seconds
	Lag           Fault = "lag"            // done; lists show the post only after Seconds
	HalfThread    Fault = "half_thread"    // each publish of Part (default 2) and later is rejected
)

var faults = []Fault{
	RateLimit, ServerError, ErrorAfter, Maintenance, TimeoutBefore, TimeoutAfter, DropBefore, DropAfter, CutAnswer, Malformed,
	Empty, Revoked, Denied, Rejected, Slow, Lag, HalfThread,
}

// Form is how a rate limit tells its reset.
type Form string

// The forms, as networks have them.
const (
	RetrySeconds Form = "retry_after_seconds" // Retry-After: 30
	RetryDate    Form = "retry_after_date"    // Retry-After: an HTTP date
	ResetDelta   Form = "ratelimit_delta"     // RateLimit-Reset: seconds from now
	ResetEpoch   Form = "ratelimit_epoch"     // RateLimit-Reset: epoch seconds
	XResetEpoch  Form = "x_ratelimit_epoch"   // X-RateLimit-Reset: epoch seconds with a fraction
	XResetISO    Form = "x_ratelimit_iso"     // X-RateLimit-Reset: ISO 8601
	InBody       Form = "body"                // retry_after in the body
	Untold       Form = "untold"              // not at all
)

var forms = []Form{RetrySeconds, RetryDate, ResetDelta, ResetEpoch, XResetEpoch, XResetISO, InBody, Untold}

// Rule says which calls suffer a fault. Empty fields match anything. The first rule that matches and is not used up acts.
type Rule struct {
	ID      string  `json:"id,omitempty"` // given by AddRule
	Account string  `json:"account,omitempty"`
	Op      Op      `json:"op,omitempty"`   // default publish
	Any     bool    `json:"any,omitempty"`  // any Op
	Post    string  `json:"post,omitempty"` // the id of the post in its repository
	Part    int     `json:"part,omitempty"` // from 1
	Text    string  `json:"text,omitempty"` // somewhere in the request's body
	Fault   Fault   `json:"fault"`
	Skip    int     `json:"skip,omitempty"`  // so many matching calls pass first
	Times   int     `json:"times,omitempty"` // and so many suffer then; 0 means one, negative all
	Seconds float64 `json:"seconds,omitempty"`
	Status  int     `json:"status,omitempty"`
	Form    Form    `json:"form,omitempty"` // default retry_after_seconds
	Hits    int     `json:"hits"`           // how many calls have suffered
}

type rule struct {
	Rule
	left   int // negative: never used up
	passed int // matching calls that were let through
}

// AddRule puts a rule behind those that are there, and returns it with its id.
func (s *Server) AddRule(r Rule) (Rule, error) {
	if !slices.Contains(faults, r.Fault) {
		return Rule{}, fmt.Errorf("there is no fault %q; there are %s", r.Fault, join(faults))
	}
	if r.Form != "" && !slices.Contains(forms, r.Form) {
		return Rule{}, fmt.Errorf("there is no form %q; there are %s", r.Form, join(forms))
	}
	if r.Op != "" && !slices.Contains([]Op{Publish, List, Get, Edit, Delete, Upload, Container, Process, Account, Resolve, Instance, Refresh}, r.Op) {
		return Rule{}, fmt.Errorf("there is no call %q", r.Op)
	}
	if r.Status != 0 && (r.Status < 400 || r.Status > 599) {
		return Rule{}, fmt.Errorf("the status %d is no error", r.Status)
	}
	if r.Seconds < 0 || r.Seconds > 1e6 || r.Skip < 0 || r.Part < 0 {
		return Rule{}, fmt.Errorf("seconds, skip or part is out of bounds")
	}
	if r.Op == "" && !r.Any {
		r.Op = Publish
	}
	if r.Form == "" && r.Fault == RateLimit {
		r.Form = RetrySeconds
	}
	if r.Fault == HalfThread {
		r.Part, r.Times = max(r.Part, 2), -1
	}
	r.Hits = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	r.ID = "f" + strconv.Itoa(s.serial)
	left := r.Times
	if left == 0 {
		left = 1
	}
	s.rules = append(s.rules, &rule{Rule: r, left: left})
	return r, nil
}

func join[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// Rules returns the rules in order, those that are used up too.
func (s *Server) Rules() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Rule{}
	for _, r := range s.rules {
		out = append(out, r.Rule)
	}
	return out
}

// DeleteRule removes one rule, or all with the id "".
func (s *Server) DeleteRule(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rules)
	s.rules = slices.DeleteFunc(s.rules, func(r *rule) bool { return id == "" || r.ID == id })
	return id == "" || len(s.rules) < before
}

// match finds the rule that this call suffers, and uses it.
func (s *Server) match(c *call) *Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.left == 0 || !r.fits(c) {
			continue
		}
		if r.passed < r.Skip {
			r.passed++
			continue
		}
		if r.left > 0 {
			r.left--
		}
		r.Hits++
		hit := r.Rule
		return &hit
	}
	return nil
}

func (r *rule) fits(c *call) bool {
	handle := ""
	if c.who != nil {
		handle = c.who.handle
	}
	part := max(c.part, 1)
	partFits := r.Part == 0 || r.Part == part
	if r.Fault == HalfThread {
		partFits = part >= r.Part
	}
	return (r.Any || r.Op == c.op) && partFits &&
		(r.Account == "" || strings.TrimPrefix(r.Account, "@") == handle) &&
		(r.Post == "" || r.Post == c.post) &&
		(r.Text == "" || strings.Contains(string(c.body), r.Text))
}

// suffer lets the fault happen. do runs the call; told notes the answer that is given.
func (s *Server) suffer(w http.ResponseWriter, c *call, r *Rule, do func() *reply, told func(*reply)) {
	give := func(a *reply) {
		told(a)
		a.write(w)
	}
	status := func(fallback int) int {
		if r.Status != 0 {
			return r.Status
		}
		return fallback
	}
	switch r.Fault {
	case RateLimit:
		give(s.limited(r))
	case ServerError:
		give(refuse(status(http.StatusInternalServerError), "internal", "something went wrong"))
	case ErrorAfter:
		do()
		give(refuse(status(http.StatusBadGateway), "internal", "something went wrong on the way"))
	case Maintenance:
		give(refuse(http.StatusServiceUnavailable, "maintenance", "the sandbox is being maintained; nothing was done"))
	case TimeoutBefore:
		<-c.r.Context().Done()
		panic(http.ErrAbortHandler)
	case TimeoutAfter:
		do()
		<-c.r.Context().Done()
		panic(http.ErrAbortHandler)
	case DropBefore:
		panic(http.ErrAbortHandler)
	case DropAfter:
		do()
		panic(http.ErrAbortHandler)
	case CutAnswer:
		a := do()
		told(a)
		all := a.bytes()
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(all)))
		w.WriteHeader(a.status)
		_, _ = w.Write(all[:len(all)/2])
		panic(http.ErrAbortHandler)
	case Malformed:
		do()
		told(&reply{status: http.StatusOK})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Sign in</title><h1>Sign in to the hotel network</h1>"))
	case Empty:
		do()
		give(&reply{status: http.StatusOK})
	case Revoked:
		give(refuse(http.StatusUnauthorized, "invalid_token", "the access token has been revoked"))
	case Denied:
		give(refuse(http.StatusForbidden, "forbidden", "the account may not do this"))
	case Rejected, HalfThread:
		give(refuse(http.StatusUnprocessableEntity, "rejected", "the network refuses this content"))
	case Slow:
		t := time.NewTimer(seconds(r.Seconds))
		defer t.Stop()
		select {
		case <-t.C:
			give(do())
		case <-c.r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	case Lag:
		a := do()
		if c.made != nil {
			s.mu.Lock()
			c.made.listed = c.made.PublishedAt.Add(seconds(r.Seconds))
			s.mu.Unlock()
		}
		give(a)
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// limited is a 429 that tells its reset in the rule's form.
func (s *Server) limited(r *Rule) *reply {
	now := s.o.Now()
	at := now.Add(seconds(r.Seconds))
	body := apiError{Code: "rate_limited", Message: "too many requests"}
	a := &reply{status: http.StatusTooManyRequests, header: map[string]string{}}
	whole := strconv.Itoa(int(r.Seconds + 0.999))
	switch r.Form {
	case RetrySeconds, "":
		a.header["Retry-After"] = whole
	case RetryDate:
		a.header["Retry-After"] = at.UTC().Add(time.Second - 1).Truncate(time.Second).Format(http.TimeFormat)
	case ResetDelta:
		a.header["RateLimit-Reset"] = whole
	case ResetEpoch:
		a.header["RateLimit-Reset"] = strconv.FormatInt(at.Add(time.Second-1).Unix(), 10)
	case XResetEpoch:
		a.header["X-RateLimit-Reset"] = strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
	case XResetISO:
		a.header["X-RateLimit-Reset"] = at.UTC().Format("2006-01-02T15:04:05.000000Z")
	case InBody:
		body.RetryAfter = r.Seconds
	case Untold:
	}
	a.body = map[string]apiError{"error": body}
	return a
}

// Faults lists every fault.
func Faults() []Fault { return slices.Clone(faults) }

// Forms lists every form of a rate limit's reset.
func Forms() []Form { return slices.Clone(forms) }
