package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

func asIllegal(err error, ie **IllegalError) bool { return errors.As(err, ie) }

// situations are all states that a delivery can be in, with what else decides what is legal. Each is reached by legal
// moves; the last event is at minute 60 at most.
var situations = []struct {
	name  string
	state pipeline.State // "" where the ledger does not know it
	make  func(w *world)
}{
	{"unknown", "", func(*world) {}},
	{"scheduled", pipeline.Scheduled, func(w *world) { w.schedule(id1, 1) }},
	{"publishing", pipeline.Publishing, func(w *world) { w.schedule(id1, 1); w.claim(id1, 55, "a1", 2) }},
	{"publishing_half", pipeline.Publishing, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 55, "a1", 2)
		w.receipt(id1, 56, "a1", 0, "p0")
	}},
	{"publishing_doubt", pipeline.Publishing, func(w *world) {
		w.doubt()
		w.do(w.s().Claim(stampAt(55, "run-a"), claimInput(id1, 55, "a2", 2)))
	}},
	{"queued", pipeline.Queued, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.do(w.s().Queue(stampAt(21, "run-a"), id1, pipeline.ReasonThrottled, "429", min0(40), ByResponse))
	}},
	{"queued_half", pipeline.Queued, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.receipt(id1, 21, "a1", 0, "p0")
		w.do(w.s().Queue(stampAt(22, "run-a"), id1, pipeline.ReasonInterrupted, "", time.Time{}, ByRun))
	}},
	{"queued_doubt", pipeline.Queued, func(w *world) { w.doubt() }},
	{"published", pipeline.Published, func(w *world) { w.published() }},
	{"editing", pipeline.Published, func(w *world) {
		w.published()
		in := claimInput(id1, 55, "e1", 2)
		in.Purpose = PurposeEdit
		w.do(w.s().Claim(stampAt(55, "run-a"), in))
	}},
	{"retracting", pipeline.Published, func(w *world) {
		w.published()
		in := claimInput(id1, 55, "e1", 0)
		in.Purpose = PurposeRetract
		w.do(w.s().Claim(stampAt(55, "run-a"), in))
	}},
	{"failed", pipeline.Failed, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.do(w.s().Fail(stampAt(21, "run-a"), id1, pipeline.ReasonRejected, "422", ByResponse))
	}},
	{"partial", pipeline.Failed, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.receipt(id1, 21, "a1", 0, "p0")
		w.do(w.s().Partial(stampAt(22, "run-a"), id1, "422", ByResponse))
	}},
	{"uncertain", pipeline.Uncertain, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.do(w.s().MarkUncertain(stampAt(21, "run-a"), id1, pipeline.ReasonAmbiguous, "timeout", ByResponse))
	}},
	{"uncertain_lease", pipeline.Uncertain, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.do(w.s().StaleLease(stampAt(50, "run-b"), id1, ""))
	}},
	{"uncertain_again", pipeline.Uncertain, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.do(w.s().MarkUncertain(stampAt(21, "run-a"), id1, pipeline.ReasonAmbiguous, "", ByResponse))
		w.do(w.s().Absent(stampAt(22, "run-b"), id1, ""))
		w.claim(id1, 30, "a2", 2)
		w.do(w.s().MarkUncertain(stampAt(31, "run-a"), id1, pipeline.ReasonAmbiguous, "", ByResponse))
	}},
	{"canceled_removed", pipeline.Canceled, func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().Cancel(stampAt(20, "run-a"), id1, pipeline.ReasonRemoved, ""))
	}},
	{"canceled_person", pipeline.Canceled, func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().CancelByPerson(stampAt(20, "person:ada"), id1, ""))
	}},
	{"canceled_unsure", pipeline.Canceled, func(w *world) {
		w.schedule(id1, 1)
		w.claim(id1, 20, "a1", 2)
		w.do(w.s().MarkUncertain(stampAt(21, "run-a"), id1, pipeline.ReasonAmbiguous, "", ByResponse))
		w.do(w.s().CancelByPerson(stampAt(22, "person:ada"), id1, ""))
	}},
	{"adopted", pipeline.Adopted, func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().Adopt(stampAt(2, "person:ada"), id1, "", pipeline.ReasonAdopted))
	}},
	{"retracted", pipeline.Retracted, func(w *world) {
		w.published()
		in := claimInput(id1, 40, "e1", 0)
		in.Purpose = PurposeRetract
		w.do(w.s().Claim(stampAt(40, "run-a"), in))
		w.do(w.s().Retracted(stampAt(41, "run-a"), id1))
	}},
}

