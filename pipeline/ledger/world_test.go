package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var t0 = time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)

// minutes after t0.
func min0(n int) time.Time { return t0.Add(time.Duration(n) * time.Minute) }

func hexN(seed string, n int) string {
	out := ""
	for i := 0; len(out) < n; i++ {
		out += fingerprint(seed, fmt.Sprint(i))
	}
	return out[:n]
}

var (
	blue = pipeline.MakeTarget("bluesky", "bsky.social", "did:plc:abc")
	mast = pipeline.MakeTarget("mastodon", "127.0.0.1:8080", "42")
	id1  = pipeline.DeliveryID{Post: "launch-1-0", Target: blue}
)

func stampAt(n int, run string) Stamp { return Stamp{At: min0(n), Run: run} }

func binding() Binding {
	return Binding{Ledger: hexN("ledger", 32), HomeURL: "https://example.com/home.git", ContentBranch: "main", Signer: "ssh-ed25519 AAAA"}
}

func scheduleInput(id pipeline.DeliveryID) ScheduleInput {
	return ScheduleInput{
		ID: id, Dest: "bluesky", Due: min0(10), By: min0(600), Path: "posts/" + id.Post + ".md",
		Blob: hexN("blob", 40), Config: hexN("config", 64), Source: hexN("source", 64), Login: "login-1",
	}
}

func claimParts(n int, salt string) []ClaimPart {
	var out []ClaimPart
	for i := range n {
		out = append(out, ClaimPart{
			Key:     hexN(fmt.Sprint("key", salt, i), 64),
			Payload: json.RawMessage(fmt.Sprintf(`{"createdAt":"x%s","text":"part %d \"quoted\""}`, salt, i)),
		})
	}
	return out
}

func claimInput(id pipeline.DeliveryID, now int, attempt string, parts int) ClaimInput {
	return ClaimInput{
		ID: id, Attempt: hexN(attempt, 16), LeaseUntil: min0(now + 10), Content: hexN("commit", 40),
		Source: hexN("source", 64), Rendition: hexN("rendition", 64), Parts: claimParts(parts, "a"), Login: "login-1",
	}
}

// world makes histories in tests: each step is a transition of the present state, which must be legal.
type world struct {
	t *testing.T
	b *Batch
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, b: New().Batch()}
	w.do(w.s().Bind(stampAt(0, "person:ada"), binding(), "ada", WhyInit))
	return w
}

func (w *world) s() *State { return w.b.State }

func (w *world) d(id pipeline.DeliveryID) *Delivery {
	w.t.Helper()
	d := w.s().Deliveries[id]
	if d == nil {
		w.t.Fatalf("no delivery %s", id)
	}
	return d
}

func (w *world) do(e Event, err error) {
	w.t.Helper()
	if err := w.b.Take(e, err); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) doAll(events []Event, err error) {
	w.t.Helper()
	if err := w.b.TakeAll(events, err); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) schedule(id pipeline.DeliveryID, now int) {
	w.t.Helper()
	w.do(w.s().Schedule(stampAt(now, "run-a"), scheduleInput(id)))
}

func (w *world) claim(id pipeline.DeliveryID, now int, attempt string, parts int) {
	w.t.Helper()
	w.do(w.s().Claim(stampAt(now, "run-a"), claimInput(id, now, attempt, parts)))
}

func (w *world) receipt(id pipeline.DeliveryID, now int, attempt string, part int, network string) {
	w.t.Helper()
	w.do(w.s().RecordReceipt(stampAt(now, "run-a"), response(id, attempt, part, network)))
}

func response(id pipeline.DeliveryID, attempt string, part int, network string) ReceiptInput {
	return ReceiptInput{
		ID: id, Attempt: hexN(attempt, 16), Part: part, Network: network, URL: "https://example.com/" + network, ByWhom: ByResponse,
	}
}

func (w *world) want(id pipeline.DeliveryID, state pipeline.State) {
	w.t.Helper()
	if d := w.d(id); d.State != state {
		w.t.Fatalf("%s is %s (%s), want %s", id, d.State, d.Reason, state)
	}
}

// sameState compares two states, less what makes copies and answers fast.
var sameState = cmp.Options{
	cmpopts.IgnoreUnexported(State{}, Delivery{}),
	cmpopts.EquateEmpty(),
}

func wantSame(t *testing.T, want, got *State) {
	t.Helper()
	if d := cmp.Diff(want, got, sameState); d != "" {
		t.Fatalf("states differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.busyTarget, got.busyTarget, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("busy targets differ:\n%s", d)
	}
	if d := cmp.Diff(want.busyLogin, got.busyLogin, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("busy logins differ:\n%s", d)
	}
}

// commit writes the events of a batch as the next file of a tree.
func commit(t *testing.T, tree Tree, s *State, events []Event) *State {
	t.Helper()
	at := t0
	if len(events) > 0 {
		at = events[0].At
	}
	path, data, next, err := NextFile(s, events, at, hexN(fmt.Sprint(s.Number), 16))
	if err != nil {
		t.Fatal(err)
	}
	if _, there := tree[path]; there {
		t.Fatalf("%s is there already", path)
	}
	tree[path] = data
	return next
}

func newTree() Tree {
	tree := Tree{}
	for _, c := range Skeleton() {
		tree[c.Path] = c.Data
	}
	return tree
}

func apply(tree Tree, changes []FileChange) {
	for _, c := range changes {
		if c.Remove {
			delete(tree, c.Path)
		} else {
			tree[c.Path] = c.Data
		}
	}
}

func codeOf(err error) Code {
	var ie *IllegalError
	switch {
	case err == nil:
		return ""
	case asIllegal(err, &ie):
		return ie.Code
	}
	return Code("other: " + strings.SplitN(err.Error(), "\n", 2)[0])
}
