package ledger

import (
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

func TestScheduleReopensAsTheDiagramSays(t *testing.T) {
	t.Parallel()
	late := func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().Fail(stampAt(2, "run-a"), id1, pipeline.ReasonLate, "", ByRun))
	}
	duplicate := func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().Fail(stampAt(2, "run-a"), id1, pipeline.ReasonDuplicate, "", ByRun))
	}
	expired := func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().Expire(stampAt(601, "run-a"), id1))
	}
	due := func(in *ScheduleInput) { in.Due, in.By = min0(1000), min0(2000) }
	by := func(in *ScheduleInput) { in.By = min0(2000) }
	source := func(in *ScheduleInput) { in.Source = hexN("other", 64) }
	blob := func(in *ScheduleInput) { in.Blob = hexN("other", 40) }
	login := func(in *ScheduleInput) { in.Login = "login-2" }
	nothing := func(*ScheduleInput) {}
	tests := []struct {
		name   string
		make   func(*world)
		change func(*ScheduleInput)
		want   pipeline.State
	}{
		{"failed, new source", situation("failed"), source, pipeline.Queued},
		{"failed, new deadline", situation("failed"), by, pipeline.Queued},
		{"failed, new login", situation("failed"), login, pipeline.Queued},
		{"failed, another blob only", situation("failed"), blob, pipeline.Failed},
		{"failed, nothing new", situation("failed"), nothing, pipeline.Failed},
		{"partial, new source", situation("partial"), source, pipeline.Failed},
		{"partial, new time", situation("partial"), due, pipeline.Failed},
		{"late, new source", late, source, pipeline.Failed},
		{"late, new time", late, due, pipeline.Queued},
		{"duplicate, allowed in the file", duplicate, blob, pipeline.Queued},
		{"expired, new source", expired, source, pipeline.Failed},
		{"expired, new deadline", expired, by, pipeline.Queued},
		{"removed, is back", situation("canceled_removed"), nothing, pipeline.Scheduled},
		{"called off, nothing new", situation("canceled_person"), nothing, pipeline.Canceled},
		{"called off, new source", situation("canceled_person"), source, pipeline.Canceled},
		{"called off, new time", situation("canceled_person"), due, pipeline.Scheduled},
		{"called off while uncertain, new time", situation("canceled_unsure"), due, pipeline.Canceled},
		{"uncertain, new source", situation("uncertain"), source, pipeline.Uncertain},
		{"published, new source", situation("published"), source, pipeline.Published},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.make(w)
			in := scheduleInput(id1)
			tt.change(&in)
			now := 61
			if d := w.d(id1); d.Reason == pipeline.ReasonExpired {
				now = 602
			}
			w.do(w.s().Schedule(stampAt(now, "run-a"), in))
			w.want(id1, tt.want)
			d := w.d(id1)
			if d.Source != in.Source || !d.Due.Equal(in.Due) || d.Blob != in.Blob || d.Gen != 0 {
				t.Errorf("what was seen is not recorded: %+v", d)
			}
			if in.ID = id1; w.s().Unscheduled(in) && tt.want != pipeline.Canceled {
				t.Error("the ledger says that it does not know what was just scheduled")
			}
		})
	}
}

func TestScheduleRefusesADeadlineBeforeTheTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := scheduleInput(id1)
	in.By = in.Due.Add(-time.Second)
	if err := one(w.s().Schedule(stampAt(1, "run-a"), in)); codeOf(err) != CodeMalformed {
		t.Error(err)
	}
}