func (w *world) published() {
	w.t.Helper()
	w.schedule(id1, 1)
	w.claim(id1, 20, "a1", 2)
	w.receipt(id1, 21, "a1", 0, "p0")
	w.receipt(id1, 22, "a1", 1, "p1")
}

// doubt leads to a delivery that is queued on the strength of its key.
func (w *world) doubt() {
	w.t.Helper()
	w.schedule(id1, 1)
	w.claim(id1, 20, "a1", 2)
	w.do(w.s().MarkUncertain(stampAt(21, "run-a"), id1, pipeline.ReasonAmbiguous, "timeout", ByResponse))
	w.do(w.s().Repeat(stampAt(22, "run-a"), id1, ""))
}

// tries are all moves of a delivery, made at minute 61 by the run of the open attempt, or at minute 700 (past the
// deadline at 600) or as another run where the name says so.
var tries = []struct {
	name string
	do   func(s *State) error
}{
	{"schedule_same", func(s *State) error { return one(s.Schedule(stampAt(61, "run-a"), scheduleInput(id1))) }},
	{"schedule_source", func(s *State) error {
		in := scheduleInput(id1)
		in.Source = hexN("other", 64)
		return one(s.Schedule(stampAt(61, "run-a"), in))
	}},
	{"schedule_later", func(s *State) error {
		in := scheduleInput(id1)
		in.Due, in.By = min0(300), min0(900)
		return one(s.Schedule(stampAt(61, "run-a"), in))
	}},
	{"claim", func(s *State) error { return one(s.Claim(stampAt(61, "run-a"), claimInput(id1, 61, "new", 2))) }},
	{"claim_late", func(s *State) error { return one(s.Claim(stampAt(700, "run-a"), claimInput(id1, 700, "new", 2))) }},
	{"claim_bytes", func(s *State) error {
		in := claimInput(id1, 61, "new", 2)
		in.Parts = claimParts(2, "b")
		return one(s.Claim(stampAt(61, "run-a"), in))
	}},
	{"claim_edit", func(s *State) error {
		in := claimInput(id1, 61, "new", 2)
		in.Purpose = PurposeEdit
		return one(s.Claim(stampAt(61, "run-a"), in))
	}},
	{"claim_retract", func(s *State) error {
		in := claimInput(id1, 61, "new", 0)
		in.Purpose = PurposeRetract
		return one(s.Claim(stampAt(61, "run-a"), in))
	}},
	{"prepare", func(s *State) error {
		return one(s.Prepare(stampAt(61, "run-a"), PrepareInput{ID: id1, Step: "upload 1", LeaseUntil: min0(70)}))
	}},
	{"renew", func(s *State) error { return one(s.Renew(stampAt(61, "run-a"), id1, min0(71))) }},
	{"renew_late", func(s *State) error { return one(s.Renew(stampAt(66, "run-a"), id1, min0(80))) }},
	{"receipt", func(s *State) error { return one(s.RecordReceipt(stampAt(61, "run-a"), response(id1, "a1", 1, "px"))) }},
	{"receipt_stray", func(s *State) error { return one(s.RecordReceipt(stampAt(61, "run-a"), response(id1, "zz", 0, "pz"))) }},
	{"queue", func(s *State) error {
		return one(s.Queue(stampAt(61, "run-a"), id1, pipeline.ReasonThrottled, "", time.Time{}, ByResponse))
	}},
	{"queue_other", func(s *State) error {
		return one(s.Queue(stampAt(61, "run-b"), id1, pipeline.ReasonThrottled, "", time.Time{}, ByResponse))
	}},
	{"fail", func(s *State) error {
		return one(s.Fail(stampAt(61, "run-a"), id1, pipeline.ReasonRejected, "", ByResponse))
	}},
	{"partial", func(s *State) error { return one(s.Partial(stampAt(61, "run-a"), id1, "", ByResponse)) }},
	{"uncertain", func(s *State) error {
		return one(s.MarkUncertain(stampAt(61, "run-a"), id1, pipeline.ReasonAmbiguous, "", ByRun))
	}},
	{"stale", func(s *State) error { return one(s.StaleLease(stampAt(70, "run-b"), id1, "")) }},
	{"stale_early", func(s *State) error { return one(s.StaleLease(stampAt(61, "run-b"), id1, "")) }},
	{"expire", func(s *State) error { return one(s.Expire(stampAt(700, "run-b"), id1)) }},
	{"expire_early", func(s *State) error { return one(s.Expire(stampAt(61, "run-b"), id1)) }},
	{"cancel", func(s *State) error { return one(s.Cancel(stampAt(61, "run-b"), id1, pipeline.ReasonRemoved, "")) }},
	{"person_cancel", func(s *State) error { return one(s.CancelByPerson(stampAt(61, "person:ada"), id1, "")) }},
	{"retry", func(s *State) error { return one(s.Retry(stampAt(61, "person:ada"), id1, "")) }},
	{"retry_late", func(s *State) error { return one(s.Retry(stampAt(700, "person:ada"), id1, "")) }},
	{"absent", func(s *State) error { return one(s.Absent(stampAt(61, "run-b"), id1, "")) }},
	{"repeat", func(s *State) error { return one(s.Repeat(stampAt(61, "run-b"), id1, "")) }},
	{"resolve", func(s *State) error {
		_, err := s.ResolvePublished(stampAt(61, "person:ada"), id1, Found{URL: "https://example.com/p"})
		return err
	}},
	{"edited", func(s *State) error { return one(s.Edited(stampAt(61, "run-a"), id1)) }},
	{"retracted", func(s *State) error { return one(s.Retracted(stampAt(61, "run-a"), id1)) }},
	{"adopt", func(s *State) error {
		return one(s.Adopt(stampAt(61, "person:ada"), id1, "bluesky", pipeline.ReasonAdopted))
	}},
}

