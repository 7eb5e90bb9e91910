package render_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/render"
	"github.com/broadside-pub/broadside/pipeline/richtext"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// encode is an invented network's: plain text, counted in code points, with a content warning on each part that counts too.
func encode(d providers.Draft) (providers.Encoded, []providers.Problem) {
	var out providers.Encoded
	var problems []providers.Problem
	warning, _ := d.Settings["content_warning"].(string)
	for i, p := range d.Parts {
		text := richtext.Plain(p.Doc)
		payload := map[string]any{"text": text, "visibility": d.Settings["visibility"]}
		if title, ok := d.Settings["show_title"].(bool); ok && title {
			payload["title"] = d.Title
		}
		b, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		n := utf8.RuneCountInString(text) + utf8.RuneCountInString(warning)
		if d.Limits.Text > 0 && n > d.Limits.Text {
			problems = append(problems, providers.Problem{
				Code: render.TooLong, Error: true, Part: i,
				Message: fmt.Sprintf("the text has %d characters, %d are possible", n, d.Limits.Text),
			})
		}
		if d.Limits.Media > 0 && len(p.Media) > d.Limits.Media && d.Settings["own_check"] == true {
			problems = append(problems, providers.Problem{Code: "too_many_media", Error: true, Part: i, Message: "the network's own words"})
		}
		out.Parts = append(out.Parts, providers.EncodedPart{
			Payload: b, Text: text, Media: p.Media,
			Lengths: []providers.Length{{Count: n, Limit: d.Limits.Text, Unit: "code points"}},
		})
	}
	if v := d.Settings["visibility"]; v != "public" && v != "unlisted" {
		problems = append(problems, providers.Problem{Code: "bad_setting", Error: true, Part: -1, Setting: "visibility", Message: "no such visibility"})
	}
	return out, problems
}

func info() providers.Info {
	return providers.Info{
		Name: "invented", Title: "Invented", Encode: encode, DefaultServer: "https://invented.example",
		Settings: []providers.Setting{
			{Name: "visibility", Type: providers.String, Default: "public"},
			{Name: "content_warning", Type: providers.String},
			{Name: "space", Type: providers.String, ConfigOnly: true},
			{Name: "show_title", Type: providers.Boolean},
		},
		Abilities: []providers.Ability{providers.CanReply, providers.CanUpload},
		Limits:    providers.Limits{Text: 40, Unit: "code points", Media: 2, Parts: 5},
	}
}

func para(s string) providers.Doc {
	return providers.Doc{Blocks: []providers.Block{{Spans: []providers.Span{{Text: s}}}}}
}

func input(texts ...string) render.Input {
	in := render.Input{
		Post: &pipeline.Post{ID: "launch", Path: "posts/launch.md", IDPos: pipeline.Pos{Line: 2, Column: 1}},
		Dest: pipeline.PostDestination{
			Name: "place", Pos: pipeline.Pos{Line: 5, Column: 3},
			Settings: map[string]any{}, SettingPos: map[string]pipeline.Pos{},
		},
		Destination: pipeline.Destination{
			Name: "place", Provider: "invented", Target: "invented:invented.example:1",
			Settings: map[string]any{}, Pos: pipeline.Pos{Line: 9, Column: 3},
		},
		Info: info(), Lang: "en",
	}
	for i, s := range texts {
		in.Parts = append(in.Parts, render.Part{Doc: para(s), Pos: pipeline.Pos{Line: 10 + i, Column: 1}})
	}
	return in
}

func media(sum, alt string) providers.Media {
	return providers.Media{Path: "media/" + sum + ".png", SHA256: sum, MIME: "image/png", Alt: alt}
}

// brief is what a test compares of diagnostics.
func brief(ds []pipeline.Diagnostic) []string {
	var out []string
	for _, d := range ds {
		if d.Post != "launch" || d.Destination != "place" || d.Message == "" {
			out = append(out, fmt.Sprintf("incomplete: %+v", d))
		}
		out = append(out, fmt.Sprintf("%s:%d:%d %s %s", d.File, d.Line, d.Column, d.Severity, d.Code))
	}
	return out
}

