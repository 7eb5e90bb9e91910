package ledger

import (
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/google/go-cmp/cmp"
)

func TestHoldsForbidClaimsInTheirScope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		scope       string
		login       string // that the hold names
		claim       string // login of the claim
		wantBlocked bool
	}{
		{"all", ScopeAll, "", "login-1", true},
		{"the post", ScopePost(id1.Post), "", "login-1", true},
		{"another post", ScopePost("other"), "", "login-1", false},
		{"the target", ScopeTarget(blue), "", "login-1", true},
		{"another target", ScopeTarget(mast), "", "login-1", false},
		{"the login", ScopeLogin("login-1"), "", "login-1", true},
		{"another login", ScopeLogin("login-2"), "", "login-1", false},
		{"the target, refused login", ScopeTarget(blue), "login-1", "login-1", true},
		{"the target, newer login", ScopeTarget(blue), "login-1", "login-2", false},
		{"the target, login not known", ScopeTarget(blue), "login-1", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.schedule(id1, 1)
			w.do(w.s().Hold(stampAt(2, "person:ada"), HoldInput{
				Hold: "h1", Scope: tt.scope, Reason: "unauthorized", Detail: "wait", Login: tt.login,
			}))
			in := claimInput(id1, 20, "a1", 1)
			in.Login = tt.claim
			err := one(w.s().Claim(stampAt(20, "run-a"), in))
			if _, blocked := w.s().Blocked(id1, tt.claim); blocked != tt.wantBlocked || (codeOf(err) == CodeHeld) != blocked {
				t.Errorf("blocked %v, claim: %v", blocked, err)
			}
			w.do(w.s().Release(stampAt(21, "person:ada"), "h1", "person", ""))
			w.do(w.s().Claim(stampAt(22, "run-a"), in))
		})
	}
}

func TestHoldIsSetOnceAndReleasedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := HoldInput{Hold: "h1", Scope: ScopeAll, Reason: "person"}
	w.do(w.s().Hold(stampAt(2, "person:ada"), in))
	if codeOf(one(w.s().Hold(stampAt(3, "person:ada"), in))) != CodeTaken {
		t.Error("set twice")
	}
	w.do(w.s().Release(stampAt(4, "person:ada"), "h1", "person", ""))
	if codeOf(one(w.s().Release(stampAt(5, "person:ada"), "h1", "person", ""))) != CodeUnknown {
		t.Error("released twice")
	}
	if err := one(w.s().Hold(stampAt(2, "person:ada"), HoldInput{Hold: "h2", Scope: "everything", Reason: "person"})); err == nil {
		t.Error("a scope that does not exist")
	}
}

func TestRefreshIsExclusivePerLogin(t *testing.T) {
	t.Parallel()
	const file = "credentials/bluesky.age"
	w := newWorld(t)
	w.schedule(id1, 1)
	begin := func(now int, run string) error {
		return one(w.s().BeginRefresh(stampAt(now, run), "login-1", min0(now+5)))
	}
	endRefresh := func(now int, run string) error {
		return one(w.s().EndRefresh(stampAt(now, run), "login-1", file, hexN("digest", 64)))
	}
	if codeOf(endRefresh(10, "run-a")) != CodeUnknown {
		t.Error("ended before it began")
	}
	w.do(w.s().BeginRefresh(stampAt(10, "run-a"), "login-1", min0(15)))
	if codeOf(begin(11, "run-b")) != CodeBusy || codeOf(endRefresh(11, "run-b")) != CodeForeign {
		t.Error("another run took part under the lease")
	}
	if err := one(w.s().Claim(stampAt(12, "run-b"), claimInput(id1, 12, "a1", 1))); codeOf(err) != CodeBusy {
		t.Errorf("claim while the login is refreshed: %v", err)
	}
	if err := begin(16, "run-b"); err != nil {
		t.Errorf("the lease has ended: %v", err)
	}
	w.do(w.s().EndRefresh(stampAt(14, "run-a"), "login-1", file, hexN("digest", 64)))
	if c := w.s().Credentials["login-1"]; c.Seq != 1 || c.Pending || c.File != file {
		t.Errorf("credential %+v", c)
	}
	w.claim(id1, 20, "a1", 1)
	if codeOf(begin(21, "run-b")) != CodeBusy {
		t.Error("refreshed under a running attempt")
	}
	w.receipt(id1, 22, "a1", 0, "p0")
	w.do(w.s().BeginRefresh(stampAt(23, "run-a"), "login-1", min0(30)))
	w.do(w.s().GiveUpRefresh(stampAt(24, "run-a"), "login-1"))
	if got := w.s().Troubles(min0(24 + 120)); len(got) != 0 {
		t.Errorf("a refresh that was given up did not get lost: %+v", got)
	}
	w.do(w.s().BeginRefresh(stampAt(25, "run-b"), "login-1", min0(30)))
	for _, seq := range []int{1, 3} {
		e := Event{V: 1, Kind: Refreshing, At: min0(40), Run: "run-c", Login: "login-1", Seq: seq, LeaseUntil: min0(45)}
		if err := w.s().Fork().Apply(e); codeOf(err) != CodeMalformed {
			t.Errorf("seq %d after 1: %v", seq, err)
		}
	}
	if got := w.s().Troubles(min0(31 + 60)); len(got) != 1 || got[0].Reason != TroubleRefreshLost {
		t.Errorf("troubles %+v", got)
	}
}

