package mastodon_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon"
)

func encodeOne(t *testing.T, d providers.Draft) (providers.EncodedPart, []providers.Problem) {
	t.Helper()
	encoded, problems := mastodon.Info().Encode(d)
	if len(encoded.Parts) != len(d.Parts) {
		t.Fatalf("%d parts of %d", len(encoded.Parts), len(d.Parts))
	}
	return encoded.Parts[0], problems
}

func codes(problems []providers.Problem) []string {
	var out []string
	for _, p := range problems {
		if p.Error {
			out = append(out, p.Code)
		}
	}
	return out
}

func TestEncodeWritesWhatAReaderSees(t *testing.T) {
	t.Parallel()
	doc := providers.Doc{Blocks: []providers.Block{
		{Kind: providers.Heading, Level: 2, Spans: []providers.Span{{Text: "News"}}},
		{Kind: providers.Paragraph, Spans: []providers.Span{
			{Text: "Version 1.0", Style: providers.Bold},
			{Text: " is out, thanks to "},
			{Kind: providers.Mention, Text: "@alice", Handle: "alice@hachyderm.io"},
			{Text: ". "},
			{Text: "Read the notes", URL: "https://example.com/1.0"},
			{Text: "; "},
			{Text: "https://example.com/", URL: "https://example.com/"},
			{Kind: providers.LineBreak},
			{Kind: providers.Hashtag, Text: "#golang", Handle: "golang"},
		}},
		{Kind: providers.Quote, Blocks: []providers.Block{{Kind: providers.List, Items: [][]providers.Block{
			{{Spans: []providers.Span{{Kind: providers.Mention, Text: "Bob", Handle: "@bob@example.org"}}}},
		}}}},
	}}
	before := doc.Blocks[1].Spans[2].Text
	d := providers.Draft{
		Parts: []providers.DraftPart{{Doc: doc}}, Lang: "en", Limits: mastodon.Info().Limits,
		Settings: map[string]any{"content_warning": "release", "sensitive": true},
	}
	got, problems := encodeOne(t, d)
	want := "News\n\nVersion 1.0 is out, thanks to @alice@hachyderm.io. Read the notes (https://example.com/1.0); " +
		"https://example.com/\n#golang\n\n> • @bob@example.org"
	if diff := cmp.Diff(want, got.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	// 4 + 2 + 30 + 6 + 2 + 14 + 2 + 23 + 3 + 23 + 1 + 7 + 2 + 4 + 4, and 7 of the warning.
	if l := got.Lengths[0]; l != (providers.Length{Count: 134, Limit: 500, Unit: "graphemes"}) {
		t.Errorf("length %+v", l)
	}
	if diff := cmp.Diff([]providers.Problem{{
		Code: "formatting_dropped", Note: true, Message: "Mastodon shows plain text: bold, heading will not be seen",
	}}, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]providers.Shown{
		{Name: "visibility", Value: "public"}, {Name: "content warning", Value: "release"}, {Name: "language", Value: "en"},
	}, got.Extra); diff != "" {
		t.Errorf("extra (-want +got):\n%s", diff)
	}
	if doc.Blocks[1].Spans[2].Text != before {
		t.Error("the draft was changed")
	}
}

