package ledger

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// bigTree is the ledger of n posts that are published at one target each of eight, 8 to a commit as workers do, with a
// payload of a usual size: three events for each, and the tips.
func bigTree(tb testing.TB, n int) (Tree, *State) {
	tb.Helper()
	tree, s := newTree(), New()
	add := func(b *Batch, at time.Time) {
		path, data, next, err := NextFile(s, b.Events, at, hexN(fmt.Sprint(s.Number), 16))
		if err != nil {
			tb.Fatal(err)
		}
		tree[path], s = data, next
	}
	take := func(b *Batch, e Event, err error) {
		if err := b.Take(e, err); err != nil {
			tb.Fatal(err)
		}
	}
	b := s.Batch()
	e, err := b.State.Bind(Stamp{t0, "person:ada"}, binding(), "ada", WhyInit)
	take(b, e, err)
	add(b, t0)
	const targets = 8
	for i := 0; i < n; i += targets {
		at := t0.Add(time.Duration(i) * time.Minute)
		st := Stamp{at, "run-" + hexN(fmt.Sprint(i), 16)}
		claims, receipts := s.Batch(), (*Batch)(nil)
		for k := range min(targets, n-i) {
			id := pipeline.DeliveryID{
				Post: fmt.Sprintf("post-%06d", i+k), Target: pipeline.MakeTarget("bluesky", "bsky.social", fmt.Sprintf("did:plc:target%d", k)),
			}
			in := ScheduleInput{
				ID: id, Dest: fmt.Sprint("account", k), Due: at, By: at.Add(time.Hour), Path: "posts/2026/12/" + id.Post + ".md",
				Blob: hexN(id.Post, 40), Config: hexN("config", 64), Source: hexN(id.Post, 64), Login: fmt.Sprint("login-", k),
			}
			e, err := claims.State.Schedule(st, in)
			take(claims, e, err)
			text := fmt.Sprintf(`{"$type":"app.bsky.feed.post","createdAt":"2026-12-03T09:00:00.000Z","langs":["en"],"text":"%0250d"}`, i+k)
			e, err = claims.State.Claim(st, ClaimInput{
				ID: id, Attempt: hexN(id.Post, 16), LeaseUntil: at.Add(10 * time.Minute), Content: hexN("commit", 40),
				Source: in.Source, Rendition: hexN(id.Post+"r", 64), Login: in.Login,
				Parts: []ClaimPart{{Key: hexN(id.Post+"k", 64), Payload: json.RawMessage(text)}},
			})
			take(claims, e, err)
		}
		add(claims, at)
		receipts = s.Batch()
		for _, e := range claims.Events {
			if e.Kind != Claimed {
				continue
			}
			r, err := receipts.State.RecordReceipt(st, ReceiptInput{
				ID: e.Delivery(), Attempt: e.Attempt, Network: "3k" + e.Attempt, ByWhom: ByResponse, SentAt: at,
				URL: "https://bsky.app/profile/example.com/post/3k" + e.Attempt, Ref: "bafyrei" + hexN(e.Attempt, 50),
			})
			take(receipts, r, err)
		}
		add(receipts, at)
	}
	return tree, s
}

func treeSize(t Tree) (n int64) {
	for _, b := range t {
		n += int64(len(b))
	}
	return n
}

// 10,000 published posts are 30,000 events, less the tips.
func BenchmarkLoad30000Events(b *testing.B) {
	tree, _ := bigTree(b, 10_000)
	b.SetBytes(treeSize(tree))
	b.ReportAllocs()
	for b.Loop() {
		s, err := Load(tree)
		if err != nil || len(s.Deliveries) != 10_000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad10000Archived(b *testing.B) {
	tree, s := bigTree(b, 10_000)
	changes, err := Compact(s, tree, t0)
	if err != nil {
		b.Fatal(err)
	}
	apply(tree, changes)
	b.SetBytes(treeSize(tree))
	b.ReportAllocs()
	for b.Loop() {
		s, err := Load(tree)
		if err != nil || len(s.Deliveries) != 10_000 {
			b.Fatal(err)
		}
	}
}

// A commit of one claim in a ledger of 10,000 deliveries.
func BenchmarkNextFile(b *testing.B) {
	_, s := bigTree(b, 10_000)
	st := Stamp{t0, "run-a"}
	batch := s.Batch()
	if err := batch.Take(batch.State.Schedule(st, scheduleInput(id1))); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := NextFile(s, batch.Events, t0, "00000000"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompact(b *testing.B) {
	tree, s := bigTree(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compact(s, tree, t0); err != nil {
			b.Fatal(err)
		}
	}
}
