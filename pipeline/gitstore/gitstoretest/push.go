package gitstoretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
)

func create(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	c := build(t, r, nil, map[string]string{"README.md": "hello\n", "events/2026/1.jsonl": "{}\n"})
	want(t, r.Push(t.Context(), update(ledger, "", c)), gitstore.Landed)
	if got := b.Tip(t, ledger); got != c.Commit() {
		t.Fatalf("tip is %q, want %q", got, c.Commit())
	}
	s := fetch(t, open(t, b), ledger, nil)
	if got := files(t, s); !maps.Equal(got, map[string]string{"README.md": "hello\n", "events/2026/1.jsonl": "{}\n"}) {
		t.Errorf("files are %v", got)
	}
	if string(s.Raw()) != string(c.Raw()) {
		t.Errorf("commit is\n%s\nwant\n%s", s.Raw(), c.Raw())
	}
	b.Check(t)
}

func compareAndSet(t *testing.T, b Backend, _ Options) {
	r, other := open(t, b), open(t, b)
	root := build(t, r, nil, map[string]string{"a": "1"})
	want(t, r.Push(t.Context(), update(ledger, "", root)), gitstore.Landed)
	base := fetch(t, other, ledger, nil)
	mine := build(t, r, root, map[string]string{"b": "mine"})
	theirs := build(t, other, base, map[string]string{"b": "theirs"})
	want(t, other.Push(t.Context(), update(ledger, base.Commit(), theirs)), gitstore.Landed)
	res := r.Push(t.Context(), update(ledger, root.Commit(), mine))
	want(t, res, gitstore.LostRace)
	if !errors.Is(res.Err, gitstore.ErrLostRace) {
		t.Errorf("error %v is not ErrLostRace", res.Err)
	}
	if res.Refs.Tips[ledger] != theirs.Commit() {
		t.Errorf("advertised tip is %q, want theirs", res.Refs.Tips[ledger])
	}
	now := fetch(t, r, ledger, root)
	again := build(t, r, now, map[string]string{"c": "mine"})
	want(t, r.Push(t.Context(), update(ledger, now.Commit(), again)), gitstore.Landed)
	if got := files(t, fetch(t, other, ledger, theirs)); got["b"] != "theirs" || got["c"] != "mine" {
		t.Errorf("files are %v", got)
	}
	b.Check(t)
}

func raceInBetween(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	first := b.Commit(t, ledger, map[string][]byte{"a": []byte("1")})
	s := fetch(t, r, ledger, nil)
	if !b.Race(t, func() { b.Commit(t, ledger, map[string][]byte{"a": []byte("2")}) }) {
		return
	}
	want(t, r.Push(t.Context(), update(ledger, first, build(t, r, s, map[string]string{"b": "x"}))), gitstore.LostRace)
	if got := files(t, fetch(t, r, ledger, s)); got["a"] != "2" || got["b"] != "" {
		t.Errorf("files are %v", got)
	}
}

func createRace(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	mine := build(t, r, nil, map[string]string{"a": "mine"})
	if b.Race(t, func() { b.Commit(t, ledger, map[string][]byte{"a": []byte("theirs")}) }) {
		want(t, r.Push(t.Context(), update(ledger, "", mine)), gitstore.LostRace)
	} else {
		b.Commit(t, ledger, map[string][]byte{"a": []byte("theirs")})
	}
	want(t, r.Push(t.Context(), update(ledger, "", mine)), gitstore.LostRace)
	if got := files(t, fetch(t, r, ledger, nil)); got["a"] != "theirs" {
		t.Errorf("files are %v", got)
	}
}

func repeated(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	c := build(t, r, nil, map[string]string{"a": "1"})
	want(t, r.Push(t.Context(), update(ledger, "", c)), gitstore.Landed)
	want(t, r.Push(t.Context(), update(ledger, "", c)), gitstore.Landed)
	d := build(t, r, c, map[string]string{"a": "2"})
	want(t, r.Push(t.Context(), update(ledger, c.Commit(), d)), gitstore.Landed)
	want(t, r.Push(t.Context(), update(ledger, c.Commit(), d)), gitstore.Landed)
	want(t, r.Push(t.Context(), update(ledger, "", c)), gitstore.LostRace)
}

