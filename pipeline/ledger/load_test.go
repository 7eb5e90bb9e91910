package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
)

// smallTree is a ledger of five files: bound, scheduled, claimed, two receipts, a hold.
func smallTree(t *testing.T) (Tree, *State) {
	t.Helper()
	w := newWorld(t)
	w.published()
	w.do(w.s().Hold(stampAt(30, "person:ada"), HoldInput{Hold: "h", Scope: ScopeAll, Reason: "person"}))
	tree, s := newTree(), New()
	for _, part := range [][]Event{w.b.Events[:1], w.b.Events[1:2], w.b.Events[2:3], w.b.Events[3:5], w.b.Events[5:]} {
		s = commit(t, tree, s, part)
	}
	return tree, s
}

func eventPaths(t *testing.T, tree Tree) []string {
	t.Helper()
	paths, err := tree.List("events/")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no event files: %v", err)
	}
	return paths
}

func TestLoadFoldsFilesByNumber(t *testing.T) {
	t.Parallel()
	tree, s := smallTree(t)
	// The folder is by date, which may lie: order is by number.
	paths := eventPaths(t, tree)
	moved := EventPath(2, t0.AddDate(1, 0, 0), "00000000")
	tree[moved] = tree[paths[1]]
	delete(tree, paths[1])
	got, err := Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, s, got)
	if got.Number != 5 || got.Binding.Ledger != binding().Ledger {
		t.Errorf("number %d, binding %+v", got.Number, got.Binding)
	}
}

func TestLoadStopsAtWhatItCannotTrust(t *testing.T) {
	t.Parallel()
	gap := func(err error) bool { var g *GapError; return errors.As(err, &g) }
	at := func(text string) func(error) bool {
		return func(err error) bool { return err != nil && strings.Contains(err.Error(), text) }
	}
	tests := []struct {
		name  string
		spoil func(Tree, []string)
		want  func(error) bool
	}{
		{"no format", func(tr Tree, _ []string) { delete(tr, FormatPath) }, func(err error) bool { return errors.Is(err, ErrNoLedger) }},
		{"newer format", func(tr Tree, _ []string) { tr[FormatPath] = []byte("2\n") }, func(err error) bool {
			var v *VersionError
			return errors.As(err, &v) && v.Found == "2"
		}},
		{"no events", func(tr Tree, ps []string) {
			for _, p := range ps {
				delete(tr, p)
			}
		}, at("never bound")},
		{"gap", func(tr Tree, ps []string) { delete(tr, ps[2]) }, gap},
		{"first is missing", func(tr Tree, ps []string) { delete(tr, ps[0]) }, gap},
		{"double", func(tr Tree, ps []string) { tr[strings.Replace(ps[2], "-", "-z", 1)] = tr[ps[2]] }, gap},
		{"stray file", func(tr Tree, _ []string) { tr["events/2026/12/03/note.txt"] = nil }, at("not the path")},
		{"stray archive", func(tr Tree, _ []string) { tr["archive/note.txt"] = nil }, at("archive/note.txt")},
		{"empty file", func(tr Tree, ps []string) { tr[ps[2]] = nil }, at("no events")},
		{"no tip", func(tr Tree, ps []string) {
			lines := strings.SplitAfter(string(tr[ps[2]]), "\n")
			tr[ps[2]] = []byte(lines[0])
		}, at("tip")},
		{"two tips", func(tr Tree, ps []string) {
			lines := strings.SplitAfter(string(tr[ps[2]]), "\n")
			tr[ps[2]] = []byte(lines[1] + lines[0] + lines[1])
		}, at(":1:")},
		{"unknown kind", func(tr Tree, ps []string) {
			tr[ps[4]] = []byte(strings.Replace(string(tr[ps[4]]), `"kind":"held"`, `"kind":"zapped"`, 1))
		}, func(err error) bool { var u *UnknownKindError; return errors.As(err, &u) }},
		{"illegal event", func(tr Tree, ps []string) { tr[ps[4]] = tr[ps[2]] }, func(err error) bool {
			var i *IllegalError
			var l *LineError
			return errors.As(err, &i) && i.Move == MoveClaim && errors.As(err, &l) && l.Line == 1 && strings.Contains(l.Path, "00000005")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree, s := smallTree(t)
			tt.spoil(tree, eventPaths(t, tree))
			if _, err := Load(tree); !tt.want(err) {
				t.Errorf("Load: %v", err)
			}
			r, err := Verify(tree)
			if err == nil && r.OK() {
				t.Error("Verify finds nothing wrong")
			}
			_ = s
		})
	}
}

func TestExtendFoldsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	tree, _ := smallTree(t)
	paths := eventPaths(t, tree)
	short := Tree{FormatPath: tree[FormatPath]}
	for _, p := range paths[:3] {
		short[p] = tree[p]
	}
	s3, err := Load(short)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	onlyNew := Tree{FormatPath: tree[FormatPath], paths[3]: tree[paths[3]], paths[4]: tree[paths[4]]}
	got, err := Extend(s3, onlyNew, 4)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, whole, got)
	if s3.Number != 3 || len(s3.Holds) != 0 {
		t.Error("the state before was changed")
	}
	if same, err := Extend(whole, tree, 6); err != nil || same != whole {
		t.Errorf("nothing new: %v", err)
	}
	if _, err := Extend(whole, short, 6); err == nil {
		t.Error("a ledger that was rewound was accepted")
	}
	delete(onlyNew, paths[3])
	var g *GapError
	if _, err := Extend(s3, onlyNew, 4); !errors.As(err, &g) {
		t.Errorf("gap: %v", err)
	}
	// Compacted beyond what the state knows: it is loaded anew.
	changes, err := Compact(whole, tree, min0(40))
	if err != nil {
		t.Fatal(err)
	}
	apply(tree, changes)
	if got, err = Extend(s3, tree, 4); err != nil {
		t.Fatal(err)
	}
	wantSame(t, whole, got)
}

func TestCompactionRewritesOnlyMonthFilesThatGain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.published()
	tree := newTree()
	s := commit(t, tree, New(), w.b.Events)
	compact := func(now time.Time) []string {
		changes, err := Compact(s, tree, now)
		if err != nil {
			t.Fatal(err)
		}
		var written []string
		for _, c := range changes {
			if !c.Remove {
				written = append(written, c.Path)
			}
		}
		apply(tree, changes)
		return written
	}
	if got := compact(min0(60)); !slices.Equal(got, []string{"archive/2026-12.jsonl", openFile}) {
		t.Errorf("first compaction wrote %v", got)
	}
	old := string(tree["archive/2026-12.jsonl"])
	// A month later another post goes out, and the old delivery gets an extra copy, which unsettles it.
	later := t0.AddDate(0, 1, 0)
	b := s.Batch()
	id2 := pipeline.DeliveryID{Post: "january", Target: blue}
	in := scheduleInput(id2)
	in.Due, in.By = later, later.Add(time.Hour)
	st := Stamp{later, "run-a"}
	c := claimInput(id2, 0, "b1", 1)
	c.LeaseUntil = later.Add(10 * time.Minute)
	for _, step := range []func() (Event, error){
		func() (Event, error) { return b.State.Schedule(st, in) },
		func() (Event, error) { return b.State.Claim(st, c) },
		func() (Event, error) { return b.State.RecordReceipt(st, response(id2, "b1", 0, "q0")) },
		func() (Event, error) { return b.State.RecordReceipt(st, response(id1, "a1", 0, "again")) },
	} {
		if err := b.Take(step()); err != nil {
			t.Fatal(err)
		}
	}
	s = commit(t, tree, s, b.Events)
	if got := compact(later); !slices.Equal(got, []string{"archive/2027-01.jsonl", openFile}) {
		t.Errorf("second compaction wrote %v", got)
	}
	if string(tree["archive/2026-12.jsonl"]) != old {
		t.Error("the old month was changed")
	}
	if !strings.Contains(string(tree[openFile]), `"launch-1-0"`) {
		t.Error("what is not settled any more is not in open.jsonl")
	}
	got, err := Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, s, got)
	if r, err := Verify(tree); err != nil || !r.OK() || r.Through != 2 {
		t.Errorf("%+v %v", r, err)
	}
	for path := range tree {
		if strings.HasPrefix(path, "archive/") && !strings.HasPrefix(string(tree[path]), `{"through":{`) {
			t.Errorf("%s does not begin with its number", path)
		}
	}
}

