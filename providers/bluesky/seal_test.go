package bluesky

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

func TestSealGivesTheSameBytesAgain(t *testing.T) {
	t.Parallel()
	for i, part := range encode(t, goldenDraft()).Parts {
		first, err := Seal(goldenSeal(part, i))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			again, err := Seal(goldenSeal(part, i))
			if err != nil || !bytes.Equal(first, again) {
				t.Fatalf("%s, %v, then %s", again, err, first)
			}
		}
	}
}

func TestSealGivesPartsKeysInTheirOrder(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprint("part ", i))
	}
	last, seen := "", time.Time{}
	for i, part := range encode(t, draft(lines...)).Parts {
		in := goldenSeal(part, i)
		in.Key = fmt.Sprintf("%03x", (31-i)*100) + testKey[3:] // clock ids that fall
		raw, err := Seal(in)
		if err != nil {
			t.Fatal(err)
		}
		var s sealed
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		at := createdAt(s.Record)
		if s.RKey <= last || !at.After(seen) {
			t.Errorf("part %d: key %s at %s after %s at %s", i, s.RKey, at, last, seen)
		}
		if d := at.Sub(testStart.Truncate(time.Millisecond)); d != time.Duration(i)*time.Millisecond {
			t.Errorf("part %d is %s after the claim", i, d)
		}
		last, seen = s.RKey, at
	}
}

func TestSealLeavesOutWhomTheNetworkDoesNotKnow(t *testing.T) {
	t.Parallel()
	part := encode(t, goldenDraft()).Parts[0]
	for names, want := range map[string]int{"alice.dev": 1, "alice.dev nobody.test": 2, "": 0, "forged": 0} {
		in := goldenSeal(part, 0)
		in.Names = map[string]providers.Handle{}
		for n := range strings.FieldsSeq(names) {
			in.Names[n] = providers.Handle{ID: "did:plc:x"}
		}
		if names == "forged" {
			in.Names["alice.dev"] = providers.Handle{ID: "not a did"}
		}
		raw, err := Seal(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(raw), "facet#mention"); got != want {
			t.Errorf("%q: %d mentions, want %d", names, got, want)
		}
		if !strings.Contains(string(raw), "@nobody.test") {
			t.Errorf("the text has lost a name: %s", raw)
		}
	}
}

func TestSealRefusesWhatItCannotComplete(t *testing.T) {
	t.Parallel()
	part := encode(t, goldenDraft()).Parts[0]
	for name, change := range map[string]func(*providers.SealInput){
		"no upload": func(in *providers.SealInput) { in.Media = nil },
		"another alt text": func(in *providers.SealInput) {
			in.Media = map[string]providers.Handle{part.Media[0].SHA256 + "\x00": {}}
		},
		"no blob": func(in *providers.SealInput) {
			for k := range in.Media {
				in.Media[k] = providers.Handle{Ref: json.RawMessage(`{"$type":"blob"}`)}
			}
		},
		"no key":            func(in *providers.SealInput) { in.Key = "" },
		"key of no digits":  func(in *providers.SealInput) { in.Key = "xyz" },
		"time out of range": func(in *providers.SealInput) { in.ClaimedAt = time.Time{} },
		"negative part":     func(in *providers.SealInput) { in.Index = -1 },
		"unknown field":     func(in *providers.SealInput) { in.Part.Payload = json.RawMessage(`{"text":"x","more":1}`) },
		"no payload":        func(in *providers.SealInput) { in.Part.Payload = nil },
	} {
		in := goldenSeal(part, 0)
		change(&in)
		if raw, err := Seal(in); err == nil {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

func TestReplyIsMergedDeterministically(t *testing.T) {
	t.Parallel()
	raw, err := Seal(goldenSeal(encode(t, goldenDraft()).Parts[1], 1))
	if err != nil {
		t.Fatal(err)
	}
	root := providers.Receipt{ID: "at://did:plc:x/app.bsky.feed.post/3lwafzkjqm25s", Ref: blobCID([]byte("1"))}
	parent := providers.Receipt{ID: "at://did:plc:x/app.bsky.feed.post/3lwafzkjqm26s", Ref: blobCID([]byte("2"))}
	first, err := complete("putRecord", raw, &providers.Thread{Root: root, Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`"reply":{"parent":{"cid":%q,"uri":%q},"root":{"cid":%q,"uri":%q}}`, parent.Ref, parent.ID, root.Ref, root.ID)
	if !strings.Contains(string(first.Record), want) {
		t.Errorf("%s has no %s", first.Record, want)
	}
	again, err := complete("putRecord", raw, &providers.Thread{Root: root, Parent: parent})
	if err != nil || !bytes.Equal(first.Record, again.Record) {
		t.Errorf("then %s, %v", again.Record, err)
	}
}
