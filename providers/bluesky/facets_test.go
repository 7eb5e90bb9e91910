package bluesky

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// shownFacet is a facet as it is seen: what it covers, and what it says.
type shownFacet struct{ Covers, Says string }

func shownFacets(s string, ns []note) []shownFacet {
	var out []shownFacet
	for _, n := range ns {
		says := "link " + n.Link
		switch {
		case n.Mention != "":
			says = "mention " + n.Mention
		case n.Tag != "":
			says = "tag " + n.Tag
		}
		out = append(out, shownFacet{s[n.Start:n.End], says})
	}
	return out
}

func link(s, url string) providers.Span { return providers.Span{Text: s, URL: url} }

func mention(handle string) providers.Span {
	return providers.Span{Kind: providers.Mention, Text: "@" + handle, Handle: handle}
}

func hashtag(tag string) providers.Span {
	return providers.Span{Kind: providers.Hashtag, Text: "#" + tag, Handle: tag}
}

func TestFacetsCoverWhatTheAuthorMarked(t *testing.T) {
	t.Parallel()
	const a, b = "https://example.com/a", "https://example.com/b"
	for name, c := range map[string]struct {
		doc      providers.Doc
		want     []shownFacet
		problems []string
	}{
		"emoji before":  {doc: para(plain("🚀🚀 "), link("notes", a)), want: []shownFacet{{"notes", "link " + a}}},
		"zwj sequence":  {doc: para(plain("👩‍👩‍👧‍👦"), hashtag("go"), plain("👋🏽"), mention("bob.test")), want: []shownFacet{{"#go", "tag go"}, {"@bob.test", "mention bob.test"}}},
		"cjk":           {doc: para(plain("新しい"), link("リリース", a), plain("です。"), hashtag("日本語")), want: []shownFacet{{"リリース", "link " + a}, {"#日本語", "tag 日本語"}}},
		"combining":     {doc: para(plain("e\u0301a\u0308 "), link("cafe\u0301", a), plain("\u0301")), want: []shownFacet{{"cafe\u0301", "link " + a}}},
		"right to left": {doc: para(plain("שלום "), link("קישור", a), plain(" مرحبا "), hashtag("وسم")), want: []shownFacet{{"קישור", "link " + a}, {"#وسم", "tag وسم"}}},
		"flags":         {doc: para(plain("🇩🇪🇫🇷"), link("🇪🇺", a)), want: []shownFacet{{"🇪🇺", "link " + a}}},

		"bare address":         {doc: para(plain("see " + a + ".")), want: []shownFacet{{a, "link " + a}}},
		"bare beside marked":   {doc: para(link("x", b), plain(" é "+a)), want: []shownFacet{{"x", "link " + b}, {a, "link " + a}}},
		"address as link text": {doc: para(link(a, b)), want: []shownFacet{{a, "link " + b}}},
		"address in code":      {doc: para(providers.Span{Text: a, Style: providers.Code}), want: nil},
		"address in a block":   {doc: providers.Doc{Blocks: []providers.Block{{Kind: providers.CodeBlock, Text: "curl " + a}}}, want: nil},
		"tag inside a link":    {doc: para(link("all of ", a), link("#go", a)), want: []shownFacet{{"all of #go", "link " + a}}},
		"styles inside a link": {doc: para(link("one ", a), providers.Span{Text: "two", URL: a, Style: providers.Bold}), want: []shownFacet{{"one two", "link " + a}}},
		"two links in a row":   {doc: para(link("one", a), link("two", b)), want: []shownFacet{{"one", "link " + a}, {"two", "link " + b}}},
		"spaces at the ends":   {doc: para(plain("x"), link(" y ", a), plain("z")), want: []shownFacet{{"y", "link " + a}}},
		"spaces in an address": {doc: para(link("x", "https://example.com/a b?c=d e")), want: []shownFacet{{"x", "link https://example.com/a%20b?c=d%20e"}}},
		"upper-case handle":    {doc: para(mention("Bob.Test")), want: []shownFacet{{"@Bob.Test", "mention bob.test"}}},
		"in a list and a quote": {
			doc: providers.Doc{Blocks: []providers.Block{
				{Kind: providers.List, Items: [][]providers.Block{{{Kind: providers.Paragraph, Spans: []providers.Span{link("ü", a)}}}}},
				{Kind: providers.Quote, Blocks: []providers.Block{{Kind: providers.Paragraph, Spans: []providers.Span{hashtag("go")}}}},
			}},
			want: []shownFacet{{"ü", "link " + a}, {"#go", "tag go"}},
		},

		"mail address":    {doc: para(link("mail", "mailto:me@example.com")), problems: []string{"link_dropped"}},
		"script":          {doc: para(link("x", "javascript:alert(1)")), problems: []string{"link_dropped"}},
		"password in it":  {doc: para(link("x", "https://example.com@evil.test/")), problems: []string{"link_dropped"}},
		"half a handle":   {doc: para(mention("bob")), problems: []string{"mention_dropped"}},
		"endless hashtag": {doc: para(hashtag(strings.Repeat("a", 65))), problems: []string{"hashtag_dropped"}},
		"longest hashtag": {doc: para(hashtag(strings.Repeat("é", 64))), want: []shownFacet{{"#" + strings.Repeat("é", 64), "tag " + strings.Repeat("é", 64)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ps := Encode(providers.Draft{Parts: []providers.DraftPart{{Doc: c.doc}}})
			var p payload
			if err := strict(e.Parts[0].Payload, &p); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, shownFacets(p.Text, p.Facets)); d != "" {
				t.Error(d)
			}
			var codes []string
			for _, p := range ps {
				if !p.Note {
					codes = append(codes, p.Code)
				}
			}
			if d := cmp.Diff(c.problems, codes); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzFacetsLieOnCharactersInsideTheText(f *testing.F) {
	f.Add("🚀 notes https://example.com/a, and more", 5, 10, "https://example.com", 2, 8, "bob.test")
	f.Add("e\u0301\xff\u200d日本", 0, 3, "https://e.test/ü", 3, 6, "日本")
	f.Add(" \n\t ", 0, 4, "http://x", 1, 2, "x")
	f.Fuzz(func(t *testing.T, s string, a, b int, url string, c, d int, name string) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		r := &problems{}
		flat := text.Flat{Text: s, Marks: []text.Mark{
			{Start: a, End: b, Kind: text.Link, URL: url},
			{Start: c, End: d, Kind: text.Mention, Handle: name},
			{Start: c, End: d, Kind: text.Hashtag, Handle: name},
			{Start: b, End: d, Kind: text.Link, URL: url},
			{Start: a, End: d, Kind: text.Code},
		}}
		last := 0
		for _, n := range notes(flat, 0, r) {
			if n.Start < last || n.End <= n.Start || n.End > len(s) {
				t.Fatalf("%d to %d of %d, after %d", n.Start, n.End, len(s), last)
			}
			if !utf8.ValidString(s[n.Start:n.End]) || strings.TrimSpace(s[n.Start:n.End]) != s[n.Start:n.End] {
				t.Fatalf("covers %q", s[n.Start:n.End])
			}
			set := 0
			for _, v := range []string{n.Link, n.Mention, n.Tag} {
				if v != "" {
					set++
				}
			}
			if set != 1 {
				t.Fatalf("%+v says %d things", n, set)
			}
			last = n.End
		}
	})
}