func one(_ Event, err error) error { return err }

// legalMoves is DESIGN's diagram as a table: "" is legal, "-" is refused by the state, else the code of the refusal.
// Order of columns: situations.
var legalMoves = map[string][]string{
	// unknown sched publ p_half p_doubt queued q_half q_doubt published editing retracting failed partial uncert u_lease u_again c_removed c_person c_unsure adopted retracted
	"schedule_same":   {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""},
	"schedule_source": {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""},
	"schedule_later":  {"", "", "times", "times", "times", "", "", "", "already_published", "already_published", "already_published", "", "", "times", "times", "times", "", "", "", "already_published", "already_published"},
	"claim":           {"unknown", "", "-", "-", "-", "", "", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"claim_late":      {"unknown", "expired", "-", "-", "-", "expired", "", "expired", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"claim_bytes":     {"unknown", "", "-", "-", "-", "", "", "bytes", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"claim_edit":      {"unknown", "-", "-", "-", "-", "-", "-", "-", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"claim_retract":   {"unknown", "-", "-", "-", "-", "-", "-", "-", "", "-", "-", "-", "", "-", "-", "-", "-", "-", "-", "-", "-"},
	"prepare":         {"unknown", "", "", "", "", "", "", "", "-", "", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"renew":           {"-", "-", "", "", "", "-", "-", "-", "-", "", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"renew_late":      {"-", "-", "expired", "expired", "expired", "-", "-", "-", "-", "expired", "expired", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"receipt":         {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""},
	"receipt_stray":   {"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""},
	"queue":           {"unknown", "", "", "", "", "", "", "", "-", "", "", "-", "-", "-", "", "-", "-", "-", "-", "-", "-"},
	"queue_other":     {"unknown", "", "foreign", "foreign", "foreign", "", "", "", "-", "foreign", "foreign", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"fail":            {"unknown", "", "", "partial", "doubt", "", "partial", "doubt", "-", "", "", "-", "-", "-", "", "-", "-", "-", "-", "-", "-"},
	"partial":         {"unknown", "-", "partial", "", "doubt", "partial", "", "doubt", "-", "busy", "busy", "-", "-", "partial", "partial", "partial", "-", "-", "-", "-", "-"},
	"uncertain":       {"unknown", "-", "", "", "", "-", "-", "", "-", "", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"stale":           {"unknown", "-", "", "", "", "-", "-", "-", "-", "", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"stale_early":     {"unknown", "-", "not_yet", "not_yet", "not_yet", "-", "-", "-", "-", "not_yet", "not_yet", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"expire":          {"unknown", "", "-", "-", "-", "", "partial", "doubt", "-", "busy", "busy", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"expire_early":    {"unknown", "not_yet", "-", "-", "-", "not_yet", "not_yet", "not_yet", "-", "busy", "busy", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"cancel":          {"unknown", "", "-", "-", "-", "", "partial", "doubt", "-", "busy", "busy", "", "partial", "-", "-", "-", "-", "-", "-", "-", "-"},
	"person_cancel":   {"unknown", "", "-", "-", "-", "", "", "", "-", "busy", "busy", "", "", "", "", "", "-", "-", "-", "-", "-"},
	"retry":           {"unknown", "-", "-", "-", "-", "-", "-", "-", "-", "busy", "busy", "", "", "", "", "", "-", "-", "-", "-", "-"},
	"retry_late":      {"unknown", "-", "-", "-", "-", "-", "-", "-", "-", "busy", "busy", "expired", "", "expired", "expired", "expired", "-", "-", "-", "-", "-"},
	"absent":          {"unknown", "-", "-", "-", "-", "-", "-", "-", "-", "busy", "busy", "-", "-", "", "", "absent_twice", "-", "-", "-", "-", "-"},
	"repeat":          {"unknown", "-", "-", "-", "-", "-", "-", "-", "-", "busy", "busy", "-", "-", "", "", "", "-", "-", "-", "-", "-"},
	"resolve":         {"unknown", "", "-", "-", "-", "", "", "", "-", "-", "-", "", "", "", "", "", "", "", "", "-", "-"},
	"edited":          {"unknown", "-", "-", "-", "-", "-", "-", "-", "-", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"retracted":       {"unknown", "-", "-", "-", "-", "-", "-", "-", "-", "-", "", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	"adopt":           {"", "", "-", "-", "-", "", "doubt", "doubt", "-", "-", "-", "", "doubt", "-", "-", "-", "", "", "doubt", "-", "-"},
}

func TestMovesAreLegalExactlyAsTheTableSays(t *testing.T) {
	t.Parallel()
	for _, c := range pipeline.States() {
		if !slices.ContainsFunc(situations, func(s struct {
			name  string
			state pipeline.State
			make  func(w *world)
		},
		) bool {
			return s.state == c
		}) {
			t.Errorf("no situation is %s", c)
		}
	}
	for _, try := range tries {
		want := legalMoves[try.name]
		if len(want) != len(situations) {
			t.Fatalf("%s: the table has %d columns, want %d", try.name, len(want), len(situations))
		}
		for i, sit := range situations {
			t.Run(fmt.Sprintf("%s/%s", sit.name, try.name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				sit.make(w)
				if sit.state != "" {
					w.want(id1, sit.state)
				}
				got := string(codeOf(try.do(w.s())))
				if got == string(CodeState) {
					got = "-"
				}
				if got != want[i] {
					t.Errorf("got %q, want %q: %v", got, want[i], try.do(w.s()))
				}
			})
		}
	}
	if len(legalMoves) != len(tries) {
		t.Errorf("the table has %d moves, %d are tried", len(legalMoves), len(tries))
	}
}