// TestMonthGainsAnyNumberOfDeliveries has some settled deliveries in a month's file and others come to it, in numbers that
// leave room in slices and that do not.
func TestMonthGainsAnyNumberOfDeliveries(t *testing.T) {
	t.Parallel()
	for first := 1; first <= 6; first++ {
		for second := 1; second <= 6; second++ {
			tree := newTree()
			w := newWorld(t)
			s := commit(t, tree, New(), w.b.Events)
			for round, n := range []int{first, second} {
				b := s.Batch()
				for i := range n {
					id := pipeline.DeliveryID{Post: fmt.Sprintf("%c%d", 'a'+round, i), Target: blue}
					if err := b.Take(b.State.Schedule(stampAt(round, "run-a"), scheduleInput(id))); err != nil {
						t.Fatal(err)
					}
					if err := b.Take(b.State.CancelByPerson(stampAt(round, "person:ada"), id, "")); err != nil {
						t.Fatal(err)
					}
				}
				s = commit(t, tree, s, b.Events)
				changes, err := Compact(s, tree, min0(60))
				if err != nil {
					t.Fatal(err)
				}
				apply(tree, changes)
				got, err := Load(tree)
				if err != nil {
					t.Fatalf("%d deliveries, then %d: %v", first, second, err)
				}
				wantSame(t, s, got)
			}
		}
	}
}

func TestArchivesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(t *testing.T, tree Tree, before Tree)
		load  bool // Load notices it, not only Verify
	}{
		{"month file is missing", func(_ *testing.T, tree, _ Tree) { delete(tree, "archive/2026-12.jsonl") }, true},
		{"open.jsonl is missing", func(_ *testing.T, tree, _ Tree) { delete(tree, openFile) }, true},
		{"unknown month file", func(_ *testing.T, tree, _ Tree) { tree["archive/2026-11.jsonl"] = tree["archive/2026-12.jsonl"] }, true},
		{"folded events are still there", func(t *testing.T, tree, before Tree) {
			for _, p := range eventPaths(t, before) {
				tree[p] = before[p]
			}
		}, true},
		{"next number is not the next", func(_ *testing.T, tree, _ Tree) {
			tree[EventPath(7, t0, "00000000")] = []byte(line(TipEv))
		}, true},
		{"another digest", func(_ *testing.T, tree, _ Tree) {
			tree["archive/2026-12.jsonl"] = []byte(strings.Replace(string(tree["archive/2026-12.jsonl"]), `"p0"`, `"p9"`, 1))
		}, false},
		{"a receipt is gone", func(_ *testing.T, tree, _ Tree) {
			s := string(tree["archive/2026-12.jsonl"])
			i := strings.Index(s, `"receipts":[`)
			j := i + strings.Index(s[i:], "]")
			tree["archive/2026-12.jsonl"] = []byte(s[:i] + `"receipts":[` + s[j:])
		}, true},
		{"unknown record", func(_ *testing.T, tree, _ Tree) { tree[openFile] = append(tree[openFile], `{"odd":{}}`+"\n"...) }, true},
		{"unknown field", func(_ *testing.T, tree, _ Tree) {
			tree[openFile] = []byte(strings.Replace(string(tree[openFile]), `{"tip":{`, `{"tip":{"aa":1,`, 1))
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree, s := smallTree(t)
			before := Tree{}
			maps.Copy(before, tree)
			changes, err := Compact(s, tree, min0(60))
			if err != nil {
				t.Fatal(err)
			}
			apply(tree, changes)
			if _, err := Load(tree); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, tree, before)
			if _, err := Load(tree); (err != nil) != tt.load {
				t.Errorf("Load: %v", err)
			}
			if r, err := Verify(tree); err == nil && r.OK() {
				t.Error("Verify finds nothing wrong")
			}
		})
	}
}