func expect(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	planned := b.Commit(t, content, map[string][]byte{"post.md": []byte("1")})
	c := build(t, r, nil, map[string]string{"a": "1"})
	p := update(ledger, "", c)
	p.Expect = map[string]gitstore.Hash{content: planned, "refs/heads/absent": ""}
	now := b.Commit(t, content, map[string][]byte{"post.md": []byte("2")})
	res := r.Push(t.Context(), p)
	want(t, res, gitstore.Moved)
	if !errors.Is(res.Err, gitstore.ErrMoved) || res.Refs.Tips[content] != now {
		t.Errorf("error %v, advertised %v", res.Err, res.Refs.Tips)
	}
	if got := b.Tip(t, ledger); got != "" {
		t.Fatalf("the ledger was created at %s", got)
	}
	p.Expect[content] = now
	want(t, r.Push(t.Context(), p), gitstore.Landed)
	p = update(ledger, c.Commit(), build(t, r, c, map[string]string{"b": "1"}))
	p.Expect = map[string]gitstore.Hash{content: ""}
	want(t, r.Push(t.Context(), p), gitstore.Moved)
}

func pair(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	c := build(t, r, nil, map[string]string{"a": "1"})
	both := func(old gitstore.Hash, s gitstore.Snapshot) gitstore.Push {
		return gitstore.Push{Updates: []gitstore.Update{{Ref: ledger, Old: old, New: s}, {Ref: mark, Old: old, New: s}}}
	}
	want(t, r.Push(t.Context(), both("", c)), gitstore.Landed)
	if b.Tip(t, ledger) != c.Commit() || b.Tip(t, mark) != c.Commit() {
		t.Fatal("one of the two refs was not created")
	}
	d := build(t, r, c, map[string]string{"b": "1"})
	want(t, r.Push(t.Context(), both(c.Commit(), d)), gitstore.Landed)
	e := build(t, r, d, map[string]string{"c": "1"})
	b.Force(t, mark, c.Commit())
	want(t, r.Push(t.Context(), both(d.Commit(), e)), gitstore.LostRace)
	b.Force(t, mark, d.Commit())
	if b.Race(t, func() { b.Force(t, mark, c.Commit()) }) {
		want(t, r.Push(t.Context(), both(d.Commit(), e)), gitstore.LostRace)
		if got := b.Tip(t, ledger); got != d.Commit() {
			t.Fatalf("the ledger moved to %s although the mark did not", got)
		}
	}
	b.Force(t, mark, d.Commit())
	want(t, r.Push(t.Context(), both(d.Commit(), e)), gitstore.Landed)
	// a mark that lags behind is brought up with a commit that the remote has
	b.Force(t, mark, d.Commit())
	s := fetch(t, open(t, b), ledger, nil)
	if s.Commit() != e.Commit() {
		t.Fatalf("tip is %s", s.Commit())
	}
	want(t, r.Push(t.Context(), update(mark, d.Commit(), e)), gitstore.Landed)
	b.Check(t)
}

func rewound(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	first := b.Commit(t, ledger, map[string][]byte{"a": []byte("1")})
	second := b.Commit(t, ledger, map[string][]byte{"a": []byte("2")})
	s := fetch(t, r, ledger, nil)
	b.Force(t, ledger, first)
	c := build(t, r, s, map[string]string{"b": "1"})
	want(t, r.Push(t.Context(), update(ledger, second, c)), gitstore.LostRace)
	b.Delete(t, ledger)
	want(t, r.Push(t.Context(), update(ledger, second, c)), gitstore.LostRace)
	if got := fetch(t, r, ledger, s); got != nil {
		t.Errorf("fetched %s of a deleted ref", got.Commit())
	}
}

func rejected(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	b.Reject(t)
	res := r.Push(t.Context(), update(ledger, "", build(t, r, nil, map[string]string{"a": "1"})))
	want(t, res, gitstore.Rejected)
	if !errors.Is(res.Err, gitstore.ErrRejected) || !strings.Contains(res.Message+res.Err.Error(), "declined") {
		t.Errorf("error %v, message %q", res.Err, res.Message)
	}
	if got := b.Tip(t, ledger); got != "" {
		t.Errorf("the ref was created at %s", got)
	}
}

