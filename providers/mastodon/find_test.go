package mastodon_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon/mastodontest"
)

const release = "Version 1.0 is out, thanks to @alice@example.org. https://example.com/1.0 #golang"

func TestFinderJudgesWhatIsThere(t *testing.T) {
	t.Parallel()
	const found, absent, unsure = "found", "absent", "unsure"
	status := func(change func(*mastodontest.Status)) mastodontest.Status {
		st := mastodontest.Status{Text: release, CreatedAt: start.Add(-time.Minute)}
		if change != nil {
			change(&st)
		}
		return st
	}
	for _, c := range []struct {
		name     string
		options  mastodontest.Options
		settings map[string]any
		there    []mastodontest.Status
		want     string
		says     string
	}{
		{name: "nothing at all", want: absent},
		{name: "the very status", there: []mastodontest.Status{status(nil)}, want: found},
		{name: "too old", there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.CreatedAt = start.Add(-3 * time.Minute) })}, want: absent},
		{name: "another text", there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text = "Have a nice day" })}, want: absent},
		{
			name: "another release", want: absent,
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text = strings.ReplaceAll(release, "1.0", "1.1") })},
		},
		{
			name: "the same but for marks", want: unsure, says: "differs in marks",
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text = release + "!" })},
		},
		{
			name: "edited since", want: unsure, says: "edited",
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text, s.EditedAt = "Something else", start })},
		},
		{name: "a boost", there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Reblog = true })}, want: absent},
		{name: "somebody else's", there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.AccountID = mastodontest.OtherAccountID })}, want: absent},
		{
			name: "another visibility", want: unsure, says: "it is private and not public",
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Visibility = "private" })},
		},
		{
			name: "a silenced account's", want: found,
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Visibility = "unlisted" })},
		},
		{
			name: "another warning", want: unsure, says: "content warning",
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Spoiler = "beware" })},
		},
		{
			name: "its warning", want: found, settings: map[string]any{"content_warning": "release notes"},
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Spoiler = "release notes" })},
		},
		{
			name: "with a picture that was not sent", want: unsure, says: "media",
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Media = []mastodontest.Attachment{{ID: "9", MIME: "image/png"}} })},
		},
		{
			name: "in another thread", want: absent,
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.InReplyTo = "1" })},
		},
		{
			name: "its poll", want: found, settings: map[string]any{"poll": map[string]any{"options": []any{"yes", "no"}}},
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Poll = &mastodontest.Poll{Options: []string{"yes", "no"}} })},
		},
		{
			name: "another poll", want: unsure, says: "poll", settings: map[string]any{"poll": map[string]any{"options": []any{"yes", "no"}}},
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Poll = &mastodontest.Poll{Options: []string{"yes", "maybe"}} })},
		},
		{name: "without source: the very status", options: mastodontest.Options{NoSource: true}, there: []mastodontest.Status{status(nil)}, want: found},
		{
			name: "without source: another release", options: mastodontest.Options{NoSource: true}, want: absent,
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text = strings.ReplaceAll(release, "1.0", "1.1") })},
		},
		{name: "snac: the very status", options: mastodontest.Snac(), there: []mastodontest.Status{status(nil)}, want: found},
		{
			name: "snac: unlisted becomes public", options: mastodontest.Snac(), settings: map[string]any{"visibility": "unlisted"},
			there: []mastodontest.Status{status(nil)}, want: found,
		},
		{
			name: "snac: an empty list shows no private statuses", options: mastodontest.Snac(), want: unsure, says: "may leave private statuses out",
			settings: map[string]any{"visibility": "private"},
		},
		{
			name: "snac: a list that does not reach back", options: mastodontest.Snac(), want: unsure, says: "does not list statuses back to",
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text = "Have a nice day" })},
		},
		{
			name: "snac: a list that does", options: mastodontest.Snac(), want: absent,
			there: []mastodontest.Status{status(func(s *mastodontest.Status) { s.CreatedAt = start.Add(-time.Hour) })},
		},
		{
			name: "snac without source: much the same", want: unsure, says: "not quite the same",
			options: func() mastodontest.Options { o := mastodontest.Snac(); o.NoSource = true; return o }(),
			there:   []mastodontest.Status{status(func(s *mastodontest.Status) { s.Text = release + " and more" })},
		},
		{
			name: "genuine: private statuses are listed", settings: map[string]any{"visibility": "direct"}, want: absent,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.options)
			id := ""
			for _, st := range c.there {
				id = w.s.Add(st)
			}
			w.pass(time.Minute)
			r, err := w.adapter().Find.Find(t.Context(), w.query(w.one(release, c.settings)))
			switch c.want {
			case found:
				if err != nil || r.ID != id || r.URL == "" || !r.SentAt.Equal(start.Add(-time.Minute)) {
					t.Errorf("got %+v, %v, want the status %s", r, err, id)
				}
			case absent:
				if !errors.Is(err, providers.ErrNotFound) {
					t.Errorf("got %+v, %v, want %v", r, err, providers.ErrNotFound)
				}
			case unsure:
				wantError(t, err, providers.Unknown, c.says)
			}
		})
	}
}

func TestFinderTakesTheOldestThatIsFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	var ids []string
	for i := range 3 {
		ids = append(ids, w.s.Add(mastodontest.Status{Text: release, CreatedAt: start.Add(time.Duration(i-3) * time.Second)}))
	}
	q := w.query(w.one(release, nil))
	taken := map[string]bool{}
	q.Taken = func(id string) bool { return taken[id] }
	for _, want := range ids {
		r, err := w.adapter().Find.Find(t.Context(), q)
		if err != nil || r.ID != want {
			t.Fatalf("got %+v, %v, want %s", r, err, want)
		}
		taken[r.ID] = true
	}
	if _, err := w.adapter().Find.Find(t.Context(), q); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("got %v with all of them taken", err)
	}
}