func TestRenderMakesTheRendition(t *testing.T) {
	t.Parallel()
	in := input("Hello.", "World.")
	in.Destination.Settings["visibility"] = "unlisted"
	out, ds := render.Render(in)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	want := pipeline.Rendition{
		Post: "launch", Destination: "place", Target: "invented:invented.example:1", Provider: "invented",
		Source: out.Rendition.Source, Hash: out.Rendition.Hash,
		Parts: []pipeline.RenditionPart{
			{Text: "Hello.", Payload: []byte(`{"text":"Hello.","visibility":"unlisted"}`)},
			{Text: "World.", Payload: []byte(`{"text":"World.","visibility":"unlisted"}`)},
		},
	}
	if d := cmp.Diff(want, out.Rendition); d != "" {
		t.Error(d)
	}
	if len(out.Rendition.Source) != 64 || len(out.Rendition.Hash) != 64 || len(out.Encoded.Parts) != 2 {
		t.Errorf("%+v", out)
	}
	again, _ := render.Render(in)
	if d := cmp.Diff(out.Rendition, again.Rendition); d != "" {
		t.Errorf("not pure: %s", d)
	}
}

func TestRenderPlacesDiagnostics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*render.Input)
		want   []string
	}{
		"fine":     {func(*render.Input) {}, nil},
		"too long": {func(in *render.Input) { in.Parts[1].Doc = para(strings.Repeat("long ", 9)) }, []string{"posts/launch.md:11:1 error too_long"}},
		"setting in the post": {func(in *render.Input) {
			in.Dest.Settings["visibility"], in.Dest.SettingPos["visibility"] = "secret", pipeline.Pos{Line: 6, Column: 5}
		}, []string{"posts/launch.md:6:5 error bad_setting"}},
		"setting in the configuration": {
			func(in *render.Input) { in.Destination.Settings["visibility"] = "secret" },
			[]string{"broadside.yaml:9:3 error bad_setting"},
		},
		"thread without replies": {
			func(in *render.Input) { in.Info.Abilities = []providers.Ability{providers.CanUpload} },
			[]string{"posts/launch.md:11:1 error thread_unsupported"},
		},
		"replies disabled": {
			func(in *render.Input) { in.Destination.Disable = []providers.Ability{providers.CanReply} },
			[]string{"posts/launch.md:11:1 error thread_unsupported"},
		},
		"thread for long form": {func(in *render.Input) { in.Info.LongForm = true }, []string{"posts/launch.md:11:1 error thread_unsupported"}},
		"media without uploads": {func(in *render.Input) {
			in.Info.Abilities, in.Parts[0].Media = []providers.Ability{providers.CanReply}, []providers.Media{media("a", "x")}
		}, []string{"posts/launch.md:10:1 error media_unsupported"}},
		"many media": {func(in *render.Input) {
			in.Parts[0].Media = []providers.Media{media("a", "x"), media("b", "x"), media("c", "x")}
		}, []string{"posts/launch.md:10:1 error too_many_media"}},
		"many media, said once": {func(in *render.Input) {
			in.Parts[0].Media = []providers.Media{media("a", "x"), media("b", "x"), media("c", "x")}
			in.Dest.Settings["own_check"] = true
		}, []string{"posts/launch.md:10:1 error too_many_media"}},
		"media twice": {
			func(in *render.Input) { in.Parts[0].Media = []providers.Media{media("a", "x"), media("a", "y")} },
			[]string{"posts/launch.md:10:1 warning media_twice"},
		},
		"equal parts": {func(in *render.Input) { in.Parts[1].Doc = in.Parts[0].Doc }, []string{"posts/launch.md:11:1 warning duplicate_part"}},
		"many parts": {
			func(in *render.Input) { in.Limits = &providers.Limits{Parts: 1} },
			[]string{"posts/launch.md:11:1 error too_many_parts"},
		},
		"hidden in the text": {
			func(in *render.Input) { in.Parts[1].Doc = para("pay\u200bpal \u200b") },
			[]string{"posts/launch.md:11:1 error hidden_character"},
		},
		"bidi":              {func(in *render.Input) { in.Parts[0].Doc = para("a\u202eb") }, []string{"posts/launch.md:10:1 error bidi_control"}},
		"hidden in alt":     {func(in *render.Input) { in.Parts[0].Media = []providers.Media{media("a", "x\u202e")} }, []string{"posts/launch.md:10:1 error bidi_control"}},
		"hidden in title":   {func(in *render.Input) { in.Title = "x\u2060" }, []string{"posts/launch.md:5:3 error hidden_character"}},
		"hidden in setting": {func(in *render.Input) { in.Dest.Settings["content_warning"] = []any{map[string]any{"a": "x\u2060"}} }, []string{"posts/launch.md:5:3 error hidden_character"}},
		"hidden in address": {
			func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Spans[0].URL = "https://a.example/\u200b" },
			[]string{"posts/launch.md:10:1 error hidden_character"},
		},
		"link names another host": {func(in *render.Input) {
			in.Parts[0].Doc.Blocks[0].Spans = []providers.Span{{Text: "bank", URL: "https://evil.example/"}, {Text: ".com", URL: "https://evil.example/", Style: providers.Bold}}
		}, []string{"posts/launch.md:10:1 warning link_text_mismatch"}},
		"confusable mention": {func(in *render.Input) {
			in.Parts[0].Doc.Blocks[0].Spans = []providers.Span{{Kind: providers.Mention, Text: "@раураl.com", Handle: "раураl.com"}}
		}, []string{"posts/launch.md:10:1 warning confusable_mention"}},
		"no position": {
			func(in *render.Input) { in.Parts[0].Pos, in.Parts[0].Doc = pipeline.Pos{}, para("a\u202eb") },
			[]string{"posts/launch.md:5:3 error bidi_control"},
		},
		"destination from a group": {
			func(in *render.Input) { in.Dest.Pos, in.Title = pipeline.Pos{}, "x\u2060" },
			[]string{"posts/launch.md:2:1 error hidden_character"},
		},
		"payload that is no JSON": {func(in *render.Input) {
			in.Info.Encode = func(providers.Draft) (providers.Encoded, []providers.Problem) {
				return providers.Encoded{Parts: []providers.EncodedPart{{Payload: json.RawMessage("{"), Text: "x"}}}, nil
			}
		}, []string{"posts/launch.md:5:3 error internal"}},
		"no encoder": {func(in *render.Input) { in.Info.Encode = nil }, []string{"posts/launch.md:5:3 error unsupported"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input("Hello.", "World.")
			c.change(&in)
			out, ds := render.Render(in)
			if d := cmp.Diff(c.want, brief(ds)); d != "" {
				t.Errorf("%s\n%v", d, ds)
			}
			if len(out.Rendition.Source) != 64 {
				t.Errorf("source %q", out.Rendition.Source)
			}
		})
	}
}

func TestRenderSplitsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	long := "One sentence is here. Another one is here. And a third one is here."
	in := input("Start.", long, "End.")
	in.Parts[1].Media = []providers.Media{media("a", "x")}
	in.Dest.Settings["content_warning"] = "careful"
	if _, ds := render.Render(in); !pipeline.HasErrors(ds) {
		t.Fatal("too long and not said")
	}
	unsplit, _ := render.Render(in)
	post := *in.Post
	post.Thread = pipeline.ThreadAuto
	in.Post = &post
	out, ds := render.Render(in)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	var got []string
	for _, p := range out.Rendition.Parts {
		got = append(got, p.Text)
	}
	if d := cmp.Diff([]string{"Start.", "One sentence is here.", "Another one is here.", "And a third one is here.", "End."}, got); d != "" {
		t.Error(d)
	}
	for i, p := range out.Encoded.Parts {
		if (len(p.Media) == 1) != (i == 1) {
			t.Errorf("part %d has %d media", i+1, len(p.Media))
		}
	}
	if out.Rendition.Source != unsplit.Rendition.Source {
		t.Error("limits change the source")
	}

	in.Limits = &providers.Limits{Text: 20}
	_, ds = render.Render(in)
	if d := cmp.Diff([]string(nil), brief(ds)); d == "" {
		t.Error("six parts, five are possible, and nothing is said")
	}
	in.Limits = &providers.Limits{Text: 9}
	_, ds = render.Render(in)
	codes := brief(ds)
	if !slices.Contains(codes, "posts/launch.md:10:1 error split_failed") || !slices.Contains(codes, "posts/launch.md:11:1 error too_long") {
		t.Errorf("a word that does not fit: %v", codes)
	}

	in.Limits = nil
	in.Destination.Disable = []providers.Ability{providers.CanReply}
	in.Parts = in.Parts[1:2]
	if _, ds = render.Render(in); !slices.Contains(brief(ds), "posts/launch.md:11:1 error thread_unsupported") {
		t.Errorf("split without replies: %v", ds)
	}
}

