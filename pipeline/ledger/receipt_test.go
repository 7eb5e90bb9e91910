package ledger

import (
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

func TestReceiptsForEveryPartPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.schedule(id1, 1)
	w.claim(id1, 20, "a1", 2)
	w.receipt(id1, 21, "a1", 0, "p0")
	w.want(id1, pipeline.Publishing)
	if got := w.d(id1).Missing(); len(got) != 1 || got[0] != 1 {
		t.Errorf("missing %v, want part 1", got)
	}
	w.receipt(id1, 22, "a1", 1, "p1")
	w.want(id1, pipeline.Published)
	d := w.d(id1)
	if d.Open() != nil || d.Last().State != pipeline.Published || !d.PublishedAt().Equal(min0(22)) {
		t.Errorf("attempt %+v, published at %s", d.Last(), d.PublishedAt())
	}
	if w.s().Busy(blue, "login-1") != nil {
		t.Error("the target is still busy")
	}
	if d.Last().hasBytes() || d.Last().Parts[1].Key == "" {
		t.Error("after publication the keys stay and the payloads go")
	}
	if !w.s().Settled(d, min0(23)) {
		t.Error("not settled")
	}
}

// A receipt tells what really came of an attempt, however late; a second post is never begun because of that.
func TestLateReceiptCompletesItsOwnDelivery(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"uncertain", "uncertain_lease", "uncertain_again", "queued", "queued_doubt", "failed"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			situation(from)(w)
			w.receipt(id1, 61, "a1", 0, "p0")
			w.receipt(id1, 62, "a1", 1, "p1")
			w.want(id1, pipeline.Published)
			if len(w.s().Extra) != 0 {
				t.Errorf("extra copies: %+v", w.s().Extra)
			}
		})
	}
}

func situation(name string) func(*world) {
	for _, s := range situations {
		if s.name == name {
			return s.make
		}
	}
	panic("no situation " + name)
}

func TestLateReceiptOfAFailedThreadLeavesItPartial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("failed")(w)
	w.receipt(id1, 61, "a1", 0, "p0")
	w.want(id1, pipeline.Failed)
	if d := w.d(id1); d.Reason != pipeline.ReasonPartial || w.s().Settled(d, min0(10_000)) {
		t.Errorf("reason %s, settled %v", d.Reason, w.s().Settled(d, min0(10_000)))
	}
	if err := one(w.s().Expire(stampAt(10_000, "run-a"), id1)); err == nil {
		t.Error("a half published delivery expired")
	}
}

func TestStrayReceiptIsAnExtraCopy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, from string
		in         ReceiptInput
	}{
		{"second id for a part", "publishing_half", response(id1, "a1", 0, "other")},
		{"after publication", "published", response(id1, "a1", 0, "other")},
		{"unknown attempt", "uncertain", response(id1, "zz", 0, "other")},
		{"unknown delivery", "unknown", response(id1, "zz", 0, "other")},
		{"older attempt while another is open", "publishing_doubt", response(id1, "a1", 0, "other")},
		{"canceled", "canceled_unsure", response(id1, "a1", 0, "other")},
		{"adopted", "adopted", response(id1, "zz", 0, "other")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			situation(tt.from)(w)
			var before pipeline.State
			if d := w.s().Deliveries[id1]; d != nil {
				before = d.State
			}
			e, err := w.s().RecordReceipt(stampAt(61, "run-a"), tt.in)
			if err == nil && !w.s().IsExtraCopy(e) {
				t.Error("not announced as an extra copy")
			}
			w.do(e, err)
			if len(w.s().Extra) != 1 || w.s().Extra[0].Receipt.ID != "other" {
				t.Fatalf("extra copies: %+v", w.s().Extra)
			}
			if d := w.s().Deliveries[id1]; d != nil && d.State != before {
				t.Errorf("state went from %s to %s", before, d.State)
			}
			told := 0
			for _, tr := range w.s().Troubles(min0(62)) {
				if tr.Reason == TroubleExtraCopy {
					told++
				}
			}
			if told != 1 {
				t.Errorf("told %d times", told)
			}
			w.do(e, nil) // the same again
			if len(w.s().Extra) != 1 {
				t.Errorf("the same copy is there twice: %+v", w.s().Extra)
			}
		})
	}
}

