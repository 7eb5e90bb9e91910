package bluesky

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// picturePart is a part that shows images; nothing opens them.
func picturePart(ms ...providers.Media) providers.Draft {
	d := draft("look")
	d.Parts[0].Media = ms
	return d
}

func jpeg(bytes int64) providers.Media {
	return providers.Media{Path: "media/a.jpg", SHA256: strings.Repeat("ab", 32), MIME: "image/jpeg", Bytes: bytes, Width: 1600, Height: 900, Alt: "a chart"}
}

func TestEncodeSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	with := func(d providers.Draft, kv ...any) providers.Draft {
		d.Settings = map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			d.Settings[kv[i].(string)] = kv[i+1]
		}
		return d
	}
	card := func(kv ...any) map[string]any {
		m := map[string]any{"url": "https://example.com", "title": "T"}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	family := "👩‍👩‍👧‍👦" // one grapheme of 25 bytes
	gif := jpeg(10)
	gif.MIME = "image/gif"
	video := jpeg(10)
	video.MIME = "video/mp4"
	titled := draft("x")
	titled.Title = "A title"
	bold := providers.Draft{Parts: []providers.DraftPart{{Doc: para(providers.Span{Text: "x", Style: providers.Bold})}}}
	for name, c := range map[string]struct {
		draft providers.Draft
		want  []string // code, level and part
	}{
		"fits":                {draft(strings.Repeat("é", 300)), nil},
		"301 graphemes":       {draft(strings.Repeat("é", 301)), []string{"too_long error 0"}},
		"120 families":        {draft(strings.Repeat(family, 120)), nil},
		"121 families":        {draft("x", strings.Repeat(family, 121)), []string{"too_long error 1"}},
		"no limits given":     {providers.Draft{Parts: draft(strings.Repeat("x", 301)).Parts}, []string{"too_long error 0"}},
		"empty":               {draft("x", " \n "), []string{"empty error 1"}},
		"no part":             {providers.Draft{}, []string{"empty error -1"}},
		"image alone":         {providers.Draft{Parts: []providers.DraftPart{{Media: []providers.Media{jpeg(1)}}}}, nil},
		"card alone":          {with(draft(""), setCard, card()), nil},
		"four images":         {picturePart(jpeg(1), jpeg(2), jpeg(3), jpeg(maxImageBytes)), nil},
		"five images":         {picturePart(jpeg(1), jpeg(2), jpeg(3), jpeg(4), jpeg(5)), []string{"too_many_media error 0"}},
		"large image":         {picturePart(jpeg(maxImageBytes + 1)), []string{"media_too_large error 0"}},
		"video":               {picturePart(video), []string{"media_type error 0"}},
		"gif":                 {picturePart(gif), []string{"animation_dropped note 0"}},
		"title":               {titled, []string{"title_dropped note -1"}},
		"bold":                {bold, []string{"formatting_dropped note 0"}},
		"both languages":      {with(draft("x"), setLanguage, "de", setLanguages, []any{"en"}), []string{"conflicting_settings error -1"}},
		"four languages":      {with(draft("x"), setLanguages, []any{"de", "en", "fr", "es"}), []string{"too_many_languages error -1"}},
		"same language twice": {with(draft("x"), setLanguages, []any{"de", "en", "fr", "de"}), nil},
		"no language":         {with(draft("x"), setLanguage, "de_DE"), []string{"bad_language error -1"}},
		"nine tags":           {with(draft("x"), setTags, []any{"1", "2", "3", "4", "5", "6", "7", "8", "9"}), []string{"too_many_tags error -1"}},
		"eight tags":          {with(draft("x"), setTags, []any{"1", "2", "3", "4", "5", "6", "7", "#8"}), nil},
		"tag of two words":    {with(draft("x"), setTags, []any{"a b"}), []string{"bad_tag error -1"}},
		"label without end":   {with(draft("x"), setLabels, []any{strings.Repeat("x", 129)}), []string{"bad_label error -1"}},
		"card with image":     {with(picturePart(jpeg(1)), setCard, card()), []string{"card_with_media error 0"}},
		"card with thumb":     {with(picturePart(jpeg(1)), setCard, card("thumb", true)), []string{"alt_dropped note 0"}},
		"thumb without image": {with(draft("x"), setCard, card("thumb", true)), []string{"card_with_media error 0"}},
		"thumb of two images": {with(picturePart(jpeg(1), jpeg(2)), setCard, card("thumb", true)), []string{"card_with_media error 0"}},
		"large thumb":         {with(picturePart(jpeg(maxThumbBytes+1)), setCard, card("thumb", true)), []string{"media_too_large error 0"}},
		"card without title":  {with(draft("x"), setCard, card("title", "")), []string{"bad_card error -1"}},
		"card takes title":    {with(titled, setCard, card("title", "")), nil},
		"card to nowhere":     {with(draft("x"), setCard, card("url", "example.com")), []string{"bad_card error -1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ps := Encode(c.draft)
			var got []string
			for _, p := range ps {
				level := "warning"
				if p.Error {
					level = "error"
				} else if p.Note {
					level = "note"
				}
				got = append(got, p.Code+" "+level+" "+string(rune('0'+p.Part)))
				if p.Part == whole {
					got[len(got)-1] = p.Code + " " + level + " -1"
				}
				if p.Message == "" || (p.Error && p.Hint == "") {
					t.Errorf("%s says %q, hint %q", p.Code, p.Message, p.Hint)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEncodeMeasuresTheTextThatIsSent(t *testing.T) {
	t.Parallel()
	d := providers.Draft{Parts: []providers.DraftPart{{Doc: para(plain("é "), link("notes", "https://example.com/a/long/address"))}}}
	got := encode(t, d).Parts[0]
	want := []providers.Length{{Count: 7, Limit: 300, Unit: "graphemes"}, {Count: 8, Limit: 3000, Unit: "bytes"}}
	if d := cmp.Diff(want, got.Lengths); d != "" {
		t.Error(d)
	}
	if got.Text != "é notes" {
		t.Errorf("text %q", got.Text)
	}
	d.Limits = limits()
	d.Limits.Text = 5
	if _, ps := Encode(d); len(ps) != 1 || ps[0].Code != "too_long" {
		t.Errorf("the instance's limit is not used: %+v", ps)
	}
}

func goldenDraft() providers.Draft {
	chart := jpeg(1000)
	bare := providers.Media{Path: "media/b.png", SHA256: strings.Repeat("cd", 32), MIME: "image/png", Bytes: 10}
	return providers.Draft{
		Post: "launch-1-0", Lang: "en", Limits: limits(),
		Settings: map[string]any{setLabels: []any{"graphic-media"}, setTags: []any{"#release", "golang"}},
		Parts: []providers.DraftPart{
			{
				Doc: providers.Doc{Blocks: []providers.Block{
					{Kind: providers.Paragraph, Spans: []providers.Span{
						{Text: "Version 1.0", Style: providers.Bold}, plain(" 🎉 is out, thanks to "), mention("alice.dev"), plain(" and "), mention("nobody.test"), plain("."),
					}},
					{Kind: providers.List, Items: [][]providers.Block{
						{{Kind: providers.Paragraph, Spans: []providers.Span{link("Notes", "https://example.com/1.0")}}},
						{{Kind: providers.Paragraph, Spans: []providers.Span{plain("https://example.com/<&>")}}},
					}},
				}},
				Media: []providers.Media{chart, bare},
			},
			{Doc: para(hashtag("go"), plain(" \u2028 \"quoted\" \\ more"))},
		},
	}
}

func goldenCard() providers.Draft {
	d := picturePart(jpeg(1000))
	d.Title = "Version 1.0"
	d.Settings = map[string]any{
		setLanguages: []any{"de", "en"},
		setCard:      map[string]any{"url": "https://example.com/1.0", "description": "What is new", "thumb": true},
	}
	return d
}

func goldenSeal(part providers.EncodedPart, i int) providers.SealInput {
	in := providers.SealInput{
		Part: part, Index: i, Key: testKey, ClaimedAt: testStart,
		Names: map[string]providers.Handle{"alice.dev": {ID: "did:plc:aliceslongidentifier1234"}},
		Media: map[string]providers.Handle{},
	}
	for _, m := range part.Media {
		ref, _ := canon.Marshal(blob{Type: "blob", MIMEType: m.MIME, Ref: blobRef{Link: blobCID([]byte(m.SHA256))}, Size: m.Bytes})
		in.Media[providers.MediaKey(m)] = providers.Handle{ID: "x", Ref: ref}
	}
	return in
}

// TestPayloadsStayWhatTheyWere holds renditions and sealed parts to the bytes of testdata: a change there changes the
// hash of every rendition in users' ledgers.
func TestPayloadsStayWhatTheyWere(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]providers.Draft{"thread": goldenDraft(), "card": goldenCard()} {
		var got strings.Builder
		for i, part := range encode(t, d).Parts {
			raw, err := Seal(goldenSeal(part, i))
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range []json.RawMessage{part.Payload, raw} {
				if !canon.Is(j) {
					t.Errorf("not canonical: %s", j)
				}
				got.Write(j)
				got.WriteByte('\n')
			}
			extra, err := canon.Marshal(part.Extra)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(string(extra) + "\n" + strings.Join(part.Resolve, " ") + "\n")
		}
		file := filepath.Join("testdata", name+".golden")
		if os.Getenv("UPDATE_GOLDEN") == "1" {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
