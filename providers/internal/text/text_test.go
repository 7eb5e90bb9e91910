package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

func span(s string) providers.Span { return providers.Span{Text: s} }

func styled(s string, st providers.Style) providers.Span { return providers.Span{Text: s, Style: st} }

func link(s, url string) providers.Span { return providers.Span{Text: s, URL: url} }

func para(spans ...providers.Span) providers.Block {
	return providers.Block{Kind: providers.Paragraph, Spans: spans}
}

func item(bs ...providers.Block) []providers.Block { return bs }

var lineBreak = providers.Span{Kind: providers.LineBreak}

// marked is a mark with the text it covers in place of its offsets.
type marked struct {
	Kind, Text, URL, Handle, Lang string
}

func shown(t *testing.T, f text.Flat) []marked {
	t.Helper()
	var out []marked
	for _, m := range f.Marks {
		out = append(out, marked{m.Kind.String(), f.Text[m.Start:m.End], m.URL, m.Handle, m.Lang})
	}
	return out
}

func TestFlattenLaysOutBlocks(t *testing.T) {
	t.Parallel()
	list := func(ordered bool, start int, items ...[]providers.Block) providers.Block {
		return providers.Block{Kind: providers.List, Ordered: ordered, Start: start, Items: items}
	}
	for name, c := range map[string]struct {
		doc   []providers.Block
		text  string
		marks []marked
	}{
		"nothing":         {nil, "", nil},
		"empty paragraph": {[]providers.Block{para(), para(span("a")), para(span(" ")), para(span("b"))}, "a\n\nb", nil},
		"lines and trim": {
			[]providers.Block{para(span("  one"), lineBreak, span("two \n"))}, "one\ntwo", nil,
		},
		"line ends": {[]providers.Block{para(span("a\r\nb\rc"))}, "a\nb\nc", nil},
		"bad UTF-8": {[]providers.Block{para(styled("a\xffb", providers.Bold))}, "a\uFFFDb", []marked{{Kind: "bold", Text: "a\uFFFDb"}}},
		"heading": {
			[]providers.Block{{Kind: providers.Heading, Level: 2, Spans: []providers.Span{span("Big "), styled("news", providers.Italic)}}, para(span("x"))},
			"Big news\n\nx",
			[]marked{{Kind: "heading", Text: "Big news"}, {Kind: "italic", Text: "news"}},
		},
		"rule": {[]providers.Block{para(span("a")), {Kind: providers.Rule}, para(span("b"))}, "a\n\n———\n\nb", nil},
		"code block": {
			[]providers.Block{{Kind: providers.CodeBlock, Lang: "go", Text: "if x {\r\n\ty()\n}\n"}},
			"if x {\n\ty()\n}",
			[]marked{{Kind: "pre", Text: "if x {\n\ty()\n}", Lang: "go"}},
		},
		"list": {[]providers.Block{list(false, 0, item(para(span("one"))), item(para(span("two"))))}, "• one\n• two", nil},
		"ordered list": {
			[]providers.Block{list(true, 9, item(para(span("nine"))), item(para(span("ten"), lineBreak, span("more"))), item())},
			"9. nine\n10. ten\n    more\n11.", nil,
		},
		"nested lists": {
			[]providers.Block{list(false, 0,
				item(para(span("a")), list(true, 1, item(para(span("b"))), item(para(span("c")), para(span("d"))))),
				item(para(span("e"))),
			)},
			"• a\n  1. b\n  2. c\n\n     d\n• e", nil,
		},
		"quote": {
			[]providers.Block{{Kind: providers.Quote, Blocks: []providers.Block{para(span("a"), lineBreak, styled("b", providers.Bold)), para(span("c"))}}},
			"> a\n> b\n>\n> c",
			[]marked{{Kind: "quote", Text: "> a\n> b\n>\n> c"}, {Kind: "bold", Text: "b"}},
		},
		"quote in a quote, code in a list": {
			[]providers.Block{
				{Kind: providers.Quote, Blocks: []providers.Block{{Kind: providers.Quote, Blocks: []providers.Block{para(span("deep"))}}}},
				list(false, 0, item(providers.Block{Kind: providers.CodeBlock, Text: "x\ny"})),
			},
			"> > deep\n\n• x\n  y",
			[]marked{{Kind: "quote", Text: "> > deep"}, {Kind: "quote", Text: "> deep"}, {Kind: "pre", Text: "x\n  y"}},
		},
		"mark over lines in a quote": {
			[]providers.Block{{Kind: providers.Quote, Blocks: []providers.Block{para(link("one", "https://a.test"), providers.Span{Kind: providers.LineBreak, URL: "https://a.test"}, link("two", "https://a.test"))}}},
			"> one\n> two",
			[]marked{
				{Kind: "quote", Text: "> one\n> two"},
				{Kind: "link", Text: "one", URL: "https://a.test"},
				{Kind: "link", Text: "two", URL: "https://a.test"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := text.Flatten(providers.Doc{Blocks: c.doc}, text.Options{})
			if diff := cmp.Diff(c.text, f.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.marks, shown(t, f)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlattenMarksSpans(t *testing.T) {
	t.Parallel()
	const url = "https://example.com/a?b=c"
	for name, c := range map[string]struct {
		spans    []providers.Span
		text     string
		marks    []marked
		appended string
		links    []marked // where links are appended
	}{
		"styles join": {
			spans: []providers.Span{styled("a", providers.Bold), styled("b", providers.Bold|providers.Italic), styled("c", providers.Italic), span("d"), styled("e", providers.Strike|providers.Code)},
			text:  "abcde", appended: "abcde",
			marks: []marked{{Kind: "bold", Text: "ab"}, {Kind: "italic", Text: "bc"}, {Kind: "strike", Text: "e"}, {Kind: "code", Text: "e"}},
		},
		"link": {
			spans: []providers.Span{span("see "), link("the notes", url), span(".")},
			text:  "see the notes.", appended: "see the notes (" + url + ").",
			marks: []marked{{Kind: "link", Text: "the notes", URL: url}},
			links: []marked{{Kind: "link", Text: url, URL: url}},
		},
		"link in two styles": {
			spans: []providers.Span{link("the ", url), {Text: "notes", URL: url, Style: providers.Bold}},
			text:  "the notes", appended: "the notes (" + url + ")",
			marks: []marked{{Kind: "link", Text: "the notes", URL: url}, {Kind: "bold", Text: "notes"}},
			links: []marked{{Kind: "bold", Text: "notes"}, {Kind: "link", Text: url, URL: url}},
		},
		"two links": {
			spans: []providers.Span{link("a", "https://a.test"), link("b", "https://b.test")},
			text:  "ab", appended: "a (https://a.test)b (https://b.test)",
			marks: []marked{{Kind: "link", Text: "a", URL: "https://a.test"}, {Kind: "link", Text: "b", URL: "https://b.test"}},
			links: []marked{{Kind: "link", Text: "https://a.test", URL: "https://a.test"}, {Kind: "link", Text: "https://b.test", URL: "https://b.test"}},
		},
		"link equal to its URL": {
			spans: []providers.Span{link(url, url)},
			text:  url, appended: url,
			marks: []marked{{Kind: "link", Text: url, URL: url}}, links: []marked{{Kind: "link", Text: url, URL: url}},
		},
		"link equal but for the scheme": {
			spans: []providers.Span{link("example.com", "https://example.com/")},
			text:  "example.com", appended: "https://example.com/",
			marks: []marked{{Kind: "link", Text: "example.com", URL: "https://example.com/"}},
			links: []marked{{Kind: "link", Text: "https://example.com/", URL: "https://example.com/"}},
		},
		"link that names another host": {
			spans: []providers.Span{link("https://bank.test", "https://evil.test")},
			text:  "https://bank.test", appended: "https://bank.test (https://evil.test)",
			marks: []marked{{Kind: "link", Text: "https://bank.test", URL: "https://evil.test"}},
			links: []marked{{Kind: "link", Text: "https://evil.test", URL: "https://evil.test"}},
		},
		"link without a text": {
			spans: []providers.Span{link("", url)},
			text:  url, appended: url,
			marks: []marked{{Kind: "link", Text: url, URL: url}}, links: []marked{{Kind: "link", Text: url, URL: url}},
		},
		"mail": {
			spans: []providers.Span{link("a@b.test", "mailto:a@b.test")},
			text:  "a@b.test", appended: "a@b.test",
			marks: []marked{{Kind: "link", Text: "a@b.test", URL: "mailto:a@b.test"}},
			links: []marked{{Kind: "link", Text: "a@b.test", URL: "mailto:a@b.test"}},
		},
		"mention and hashtag": {
			spans: []providers.Span{
				{Kind: providers.Mention, Text: "@alice", Handle: "alice.dev", Style: providers.Bold},
				span(" "),
				{Kind: providers.Hashtag, Text: "#größe", Handle: "größe"},
			},
			text: "@alice #größe", appended: "@alice #größe",
			marks: []marked{{Kind: "mention", Text: "@alice", Handle: "alice.dev"}, {Kind: "bold", Text: "@alice"}, {Kind: "hashtag", Text: "#größe", Handle: "größe"}},
		},
		"image in the text": {
			spans: []providers.Span{span("an "), {Kind: providers.Image, Text: "icon", URL: "icon.png"}, span(" here")},
			text:  "an icon here", appended: "an icon here",
		},
		"right to left, emoji, East Asian": {
			spans: []providers.Span{span("שלום "), link("עולם", url), span(" \U0001F468\u200D\U0001F469\u200D\U0001F467"), styled("汉字", providers.Bold)},
			text:  "שלום עולם \U0001F468\u200D\U0001F469\u200D\U0001F467汉字", appended: "שלום עולם (" + url + ") \U0001F468\u200D\U0001F469\u200D\U0001F467汉字",
			marks: []marked{{Kind: "link", Text: "עולם", URL: url}, {Kind: "bold", Text: "汉字"}},
			links: []marked{{Kind: "link", Text: url, URL: url}, {Kind: "bold", Text: "汉字"}},
		},
		"trimmed mark": {
			spans: []providers.Span{styled(" a ", providers.Bold), styled(" ", providers.Italic)},
			text:  "a", appended: "a", marks: []marked{{Kind: "bold", Text: "a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := providers.Doc{Blocks: []providers.Block{para(c.spans...)}}
			f := text.Flatten(doc, text.Options{})
			if diff := cmp.Diff(c.text, f.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.marks, shown(t, f)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			f = text.Flatten(doc, text.Options{Links: text.LinksAppended})
			if diff := cmp.Diff(c.appended, f.Text); diff != "" {
				t.Errorf("appended text (-want +got):\n%s", diff)
			}
			if c.links != nil {
				if diff := cmp.Diff(c.links, shown(t, f)); diff != "" {
					t.Errorf("appended marks (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestGraphemesCountsWhatPeopleSee(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"": 0, "abc": 3, "größe": 5, "gro\u0308ße": 5, "汉字": 2, "한국": 2, "\r\n": 1,
		"\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466": 1, // family
		"\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7":                   2, // two flags
		"\U0001F44B\U0001F3FD":                                       1, // skin tone
		"1\uFE0F\u20E3":                                              1, // keycap
		"e\u0301\u0323":                                              1,
		"שלום":                                                       4,
		"नमस्ते":                                                     3, // UAX 29 rule GB9c joins the conjunct
		"\u200b":                                                     1,
	} {
		if got := text.Graphemes(s); got != want {
			t.Errorf("Graphemes(%+q) = %d, want %d", s, got, want)
		}
	}
}

func TestFindURLs(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"":                                      nil,
		"no url here, not even example.com":     nil,
		"see https://example.com/a?b=c#d.":      {"https://example.com/a?b=c#d"},
		"(https://example.com/a_(b))":           {"https://example.com/a_(b)"},
		"[https://example.com], HTTP://A.test!": {"https://example.com", "HTTP://A.test"},
		"https://a.test,https://b.test":         {"https://a.test,https://b.test"},
		"https://a.test\nhttps://b.test":        {"https://a.test", "https://b.test"},
		"xhttps://a.test foo@http://b.test":     nil,
		"https:// http://-x https://":           nil,
		"<https://a.test> \"https://b.test\"":   {"https://a.test", "https://b.test"},
		"见https://a.test/路径。然后":                 {"https://a.test/路径"},
		"https://[::1]:80/x.":                   {"https://[::1]:80/x"},
		"https://a.test/\u200bx":                {"https://a.test/"},
		"https://münchen.test/ü":                {"https://münchen.test/ü"},
		"ftp://a.test javascript:x":             nil,
		"**https://a.test**":                    {"https://a.test"},
		"https://a.test/\xff":                   {"https://a.test/"},
	} {
		var got []string
		for _, sp := range text.FindURLs(s) {
			got = append(got, s[sp.Start:sp.End])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	}
}

func TestDroppedNamesWhatPlainTextLoses(t *testing.T) {
	t.Parallel()
	deep := providers.Doc{Blocks: []providers.Block{
		{Kind: providers.Heading, Spans: []providers.Span{styled("a", providers.Bold|providers.Code)}},
		{Kind: providers.Quote, Blocks: []providers.Block{{Kind: providers.CodeBlock, Text: "x"}}},
		{Kind: providers.List, Items: [][]providers.Block{item(para(styled("b", providers.Italic|providers.Strike), providers.Span{Kind: providers.Image, Text: "i"}))}},
	}}
	if diff := cmp.Diff([]string{"bold", "code", "code_block", "heading", "image", "italic", "strike"}, text.Dropped(deep)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plain := providers.Doc{Blocks: []providers.Block{para(span("a"), link("b", "https://a.test")), {Kind: providers.Rule}}}
	if got := text.Dropped(plain); got != nil {
		t.Errorf("plain text loses %v", got)
	}
}

// docFrom makes a document of any text: each line is a block, its first bytes say which.
func docFrom(s string) providers.Doc {
	var d providers.Doc
	for i, line := range strings.Split(s, "|") {
		sp := []providers.Span{
			{Text: line, Style: providers.Style(len(line) % 16)},
			{Kind: providers.SpanKind(i % 5), Text: line, URL: line, Handle: line},
			{Text: line, URL: "https://a.test/" + line, Style: providers.Style(i % 16)},
		}
		inner := []providers.Block{para(sp...), {Kind: providers.CodeBlock, Text: line}}
		switch len(line) % 5 {
		case 0:
			d.Blocks = append(d.Blocks, para(sp...))
		case 1:
			d.Blocks = append(d.Blocks, providers.Block{Kind: providers.Quote, Blocks: append(inner, d.Blocks...)})
		case 2:
			d.Blocks = append(d.Blocks, providers.Block{Kind: providers.List, Ordered: i%2 == 0, Start: i, Items: [][]providers.Block{inner, d.Blocks, nil}})
		case 3:
			d.Blocks = append(d.Blocks, providers.Block{Kind: providers.Heading, Spans: sp})
		case 4:
			d.Blocks = append(d.Blocks, inner...)
		}
		if i > 6 {
			break
		}
	}
	return d
}

func FuzzFlattenKeepsMarksWithinRunes(f *testing.F) {
	for _, s := range []string{
		"", "a", "a|bb|ccc|dddd|eeeee", "\xff|\xe6\xb1|汉字|\U0001F468\u200D\U0001F469", "a\r\nb| \n |\n\n", "> q|- l|1. x",
		"https://a.test|mailto:x", "שלום|مرحبا|e\u0301",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 200 {
			return
		}
		d := docFrom(s)
		for _, mode := range []text.LinkMode{text.LinksMarked, text.LinksAppended} {
			got := text.Flatten(d, text.Options{Links: mode})
			if !utf8.ValidString(got.Text) || strings.Contains(got.Text, "\r") {
				t.Fatalf("text %q", got.Text)
			}
			last := 0
			for _, m := range got.Marks {
				if m.Start < 0 || m.End > len(got.Text) || m.Start >= m.End || m.Start < last {
					t.Fatalf("mark %+v in %q", m, got.Text)
				}
				if !utf8.RuneStart(got.Text[m.Start]) || (m.End < len(got.Text) && !utf8.RuneStart(got.Text[m.End])) {
					t.Fatalf("mark %+v cuts a rune of %q", m, got.Text)
				}
				last = m.Start
			}
		}
	})
}

func FuzzFindURLsStaysWithin(f *testing.F) {
	for _, s := range []string{"https://a.test", "(http://x)", "://", "https://https://a", "见https://a。", "http://\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, sp := range text.FindURLs(s) {
			if sp.Start < last || sp.End > len(s) || sp.End-sp.Start < len("http://x") {
				t.Fatalf("%q: %+v after %d", s, sp, last)
			}
			if u := strings.ToLower(s[sp.Start:sp.End]); !strings.HasPrefix(u, "http") || !utf8.ValidString(u) || strings.ContainsAny(u, " \n") {
				t.Fatalf("%q: found %q", s, u)
			}
			last = sp.End
		}
	})
}