func TestFinderComparesMedia(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	able := w.adapter()
	text := part("Look")
	text.Media = []providers.Media{picture(1, "first"), picture(2, "second")}
	bare := providers.DraftPart{Media: []providers.Media{picture(3, "third")}}
	m := w.messages(providers.Draft{Parts: []providers.DraftPart{text}}, able)[0]
	only := w.messages(providers.Draft{Parts: []providers.DraftPart{bare}}, able)[0]
	for _, m := range []providers.Message{m, only} {
		want, err := able.Publish.Publish(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.adapter().Find.Find(t.Context(), w.query(m))
		if err != nil || r.ID != want.ID {
			t.Errorf("got %+v, %v, want %+v", r, err, want)
		}
	}
	// Uploaded anew, media have other ids and the same alternative texts.
	again := w.messages(providers.Draft{Parts: []providers.DraftPart{text}}, able)[0]
	if r, err := able.Find.Find(t.Context(), w.query(again)); err != nil {
		t.Errorf("got %+v, %v for media uploaded anew", r, err)
	}
	// With no text to go by, other pictures are another post.
	other := providers.DraftPart{Media: []providers.Media{picture(4, "fourth")}}
	m = w.messages(providers.Draft{Parts: []providers.DraftPart{other}}, able)[0]
	if r, err := able.Find.Find(t.Context(), w.query(m)); !errors.Is(err, providers.ErrNotFound) {
		t.Errorf("got %+v, %v for another picture", r, err)
	}
}

func TestFinderSeesThroughRenderedMarks(t *testing.T) {
	t.Parallel()
	const marked = "A **bold** claim, `code`, <b>no tag</b> & a link:\n\nhttps://example.com/a_b?c=1&d=2 #go"
	for _, noSource := range []bool{false, true} {
		o := mastodontest.Snac()
		o.NoSource = noSource
		w := newWorld(t, o)
		m := w.one(marked, nil)
		want, err := w.adapter().Publish.Publish(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		w.s.Add(mastodontest.Status{Text: "A **bold** lie, `code`, <b>no tag</b> & a link:\n\nhttps://example.com/a_b?c=1&d=2 #go"})
		if r, err := w.adapter().Find.Find(t.Context(), w.query(m)); err != nil || r.ID != want.ID {
			t.Errorf("without source %v: got %+v, %v, want %+v", noSource, r, err, want)
		}
	}
}

func TestFinderKnowsAWarningThatBecameTheText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	m := w.one("", map[string]any{"content_warning": "eye contact"}, picture(1, "a face"))
	want, err := w.adapter().Publish.Publish(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := w.adapter().Find.Find(t.Context(), w.query(m)); err != nil || r.ID != want.ID {
		t.Errorf("got %+v, %v, want %+v", r, err, want)
	}
}

func TestFinderPagesBackPastTheClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	want := w.s.Add(mastodontest.Status{Text: release, CreatedAt: start.Add(-time.Minute)})
	for i := range 95 {
		w.s.Add(mastodontest.Status{Text: "Something else " + strconv.Itoa(i), CreatedAt: start.Add(-50 * time.Second)})
	}
	r, err := w.adapter().Find.Find(t.Context(), w.query(w.one(release, nil)))
	if err != nil || r.ID != want {
		t.Errorf("got %+v, %v, want %s", r, err, want)
	}
	if n := w.count("GET /api/v1/accounts/" + mastodontest.AccountID + "/statuses"); n != 4 {
		t.Errorf("%d pages were read: three hold statuses, the fourth shows that there are no more", n)
	}
}

func TestFinderIsNotSureWhereAPageFails(t *testing.T) {
	t.Parallel()
	list := "GET /api/v1/accounts/" + mastodontest.AccountID + "/statuses"
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"no array":   answering(200, nil, `{"error":"x"}`),
		"no time":    answering(200, nil, `[{"id":"1","created_at":null}]`),
		"odd id":     answering(200, nil, `[{"id":"1 2","created_at":"2026-11-30T09:00:00Z"}]`),
		"throttled":  answering(429, nil, `{"error":"Too many requests"}`),
		"broken":     answering(500, nil, ``),
		"no account": answering(404, nil, `{"error":"Record not found"}`),
	} {
		w := newWorld(t, mastodontest.Options{})
		w.answer[list] = answer
		if r, err := w.adapter().Find.Find(t.Context(), w.query(w.one(release, nil))); err == nil || errors.Is(err, providers.ErrNotFound) {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
	w := newWorld(t, mastodontest.Options{})
	id := w.s.Add(mastodontest.Status{Text: release})
	w.answer["GET /api/v1/statuses/"+id+"/source"] = answering(503, nil, ``)
	_, err := w.adapter().Find.Find(t.Context(), w.query(w.one(release, nil)))
	wantError(t, err, providers.Unavailable)
}

func TestFinderRefusesAnotherAccountsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	able := w.adapter(func(c *providers.Config) { c.Credential.Secrets["access_token"] = mastodontest.OtherToken })
	_, err := able.Find.Find(t.Context(), w.query(w.one(release, nil)))
	wantError(t, err, providers.Forbidden, mastodontest.AccountID, mastodontest.OtherAccountID)
}
