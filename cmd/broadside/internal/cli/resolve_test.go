package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

var noon = time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC)

// uncertainThread is a ledger on which a thread of three was sent and nothing is known of it.
func uncertainThread(t *testing.T) (*journal.Tx, pipeline.DeliveryID) {
	t.Helper()
	hex := func(c string, n int) string { return strings.Repeat(c, n) }
	id := pipeline.DeliveryID{Post: "one", Target: "sandbox:example.com:a1"}
	tx := &journal.Tx{State: ledger.New(), Stamp: ledger.Stamp{At: noon, Run: "run-a"}, Now: noon}
	must := func(e ledger.Event, err error) {
		t.Helper()
		if err := tx.Add(e, err); err != nil {
			t.Fatal(err)
		}
	}
	must(tx.State.Bind(tx.Stamp, ledger.Binding{Ledger: hex("a", 32), HomeURL: "https://example.com/home.git", ContentBranch: "main", Signer: "ssh-ed25519 AAAA"}, "ada", ledger.WhyInit))
	must(tx.State.Schedule(tx.Stamp, ledger.ScheduleInput{
		ID: id, Dest: "alice", Due: noon, By: noon.Add(time.Hour), Path: "posts/one.md", Blob: hex("b", 40), Config: hex("c", 64), Source: hex("d", 64),
	}))
	var parts []ledger.ClaimPart
	for _, k := range []string{"1", "2", "3"} {
		parts = append(parts, ledger.ClaimPart{Key: hex(k, 64), Payload: json.RawMessage(`{"text":"` + k + `"}`)})
	}
	must(tx.State.Claim(tx.Stamp, ledger.ClaimInput{
		ID: id, Attempt: hex("e", 16), LeaseUntil: noon.Add(10 * time.Minute), Content: hex("f", 40), Source: hex("d", 64), Rendition: hex("0", 64), Parts: parts,
	}))
	must(tx.State.MarkUncertain(tx.Stamp, id, pipeline.ReasonAmbiguous, "", ledger.ByResponse))
	tx.Stamp = ledger.Stamp{At: noon.Add(time.Minute), Run: ledger.PersonRun("ada")}
	return tx, id
}

func TestPublishedSettlesTheUncertainPartAndLetsTheRestGoOut(t *testing.T) {
	t.Parallel()
	tx, id := uncertainThread(t)
	before := tx.State.Deliveries[id].Missing()
	if err := (resolveFlags{urls: []string{"https://example.com/@me/7"}}).published(tx, id); err != nil {
		t.Fatal(err)
	}
	d := tx.State.Deliveries[id]
	if d.State != pipeline.Queued || len(d.Receipts) != 1 || d.Receipts[0].ID != "7" || d.Receipts[0].URL != "https://example.com/@me/7" {
		t.Errorf("%s with %+v", d.State, d.Receipts)
	}
	want := "part 1 of one at alice is recorded as published: https://example.com/@me/7\nparts 2, 3 of 3 go out with the next run"
	if got := strings.Join(saidPublished(d, before), "\n"); got != want {
		t.Errorf("said %q", got)
	}
	// It proves no other part.
	if err := (resolveFlags{urls: []string{"https://example.com/@me/7/"}}).published(tx, id); err == nil || exitCode(err) != exitInvalid {
		t.Errorf("the same address proves two parts: %v", err)
	}
}

func TestPublishedWithAllPartsSettlesTheWholeThread(t *testing.T) {
	t.Parallel()
	tx, id := uncertainThread(t)
	if err := (resolveFlags{urls: []string{"https://example.com/a", "https://example.com/b"}, allParts: true}).published(tx, id); err != nil {
		t.Fatal(err)
	}
	if d := tx.State.Deliveries[id]; d.State != pipeline.Published || len(d.Receipts) != 3 || d.Receipts[1].URL != "https://example.com/b" {
		t.Errorf("%s with %+v", d.State, d.Receipts)
	}
}

func TestAnExtraCopyIsNoTroubleOnceItIsKnown(t *testing.T) {
	t.Parallel()
	tx, id := uncertainThread(t)
	if err := (resolveFlags{urls: []string{"https://example.com/a"}, allParts: true}).published(tx, id); err != nil {
		t.Fatal(err)
	}
	err := tx.Add(tx.State.RecordReceipt(ledger.Stamp{At: noon.Add(2 * time.Minute), Run: "run-b"}, ledger.ReceiptInput{
		ID: id, Attempt: strings.Repeat("9", 16), Network: "copy-9", URL: "https://example.com/copy", SentAt: noon, ByWhom: ledger.ByResponse,
	}))
	if err != nil || len(tx.State.Troubles(noon.Add(time.Hour))) != 1 {
		t.Fatalf("no extra copy: %v", err)
	}
	if err := acknowledge(tx, id, "copy-8"); exitCode(err) != exitInvalid || hintOf(err) != "reported: copy-9" {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
	if err := acknowledge(tx, id, "https://example.com/copy"); err != nil {
		t.Fatal(err)
	}
	if left := tx.State.Troubles(noon.Add(time.Hour)); len(left) != 0 {
		t.Errorf("still told: %+v", left)
	}
}
