package gitstore_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

// segments is a ledger of n event files.
func segments(n int) map[string][]byte {
	files := map[string][]byte{}
	for i := range n {
		name := fmt.Sprintf("events/2026/%02d/%02d/%08d-x.jsonl", i%12+1, i%28+1, i)
		files[name] = fmt.Appendf(nil, "{\"n\":%d,\"pad\":\"%x\"}\n", i, i*7919*7919)
	}
	return files
}

func TestRefetchCostsOnlyTheDifference(t *testing.T) {
	t.Parallel()
	srv, dir, r := httpRemote(t, gitstore.TransportGo, nil)
	gittest.Commit(t, dir, ledger, "many", segments(2000))
	s, err := r.Fetch(t.Context(), ledger, gitstore.FetchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole := srv.Sent()
	gittest.Commit(t, dir, ledger, "one more", map[string][]byte{"events/2026/01/01/99999999-x.jsonl": []byte("{}\n")})
	srv.Reset()
	s, err = r.Fetch(t.Context(), ledger, gitstore.FetchOptions{Have: s})
	if err != nil {
		t.Fatal(err)
	}
	if again := srv.Sent(); again > 2000 || again*20 > whole {
		t.Errorf("the first fetch took %d bytes, the second %d", whole, again)
	}
	srv.Reset()
	if res := r.Push(t.Context(), one(ledger, s.Commit(), built(t, r, s, "events/2026/01/02/99999999-y.jsonl", "{}\n"))); res.Outcome != gitstore.Landed {
		t.Fatal(res.Err)
	}
	if up := srv.Received(); up > 4000 {
		t.Errorf("the push took %d bytes", up)
	}
	if n := srv.Requests(); n != 2 {
		t.Errorf("the push took %d requests", n)
	}
}

func TestDateIsTheRemotesClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)
	srv, _, r := httpRemote(t, gitstore.TransportGo, func(o *gitstore.Options) {
		o.Now = func() time.Time { return at.Add(time.Minute) }
	})
	srv.SetClock(func() time.Time { return at })
	refs, err := r.Refs(t.Context())
	if err != nil || !refs.Date.Equal(at) || !refs.At.Equal(at.Add(time.Minute)) {
		t.Errorf("date %v, at %v, %v", refs.Date, refs.At, err)
	}
	res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1")))
	if res.Outcome != gitstore.Landed || !res.Refs.Date.Equal(at) {
		t.Errorf("%v, date %v (%v)", res.Outcome, res.Refs.Date, res.Err)
	}
}

func BenchmarkClaim(b *testing.B) {
	dir := gittest.Bare(b, filepath.Join(b.TempDir(), "repo.git"), "sha1")
	gittest.Commit(b, dir, ledger, "many", segments(3000))
	srv := gittest.New(b, filepath.Dir(dir))
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		b.Run(transport, func(b *testing.B) {
			r, err := gitstore.Open(b.Context(), gitstore.Options{URL: srv.URL("repo.git"), Transport: transport, Env: gittest.Getenv(b.TempDir())})
			if err != nil {
				b.Fatal(err)
			}
			defer closing(b, r)
			s, err := r.Fetch(b.Context(), ledger, gitstore.FetchOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; b.Loop(); n++ {
				if s, err = r.Fetch(b.Context(), ledger, gitstore.FetchOptions{Have: s}); err != nil {
					b.Fatal(err)
				}
				c, err := r.Build(b.Context(), gitstore.Commit{
					Parent: s, Changes: []gitstore.Change{{Path: fmt.Sprintf("events/2026/12/01/%s-%08d.jsonl", transport, n), Data: []byte("{}\n")}},
					Message: "claim", Name: "T", Email: "t@example.com", When: time.Unix(1_790_000_000, 0),
				})
				if err != nil {
					b.Fatal(err)
				}
				if res := r.Push(b.Context(), one(ledger, s.Commit(), c)); res.Outcome != gitstore.Landed {
					b.Fatal(res.Err)
				}
				s = c
			}
		})
	}
}

func BenchmarkEntries(b *testing.B) {
	dir := gittest.Bare(b, filepath.Join(b.TempDir(), "repo.git"), "sha1")
	gittest.Commit(b, dir, ledger, "many", segments(10000))
	r, err := gitstore.Open(b.Context(), gitstore.Options{URL: dir, Env: gittest.Getenv("")})
	if err != nil {
		b.Fatal(err)
	}
	s, err := r.Fetch(b.Context(), ledger, gitstore.FetchOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if e, err := s.Entries(""); err != nil || len(e) < 9000 {
			b.Fatal(len(e), err)
		}
	}
}
