package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
)

func storyTree(t *testing.T) (Tree, *State) {
	t.Helper()
	w := newWorld(t)
	w.schedule(id1, 1)
	w.do(w.s().Hold(stampAt(2, "person:ada"), HoldInput{Hold: "h", Scope: ScopeTarget(blue), Reason: "person", Detail: "wait for legal"}))
	w.do(w.s().Release(stampAt(3, "person:ada"), "h", "person", ""))
	w.claim(id1, 20, "a1", 2)
	w.receipt(id1, 21, "a1", 0, "p0")
	w.do(w.s().MarkUncertain(stampAt(22, "run-a"), id1, pipeline.ReasonAmbiguous, "timeout after sending", ByResponse))
	w.do(w.s().Absent(stampAt(30, "run-b"), id1, ""))
	w.claim(id1, 40, "a2", 2)
	w.do(w.s().Queue(stampAt(41, "run-a"), id1, pipeline.ReasonThrottled, "429", min0(50), ByResponse))
	w.claim(id1, 50, "a3", 2)
	w.receipt(id1, 51, "a3", 1, "p1")
	w.receipt(id1, 52, "a1", 1, "late")
	tree := newTree()
	return tree, commit(t, tree, New(), w.b.Events)
}

func TestStoryTellsADeliverysLife(t *testing.T) {
	t.Parallel()
	tree, s := storyTree(t)
	got, err := Story(tree, id1)
	if err != nil {
		t.Fatal(err)
	}
	a := func(n string) string { return hexN(n, 16) }
	want := []string{
		"2026-12-03 09:01:00 UTC  scheduled for 2026-12-03 09:10:00 UTC, until 2026-12-03 19:00:00 UTC, from posts/launch-1-0.md (run-a)",
		"2026-12-03 09:02:00 UTC  held on target:bluesky:bsky.social:did:plc:abc: person: wait for legal (person:ada)",
		"2026-12-03 09:03:00 UTC  hold on target:bluesky:bsky.social:did:plc:abc released: person (person:ada)",
		"2026-12-03 09:20:00 UTC  claimed to publish, attempt " + a("a1") + ", 2 parts, lease until 2026-12-03 09:30:00 UTC (run-a)",
		"2026-12-03 09:21:00 UTC  part 1 is out: p0 https://example.com/p0 (answered by the network) (run-a)",
		"2026-12-03 09:22:00 UTC  uncertain: it was sent and the outcome is not known: ambiguous: timeout after sending (run-a)",
		"2026-12-03 09:30:00 UTC  surely absent on the network, queued again (run-b)",
		"2026-12-03 09:40:00 UTC  claimed to publish, attempt " + a("a2") + ", 2 parts, lease until 2026-12-03 09:50:00 UTC, with the bytes of 2026-12-03 09:20:00 UTC (run-a)",
		"2026-12-03 09:41:00 UTC  surely not published, queued again: throttled: 429; not before 2026-12-03 09:50:00 UTC (run-a)",
		"2026-12-03 09:50:00 UTC  claimed to publish, attempt " + a("a3") + ", 2 parts, lease until 2026-12-03 10:00:00 UTC, with the bytes of 2026-12-03 09:20:00 UTC (run-a)",
		"2026-12-03 09:51:00 UTC  part 2 is out: p1 https://example.com/p1 (answered by the network); published (run-a)",
		"2026-12-03 09:52:00 UTC  part 2 is out: late https://example.com/late (answered by the network); an extra copy, which no open attempt accounts for (run-a)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if none, err := Story(tree, pipeline.DeliveryID{Post: "none", Target: blue}); err != nil || none != nil {
		t.Errorf("story of what is not known: %v %v", none, err)
	}
	changes, err := Compact(s, tree, min0(60))
	if err != nil {
		t.Fatal(err)
	}
	apply(tree, changes)
	short, err := Story(tree, id1)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(short, "\n")
	for _, want := range []string{"from the archive", "attempt " + a("a2") + " to publish, 2 parts (run-a): queued: throttled: 429", "part 2 is out: p1", "published"} {
		if !strings.Contains(text, want) {
			t.Errorf("the story after compaction lacks %q:\n%s", want, text)
		}
	}
}

