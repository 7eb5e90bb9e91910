package memgit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
)

const ref = "refs/heads/ledger"

func build(t *testing.T, r gitstore.Remote, parent gitstore.Snapshot, text string) gitstore.Snapshot {
	t.Helper()
	s, err := r.Build(t.Context(), gitstore.Commit{
		Parent: parent, Changes: []gitstore.Change{{Path: text, Data: []byte(text)}}, Message: text, Name: "T", Email: "t@example.com", When: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func push(t *testing.T, r gitstore.Remote, old gitstore.Hash, s gitstore.Snapshot) gitstore.Result {
	t.Helper()
	return r.Push(t.Context(), gitstore.Push{Updates: []gitstore.Update{{Ref: ref, Old: old, New: s}}})
}

func only(kind memgit.OpKind, f memgit.Fault) func(memgit.Op) memgit.Fault {
	return func(op memgit.Op) memgit.Fault {
		if op.Kind == kind {
			return f
		}
		return memgit.Fault{}
	}
}

func TestFaultsHaveTheirOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   memgit.Fault
		out     gitstore.Outcome
		applied bool
		is      error
	}{
		{memgit.Fault{}, gitstore.Landed, true, nil},
		{memgit.Fault{Kind: memgit.Before}, gitstore.NotSent, false, nil},
		{memgit.Fault{Kind: memgit.After}, gitstore.Unknown, true, gitstore.ErrUnknownOutcome},
		{memgit.Fault{Kind: memgit.Lost}, gitstore.Unknown, false, gitstore.ErrUnknownOutcome},
		{memgit.Fault{Kind: memgit.Reject}, gitstore.Rejected, false, gitstore.ErrRejected},
		{memgit.Fault{Kind: memgit.Auth}, gitstore.AuthError, false, gitstore.ErrAuth},
		{memgit.Fault{Kind: memgit.Lie}, gitstore.Landed, false, nil},
		{memgit.Fault{Kind: memgit.Before, Err: context.DeadlineExceeded}, gitstore.NotSent, false, context.DeadlineExceeded},
	} {
		s := memgit.NewServer()
		r := s.Remote(memgit.RemoteOptions{Name: "one"})
		s.SetFaults(only(memgit.OpPush, c.fault))
		mine := build(t, r, nil, "mine")
		res := push(t, r, "", mine)
		if res.Outcome != c.out || c.is != nil && !errors.Is(res.Err, c.is) {
			t.Errorf("%v: %v (%v)", c.fault.Kind, res.Outcome, res.Err)
		}
		if got := s.Tip(ref) == mine.Commit(); got != c.applied {
			t.Errorf("%v: applied %v", c.fault.Kind, got)
		}
	}
}

func TestLatePushLandsOnlyOnWhatItExpects(t *testing.T) {
	t.Parallel()
	for _, overtaken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := memgit.NewServer()
			r := s.Remote(memgit.RemoteOptions{})
			mine := build(t, r, nil, "mine")
			s.SetFaults(only(memgit.OpPush, memgit.Fault{Kind: memgit.Late, Late: time.Minute}))
			if res := push(t, r, "", mine); res.Outcome != gitstore.Unknown {
				t.Fatalf("%v (%v)", res.Outcome, res.Err)
			}
			if s.Tip(ref) != "" {
				t.Fatal("it landed at once")
			}
			want := mine.Commit()
			if overtaken {
				want = s.Commit(ref, []gitstore.Change{{Path: "theirs", Data: []byte("1")}}, "theirs")
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if got := s.Tip(ref); got != want {
				t.Errorf("overtaken %v: tip is %s, want %s", overtaken, got, want)
			}
		})
	}
}

func TestDelayPassesInTheBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memgit.NewServer()
		s.SetClock(time.Now)
		s.SetFaults(only(memgit.OpRefs, memgit.Fault{Delay: time.Hour}))
		r := s.Remote(memgit.RemoteOptions{})
		start := time.Now()
		refs, err := r.Refs(t.Context())
		if err != nil || refs.At.Sub(start) != time.Hour || !refs.Date.Equal(refs.At) {
			t.Errorf("%v, %v", refs, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		if _, err := r.Refs(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestStaleReadsShowThePast(t *testing.T) {
	t.Parallel()
	s := memgit.NewServer()
	r := s.Remote(memgit.RemoteOptions{})
	var tips []gitstore.Hash
	for i := range 3 {
		tips = append(tips, s.Commit(ref, []gitstore.Change{{Path: fmt.Sprint(i), Data: []byte("x")}}, "m"))
	}
	for _, c := range []struct {
		stale int
		want  gitstore.Hash
	}{{0, tips[2]}, {1, tips[1]}, {3, ""}, {9, ""}} {
		s.SetFaults(only(memgit.OpFetch, memgit.Fault{Stale: c.stale}))
		snap, err := r.Fetch(t.Context(), ref, gitstore.FetchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := gitstore.Hash("")
		if snap != nil {
			got = snap.Commit()
		}
		if got != c.want {
			t.Errorf("%d updates ago: %q, want %q", c.stale, got, c.want)
		}
	}
}

func TestServerIsInTheTestsHand(t *testing.T) {
	t.Parallel()
	s := memgit.NewServer()
	var events []memgit.Event
	s.OnPush(func(e memgit.Event) { events = append(events, e) })
	r := s.Remote(memgit.RemoteOptions{Name: "one"})
	first := s.Commit(ref, []gitstore.Change{{Path: "a", Data: []byte("1")}}, "first")
	snap, err := r.Fetch(t.Context(), ref, gitstore.FetchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := build(t, r, snap, "next")
	if res := push(t, r, first, next); res.Outcome != gitstore.Landed {
		t.Fatal(res.Err)
	}
	s.Force(ref, first)
	s.Delete(ref)
	want := []memgit.Event{
		{"", ref, "", first},
		{"one", ref, first, next.Commit()},
		{"", ref, next.Commit(), first},
		{"", ref, first, ""},
	}
	if fmt.Sprint(events) != fmt.Sprint(want) {
		t.Errorf("events are %v, want %v", events, want)
	}
	if s.Snapshot(ref) != nil || len(s.Refs()) != 0 {
		t.Errorf("refs are %v", s.Refs())
	}
	if data, err := s.At(next.Commit()).Read(mustEntry(t, s.At(next.Commit()), "next").Blob); err != nil || string(data) != "next" {
		t.Errorf("read on the server: %q, %v", data, err)
	}
}

func mustEntry(t *testing.T, s gitstore.Snapshot, path string) gitstore.Entry {
	t.Helper()
	e, ok, err := s.Entry(path)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", path, ok, err)
	}
	return e
}

func TestPairWithoutAtomicIsTwoOperations(t *testing.T) {
	t.Parallel()
	s := memgit.NewServer()
	s.SetAtomic(false)
	r := s.Remote(memgit.RemoteOptions{})
	c := build(t, r, nil, "a")
	both := gitstore.Push{Updates: []gitstore.Update{{Ref: ref, New: c}, {Ref: "refs/heads/mark", New: c}}}
	pushes := 0
	s.SetFaults(func(op memgit.Op) memgit.Fault {
		if op.Kind != memgit.OpPush {
			return memgit.Fault{}
		}
		pushes++
		if pushes == 2 {
			return memgit.Fault{Kind: memgit.After}
		}
		return memgit.Fault{}
	})
	res := r.Push(t.Context(), both)
	if res.Outcome != gitstore.Unknown || len(res.Applied) != 1 || res.Applied[0] != ref || res.Refs.Atomic {
		t.Errorf("%v, applied %v (%v)", res.Outcome, res.Applied, res.Err)
	}
	if res := r.Push(t.Context(), both); res.Outcome != gitstore.Landed || len(res.Applied) != 2 {
		t.Errorf("%v, applied %v (%v)", res.Outcome, res.Applied, res.Err)
	}
}