func TestClaimSendsTheSameBytesUntilAPersonRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("queued")(w)
	parts, sent, ok := w.d(id1).Reusable(hexN("rendition", 64))
	if !ok || !equalParts(parts, claimParts(2, "a")) || !sent.Equal(min0(20)) {
		t.Fatalf("reusable: %v %s %v", parts, sent, ok)
	}
	if _, _, ok := w.d(id1).Reusable(hexN("other", 64)); ok {
		t.Error("bytes of another rendition")
	}
	w.claim(id1, 61, "a2", 2)
	if a := w.d(id1).Last(); !a.Sent.Equal(min0(20)) {
		t.Errorf("sent %s, want that of the first claim", a.Sent)
	}
	if w.d(id1).Attempts[0].hasBytes() {
		t.Error("the bytes are held twice")
	}
	w.do(w.s().MarkUncertain(stampAt(62, "run-a"), id1, pipeline.ReasonAmbiguous, "", ByResponse))
	w.do(w.s().Retry(stampAt(63, "person:ada"), id1, ""))
	if _, _, ok := w.d(id1).Reusable(hexN("rendition", 64)); ok || w.d(id1).Gen != 1 {
		t.Error("a person's retry makes new keys")
	}
}

func TestDoubtEndsOnlyWhenTheOutcomeIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("publishing_doubt")(w)
	w.do(w.s().Queue(stampAt(56, "run-a"), id1, pipeline.ReasonThrottled, "", time.Time{}, ByResponse))
	if !w.d(id1).Doubt {
		t.Error("a 429 to the repetition tells nothing of the first try")
	}
	w.do(w.s().MarkUncertain(stampAt(57, "run-a"), id1, pipeline.ReasonAmbiguous, "the window is over", ByRun))
	w.do(w.s().Absent(stampAt(58, "run-a"), id1, ""))
	if w.d(id1).Doubt || w.d(id1).MaybeOut() {
		t.Error("a finder said that it is surely absent")
	}
}

func TestFinderRequeuesOncePerProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("uncertain_again")(w)
	if codeOf(one(w.s().Absent(stampAt(61, "run-a"), id1, ""))) != CodeAbsent {
		t.Fatal("requeued twice")
	}
	in := response(id1, "a2", 0, "p0")
	in.ByWhom = ByFinder
	w.do(w.s().RecordReceipt(stampAt(62, "run-a"), in))
	w.want(id1, pipeline.Uncertain)
	w.do(w.s().Absent(stampAt(63, "run-a"), id1, ""))
	w.claim(id1, 64, "a3", 2)
}

func TestThreadResumesOnlyWithItsSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("queued_half")(w)
	in := scheduleInput(id1)
	in.Source = hexN("other", 64)
	w.do(w.s().Schedule(stampAt(61, "run-a"), in))
	c := claimInput(id1, 62, "a2", 2)
	c.Source = in.Source
	if err := one(w.s().Claim(stampAt(62, "run-a"), c)); codeOf(err) != CodeSource {
		t.Error(err)
	}
	c.Source = hexN("source", 64)
	if err := one(w.s().Claim(stampAt(62, "run-a"), c)); codeOf(err) != CodeSource {
		t.Error(err)
	}
	w.do(w.s().Schedule(stampAt(63, "run-a"), scheduleInput(id1)))
	if err := one(w.s().Claim(stampAt(62, "run-a"), claimInput(id1, 62, "a2", 3))); codeOf(err) != CodeSource {
		t.Error("a thread of another length was resumed", err)
	}
	// The deadline binds the first part only.
	w.do(w.s().Claim(stampAt(700, "run-a"), claimInput(id1, 700, "a2", 2)))
}

func TestClaimsAreExclusivePerTargetAndLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("publishing")(w)
	sameTarget := pipeline.DeliveryID{Post: "second", Target: blue}
	sameLogin := pipeline.DeliveryID{Post: "second", Target: mast}
	for _, id := range []pipeline.DeliveryID{sameTarget, sameLogin} {
		w.schedule(id, 56)
		if err := one(w.s().Claim(stampAt(57, "run-b"), claimInput(id, 57, "b1", 1))); codeOf(err) != CodeBusy {
			t.Errorf("%s: %v", id, err)
		}
	}
	free := claimInput(sameLogin, 57, "b1", 1)
	free.Login = "login-9"
	w.do(w.s().Claim(stampAt(57, "run-b"), free))
	// What is uncertain does not block its target.
	w.do(w.s().StaleLease(stampAt(70, "run-b"), id1, ""))
	w.do(w.s().Claim(stampAt(71, "run-b"), claimInput(sameTarget, 71, "c1", 1)))
}