// With a key the network gives the same id for the repetition: then there is one post, and no extra copy.
func TestExtraCopyWithTheOpenAttemptsIDIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("publishing_doubt")(w)
	w.receipt(id1, 61, "a1", 0, "p0")
	if len(w.s().Extra) != 1 {
		t.Fatalf("extra copies: %+v", w.s().Extra)
	}
	w.receipt(id1, 62, "a2", 0, "p0")
	w.receipt(id1, 63, "a2", 1, "p1")
	w.want(id1, pipeline.Published)
	if len(w.s().Extra) != 0 {
		t.Errorf("extra copies: %+v", w.s().Extra)
	}
}

func TestNothingIsSentBesideAnExtraCopyUntilAPersonKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("publishing_doubt")(w)
	w.receipt(id1, 61, "a1", 0, "lost")
	w.do(w.s().Queue(stampAt(62, "run-a"), id1, pipeline.ReasonThrottled, "", time.Time{}, ByResponse))
	_, err := w.s().Claim(stampAt(63, "run-a"), claimInput(id1, 63, "a3", 2))
	if codeOf(err) != CodeCopyOut {
		t.Fatalf("claim beside an extra copy: %v", err)
	}
	w.do(w.s().Acknowledge(stampAt(64, "person:ada"), id1, "lost"))
	w.want(id1, pipeline.Queued)
	if d := w.d(id1); d.Receipts[0].ID != "lost" || len(w.s().Extra) != 0 {
		t.Errorf("the copy is not the receipt of its part: %+v, %+v", d.Receipts, w.s().Extra)
	}
	w.claim(id1, 65, "a3", 2)
}

func TestKnownExtraCopyIsNoTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.published()
	w.receipt(id1, 30, "a1", 0, "other")
	if w.s().Settled(w.d(id1), min0(31)) {
		t.Error("settled with a copy out that nothing accounts for")
	}
	w.do(w.s().Acknowledge(stampAt(32, "person:ada"), id1, "other"))
	if got := w.s().Troubles(min0(33)); len(got) != 0 {
		t.Errorf("troubles: %+v", got)
	}
	if !w.s().Settled(w.d(id1), min0(33)) {
		t.Error("not settled")
	}
	if codeOf(one(w.s().Acknowledge(stampAt(34, "person:ada"), id1, "none"))) != CodeUnknown {
		t.Error("an unknown copy was acknowledged")
	}
}

func TestFinderAndPersonCannotTakeAnotherReceiptsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.published()
	id2 := pipeline.DeliveryID{Post: "second", Target: blue}
	w.schedule(id2, 30)
	w.claim(id2, 31, "b1", 1)
	w.do(w.s().MarkUncertain(stampAt(32, "run-a"), id2, pipeline.ReasonAmbiguous, "", ByResponse))
	for _, who := range []string{ByFinder, ByPerson} {
		in := response(id2, "b1", 0, "p1")
		in.ByWhom = who
		if _, err := w.s().RecordReceipt(stampAt(33, "run-a"), in); codeOf(err) != CodeTaken {
			t.Errorf("%s: %v", who, err)
		}
	}
	in := response(id2, "b1", 0, "free")
	in.ByWhom = ByFinder
	w.do(w.s().RecordReceipt(stampAt(34, "run-b"), in))
	w.want(id2, pipeline.Published)
	if d, part, ok := w.s().Taken(blue, "free"); !ok || d != id2 || part != 0 {
		t.Errorf("taken: %v %d %v", d, part, ok)
	}
}

func TestSameReceiptAgainOnlyAddsWhatItKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.published()
	in := response(id1, "a1", 0, "p0")
	in.URL, in.Ref = "", "cid"
	w.do(w.s().RecordReceipt(stampAt(40, "run-b"), in))
	r := w.d(id1).Receipts[0]
	if r.URL != "https://example.com/p0" || r.Ref != "cid" || !r.At.Equal(min0(21)) || len(w.s().Extra) != 0 {
		t.Errorf("receipt %+v, extra %+v", r, w.s().Extra)
	}
}

func TestResolvePublishedAccountsForAllMissingParts(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"scheduled", "queued", "queued_half", "failed", "partial", "uncertain", "canceled_unsure"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			situation(from)(w)
			w.doAll(w.s().ResolvePublished(stampAt(61, "person:ada"), id1, Found{Network: "seen", URL: "https://example.com/seen"}))
			w.want(id1, pipeline.Published)
		})
	}
	w := newWorld(t)
	situation("partial")(w)
	if _, err := w.s().ResolvePublished(stampAt(61, "person:ada"), id1, Found{}, Found{}); codeOf(err) != CodeMalformed {
		t.Errorf("two places for one missing part: %v", err)
	}
}
