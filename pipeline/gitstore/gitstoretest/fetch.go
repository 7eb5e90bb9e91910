package gitstoretest

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
)

func absentRef(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	if s := fetch(t, r, ledger, nil); s != nil {
		t.Errorf("fetched %s of an empty remote", s.Commit())
	}
	refs, err := r.Refs(t.Context())
	if err != nil || len(refs.Tips) != 0 || refs.Head != "" {
		t.Errorf("refs of an empty remote: %v, %v", refs, err)
	}
	tip := b.Commit(t, content, map[string][]byte{"a": []byte("1")})
	if s := fetch(t, r, ledger, nil); s != nil {
		t.Errorf("fetched %s of an absent ref", s.Commit())
	}
	refs, err = r.Refs(t.Context())
	if err != nil || refs.Tips[content] != tip || refs.Head != content || refs.At.IsZero() {
		t.Errorf("refs are %v, %v", refs, err)
	}
	changes, err := r.History(t.Context(), ledger, "a", 1)
	if err != nil || len(changes) != 0 {
		t.Errorf("history of an absent ref: %v, %v", changes, err)
	}
}

func incremental(t *testing.T, b Backend, opt Options) {
	r := open(t, b)
	state := map[string]string{}
	var have gitstore.Snapshot
	for i := range opt.Rounds {
		name := fmt.Sprintf("events/2026/%02d/%04d.jsonl", i%3, i)
		state[name] = strings.Repeat(fmt.Sprintf("event %d\n", i), 20)
		b.Commit(t, ledger, map[string][]byte{name: []byte(state[name])})
		s := fetch(t, r, ledger, have)
		if got := files(t, s); !maps.Equal(got, state) {
			t.Fatalf("round %d: files are %v", i, slices.Sorted(maps.Keys(got)))
		}
		if again := fetch(t, r, ledger, s); again.Commit() != s.Commit() {
			t.Fatalf("round %d: %s, then %s", i, s.Commit(), again.Commit())
		}
		have = s
	}
	if got := files(t, fetch(t, open(t, b), ledger, nil)); !maps.Equal(got, state) {
		t.Errorf("a new client sees %v", got)
	}
	one, ok, err := have.Entry("events/2026/00/0000.jsonl")
	if err != nil || !ok || one.Mode != gitstore.ModeFile {
		t.Errorf("entry: %v, %v, %v", one, ok, err)
	}
	if _, ok, err := have.Entry("events/2026"); ok || err != nil {
		t.Errorf("a directory is an entry: %v, %v", ok, err)
	}
	below, err := have.Entries("events/2026/01")
	if err != nil || len(below) != len(slices.Collect(prefixed(state, "events/2026/01/"))) {
		t.Errorf("entries below a directory: %v, %v", below, err)
	}
	if none, err := have.Entries("nowhere"); err != nil || len(none) != 0 {
		t.Errorf("entries of nothing: %v, %v", none, err)
	}
}

func prefixed(m map[string]string, prefix string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if strings.HasPrefix(k, prefix) && !yield(k) {
				return
			}
		}
	}
}

func rewritten(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	b.Commit(t, ledger, map[string][]byte{"a": []byte("1"), "dir/b": []byte("1")})
	s := fetch(t, r, ledger, nil)
	b.Delete(t, ledger)
	b.Commit(t, ledger, map[string][]byte{"dir/b": []byte("1"), "c": []byte("other root")})
	s = fetch(t, r, ledger, s)
	if got := files(t, s); !maps.Equal(got, map[string]string{"dir/b": "1", "c": "other root"}) {
		t.Fatalf("files are %v", got)
	}
	// a snapshot that never reached the remote is no ground to stand on, and must not mislead it
	local := build(t, r, s, map[string]string{"d": "unpushed"})
	b.Commit(t, ledger, map[string][]byte{"d": []byte("pushed")})
	if got := files(t, fetch(t, r, ledger, local)); got["d"] != "pushed" || got["c"] != "other root" {
		t.Fatalf("files are %v", got)
	}
}

