package bluesky

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/providers"
)

func TestUploadGivesTheBlobAsRecordsShowIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	m := pngOf(t, 4, 3, 9, "grey")
	h, err := p.Upload(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"$type":"blob","mimeType":"image/png","ref":{"$link":%q},"size":%d}`, h.ID, m.Bytes)
	if string(h.Ref) != want || !h.Expires.Equal(testStart.Add(blobLife)) {
		t.Errorf("got %s until %s, want %s", h.Ref, h.Expires, want)
	}
	// The content id of "hello world", as other implementations have it.
	if got := blobCID([]byte("hello world")); got != "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e" {
		t.Errorf("content id %s", got)
	}
}

func TestUploadRefusesAnotherBlobThanWasSent(t *testing.T) {
	t.Parallel()
	m := pngOf(t, 4, 3, 9, "grey")
	good := fmt.Sprintf(`{"blob":{"$type":"blob","mimeType":"image/png","ref":{"$link":%q},"size":%d}}`, blobCID([]byte("other")), m.Bytes)
	for _, body := range []string{good, `{}`, `{"blob":{}}`, `{"blob":null}`, `[]`, ``} {
		r := newRig(t)
		r.through(answer(nsidUpload, http.StatusOK, body))
		_, err := r.login(t).Upload(t.Context(), m)
		if e := providers.AsError(err); e == nil || e.Kind != providers.Unknown {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestUploadSaysWhatIsWrongWithTheFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	for _, m := range []providers.Media{
		{Path: "a.png", MIME: "image/png"},
		{Path: "a.png", MIME: "image/png", Open: func() ([]byte, error) { return nil, errors.New("gone") }},
		{Path: "a.png", MIME: "image/png", Open: func() ([]byte, error) { return nil, nil }},
		{Path: "a.png", MIME: "image/png\r\nX: y", Open: func() ([]byte, error) { return []byte("x"), nil }},
	} {
		_, err := p.Upload(t.Context(), m)
		if e := wantKind(t, err, providers.Invalid, true); !strings.Contains(e.Error(), "a.png") {
			t.Errorf("no path in %v", e.Error())
		}
	}
	if n := r.Count(nsidUpload); n != 0 {
		t.Errorf("%d uploads", n)
	}
}

func TestPublishMayFollowAnotherUploadWhenTheBlobIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.login(t)
	d := draft("look")
	d.Parts[0].Media = []providers.Media{pngOf(t, 4, 3, 9, "grey")}
	e := encode(t, d)
	m := seal(t.Context(), t, p, e, testKey, testStart)[0]
	r.DropBlobs(r.account.DID)
	_, err := p.Publish(t.Context(), m)
	wantKind(t, err, providers.Unavailable, true)
	again := seal(t.Context(), t, p, e, testKey, testStart)[0]
	if string(again.Payload) != string(m.Payload) {
		t.Errorf("another upload gave another payload: %s", again.Payload)
	}
	send(t.Context(), t, p, []providers.Message{again})
}

func TestResolveFindsDIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.AddHandle("bob.example.com", "did:web:bob.example.com")
	p := r.login(t)
	for in, want := range map[string]string{"bob.example.com": "did:web:bob.example.com", "@Alice.test": r.account.DID} {
		h, err := p.Resolve(t.Context(), in)
		if err != nil || h.ID != want {
			t.Errorf("%s: %q, %v", in, h.ID, err)
		}
	}
	for _, unknown := range []string{"nobody.test", "not a handle", "", "alice"} {
		_, err := p.Resolve(t.Context(), unknown)
		wantKind(t, err, providers.NotFound, true)
	}
}
