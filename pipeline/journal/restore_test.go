package journal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

const mark = ref + "-mark"

// write appends n commits, each with a post of its own, and returns the ledger's tip after each.
func (g *rig) write(from, n int) []gitstore.Hash {
	g.t.Helper()
	j := g.open("writer")
	var tips []gitstore.Hash
	for i := range n {
		check(g.t, j.Append(g.t.Context(), nil, schedule(fmt.Sprintf("p%d", from+i))))
		tips = append(tips, g.git.Tip(ref))
	}
	return tips
}

// foreign pushes a commit that has not the ledger's signature.
func (g *rig) foreign(ref string) gitstore.Hash {
	return g.git.Commit(ref, []gitstore.Change{{Path: "format", Data: []byte("9\n")}, {Path: "events/x", Data: []byte("x")}}, "not ours")
}

// copyOf makes another repository that has the ledger as it is now.
func (g *rig) copyOf() *memgit.Server {
	g.t.Helper()
	snap := g.git.Snapshot(ref)
	es, err := snap.Entries("")
	check(g.t, err)
	c := gitstore.Commit{
		Message: "clone", Name: "a", Email: "a@localhost", When: time.Now(),
		Sign: func(p []byte) (string, error) { return gitstore.SignSSH(g.key.Signer, p) },
	}
	for _, e := range es {
		data, err := snap.Read(e.Blob)
		check(g.t, err)
		c.Changes = append(c.Changes, gitstore.Change{Path: e.Path, Data: data})
	}
	s := memgit.NewServer()
	s.CommitAs("refs/remotes/origin/broadside-ledger", c)
	return s
}

func source(s *memgit.Server, chosen bool) journal.Source {
	return journal.Source{
		Name: "a clone", Remote: s.Remote(memgit.RemoteOptions{Name: "clone", Now: time.Now}),
		Refs: []string{"refs/remotes/origin/broadside-ledger"}, Chosen: chosen,
	}
}

func TestRestoreMendsEveryDamageWithoutForce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// damage is done after three posts were written; it may return another source.
		damage  func(g *rig, tips []gitstore.Hash) []journal.Source
		posts   int
		certain bool
	}{
		{"deleted", func(g *rig, _ []gitstore.Hash) []journal.Source { g.git.Delete(ref); return nil }, 3, true},
		{"rewound", func(g *rig, tips []gitstore.Hash) []journal.Source { g.git.Force(ref, tips[0]); return nil }, 3, true},
		{"foreign commit on top", func(g *rig, _ []gitstore.Hash) []journal.Source { g.foreign(ref); g.foreign(ref); return nil }, 3, false},
		{"rewound, then a foreign commit", func(g *rig, tips []gitstore.Hash) []journal.Source {
			g.git.Force(ref, tips[0])
			g.foreign(ref)
			return nil
		}, 3, false},
		{"replaced by a foreign history", func(g *rig, _ []gitstore.Hash) []journal.Source { g.git.Delete(ref); g.foreign(ref); return nil }, 3, false},
		{"mark deleted", func(g *rig, _ []gitstore.Hash) []journal.Source { g.git.Delete(mark); return nil }, 3, false},
		{"foreign commit on the mark", func(g *rig, _ []gitstore.Hash) []journal.Source { g.foreign(mark); return nil }, 3, false},
		{"mark rewound", func(g *rig, tips []gitstore.Hash) []journal.Source { g.git.Force(mark, tips[0]); return nil }, 3, true},
		{"both deleted, a clone has it", func(g *rig, _ []gitstore.Hash) []journal.Source {
			c := g.copyOf()
			g.git.Delete(ref)
			g.git.Delete(mark)
			return []journal.Source{source(c, false)}
		}, 3, false},
		{"both rewound, a clone is newer", func(g *rig, tips []gitstore.Hash) []journal.Source {
			c := g.copyOf()
			g.git.Force(ref, tips[0])
			g.git.Force(mark, tips[0])
			return []journal.Source{source(c, false)}
		}, 3, true},
		{"an old clone is no danger", func(g *rig, _ []gitstore.Hash) []journal.Source {
			c := g.copyOf()
			g.write(3, 2)
			g.git.Delete(ref)
			return []journal.Source{source(c, true)}
		}, 5, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubbleTest(t, func(t *testing.T, g *rig) {
				g.t = t
				sources := c.damage(g, g.write(0, 3))
				var forced []memgit.Event
				g.git.OnPush(func(e memgit.Event) { forced = append(forced, e) })
				r, err := journal.Restore(t.Context(), g.options("restore"), sources)
				check(t, err)
				if r.Whole || r.Certain != c.certain {
					t.Errorf("whole %t, certain %t, want false, %t", r.Whole, r.Certain, c.certain)
				}
				commit, err := r.Do(t.Context())
				check(t, err)
				if g.git.Tip(ref) != commit || g.git.Tip(mark) != commit {
					t.Errorf("the refs are at %.8s and %.8s, not at %.8s", g.git.Tip(ref), g.git.Tip(mark), commit)
				}
				for _, e := range forced {
					if e.Old != "" && !g.reaches(e.New, e.Old) {
						t.Errorf("%s was forced from %.8s to %.8s", e.Ref, e.Old, e.New)
					}
				}
				j := g.open("reader")
				if n := len(j.State().Deliveries); n != c.posts {
					t.Errorf("%d posts are known, want %d", n, c.posts)
				}
				rep, err := ledger.Verify(j.Files())
				check(t, err)
				if !rep.OK() {
					t.Errorf("not legal: %v", rep.Problems)
				}
				if held := len(j.State().Holds) > 0; held == c.certain {
					t.Errorf("held %t though certain is %t", held, c.certain)
				}
				check(t, j.Append(t.Context(), nil, schedule("after")))
			})
		})
	}
}

