package bluesky

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/bluesky/blueskytest"
)

// TestRequestsFollowTheLexicons makes every call that the adapter has and holds the requests against the official
// descriptions. The other tests' requests are held against them too where they are at hand.
func TestRequestsFollowTheLexicons(t *testing.T) {
	t.Parallel()
	lex := blueskytest.OfficialLexicons(t)
	r := newRig(t)
	r.AddHandle("bob.example.com", "did:plc:bobbobbobbobbobbobbobbob")
	p := r.login(t)
	d := providers.Draft{
		Lang: "de", Title: "Launch", Limits: limits(),
		Settings: map[string]any{setLabels: []any{"nudity"}, setTags: []any{"release"}},
		Parts: []providers.DraftPart{
			{
				Doc: para(plain("Hi "), providers.Span{Kind: providers.Mention, Text: "@bob.example.com", Handle: "bob.example.com"},
					plain(" 👩‍👩‍👧 "), providers.Span{Text: "notes", URL: "https://example.com/ü?a=b c"}, plain(" "),
					providers.Span{Kind: providers.Hashtag, Text: "#go", Handle: "go"}),
				Media: []providers.Media{pngOf(t, 4, 3, 9, "grey"), pngOf(t, 4, 3, 8, "")},
			},
			{Doc: para(plain("second, see https://example.com/2."))},
		},
	}
	rs := send(t.Context(), t, p, seal(t.Context(), t, p, encode(t, d), testKey, testStart))
	carded := draft("with a card")
	carded.Settings = map[string]any{setCard: map[string]any{"url": "https://example.com", "title": "T", "thumb": true}}
	carded.Parts[0].Media = []providers.Media{pngOf(t, 4, 3, 7, "")}
	send(t.Context(), t, p, seal(t.Context(), t, p, encode(t, carded), testKey, testStart.Add(time.Hour)))
	if err := p.Delete(t.Context(), rs[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(t.Context(), providers.Query{Message: providers.Message{Payload: json.RawMessage(`{"record":{"a":1},"rkey":"3lwafzkjqm25s"}`)}}); !errors.Is(err, providers.ErrNotFound) {
		t.Fatal(err)
	}
	r.clock.add(2 * time.Hour)
	if _, err := p.Check(t.Context()); err != nil { // logs in and out
		t.Fatal(err)
	}
	p = r.login(t)
	if _, err := p.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, q := range r.Requests() {
		seen[strings.TrimPrefix(q.NSID, "com.atproto.")] = true
		if err := lex.CheckRequest(q); err != nil {
			t.Error(err)
		}
	}
	var names []string
	for n := range seen {
		names = append(names, n)
	}
	slices.Sort(names)
	want := []string{
		"identity.resolveHandle", "repo.deleteRecord", "repo.getRecord", "repo.putRecord", "repo.uploadBlob",
		"server.createSession", "server.deleteSession", "server.getSession", "server.refreshSession",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

func TestLexiconCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	lex := blueskytest.OfficialLexicons(t)
	good := func() map[string]any {
		return map[string]any{"$type": collection, "text": "x", "createdAt": "2026-12-03T09:00:00.123Z"}
	}
	if err := lex.CheckRecord(collection, "3lwafzkjqm25s", good()); err != nil {
		t.Fatal(err)
	}
	for field, v := range map[string]any{
		"text": strings.Repeat("x", 301), "createdAt": "2026-12-03 09:00", "langs": []any{"a", "b", "c", "d"}, "extra": true,
		"tags": []any{1.0}, "embed": map[string]any{"$type": "app.bsky.embed.images", "images": []any{map[string]any{"alt": "x"}}},
		"reply": map[string]any{"root": map[string]any{}}, "labels": map[string]any{"$type": "other"},
		"facets": []any{map[string]any{"index": map[string]any{"byteStart": -1.0, "byteEnd": 2.0}, "features": []any{}}},
	} {
		rec := good()
		rec[field] = v
		if err := lex.CheckRecord(collection, "3lwafzkjqm25s", rec); err == nil {
			t.Errorf("%s = %v passes", field, v)
		}
	}
	if err := lex.CheckRecord(collection, "my-own-key", good()); err == nil {
		t.Error("a record key that is no TID passes")
	}
}