func TestCompactRefusesAStateThatIsNotTheFiles(t *testing.T) {
	t.Parallel()
	tree, s := smallTree(t)
	s = s.Fork()
	s.Number--
	if _, err := Compact(s, tree, t0); err == nil {
		t.Error("another number was accepted")
	}
	s.Number++
	e, err := s.Release(stampAt(40, "person:ada"), "h", "person", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(e); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(s.Fork(), tree, t0); err == nil {
		t.Error("events that no file has yet were accepted")
	}
}

func TestVerifyListsEveryProblemWithItsLine(t *testing.T) {
	t.Parallel()
	tree, _ := smallTree(t)
	paths := eventPaths(t, tree)
	claim := string(tree[paths[2]])
	tree[paths[2]] = []byte("{\n" + claim)                                                 // line 1 is no JSON
	tree[paths[4]] = append([]byte(strings.SplitAfter(claim, "\n")[0]), tree[paths[4]]...) // claimed twice
	tree["events/odd"] = nil
	r, err := Verify(tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.Problems {
		got = append(got, fmt.Sprintf("%s:%d", p.Path, p.Line))
		if p.Message == "" || !strings.HasPrefix(p.String(), p.Path) {
			t.Errorf("problem %+v", p)
		}
	}
	want := []string{"events/odd:0", paths[2] + ":1", paths[4] + ":1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%v", d, r.Problems)
	}
	if r.Number != 5 || r.Deliveries != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestNextFileRefusesWhatIsNotLegal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.published()
	if _, _, _, err := NextFile(New(), w.b.Events[1:], t0, "00000000"); err == nil {
		t.Error("events before the ledger is bound")
	}
	if _, _, _, err := NextFile(New(), nil, t0, "00000000"); err == nil {
		t.Error("no events")
	}
	if _, _, _, err := NextFile(New(), w.b.Events, t0, "../x"); err == nil {
		t.Error("a bad token")
	}
	s := New()
	path, data, next, err := NextFile(s, w.b.Events, t0, "00000000")
	if err != nil || path != "events/2026/12/03/00000001-00000000.jsonl" || s.Number != 0 || next.Number != 1 {
		t.Fatalf("%s %v", path, err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if !strings.Contains(lines[len(lines)-1], `"kind":"tip"`) {
		t.Errorf("the last line is no tip: %s", lines[len(lines)-1])
	}
}

// Two requests that share a commit may both bring a tip; there is one, at the end, and it wakes in time.
func TestNextFileJoinsTips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := commit(t, newTree(), New(), w.b.Events)
	b := s.Batch()
	tip := func(content string) {
		t.Helper()
		if err := b.Take(b.State.TipEvent(stampAt(2, "run-a"), TipInput{
			Content: hexN(content, 40), Next: min0(500), Finished: true, Told: []string{"x"},
		})); err != nil {
			t.Fatal(err)
		}
	}
	tip("one")
	if err := b.Take(b.State.Schedule(stampAt(3, "run-a"), scheduleInput(id1))); err != nil {
		t.Fatal(err)
	}
	tip("two")
	_, data, next, err := NextFile(s, b.Events, t0, "00000000")
	if err != nil {
		t.Fatal(err)
	}
	events, err := Decode(data)
	if err != nil || len(events) != 2 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if next.Tip.Content != hexN("two", 40) || !next.Tip.Next.Equal(min0(10)) || !next.Tip.Finished {
		t.Errorf("tip %+v", next.Tip)
	}
}

func TestEventPathsParseBack(t *testing.T) {
	t.Parallel()
	p := EventPath(42, time.Date(2026, 12, 3, 23, 30, 0, 0, time.FixedZone("", -3600)), "0123456789abcdef")
	if p != "events/2026/12/04/00000042-0123456789abcdef.jsonl" {
		t.Error(p)
	}
	f, ok := ParseEventPath(p)
	if !ok || f.Number != 42 || f.Token != "0123456789abcdef" || f.Path != p {
		t.Errorf("%+v %v", f, ok)
	}
	for _, bad := range []string{
		"", "events/", "events/2026/12/04/00000042-0123456789abcdef.json", "events/2026/13/04/00000042-0123456789abcdef.jsonl",
		"events/2026/12/04/42-0123456789abcdef.jsonl", "events/2026/12/04/00000000-0123456789abcdef.jsonl",
		"events/2026/12/04/00000042-short.jsonl", "events/2026/12/04/00000042.jsonl", "archive/2026/12/04/00000042-0123456789abcdef.jsonl",
		"events/2026/12/04/0000004x-0123456789abcdef.jsonl", "events/2026/12/04/x/00000042-0123456789abcdef.jsonl",
	} {
		if _, ok := ParseEventPath(bad); ok {
			t.Errorf("%q parses", bad)
		}
	}
}