// reaches tells whether old is in the history of tip.
func (g *rig) reaches(tip, old gitstore.Hash) bool {
	if tip == old {
		return true
	}
	for _, p := range g.git.At(tip).Parents() {
		if g.reaches(p, old) {
			return true
		}
	}
	return false
}

func TestRestoreLeavesAWholeLedgerAlone(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.t = t
		g.write(0, 2)
		c := g.copyOf()
		g.write(2, 1)
		r, err := journal.Restore(t.Context(), g.options("restore"), []journal.Source{source(c, true)})
		check(t, err)
		if !r.Whole {
			t.Error("a whole ledger is to be restored")
		}
	})
}

func TestRestoreRefusesWhatOnlyAPersonCanDecide(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.t = t
		tips := g.write(0, 2)
		clone := g.copyOf()
		g.git.Force(ref, tips[0])
		g.git.Force(mark, tips[0])
		g.write(7, 3)
		_, err := journal.Restore(t.Context(), g.options("restore"), []journal.Source{source(clone, false)})
		if !errors.Is(err, journal.ErrDiverged) {
			t.Fatalf("diverged histories: %v", err)
		}
		r, err := journal.Restore(t.Context(), g.options("restore"), []journal.Source{source(clone, true)})
		check(t, err)
		if r.Certain || !r.Diverged {
			t.Errorf("certain %t, diverged %t", r.Certain, r.Diverged)
		}
		_, err = r.Do(t.Context())
		check(t, err)
		s := g.open("reader").State()
		if len(s.Deliveries) != 2 || len(s.Holds) != 1 {
			t.Errorf("%d posts, %d holds", len(s.Deliveries), len(s.Holds))
		}
	})
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.t = t
		g.foreign(ref)
		g.foreign(mark)
		r, err := journal.Restore(t.Context(), g.options("restore"), nil)
		if !errors.Is(err, journal.ErrNothingGood) || len(r.Witnesses()) != 2 {
			t.Errorf("%v, %d witnesses", err, len(r.Witnesses()))
		}
	})
}

func TestRestoreSeesThroughCompaction(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.t = t
		tips := g.write(0, 3)
		j := g.open("compactor")
		check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error { return compact(tx, j.Files()) }))
		g.git.Force(ref, tips[1])
		r, err := journal.Restore(t.Context(), g.options("restore"), nil)
		check(t, err)
		if r.Best != r.Mark || !r.Certain {
			t.Errorf("restores from %s, certain %t", r.Best.Describe(), r.Certain)
		}
		_, err = r.Do(t.Context())
		check(t, err)
		if n := len(g.open("reader").State().Deliveries); n != 3 {
			t.Errorf("%d posts", n)
		}
	})
}

func TestInspectGathersAllThatIsWrong(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.t = t
		g.write(0, 1)
		in, err := journal.Inspect(t.Context(), g.options("reader"))
		check(t, err)
		if !in.OK() {
			t.Errorf("a good ledger: %v %v", in.Refusals, in.Report.Problems)
		}
		g.git.Commit(ref, []gitstore.Change{{Path: "events/x", Data: []byte("x")}}, "not ours")
		g.git.Delete(mark)
		in, err = journal.Inspect(t.Context(), g.options("reader"))
		check(t, err)
		var codes []string
		for _, r := range in.Refusals {
			codes = append(codes, r.Code)
		}
		if len(codes) != 2 || codes[0] != "ledger_unsigned" || codes[1] != "ledger_rewound" || len(in.Report.Problems) == 0 {
			t.Errorf("codes %v, problems %v", codes, in.Report.Problems)
		}
	})
}

func TestAnyHomeOpensOnlyToMove(t *testing.T) {
	t.Parallel()
	bubbleTest(t, func(t *testing.T, g *rig) {
		g.t = t
		opt := g.options("elsewhere")
		opt.Home.URL = "https://elsewhere.example/x.git"
		var refused *journal.Refusal
		if _, err := journal.Open(t.Context(), opt); !errors.As(err, &refused) || refused.Code != "ledger_elsewhere" {
			t.Fatalf("opened elsewhere: %v", err)
		}
		opt.AnyHome = true
		j, err := journal.Open(t.Context(), opt)
		check(t, err)
		b := j.State().Binding
		b.HomeURL = opt.Home.URL
		check(t, j.Append(t.Context(), nil, func(tx *journal.Tx) error { return tx.Add(tx.State.Bind(tx.Stamp, b, "test", ledger.WhyMove)) }))
		opt.AnyHome = false
		if _, err := journal.Open(t.Context(), opt); err != nil {
			t.Errorf("after the move: %v", err)
		}
		if _, err := journal.Open(t.Context(), g.options("old")); !errors.As(err, &refused) || refused.Code != "ledger_elsewhere" {
			t.Errorf("the old home still opens it: %v", err)
		}
	})
}

// compact folds all event files into the archive, as a run does.
func compact(tx *journal.Tx, files ledger.Files) error {
	changes, err := ledger.Compact(tx.State, files, tx.Now)
	if err != nil {
		return err
	}
	for _, c := range changes {
		tx.File(gitstore.Change{Path: c.Path, Data: c.Data, Remove: c.Remove})
	}
	return nil
}