func canceled(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	c := build(t, r, nil, map[string]string{"a": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := r.Push(ctx, update(ledger, "", c))
	want(t, res, gitstore.NotSent)
	if !errors.Is(res.Err, context.Canceled) {
		t.Errorf("error %v", res.Err)
	}
	if _, err := r.Fetch(ctx, ledger, gitstore.FetchOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch: %v", err)
	}
	if _, err := r.Refs(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("refs: %v", err)
	}
	if got := b.Tip(t, ledger); got != "" {
		t.Errorf("the ref was created at %s", got)
	}
}

func foreign(t *testing.T, b Backend, _ Options) {
	r, other := open(t, b), open(t, b)
	c := build(t, other, nil, map[string]string{"a": "1"})
	res := r.Push(t.Context(), update(ledger, "", c))
	want(t, res, gitstore.NotSent)
	if !errors.Is(res.Err, gitstore.ErrForeignSnapshot) {
		t.Errorf("push: %v", res.Err)
	}
	if _, err := r.Fetch(t.Context(), ledger, gitstore.FetchOptions{Have: c}); !errors.Is(err, gitstore.ErrForeignSnapshot) {
		t.Errorf("fetch: %v", err)
	}
	if _, err := tryBuild(t.Context(), r, c, nil); err == nil {
		t.Error("a commit was built on a foreign parent")
	}
	want(t, r.Push(t.Context(), gitstore.Push{}), gitstore.NotSent)
}

func closed(t *testing.T, b Backend, _ Options) {
	r := b.Open(t)
	c := build(t, r, nil, map[string]string{"a": "1"})
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	res := r.Push(t.Context(), update(ledger, "", c))
	want(t, res, gitstore.NotSent)
	if !errors.Is(res.Err, gitstore.ErrClosed) {
		t.Errorf("push: %v", res.Err)
	}
	if _, err := r.Refs(t.Context()); !errors.Is(err, gitstore.ErrClosed) {
		t.Errorf("refs: %v", err)
	}
}

// concurrent lets eight pushers append to one ref; every push that landed must be there in the end, and no other.
func concurrent(t *testing.T, b Backend, opt Options) {
	const pushers = 8
	first := open(t, b)
	want(t, first.Push(t.Context(), update(ledger, "", build(t, first, nil, map[string]string{"README": "x"}))), gitstore.Landed)
	var mu sync.Mutex
	var landed []string
	var wg sync.WaitGroup
	for w := range pushers {
		r := open(t, b)
		wg.Go(func() {
			var s gitstore.Snapshot
			for n := 0; n < max(2, opt.Rounds/4); {
				next, err := r.Fetch(t.Context(), ledger, gitstore.FetchOptions{Have: s})
				if err != nil {
					t.Errorf("pusher %d: %v", w, err)
					return
				}
				s = next
				name := fmt.Sprintf("events/%d-%d", w, n)
				c, err := tryBuild(t.Context(), r, s, map[string]string{name: name})
				if err != nil {
					t.Errorf("pusher %d: %v", w, err)
					return
				}
				switch res := r.Push(t.Context(), update(ledger, s.Commit(), c)); res.Outcome {
				case gitstore.Landed:
					mu.Lock()
					landed = append(landed, name)
					mu.Unlock()
					s = c
					n++
				case gitstore.LostRace:
				case gitstore.Moved, gitstore.Rejected, gitstore.AuthError, gitstore.Unknown, gitstore.NotSent:
					t.Errorf("pusher %d: %v: %v", w, res.Outcome, res.Err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := files(t, fetch(t, first, ledger, nil))
	delete(got, "README")
	slices.Sort(landed)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, landed) {
		t.Errorf("%d files are there, %d pushes landed:\n%v\n%v", len(names), len(landed), names, landed)
	}
	b.Check(t)
}

// shared uses one client from several goroutines at once.
func shared(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	b.Commit(t, content, map[string][]byte{"post.md": []byte("1")})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			ref := fmt.Sprintf("refs/heads/worker-%d", w)
			s, err := r.Fetch(t.Context(), content, gitstore.FetchOptions{TreesOnly: w%2 == 0})
			if err != nil {
				t.Errorf("worker %d: %v", w, err)
				return
			}
			e, _, err := s.Entry("post.md")
			if err == nil {
				err = r.FetchBlobs(t.Context(), s, []gitstore.Hash{e.Blob})
			}
			if err == nil {
				_, err = s.Read(e.Blob)
			}
			if err != nil {
				t.Errorf("worker %d: %v", w, err)
			}
			c, err := tryBuild(t.Context(), r, nil, map[string]string{"a": ref})
			if err != nil {
				t.Errorf("worker %d: %v", w, err)
				return
			}
			if res := r.Push(t.Context(), update(ref, "", c)); res.Outcome != gitstore.Landed {
				t.Errorf("worker %d: %v: %v", w, res.Outcome, res.Err)
			}
			if _, err := r.Refs(t.Context()); err != nil {
				t.Errorf("worker %d: %v", w, err)
			}
		})
	}
	wg.Wait()
	refs, err := r.Refs(t.Context())
	if err != nil || len(refs.Tips) != 5 {
		t.Errorf("refs are %v, %v", refs.Tips, err)
	}
}