func TestBindFixesTheLedgersHome(t *testing.T) {
	t.Parallel()
	s := New()
	if err := one(s.Hold(stampAt(1, "person:ada"), HoldInput{Hold: "h", Scope: ScopeAll, Reason: "person"})); codeOf(err) != CodeUnbound {
		t.Errorf("an event before the ledger is bound: %v", err)
	}
	w := newWorld(t)
	other := binding()
	other.Ledger = hexN("other", 32)
	moved := binding()
	moved.HomeURL = "https://example.com/fork.git"
	moved.Signer = "ssh-ed25519 BBBB"
	withID := binding()
	withID.RepoID = "123"
	tests := []struct {
		name string
		b    Binding
		why  string
		want Code
	}{
		{"another ledger", other, WhyMove, CodeMalformed},
		{"init again", binding(), WhyInit, CodeState},
		{"init elsewhere", moved, WhyInit, CodeState},
		{"init adds the repository's id", withID, WhyInit, ""},
		{"move", moved, WhyMove, ""},
		{"restore", binding(), WhyRestore, ""},
	}
	for _, tt := range tests {
		if err := one(w.s().Bind(stampAt(5, "person:ada"), tt.b, "ada", tt.why)); codeOf(err) != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	w.do(w.s().Bind(stampAt(6, "person:ada"), moved, "ada", WhyMove))
	if b := w.s().Binding; b.Signer != moved.Signer || b.HomeURL != moved.HomeURL || !b.Baseline.Equal(min0(0)) {
		t.Errorf("binding %+v", b)
	}
}

func TestPreparedStepsAreLeasedAndKeepTheirHandles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.schedule(id1, 1)
	begin := PrepareInput{ID: id1, Step: "upload 1", LeaseUntil: min0(10)}
	w.do(w.s().Prepare(stampAt(5, "run-a"), begin))
	if codeOf(one(w.s().Prepare(stampAt(6, "run-b"), begin))) != CodeBusy {
		t.Error("two runs prepare one step")
	}
	done := PrepareInput{ID: id1, Step: "upload 1", Handle: []byte(`{"id":"m1"}`), Expires: min0(100)}
	w.do(w.s().Prepare(stampAt(7, "run-a"), done))
	if p := w.d(id1).Prepared["upload 1"]; p.State != "done" || string(p.Handle) != `{"id":"m1"}` {
		t.Errorf("step %+v", p)
	}
	done.Handle = []byte(`{"id":1,"id":2}`)
	if err := one(w.s().Prepare(stampAt(8, "run-a"), done)); err == nil {
		t.Error("a handle with a doubled key")
	}
	w.claim(id1, 20, "a1", 1)
	w.receipt(id1, 21, "a1", 0, "p0")
	if len(w.d(id1).Prepared) != 0 {
		t.Error("handles of what is published are kept")
	}
}

