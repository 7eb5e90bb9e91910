package sandbox_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

func paragraph(spans ...providers.Span) providers.DraftPart {
	return providers.DraftPart{Doc: providers.Doc{Blocks: []providers.Block{{Spans: spans}}}}
}

func TestEncodeWritesPayload(t *testing.T) {
	t.Parallel()
	info := sandbox.Info()
	first := paragraph(
		providers.Span{Text: "Grüße an "}, providers.Span{Kind: providers.Mention, Text: "@bob", Handle: "bob"},
		providers.Span{Text: ", "}, providers.Span{Kind: providers.Mention, Text: "@eve", Handle: "eve"},
		providers.Span{Text: ": "}, providers.Span{Text: "mehr", URL: "https://example.com/?a=b&c", Style: providers.Bold},
	)
	second := paragraph(providers.Span{Text: "two"})
	second.Media = []providers.Media{{Path: "a.png", SHA256: "abc", MIME: "image/png", Bytes: 10, Alt: "A <chart>"}}
	e, problems := info.Encode(providers.Draft{
		Lang: "en", Limits: info.Limits, Parts: []providers.DraftPart{first, second},
		Settings: map[string]any{
			"visibility": "unlisted", "content_warning": "cw", "sensitive": true, "language": "de", "tags": []any{"go"},
			"keep_days": 7, "poll": map[string]any{"options": []any{"ja", "nein"}},
		},
	})
	if len(problems) > 0 {
		t.Fatalf("problems: %+v", problems)
	}
	const common = `"content_warning":"cw","keep_days":7,"lang":"de",`
	want := []string{
		`{` + common + `"marks":[{"end":15,"kind":"mention","name":"bob","start":11},{"end":21,"kind":"mention","name":"eve","start":17},` +
			`{"end":27,"kind":"link","start":23,"url":"https://example.com/?a=b&c"},{"end":27,"kind":"bold","start":23}],` +
			`"poll":{"hours":24,"options":["ja","nein"]},"sensitive":true,"tags":["go"],"text":"Grüße an @bob, @eve: mehr","visibility":"unlisted"}`,
		`{` + common + `"media":[{"alt":"A <chart>","sha256":"abc"}],"sensitive":true,"tags":["go"],"text":"two","visibility":"unlisted"}`,
	}
	for i, p := range e.Parts {
		if diff := cmp.Diff(want[i], string(p.Payload)); diff != "" {
			t.Errorf("part %d (-want +got):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff([]string{"bob", "eve"}, e.Parts[0].Resolve); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := e.Parts[0].Lengths; len(got) != 1 || got[0].Count != 25 || got[0].Limit != 500 {
		t.Errorf("lengths: %+v", got)
	}

	sealed, err := info.Seal(providers.SealInput{Part: e.Parts[0], Names: map[string]providers.Handle{"bob": {ID: "a1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(sealed); !strings.Contains(s, `"account":"a1"`) || strings.Contains(s, "name") || strings.Count(s, "mention") != 1 {
		t.Errorf("sealed: %s", s)
	}
	if _, err := info.Seal(providers.SealInput{Part: e.Parts[1], Index: 1}); err == nil || !strings.Contains(err.Error(), "part 2") {
		t.Errorf("media that were not uploaded: %v", err)
	}
	media := map[string]providers.Handle{providers.MediaKey(second.Media[0]): {ID: "m1"}}
	sealed, err = info.Seal(providers.SealInput{Part: e.Parts[1], Media: media})
	if err != nil || !strings.Contains(string(sealed), `"media":[{"alt":"A <chart>","id":"m1"}]`) {
		t.Errorf("sealed: %s, %v", sealed, err)
	}
}

func TestEncodeNamesEveryProblem(t *testing.T) {
	t.Parallel()
	limits := sandbox.Info().Limits
	img := providers.Media{Path: "a.png", SHA256: "abc", MIME: "image/png", Bytes: 10}
	with := func(ms ...providers.Media) []providers.DraftPart {
		p := paragraph(providers.Span{Text: "x"})
		p.Media = ms
		return []providers.DraftPart{p}
	}
	one := []providers.DraftPart{paragraph(providers.Span{Text: "x"})}
	type problem struct {
		Code, Setting string
		Error         bool
		Part          int
	}
	for name, c := range map[string]struct {
		parts    []providers.DraftPart
		settings map[string]any
		want     []problem
	}{
		"nothing wrong": {parts: one},
		"too long":      {parts: []providers.DraftPart{paragraph(providers.Span{Text: strings.Repeat("x", 501)})}, want: []problem{{"too_long", "", true, 0}}},
		"empty":         {parts: []providers.DraftPart{one[0], {}}, want: []problem{{"empty_part", "", true, 1}}},
		"inline image":  {parts: []providers.DraftPart{paragraph(providers.Span{Kind: providers.Image, Text: "icon"})}, want: []problem{{"formatting_dropped", "", false, 0}}},
		"many parts":    {parts: slices.Repeat(one, 51), want: []problem{{"too_many_parts", "", true, -1}}},
		"many media":    {parts: with(img, img, img, img, img), want: []problem{{"too_many_media", "", true, 0}}},
		"type":          {parts: with(providers.Media{MIME: "image/bmp"}), want: []problem{{"media_type", "", true, 0}}},
		"large":         {parts: with(providers.Media{MIME: "image/png", Bytes: 5_000_001}), want: []problem{{"media_too_large", "", true, 0}}},
		"alt":           {parts: with(providers.Media{MIME: "image/png", Alt: strings.Repeat("x", 1001)}), want: []problem{{"alt_too_long", "", true, 0}}},
		"warning":       {parts: one, settings: map[string]any{"content_warning": strings.Repeat("x", 101)}, want: []problem{{"bad_setting", "content_warning", true, -1}}},
		"tag":           {parts: one, settings: map[string]any{"tags": []any{"#go"}}, want: []problem{{"bad_setting", "tags", true, -1}}},
		"poll, media":   {parts: with(img), settings: map[string]any{"poll": map[string]any{"options": []any{"a", "b"}}}, want: []problem{{"poll_with_media", "", true, 0}}},
		"poll, options": {parts: one, settings: map[string]any{"poll": map[string]any{"options": []any{"a"}}}, want: []problem{{"bad_setting", "poll", true, -1}}},
		"poll, twice":   {parts: one, settings: map[string]any{"poll": map[string]any{"options": []any{"a", "a"}}}, want: []problem{{"bad_setting", "poll", true, -1}}},
		"poll, long":    {parts: one, settings: map[string]any{"poll": map[string]any{"options": []any{"a", strings.Repeat("x", 51)}}}, want: []problem{{"bad_setting", "poll", true, -1}}},
		"poll, hours":   {parts: one, settings: map[string]any{"poll": map[string]any{"options": []any{"a", "b"}, "hours": 0}}, want: []problem{{"bad_setting", "poll", true, -1}}},
		"poll, shape":   {parts: one, settings: map[string]any{"poll": "yes or no"}, want: []problem{{"bad_setting", "poll", true, -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := sandbox.Encode(providers.Draft{Parts: c.parts, Settings: c.settings, Limits: limits})
			var got []problem
			for _, p := range problems {
				got = append(got, problem{p.Code, p.Setting, p.Error, p.Part})
				if p.Message == "" {
					t.Errorf("%s has no message", p.Code)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInfoLimitsAreTheServers(t *testing.T) {
	t.Parallel()
	_, a := open(t, server.Options{})
	got, err := a.Limit.Limits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := sandbox.Info().Limits
	got.Source, got.Date = want.Source, want.Date
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-Info +instance):\n%s", diff)
	}
}

func TestPollSchemaIsJSON(t *testing.T) {
	t.Parallel()
	for _, s := range sandbox.Info().Settings {
		if s.Type == providers.Object && !json.Valid([]byte(s.Schema)) {
			t.Errorf("%s: %s", s.Name, s.Schema)
		}
	}
}
