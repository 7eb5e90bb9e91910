//go:build realservers

package servers

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestRealPDSGivesEachTestAnAccountOfItsOwn(t *testing.T) {
	t.Parallel()
	s := PDS(t)
	a, b := s.NewAccount(t), s.NewAccount(t)
	if a.DID == b.DID || !strings.HasPrefix(a.DID, "did:plc:") {
		t.Fatalf("accounts %q and %q", a.DID, b.DID)
	}
	token := s.Session(t, a.Handle, a.AppPassword)
	// One more than a page, so that the listing has to follow the cursor.
	const posts = 101
	for from := 0; from < posts; from += 100 {
		var writes []any
		for i := from; i < min(from+100, posts); i++ {
			writes = append(writes, map[string]any{
				"$type": "com.atproto.repo.applyWrites#create", "collection": "app.bsky.feed.post",
				"value": map[string]any{
					"$type": "app.bsky.feed.post", "text": fmt.Sprint("post ", i), "createdAt": "2026-11-30T00:00:00.000Z",
				},
			})
		}
		var out struct{}
		s.procedure(t, "com.atproto.repo.applyWrites", token, map[string]any{"repo": a.DID, "writes": writes}, &out)
	}
	records := s.Records(t, a.DID)
	if len(records) != posts {
		t.Fatalf("%d records, want %d", len(records), posts)
	}
	for i, r := range records {
		if r.Text() != fmt.Sprint("post ", i) || r.Key() == "" || r.CID == "" {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
	if other := s.Records(t, b.DID); len(other) != 0 {
		t.Errorf("the other account has %d records", len(other))
	}
}

func TestRealPDSKnowsItsAccountsInTheDirectory(t *testing.T) {
	t.Parallel()
	s := PDS(t)
	a := s.NewAccount(t)
	var doc struct {
		ID          string   `json:"id"`
		AlsoKnownAs []string `json:"alsoKnownAs"`
	}
	sendJSON(t, request{method: http.MethodGet, url: s.PLC + "/" + a.DID}, nil, &doc)
	if doc.ID != a.DID || len(doc.AlsoKnownAs) != 1 || doc.AlsoKnownAs[0] != "at://"+a.Handle {
		t.Errorf("got %+v for %+v", doc, a)
	}
}

func TestRealMastodonListsWhatWasPosted(t *testing.T) {
	t.Parallel()
	s := Mastodon(t)
	token := s.Token(t)
	mark := "mark" + rand.Text()
	for _, visibility := range []string{"public", "private"} {
		var posted Status
		r := request{
			method: http.MethodPost, url: s.URL + "/api/v1/statuses", token: token, contentType: formType,
			body: url.Values{"status": {mark + " " + visibility}, "visibility": {visibility}}.Encode(),
		}
		decode(t, r, send(t, r), &posted)
		one := s.Status(t, posted.ID)
		if one.ID != posted.ID || one.URL == "" || one.Visibility != visibility || !strings.Contains(one.Content, mark) {
			t.Errorf("read %+v after posting %+v", one, posted)
		}
	}
	listed := 0
	for _, status := range s.Statuses(t) {
		if strings.Contains(status.Content, mark) {
			listed++
		}
	}
	if listed != 1 {
		t.Errorf("%d statuses listed, want the public one", listed)
	}
}