func TestNextWakeIsWhenSomethingMustBeDone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(*world)
		want time.Time
	}{
		{"nothing", func(*world) {}, time.Time{}},
		{"due", situation("scheduled"), min0(10)},
		{"lease", situation("publishing"), min0(65)},
		{"retry", situation("queued"), min0(40)},
		{"published", situation("published"), time.Time{}},
		{"canceled", situation("canceled_person"), time.Time{}},
		{"uncertain", situation("uncertain"), min0(21)},
		{"failed", situation("failed"), time.Time{}},
		{"held until the deadline", func(w *world) {
			w.schedule(id1, 1)
			w.do(w.s().Hold(stampAt(2, "person:ada"), HoldInput{Hold: "h", Scope: ScopeAll, Reason: "person"}))
		}, min0(600)},
		{"retry after the deadline", func(w *world) {
			w.schedule(id1, 1)
			w.claim(id1, 20, "a1", 1)
			w.do(w.s().Queue(stampAt(21, "run-a"), id1, pipeline.ReasonThrottled, "", min0(700), ByResponse))
		}, min0(600)},
		{"handle expires", func(w *world) {
			in := scheduleInput(id1)
			in.Due = min0(400)
			w.do(w.s().Schedule(stampAt(1, "run-a"), in))
			w.do(w.s().Prepare(stampAt(2, "run-a"), PrepareInput{ID: id1, Step: "s", Handle: []byte(`1`), Expires: min0(90)}))
		}, min0(90)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.make(w)
			if got := w.s().NextWake(min0(61)); !got.Equal(tt.want) {
				t.Errorf("next wake %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTroublesTellWhatMustBeTold(t *testing.T) {
	t.Parallel()
	held := func(w *world) {
		w.schedule(id1, 1)
		w.do(w.s().Hold(stampAt(2, "person:ada"), HoldInput{Hold: "h", Scope: ScopeAll, Reason: "person", Detail: "wait"}))
	}
	tests := []struct {
		name string
		make func(*world)
		now  int
		want []pipeline.Reason
	}{
		{"scheduled ahead", situation("scheduled"), 5, nil},
		{"scheduled, just due", situation("scheduled"), 61, nil},
		{"scheduled, overdue", situation("scheduled"), 75, []pipeline.Reason{TroubleOverdue}},
		{"held ahead", held, 5, nil},
		{"held, due", held, 11, []pipeline.Reason{TroubleHeld}},
		{"publishing", situation("publishing"), 61, nil},
		{"published", situation("published"), 61, nil},
		{"failed", situation("failed"), 61, []pipeline.Reason{pipeline.ReasonRejected}},
		{"failed long ago", situation("failed"), 60 * 24 * 40, nil},
		{"partial", situation("partial"), 61, []pipeline.Reason{pipeline.ReasonPartial}},
		{"partial long ago", situation("partial"), 60 * 24 * 40, []pipeline.Reason{pipeline.ReasonPartial}},
		{"uncertain", situation("uncertain"), 61, []pipeline.Reason{pipeline.ReasonAmbiguous}},
		{"canceled", situation("canceled_person"), 61, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.make(w)
			var got []pipeline.Reason
			for _, tr := range w.s().Troubles(min0(tt.now)) {
				got = append(got, tr.Reason)
				if again := w.s().Troubles(min0(tt.now + 1)); again[0].Fingerprint != tr.Fingerprint || tr.Fingerprint == "" {
					t.Error("the fingerprint changes with time")
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTroubleThatComesBackIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("uncertain")(w)
	first := w.s().Troubles(min0(25))[0].Fingerprint
	w.do(w.s().Absent(stampAt(26, "run-a"), id1, ""))
	w.claim(id1, 27, "a2", 2)
	w.do(w.s().MarkUncertain(stampAt(28, "run-a"), id1, pipeline.ReasonAmbiguous, "", ByResponse))
	if w.s().Troubles(min0(29))[0].Fingerprint == first {
		t.Error("uncertain again has the fingerprint of the first time")
	}
}

func TestTipCarriesWhatWasTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(w.s().TipEvent(stampAt(5, "run-a"), TipInput{Content: hexN("c", 40), Config: hexN("k", 64), Finished: true, Told: []string{"x"}}))
	w.do(w.s().TipEvent(stampAt(6, "run-b"), TipInput{}))
	if tip := w.s().Tip; tip.Content != hexN("c", 40) || !tip.ToldAt.Equal(min0(5)) || len(tip.Told) != 1 || tip.Finished {
		t.Errorf("tip %+v", tip)
	}
	w.do(w.s().TipEvent(stampAt(7, "run-c"), TipInput{Finished: true, Told: []string{"x"}}))
	if tip := w.s().Tip; !tip.ToldAt.Equal(min0(5)) {
		t.Errorf("told at %s: nothing new was told", tip.ToldAt)
	}
	w.do(w.s().TipEvent(stampAt(8, "run-d"), TipInput{Finished: true, Told: []string{}, ToldAt: min0(8)}))
	if tip := w.s().Tip; !tip.ToldAt.Equal(min0(8)) || len(tip.Told) != 0 {
		t.Errorf("tip %+v", tip)
	}
}

func TestEqualSourceFindsDuplicates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from string
		want bool
	}{
		{"scheduled", false},
		{"publishing", true},
		{"queued", false},
		{"queued_half", true},
		{"queued_doubt", true},
		{"published", true},
		{"failed", false},
		{"partial", true},
		{"uncertain", true},
		{"canceled_removed", false},
		{"canceled_unsure", true},
		{"adopted", true},
		{"retracted", false},
	}
	for _, tt := range tests {
		t.Run(tt.from, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_ = w.s().EqualSource(blue, hexN("source", 64), min0(0)) // the fold keeps the index up to date from here on
			situation(tt.from)(w)
			for _, s := range []*State{w.s(), w.s().Fork()} {
				if got := len(s.EqualSource(blue, hexN("source", 64), min0(0))) == 1; got != tt.want {
					t.Errorf("found %v, want %v", got, tt.want)
				}
				if len(s.EqualSource(mast, hexN("source", 64), min0(0))) != 0 {
					t.Error("found at another target")
				}
			}
			if tt.from == "published" && len(w.s().EqualSource(blue, hexN("source", 64), min0(23))) != 0 {
				t.Error("found though it was published before")
			}
		})
	}
}

func TestStaleWaitsForTheFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("publishing")(w)
	d := w.d(id1)
	if w.s().Stale(d, min0(69), 5*time.Minute) || !w.s().Stale(d, min0(71), 5*time.Minute) {
		t.Error("the lease ends at minute 65, the fence 5 minutes later")
	}
}

func TestForkLeavesItsOriginAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	situation("publishing")(w)
	origin := w.s()
	before := *origin.Deliveries[id1]
	for range 2 {
		f := origin.Fork()
		e, err := f.RecordReceipt(stampAt(61, "run-a"), response(id1, "a1", 0, "p0"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	w.receipt(id1, 62, "a1", 0, "q0") // on the origin itself, after forks
	if len(before.Receipts) != 0 || origin.Deliveries[id1].Receipts[0].ID != "q0" {
		t.Errorf("receipts: before %v, now %v", before.Receipts, origin.Deliveries[id1].Receipts)
	}
}

// TestHoldOnALoginIsToldOfAllThatItKeeps has a thread half out, and its login refused since, by way of another post.
func TestHoldOnALoginIsToldOfAllThatItKeeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := scheduleInput(id1)
	in.Login = ""
	w.do(w.s().Schedule(stampAt(1, "run-a"), in))
	w.claim(id1, 20, "a1", 2)
	w.receipt(id1, 21, "a1", 0, "p0")
	w.do(w.s().Queue(stampAt(22, "run-a"), id1, pipeline.ReasonInterrupted, "", min0(22), ByRun))
	w.do(w.s().Hold(stampAt(23, "run-a"), HoldInput{Hold: "h", Scope: ScopeLogin("login-1"), Login: "login-1", Reason: pipeline.ReasonUnauthorized}))
	got := w.s().Troubles(min0(24))
	if len(got) != 1 || got[0].Reason != TroubleHeld {
		t.Errorf("troubles %+v, want one of a hold", got)
	}
}