func TestSourceIsWhatTheAuthorWants(t *testing.T) {
	t.Parallel()
	base := func() render.Input {
		in := input("Hello.", "World.")
		in.Parts[0].Media = []providers.Media{media("a", "alt")}
		in.Title = "Title"
		return in
	}
	source := func(in render.Input) string {
		out, _ := render.Render(in)
		return out.Rendition.Source
	}
	want := source(base())
	for name, change := range map[string]func(*render.Input){
		"text":        func(in *render.Input) { in.Parts[0].Doc = para("Hello!") },
		"style":       func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Spans[0].Style = providers.Bold },
		"link":        func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Spans[0].URL = "https://a.example" },
		"handle":      func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Spans[0].Handle = "a" },
		"span kind":   func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Spans[0].Kind = providers.Mention },
		"block kind":  func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Kind = providers.Heading },
		"level":       func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Level = 2 },
		"ordered":     func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Ordered = true },
		"start":       func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Start = 2 },
		"code":        func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Text = "x" },
		"code lang":   func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Lang = "go" },
		"quote":       func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Blocks = para("q").Blocks },
		"items":       func(in *render.Input) { in.Parts[0].Doc.Blocks[0].Items = [][]providers.Block{para("q").Blocks} },
		"part order":  func(in *render.Input) { slices.Reverse(in.Parts) },
		"part less":   func(in *render.Input) { in.Parts = in.Parts[:1] },
		"image":       func(in *render.Input) { in.Parts[0].Media[0].SHA256 = "b" },
		"source":      func(in *render.Input) { in.Parts[0].Media[0].Source = "b" },
		"alt":         func(in *render.Input) { in.Parts[0].Media[0].Alt = "other" },
		"focus":       func(in *render.Input) { in.Parts[0].Media[0].Focus = &[2]float64{0, 0.5} },
		"image moves": func(in *render.Input) { in.Parts[1].Media, in.Parts[0].Media = in.Parts[0].Media, nil },
		"setting":     func(in *render.Input) { in.Dest.Settings["visibility"] = "unlisted" },
		"config":      func(in *render.Input) { in.Destination.Settings["visibility"] = "unlisted" },
		"lang":        func(in *render.Input) { in.Lang = "de" },
		"title":       func(in *render.Input) { in.Dest.Settings["show_title"] = true },
	} {
		in := base()
		change(&in)
		if source(in) == want {
			t.Errorf("another %s is the same source", name)
		}
	}
	for name, change := range map[string]func(*render.Input){
		"limits":       func(in *render.Input) { in.Limits = &providers.Limits{Text: 3} },
		"path":         func(in *render.Input) { in.Parts[0].Media[0].Path = "elsewhere.png" },
		"fitted bytes": func(in *render.Input) { in.Parts[0].Media[0].Source, in.Parts[0].Media[0].SHA256 = "a", "fitted" },
		"positions":    func(in *render.Input) { in.Parts[0].Pos.Line = 99 },
		"place":        func(in *render.Input) { in.Destination.Settings["space"] = "x" },
		"default":      func(in *render.Input) { in.Info.Settings[0].Default = "unlisted" },
		"post id":      func(in *render.Input) { p := *in.Post; p.ID = "copy"; in.Post = &p },
		"unseen title": func(in *render.Input) { in.Title = "Another" },
		"no title":     func(in *render.Input) { in.Title = "" },
		"cut into spans": func(in *render.Input) {
			in.Parts[0].Doc.Blocks[0].Spans = []providers.Span{{Text: "Hel"}, {Text: "lo."}}
		},
	} {
		in := base()
		change(&in)
		if source(in) != want {
			t.Errorf("another %s is another source", name)
		}
	}
	shown := base()
	shown.Dest.Settings["show_title"] = true
	other := base()
	other.Dest.Settings["show_title"] = true
	other.Title = "Another"
	if source(shown) == source(other) {
		t.Error("another title that is shown is the same source")
	}
	long := base()
	long.Info.LongForm, long.Parts = true, long.Parts[:1]
	other = base()
	other.Info.LongForm, other.Parts, other.Title = true, other.Parts[:1], "Another"
	if source(long) == source(other) {
		t.Error("another title of an article is the same source")
	}
}