func TestEncodeRefusesWhatMastodonRefuses(t *testing.T) {
	t.Parallel()
	video := picture(9, "moving")
	video.MIME, video.Path = "video/mp4", "media/clip.mp4"
	huge, wide, odd, wordy := picture(5, ""), picture(6, ""), picture(7, ""), picture(8, strings.Repeat("é", 1501))
	huge.Bytes = 16<<20 + 1
	wide.Width, wide.Height = 10000, 10000
	odd.MIME = "image/tiff"
	with := func(text string, media ...providers.Media) providers.DraftPart {
		p := part(text)
		p.Media = media
		return p
	}
	poll := func(options ...any) map[string]any {
		return map[string]any{"poll": map[string]any{"options": options, "expires_in": "1d"}}
	}
	for _, c := range []struct {
		name     string
		parts    []providers.DraftPart
		settings map[string]any
		want     []string
	}{
		{"plain", []providers.DraftPart{part("x")}, nil, nil},
		{"too long", []providers.DraftPart{part(strings.Repeat("x", 501))}, nil, []string{"too_long"}},
		{"too long with its warning", []providers.DraftPart{part(strings.Repeat("x", 490))}, map[string]any{"content_warning": "eleven chars"}, []string{"too_long"}},
		{"empty", []providers.DraftPart{{}}, nil, []string{"empty_part"}},
		{"a picture without text", []providers.DraftPart{{Media: []providers.Media{picture(1, "a")}}}, nil, nil},
		{"five pictures", []providers.DraftPart{with("x", picture(1, ""), picture(2, ""), picture(3, ""), picture(4, ""), picture(5, ""))}, nil, []string{"too_many_media"}},
		{"a video", []providers.DraftPart{with("x", video)}, nil, nil},
		{"a video and a picture", []providers.DraftPart{with("x", video, picture(1, ""))}, nil, []string{"media_mixed"}},
		{"the same picture twice", []providers.DraftPart{with("x", picture(1, "")), with("y", picture(1, ""))}, nil, []string{"media_twice"}},
		{"the same picture twice, told apart", []providers.DraftPart{with("x", picture(1, "a")), with("y", picture(1, "b"))}, nil, nil},
		{"too many bytes", []providers.DraftPart{with("x", huge)}, nil, []string{"media_too_large"}},
		{"too many pixels", []providers.DraftPart{with("x", wide)}, nil, []string{"media_too_large"}},
		{"a type it does not take", []providers.DraftPart{with("x", odd)}, nil, []string{"media_type"}},
		{"a long alternative text", []providers.DraftPart{with("x", wordy)}, nil, []string{"alt_too_long"}},
		{"a poll", []providers.DraftPart{part("x")}, poll("a", "b"), nil},
		{"a poll with a picture", []providers.DraftPart{with("x", picture(1, ""))}, poll("a", "b"), []string{"poll_with_media"}},
		{"a poll and a picture in the next part", []providers.DraftPart{part("x"), with("y", picture(1, ""))}, poll("a", "b"), nil},
		{"a poll without a choice", []providers.DraftPart{part("x")}, poll("a"), []string{"bad_setting"}},
		{"a poll with an option twice", []providers.DraftPart{part("x")}, poll("a", "a"), []string{"bad_setting"}},
		{"a poll with a number", []providers.DraftPart{part("x")}, poll("a", 2), []string{"bad_setting"}},
		{"five options", []providers.DraftPart{part("x")}, poll("a", "b", "c", "d", "e"), []string{"poll_options"}},
		{"a long option", []providers.DraftPart{part("x")}, poll("a", strings.Repeat("b", 51)), []string{"poll_options"}},
		{"a short poll", []providers.DraftPart{part("x")}, map[string]any{"poll": map[string]any{"options": []string{"a", "b"}, "expires_in": 60}}, []string{"bad_setting"}},
		{"an endless poll", []providers.DraftPart{part("x")}, map[string]any{"poll": map[string]any{"options": []string{"a", "b"}, "expires_in": "60d"}}, []string{"bad_setting"}},
		{"a poll with a key too many", []providers.DraftPart{part("x")}, map[string]any{"poll": map[string]any{"options": []string{"a", "b"}, "opitons": 1}}, []string{"bad_setting"}},
		{"no such visibility", []providers.DraftPart{part("x")}, map[string]any{"visibility": "friends"}, []string{"bad_setting"}},
		{"no such language", []providers.DraftPart{part("x")}, map[string]any{"language": "English please"}, []string{"bad_setting"}},
		{"a warning of two lines", []providers.DraftPart{part("x")}, map[string]any{"content_warning": "a\nb"}, []string{"bad_setting"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, problems := encodeOne(t, providers.Draft{Parts: c.parts, Settings: c.settings, Limits: mastodon.Info().Limits})
			if diff := cmp.Diff(c.want, codes(problems)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, problems)
			}
		})
	}
}

func TestEncodeTakesTheInstancesLimits(t *testing.T) {
	t.Parallel()
	l := mastodon.Info().Limits
	l.Text, l.URLLength = 40, 10
	d := providers.Draft{Parts: []providers.DraftPart{part("https://example.com/long/path " + strings.Repeat("x", 29))}, Limits: l}
	got, problems := encodeOne(t, d)
	if len(problems) != 0 || got.Lengths[0].Count != 40 || got.Lengths[0].Limit != 40 {
		t.Errorf("got %+v, %+v", got.Lengths, problems)
	}
}

func TestEncodeWarnsOfADirectPostToNobody(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"for nobody": 1, "for @bob@example.org": 0} {
		_, problems := encodeOne(t, providers.Draft{
			Parts: []providers.DraftPart{part(text)}, Settings: map[string]any{"visibility": "direct"}, Limits: mastodon.Info().Limits,
		})
		if len(problems) != want || want == 1 && (problems[0].Code != "nobody_addressed" || problems[0].Error) {
			t.Errorf("%q: %+v", text, problems)
		}
	}
}

func TestLanguageIsWhatMastodonTakes(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"": "", "en": "en", "EN": "en", "de-AT": "de", "pt_BR": "pt", "ast": "ast", "zh": "zh", "zh-Hant-TW": "zh-TW", "zh-hans": "zh-CN", "zh-MO": "zh-HK",
		"sr-Latn-RS": "sr",
	} {
		got, problems := encodeOne(t, providers.Draft{Parts: []providers.DraftPart{part("x")}, Lang: tag, Limits: mastodon.Info().Limits})
		if want != "" {
			want = `"language":"` + want + `"`
		}
		if len(problems) != 0 || !strings.Contains(string(got.Payload), want) || (want == "" && strings.Contains(string(got.Payload), "language")) {
			t.Errorf("%q became %s, want %s; %v", tag, got.Payload, want, problems)
		}
	}
}

func TestSealNamesUploads(t *testing.T) {
	t.Parallel()
	info := mastodon.Info()
	p := part("x")
	p.Media = []providers.Media{picture(1, "one"), picture(1, "two")}
	p.Media[1].Focus = &[2]float64{0.25, -2}
	got, _ := encodeOne(t, providers.Draft{Parts: []providers.DraftPart{p}, Limits: info.Limits})
	in := providers.SealInput{Part: got, Media: map[string]providers.Handle{
		providers.MediaKey(p.Media[0]): {ID: "11"}, providers.MediaKey(p.Media[1]): {ID: "12"},
	}}
	raw, err := info.Seal(in)
	want := `{"media":[{"description":"one","id":"11"},{"description":"two","focus":"0.25,-1","id":"12"}],"sensitive":false,"status":"x","visibility":"public"}`
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
	delete(in.Media, providers.MediaKey(p.Media[1]))
	if raw, err := info.Seal(in); err == nil {
		t.Errorf("sealed without an upload: %s", raw)
	}
}