// Every legal move has words.
func TestStoryHasWordsForEveryEvent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		w := newWalker(t, 3000+seed)
		for range 300 {
			w.step()
		}
		w.commit()
		for id := range w.base.Deliveries {
			lines, err := Story(w.tree, id)
			if err != nil {
				t.Fatal(err)
			}
			events := 0
			for _, data := range w.tree {
				es, err := Decode(data)
				for i := range es {
					if err == nil && es[i].Delivery() == id {
						events++
					}
				}
			}
			if len(lines) < events {
				t.Errorf("%d events of %s, %d lines", events, id, len(lines))
			}
			for _, l := range lines {
				if strings.Contains(l, "  (") || strings.Contains(l, "0001-01-01") {
					t.Errorf("empty words: %q", l)
				}
			}
		}
	}
}

func TestMessagesReadLikeALog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id2 := pipeline.DeliveryID{Post: id1.Post, Target: mast}
	in := scheduleInput(id2)
	in.Dest, in.Login = "fosstodon", "login-2"
	w.schedule(id1, 1)
	w.do(w.s().Schedule(stampAt(1, "run-a"), in))
	scheduled := len(w.b.Events)
	w.claim(id1, 20, "a1", 1)
	c := claimInput(id2, 20, "b1", 1)
	c.Login = "login-2"
	w.do(w.s().Claim(stampAt(20, "run-a"), c))
	claimed := len(w.b.Events)
	w.receipt(id1, 21, "a1", 0, "p0")
	w.do(w.s().Queue(stampAt(22, "run-a"), id2, pipeline.ReasonThrottled, "", time.Time{}, ByResponse))
	tests := []struct {
		name   string
		events []Event
		want   string
	}{
		{"bind", w.b.Events[:1], "bind init https://example.com/home.git [skip ci]\n\nBroadside-Run: run-a\nBroadside-Run-URL: https://ci.example/1\n"},
		{"claim", w.b.Events[scheduled:claimed], "claim launch-1-0 -> bluesky, fosstodon [skip ci]\n\nBroadside-Run: run-a\nBroadside-Run-URL: https://ci.example/1\n"},
		{"mixed", w.b.Events[claimed:], "receipt launch-1-0 -> bluesky (+1 more) [skip ci]\n\nqueue launch-1-0 -> fosstodon (throttled)\n\nBroadside-Run: run-a\nBroadside-Run-URL: https://ci.example/1\n"},
		{"tip only", []Event{bareEvent(TipEv)}, "tip [skip ci]\n\nBroadside-Run: run-a\nBroadside-Run-URL: https://ci.example/1\n"},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, Message(tt.events, "run-a", "https://ci.example/1")); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	if got := Message(nil, "run\nEvil: x", ""); strings.Contains(got, "\nEvil") {
		t.Errorf("a trailer was injected: %q", got)
	}
	var many []Event
	for i := range 300 {
		e := bareEvent(Claimed)
		e.Post = hexN("p", i%60+1)
		e.Dest = strings.Repeat("ü", 60)
		many = append(many, e)
	}
	first, _, _ := strings.Cut(Message(many, "run-a", ""), "\n")
	if len(first) > maxSubject+20 || !strings.HasSuffix(first, " [skip ci]") || !strings.Contains(first, "more)") {
		t.Errorf("subject %q", first)
	}
}

func TestReadmeSaysWhatTheBranchIs(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"Do not edit", "events/", "archive/", "ledger restore"} {
		if !strings.Contains(Readme(), want) {
			t.Errorf("README lacks %q", want)
		}
	}
}