// The ledger holds source hashes: this one must never change.
func TestSourceStaysTheSameForEver(t *testing.T) {
	t.Parallel()
	in := input("Hello \"you\".", "World.")
	in.Parts[0].Media = []providers.Media{{SHA256: "ab", Alt: "ält", Focus: &[2]float64{0.5, -1}}}
	in.Parts[1].Doc.Blocks = append(in.Parts[1].Doc.Blocks,
		providers.Block{Kind: providers.List, Ordered: true, Start: 1, Items: [][]providers.Block{para("x").Blocks}},
		providers.Block{Kind: providers.Quote, Blocks: para("q").Blocks}, providers.Block{Kind: providers.CodeBlock, Text: "a\n", Lang: "go"},
		providers.Block{Kind: providers.Heading, Level: 2, Spans: []providers.Span{
			{Kind: providers.Mention, Text: "@a", Handle: "a.dev"},
			{Kind: providers.LineBreak},
			{Text: "l", URL: "https://a.example", Style: providers.Bold | providers.Code},
			{Kind: providers.Hashtag, Text: "#t", Handle: "t"},
		}}, providers.Block{Kind: providers.Rule})
	in.Dest.Settings["b"] = []any{1, "x"}
	in.Destination.Settings["a"] = true
	want := `{"lang":"en","parts":[{"doc":[{"kind":"p","spans":[{"kind":"text","text":"Hello \"you\"."}]}],` +
		`"media":[{"alt":"ält","focus":[0.5,-1],"sha256":"ab"}]},{"doc":[{"kind":"p","spans":[{"kind":"text","text":"World."}]},` +
		`{"items":[[{"kind":"p","spans":[{"kind":"text","text":"x"}]}]],"kind":"list","ordered":true,"start":1},` +
		`{"blocks":[{"kind":"p","spans":[{"kind":"text","text":"q"}]}],"kind":"quote"},{"kind":"code","lang":"go","text":"a\n"},` +
		`{"kind":"h","level":2,"spans":[{"handle":"a.dev","kind":"mention","text":"@a"},{"kind":"br"},` +
		`{"kind":"text","style":9,"text":"l","url":"https://a.example"},{"handle":"t","kind":"tag","text":"#t"}]},{"kind":"rule"}],` +
		`"media":[]}],"settings":{"a":true,"b":[1,"x"]},"title":"T","v":1}`
	if c, err := canon.Transform([]byte(want)); err != nil || string(c) != want {
		t.Fatalf("what is hashed is not canonical: %v\n%s", err, c)
	}
	in.Title = "T"
	if got := render.Source(in, true); got != canon.Sum([]byte(want)) {
		t.Errorf("got %s", got)
	}
}

func TestHashIsOfWhatIsSent(t *testing.T) {
	t.Parallel()
	base := func() providers.Encoded {
		return providers.Encoded{Parts: []providers.EncodedPart{{
			Payload: json.RawMessage(`{"a":1}`), Text: "x",
			Lengths: []providers.Length{{Count: 1, Limit: 300}}, Media: []providers.Media{media("a", "alt")}, Resolve: []string{"n"},
		}}}
	}
	hash := func(change func(*providers.EncodedPart)) string {
		e := base()
		change(&e.Parts[0])
		h, err := render.Hash(e)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	want := hash(func(*providers.EncodedPart) {})
	for name, change := range map[string]func(*providers.EncodedPart){
		"payload": func(p *providers.EncodedPart) { p.Payload = json.RawMessage(`{"a":2}`) },
		"media":   func(p *providers.EncodedPart) { p.Media[0].SHA256 = "b" },
		"alt":     func(p *providers.EncodedPart) { p.Media[0].Alt = "b" },
		"names":   func(p *providers.EncodedPart) { p.Resolve = nil },
	} {
		if hash(change) == want {
			t.Errorf("other %s, same hash", name)
		}
	}
	for name, change := range map[string]func(*providers.EncodedPart){
		"limit":  func(p *providers.EncodedPart) { p.Lengths[0].Limit = 500 },
		"source": func(p *providers.EncodedPart) { p.Media[0].Source = "b" },
		"blanks": func(p *providers.EncodedPart) { p.Payload = json.RawMessage(`{ "a" : 1.0 }`) },
	} {
		if hash(change) != want {
			t.Errorf("other %s, other hash", name)
		}
	}
}

func TestEffectiveLimitsFillsWhatAnInstanceLeavesOpen(t *testing.T) {
	t.Parallel()
	in := info()
	in.Limits = providers.Limits{Text: 500, Unit: "weighted", URLLength: 23, Media: 4, MIME: []string{"image/png"}, Source: "doc", Date: "2026-01-01"}
	own := providers.Limits{Text: 11000, MIME: []string{"image/jpeg"}, Source: "instance"}
	want := providers.Limits{Text: 11000, Unit: "weighted", URLLength: 23, Media: 4, MIME: []string{"image/jpeg"}, Source: "instance", Date: "2026-01-01"}
	if d := cmp.Diff(want, render.EffectiveLimits(nil, pipeline.Destination{Limits: &own}, in)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, render.EffectiveLimits(&own, pipeline.Destination{Limits: &providers.Limits{Text: 1}}, in)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(in.Limits, render.EffectiveLimits(nil, pipeline.Destination{}, in)); d != "" {
		t.Error(d)
	}
}

func BenchmarkRender(b *testing.B) {
	in := input(strings.Repeat("Some words of a post. ", 12), strings.Repeat("More words of it. ", 12))
	in.Info.Limits.Text = 300
	in.Title = "Title"
	b.ReportAllocs()
	for b.Loop() {
		if _, ds := render.Render(in); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
}

func BenchmarkSource(b *testing.B) {
	in := input(strings.Repeat("Some words of a post. ", 100))
	b.ReportAllocs()
	for b.Loop() {
		render.Source(in, false)
	}
}