// random mixes commits, reverts to earlier content, deletions, rewinds and own pushes, and compares every fetch with a model.
func random(t *testing.T, b Backend, opt Options) {
	rng := rand.New(rand.NewPCG(7, uint64(opt.Rounds)))
	r := open(t, b)
	model := map[gitstore.Hash]map[string]string{}
	var chain []gitstore.Hash
	state := map[string]string{}
	var have gitstore.Snapshot
	for round := range opt.Rounds * 3 {
		switch n := rng.IntN(10); {
		case n == 0 && len(chain) > 2: // rewind
			chain = chain[:len(chain)-1-rng.IntN(2)]
			b.Force(t, ledger, chain[len(chain)-1])
			state = maps.Clone(model[chain[len(chain)-1]])
		case n <= 3 && have != nil && len(chain) > 0: // own push
			changes := edits(rng, state, round)
			have = fetch(t, r, ledger, have)
			c := build(t, r, have, changes)
			want(t, r.Push(t.Context(), update(ledger, have.Commit(), c)), gitstore.Landed)
			have = c
			chain = append(chain, c.Commit())
			model[c.Commit()] = maps.Clone(state)
		default:
			changes := map[string][]byte{}
			for p, text := range edits(rng, state, round) {
				changes[p] = nil
				if text != "" {
					changes[p] = []byte(text)
				}
			}
			id := b.Commit(t, ledger, changes)
			chain = append(chain, id)
			model[id] = maps.Clone(state)
		}
		if rng.IntN(4) == 0 {
			continue // several commits between two fetches
		}
		from := have
		if rng.IntN(5) == 0 {
			from = nil
		}
		have = fetch(t, r, ledger, from)
		if have.Commit() != chain[len(chain)-1] {
			t.Fatalf("round %d: fetched %s, want %s", round, have.Commit(), chain[len(chain)-1])
		}
		if got := files(t, have); !maps.Equal(got, state) {
			t.Fatalf("round %d: files are %v, want %v", round, got, state)
		}
	}
	b.Check(t)
}

// edits changes state, and returns the changes; "" removes. Contents repeat, so that blobs come back.
func edits(rng *rand.Rand, state map[string]string, round int) map[string]string {
	out := map[string]string{}
	for range 1 + rng.IntN(3) {
		p := fmt.Sprintf("d%d/e%d/f%d", rng.IntN(2), rng.IntN(3), rng.IntN(4))
		if _, ok := state[p]; ok && rng.IntN(4) == 0 {
			out[p] = ""
			delete(state, p)
			continue
		}
		out[p] = strings.Repeat(fmt.Sprintf("text %d\n", rng.IntN(5)), 30)
		if rng.IntN(3) == 0 {
			out[p] += fmt.Sprint(round)
		}
		state[p] = out[p]
	}
	return out
}

