package ledger

import (
	"fmt"
	"slices"

	"github.com/broadside-pub/broadside/pipeline"
)

func (s *State) checkBound(e *Event) *IllegalError {
	no := func(c Code, why string) *IllegalError { return &IllegalError{Move: MoveBind, Code: c, Why: why} }
	b := s.Binding
	switch {
	case b.Ledger == "":
		if s.Number > 1 {
			return no(CodeUnbound, "a ledger is bound by its first event")
		}
	case b.Ledger != e.Ledger:
		return no(CodeMalformed, "this is ledger "+b.Ledger+", not "+e.Ledger)
	case e.Why == WhyInit:
		if b.RepoID != "" || e.RepoID == "" || b.HomeURL != e.HomeURL || b.ContentBranch != e.ContentBranch ||
			(e.Signer != "" && b.Signer != e.Signer) {
			return no(CodeState, "the ledger is bound to "+b.HomeURL+"; only `ledger move` rebinds it")
		}
	}
	return nil
}

func (s *State) applyBound(e *Event) {
	b := Binding{
		Ledger: e.Ledger, HomeURL: e.HomeURL, RepoID: e.RepoID, ContentBranch: e.ContentBranch, Signer: e.Signer,
		At: e.At, Why: e.Why, Baseline: s.Binding.Baseline,
	}
	if b.Baseline.IsZero() {
		b.Baseline = e.At
	}
	if b.Signer == "" {
		b.Signer = s.Binding.Signer
	}
	s.Binding = b
}

func (s *State) checkHeld(e *Event) *IllegalError {
	if h, ok := s.Holds[e.Hold]; ok {
		return &IllegalError{Move: MoveHold, Code: CodeTaken, Why: "hold " + h.ID + " stands already, on " + h.Scope}
	}
	return nil
}

func (s *State) applyHeld(e *Event) {
	s.Holds[e.Hold] = Hold{
		ID: e.Hold, Scope: e.Scope, Reason: string(e.Reason), Detail: e.Detail, Login: e.Login, At: e.At, By: e.Run,
	}
}

func (s *State) checkReleased(e *Event) *IllegalError {
	h, ok := s.Holds[e.Hold]
	switch {
	case !ok:
		return &IllegalError{Move: MoveRelease, Code: CodeUnknown, Why: "no hold " + e.Hold + " stands"}
	case h.Scope != e.Scope:
		return &IllegalError{Move: MoveRelease, Code: CodeMalformed, Why: "hold " + h.ID + " is on " + h.Scope}
	}
	return nil
}

func (s *State) applyReleased(e *Event) { delete(s.Holds, e.Hold) }

func (s *State) checkRefreshing(e *Event) *IllegalError {
	no := func(c Code, why string) *IllegalError {
		return &IllegalError{Move: MoveBeginRefresh, Code: c, Why: why}
	}
	c := s.Credentials[e.Login]
	switch {
	case e.Seq != c.Seq+1:
		return no(CodeMalformed, fmt.Sprintf("the refresh after %d is %d, not %d", c.Seq, c.Seq+1, e.Seq))
	case c.Pending && c.PendingRun != e.Run && e.At.Before(c.PendingUntil):
		return no(CodeBusy, "run "+c.PendingRun+" is refreshing it")
	case e.LeaseUntil.Before(e.At) || e.LeaseUntil.Sub(e.At) > MaxLease:
		return no(CodeMalformed, "the lease must end within "+MaxLease.String())
	}
	if id, ok := s.busyLogin[e.Login]; ok && e.LeaseUntil.After(e.At) {
		return no(CodeBusy, id.String()+" is publishing with it")
	}
	return nil
}

func (s *State) applyRefreshing(e *Event) {
	c := s.Credentials[e.Login]
	// A lease that ends where it begins gives the refresh up.
	c.Login, c.Pending, c.PendingUntil, c.PendingRun, c.PendingSeq = e.Login, e.LeaseUntil.After(e.At), e.LeaseUntil, e.Run, e.Seq
	s.Credentials[e.Login] = c
}

func (s *State) checkRefreshed(e *Event) *IllegalError {
	no := func(c Code, why string) *IllegalError { return &IllegalError{Move: MoveEndRefresh, Code: c, Why: why} }
	c := s.Credentials[e.Login]
	switch {
	case !c.Pending || c.PendingSeq != e.Seq:
		return no(CodeUnknown, fmt.Sprintf("refresh %d was not begun", e.Seq))
	case c.PendingRun != e.Run && e.At.Before(c.PendingUntil):
		return no(CodeForeign, "run "+c.PendingRun+" began it, and its lease has not ended")
	}
	return nil
}

func (s *State) applyRefreshed(e *Event) {
	s.Credentials[e.Login] = CredentialState{Login: e.Login, Seq: e.Seq, File: e.File, Digest: e.Digest, At: e.At}
}

func (s *State) checkTip(*Event) *IllegalError { return nil }

func (s *State) applyTip(e *Event) {
	t := Tip{
		At: e.At, Run: e.Run, Content: e.Content, Config: e.Config, Next: e.Next, Finished: e.Finished, Told: e.Told,
		ToldAt: s.Tip.ToldAt, Waiting: e.Waiting, Chain: e.Chain,
	}
	if !e.ToldAt.IsZero() {
		t.ToldAt = e.ToldAt
	}
	s.Tip = t
}

// Blocked finds a hold that forbids a claim of this delivery with this login; of several, the first by id. A hold that
// names a refused login does not bind another one. An empty login stands for one that is not known.
func (s *State) Blocked(id pipeline.DeliveryID, login string) (Hold, bool) {
	if len(s.Holds) == 0 {
		return Hold{}, false
	}
	var found []Hold
	for _, h := range s.Holds {
		if h.covers(id, login) {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return Hold{}, false
	}
	return slices.MinFunc(found, func(a, b Hold) int { return compareHolds(a, b) }), true
}

func compareHolds(a, b Hold) int {
	if a.ID < b.ID {
		return -1
	}
	return 1
}

func (h Hold) covers(id pipeline.DeliveryID, login string) bool {
	if h.Login != "" && login != "" && h.Login != login {
		return false
	}
	return h.Scope == ScopeAll || h.Scope == ScopePost(id.Post) || h.Scope == ScopeTarget(id.Target) ||
		(login != "" && h.Scope == ScopeLogin(login))
}

// Busy returns another delivery's open attempt at this target or with this login, or nil.
func (s *State) Busy(target pipeline.Target, login string) *Delivery {
	if id, ok := s.busyTarget[target]; ok {
		return s.Deliveries[id]
	}
	if id, ok := s.busyLogin[login]; ok && login != "" {
		return s.Deliveries[id]
	}
	return nil
}
