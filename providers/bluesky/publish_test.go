package bluesky

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
)

const (
	nsidPut    = "com.atproto.repo.putRecord"
	nsidGet    = "com.atproto.repo.getRecord"
	nsidUpload = "com.atproto.repo.uploadBlob"
)

func TestPublishWritesTheSealedRecordAtItsKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	d := draft("Hello")
	d.Lang = "en"
	m := seal(t.Context(), t, p, encode(t, d), testKey, testStart)[0]
	got := send(t.Context(), t, p, []providers.Message{m})[0]

	recs := r.Records(r.account.DID)
	if len(recs) != 1 {
		t.Fatalf("%d records", len(recs))
	}
	rec := recs[0]
	want := providers.Receipt{
		ID: rec.URI, URL: "https://bsky.app/profile/" + r.account.DID + "/post/" + rec.RKey,
		SentAt: r.clock.now(), Ref: rec.CID,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if v, want := string(rec.Value), `{"$type":"app.bsky.feed.post","createdAt":"2026-12-03T09:00:00.123Z","langs":["en"],"text":"Hello"}`; v != want {
		t.Errorf("got  %s\nwant %s", v, want)
	}
}

func TestReplyNamesRootAndParent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	d := draft("one", "two", "three")
	d.Parts[1].Media = []providers.Media{pngOf(t, 4, 3, 9, "a grey square")}
	rs := send(t.Context(), t, p, seal(t.Context(), t, p, encode(t, d), testKey, testStart))

	recs := r.Records(r.account.DID)
	if len(recs) != 3 {
		t.Fatalf("%d records", len(recs))
	}
	for i, rec := range recs {
		var v struct {
			Text  string    `json:"text"`
			Reply *replyRef `json:"reply"`
		}
		if err := json.Unmarshal(rec.Value, &v); err != nil {
			t.Fatal(err)
		}
		if v.Text != d.Parts[i].Doc.Blocks[0].Spans[0].Text || rec.URI != rs[i].ID {
			t.Errorf("part %d is %q at %s", i, v.Text, rec.URI)
		}
		if i == 0 {
			if v.Reply != nil {
				t.Errorf("the first part replies to %+v", v.Reply)
			}
			continue
		}
		want := &replyRef{
			Root:   strongRef{URI: rs[0].ID, CID: rs[0].Ref},
			Parent: strongRef{URI: rs[i-1].ID, CID: rs[i-1].Ref},
		}
		if d := cmp.Diff(want, v.Reply); d != "" {
			t.Errorf("part %d: %s", i, d)
		}
	}
}

func TestReplyRefusesReceiptsItCannotPointAt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, testStart)
	root := send(t.Context(), t, p, ms[:1])[0]
	for _, bad := range []providers.Receipt{
		{}, {ID: root.ID}, {ID: "https://example.com/1", Ref: root.Ref}, {ID: root.ID, Ref: "not a cid"},
	} {
		_, err := p.Reply(t.Context(), ms[1], providers.Thread{Root: root, Parent: bad})
		if e := wantKind(t, err, providers.Invalid, true); e.Reach != providers.NotSent {
			t.Errorf("reach %v", e.Reach)
		}
	}
	if n := r.Count(nsidPut); n != 1 {
		t.Errorf("%d writes", n)
	}
}

func TestPublishOfTheSameBytesIsHarmlessForever(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, testStart)
	first := send(t.Context(), t, p, ms)
	r.clock.add(100 * 24 * time.Hour)
	p = r.login(t)
	again := send(t.Context(), t, p, ms)
	for i := range first {
		if first[i].ID != again[i].ID || first[i].Ref != again[i].Ref {
			t.Errorf("part %d: %+v, then %+v", i, first[i], again[i])
		}
	}
	if n := len(r.Records(r.account.DID)); n != 2 {
		t.Errorf("%d records", n)
	}
}

// swapFirst makes the server one that compares before it looks whether there is anything to do.
func swapFirst(r *rig) {
	var cid string
	r.through(func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if recs := r.Records(r.account.DID); strings.HasSuffix(req.URL.Path, nsidPut) && len(recs) > 0 {
			cid = recs[0].CID
			return answer(nsidPut, http.StatusBadRequest, fmt.Sprintf(`{"error":"InvalidSwap","message":"Record was at %s"}`, cid))(req, next)
		}
		return next.RoundTrip(req)
	})
}

func TestPublishTakesAnEqualRecordAtItsKeyForItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	swapFirst(r)
	p := r.login(t)
	m := seal(t.Context(), t, p, encode(t, draft("one")), testKey, testStart)
	first, again := send(t.Context(), t, p, m)[0], send(t.Context(), t, p, m)[0]
	if first.ID != again.ID || first.Ref != again.Ref || r.Count(nsidGet) != 1 {
		t.Errorf("%+v, then %+v, after %d reads", first, again, r.Count(nsidGet))
	}
	if want := testStart.Truncate(time.Millisecond); !again.SentAt.Equal(want) {
		t.Errorf("sent at %s, want %s", again.SentAt, want)
	}
}

func TestPublishNeverReplacesAnotherRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	m := seal(t.Context(), t, p, encode(t, draft("ours")), testKey, testStart)[0]
	var s sealed
	if err := json.Unmarshal(m.Payload, &s); err != nil {
		t.Fatal(err)
	}
	r.Put(r.account.DID, s.RKey, map[string]any{"$type": collection, "text": "theirs", "createdAt": "2026-12-03T09:00:00.123Z"})
	_, err := p.Publish(t.Context(), m)
	e := wantKind(t, err, providers.Duplicate, false)
	if want := atURI(r.account.DID, s.RKey); e.ID != want {
		t.Errorf("id %q, want %q", e.ID, want)
	}
	_, err = p.Find(t.Context(), providers.Query{Message: m})
	wantKind(t, err, providers.Duplicate, false)
	if got := string(r.Records(r.account.DID)[0].Value); !strings.Contains(got, "theirs") {
		t.Errorf("the record is now %s", got)
	}
}

func TestPublishIsAmbiguousWhereTheKeyIsTakenAndUnreadable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.through(answer(nsidPut, http.StatusBadRequest, `{"error":"InvalidSwap","message":"Record was at x"}`))
	p := r.login(t)
	m := seal(t.Context(), t, p, encode(t, draft("one")), testKey, testStart)[0]
	_, err := p.Publish(t.Context(), m)
	wantKind(t, err, providers.Ambiguous, false)
}

func TestPublishFindsItselfAfterALostAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.through(loseAnswers(nsidPut, 2))
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, testStart)

	_, err := p.Publish(t.Context(), ms[0])
	if e := wantKind(t, err, providers.Ambiguous, false); e.Reach != providers.MaybeSent {
		t.Errorf("reach %v", e.Reach)
	}
	root, err := p.Find(t.Context(), providers.Query{Message: ms[0], Since: testStart.Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	thread := providers.Thread{Root: root, Parent: root}
	_, err = p.Reply(t.Context(), ms[1], thread)
	wantKind(t, err, providers.Ambiguous, false)
	second, err := p.Reply(t.Context(), ms[1], thread)
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Find(t.Context(), providers.Query{Message: ms[1], Thread: &thread, Since: testStart})
	if err != nil {
		t.Fatal(err)
	}
	if found.ID != second.ID || found.Ref != second.Ref || len(r.Records(r.account.DID)) != 2 {
		t.Errorf("found %+v, published %+v, %d records", found, second, len(r.Records(r.account.DID)))
	}
}

func TestFindTellsAbsentFromUnsure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	ms := seal(t.Context(), t, p, encode(t, draft("one", "two")), testKey, testStart)
	find := func(q providers.Query) error {
		_, err := p.Find(t.Context(), q)
		return err
	}
	if err := find(providers.Query{Message: ms[0]}); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("before publishing: %v", err)
	}
	rs := send(t.Context(), t, p, ms)
	if err := find(providers.Query{Message: ms[0], Since: testStart}); err != nil {
		t.Errorf("claimed at the very moment of Since: %v", err)
	}
	if err := find(providers.Query{Message: ms[0], Since: testStart.Add(time.Second)}); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("older than Since: %v", err)
	}
	taken := func(id string) bool { return id == rs[0].ID }
	if err := find(providers.Query{Message: ms[0], Taken: taken}); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("taken: %v", err)
	}
	if err := find(providers.Query{Message: ms[1], Thread: &providers.Thread{Root: rs[1], Parent: rs[1]}}); err == nil {
		t.Error("found in another thread")
	}
	// An answer that a proxy or another program gives is no proof of absence.
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest, http.StatusBadGateway, http.StatusOK} {
		other := *r
		other.through(answer(nsidGet, status, "<html>nothing here</html>"))
		_, err := other.provider(t).Find(t.Context(), providers.Query{Message: ms[0]})
		if err == nil || errors.Is(err, providers.ErrNotFound) {
			t.Errorf("HTTP %d: %v", status, err)
		}
	}
}

func TestDeleteRemovesOnlyOurPostsAndForgivesAbsence(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	got := send(t.Context(), t, p, seal(t.Context(), t, p, encode(t, draft("one")), testKey, testStart))[0]
	for range 2 {
		if err := p.Delete(t.Context(), got); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Records(r.account.DID)); n != 0 {
		t.Errorf("%d records", n)
	}
	other := providers.Receipt{ID: strings.Replace(got.ID, r.account.DID, "did:plc:somebodyelse", 1)}
	wantKind(t, p.Delete(t.Context(), other), providers.Forbidden, true)
	wantKind(t, p.Delete(t.Context(), providers.Receipt{ID: "at://x/app.bsky.feed.like/3abc"}), providers.Invalid, true)
}

func TestPublishSendsNothingWithoutASession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.provider(t)
	_, err := p.Publish(t.Context(), providers.Message{Key: testKey, Payload: json.RawMessage(`{}`)})
	wantKind(t, err, providers.Unauthorized, true)
	if n := len(r.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestPublishRefusesAForeignPayload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	for _, payload := range []string{
		``, `{}`, `null`, `[]`, `{"rkey":"../x","record":{}}`, `{"rkey":"3lwafzkjqm25s"}`, `{"rkey":"3lwafzkjqm25s","record":[]}`,
		`{"rkey":"3lwafzkjqm25s","record":{},"more":1}`, `{"rkey":"3lwafzkjqm25s","record":{}} {}`,
	} {
		_, err := p.Publish(t.Context(), providers.Message{Payload: json.RawMessage(payload)})
		wantKind(t, err, providers.Invalid, true)
	}
	if n := r.Count(nsidPut); n != 0 {
		t.Errorf("%d writes", n)
	}
}