func treesOnly(t *testing.T, b Backend, opt Options) {
	r := open(t, b)
	media := strings.Repeat("0123456789", 1000)
	b.Commit(t, content, map[string][]byte{"posts/a.md": []byte("a"), "media/x.png": []byte(media)})
	lean := gitstore.FetchOptions{TreesOnly: true}
	s, err := r.Fetch(t.Context(), content, lean)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := s.Entries("")
	if err != nil || len(entries) != 2 || entries[0].Path != "media/x.png" {
		t.Fatalf("entries are %v, %v", entries, err)
	}
	post, _, err := s.Entry("posts/a.md")
	if err != nil {
		t.Fatal(err)
	}
	if opt.Filters {
		if _, err := s.Read(post.Blob); !errors.Is(err, gitstore.ErrBlobAbsent) {
			t.Fatalf("read before FetchBlobs: %v", err)
		}
	}
	if err := r.FetchBlobs(t.Context(), s, []gitstore.Hash{post.Blob, post.Blob}); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Read(post.Blob); err != nil || string(data) != "a" {
		t.Fatalf("read: %q, %v", data, err)
	}
	if opt.Filters {
		if _, err := s.Read(entries[0].Blob); !errors.Is(err, gitstore.ErrBlobAbsent) {
			t.Errorf("the media came along: %v", err)
		}
	}
	// a lean snapshot serves a lean fetch, and a full one gets everything in spite of it
	b.Commit(t, content, map[string][]byte{"posts/b.md": []byte("b")})
	lean.Have = s
	s2, err := r.Fetch(t.Context(), content, lean)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := s2.Entries("posts"); err != nil || len(e) != 2 {
		t.Fatalf("entries are %v, %v", e, err)
	}
	b.Commit(t, content, map[string][]byte{"posts/c.md": []byte("c")})
	if got := files(t, fetch(t, r, content, s2)); len(got) != 4 || got["media/x.png"] != media {
		t.Errorf("a full fetch after a lean one has %v", slices.Sorted(maps.Keys(got)))
	}
	// a commit can be built on trees alone
	s3, err := r.Fetch(t.Context(), content, gitstore.FetchOptions{TreesOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	c := build(t, r, s3, map[string]string{"posts/d.md": "d"})
	want(t, r.Push(t.Context(), update(content, s3.Commit(), c)), gitstore.Landed)
	if got := files(t, fetch(t, open(t, b), content, nil)); len(got) != 5 {
		t.Errorf("files are %v", slices.Sorted(maps.Keys(got)))
	}
	b.Check(t)
}

func history(t *testing.T, b Backend, opt Options) {
	r := open(t, b)
	start := time.Now().Add(-time.Minute)
	first := b.Commit(t, content, map[string][]byte{"post.md": []byte("1"), "other": []byte("0")})
	for i := range 10 {
		b.Commit(t, content, map[string][]byte{"other": fmt.Append(nil, "x", i)})
	}
	second := b.Commit(t, content, map[string][]byte{"post.md": []byte("2")})
	removed := b.Commit(t, content, map[string][]byte{"post.md": nil})
	back := b.Commit(t, content, map[string][]byte{"post.md": []byte("1")})
	for i := range 3 {
		b.Commit(t, content, map[string][]byte{"other": fmt.Append(nil, "y", i)})
	}
	changes, err := r.History(t.Context(), content, "post.md", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []gitstore.Hash
	for _, c := range changes {
		got = append(got, c.Commit)
		if c.When.Before(start) || c.When.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s is of %v", c.Commit, c.When)
		}
	}
	if !slices.Equal(got, []gitstore.Hash{back, removed, second, first}) {
		t.Fatalf("history is %v, want %v", got, []gitstore.Hash{back, removed, second, first})
	}
	if changes[1].Blob != "" || changes[0].Blob != changes[3].Blob || changes[0].Blob == changes[2].Blob {
		t.Errorf("blobs are %v", changes)
	}
	changes, err = r.History(t.Context(), content, "post.md", 2)
	if err != nil || len(changes) != 2 || changes[1].Commit != removed {
		t.Errorf("limited history is %v, %v", changes, err)
	}
	changes, err = r.History(t.Context(), content, "never", 1)
	if err != nil || len(changes) != 0 {
		t.Errorf("history of a file that never was: %v, %v", changes, err)
	}
}

func signed(t *testing.T, b Backend, _ Options) {
	r := open(t, b)
	_, priv, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Build(t.Context(), gitstore.Commit{
		Changes: []gitstore.Change{{Path: "a", Data: []byte("1")}}, Message: "signed\n\nwith a body\n", Name: "T", Email: "t@example.com",
		When: time.Unix(1_790_000_000, 0),
		Sign: func(payload []byte) (string, error) { return gitstore.SignSSH(signer, payload) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, r.Push(t.Context(), update(ledger, "", c)), gitstore.Landed)
	s := fetch(t, open(t, b), ledger, nil)
	if _, err := gitstore.VerifySSH(s.Raw(), []ssh.PublicKey{signer.PublicKey()}); err != nil {
		t.Errorf("verify: %v", err)
	}
	plain := build(t, r, c, map[string]string{"b": "1"})
	if _, err := gitstore.VerifySSH(plain.Raw(), []ssh.PublicKey{signer.PublicKey()}); !errors.Is(err, gitstore.ErrUnsigned) {
		t.Errorf("verify an unsigned commit: %v", err)
	}
	b.Check(t)
}
