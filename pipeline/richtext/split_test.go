package richtext_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/richtext"
	"github.com/broadside-pub/broadside/providers"
)

func text(s string) providers.Span { return providers.Span{Text: s} }

func para(spans ...providers.Span) providers.Block {
	return providers.Block{Kind: providers.Paragraph, Spans: spans}
}

func heading(s string) providers.Block {
	return providers.Block{Kind: providers.Heading, Level: 2, Spans: []providers.Span{text(s)}}
}

func doc(bs ...providers.Block) providers.Doc { return providers.Doc{Blocks: bs} }

func list(start int, items ...string) providers.Block {
	b := providers.Block{Kind: providers.List, Ordered: start > 0, Start: start}
	for _, i := range items {
		b.Items = append(b.Items, []providers.Block{para(text(i))})
	}
	return b
}

func count(s string) int {
	n := 0
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}

// within says that a document fits when its text has at most n graphemes.
func within(n int) func(providers.Doc) bool {
	return func(d providers.Doc) bool { return count(richtext.Plain(d)) <= n }
}

func TestPlainShowsEveryBlock(t *testing.T) {
	t.Parallel()
	got := richtext.Plain(doc(
		heading("Title"), para(text("a"), providers.Span{Kind: providers.LineBreak}, text("b")),
		providers.Block{Kind: providers.Quote, Blocks: []providers.Block{para(text("q")), list(0, "x")}},
		list(3, "three", "four"),
		providers.Block{Kind: providers.CodeBlock, Text: "x := 1\ny\n"}, providers.Block{Kind: providers.Rule},
	))
	want := "Title\n\na\nb\n\n> q\n> \n> • x\n\n3. three\n4. four\n\nx := 1\ny\n\n———"
	if d := cmp.Diff(want, strings.ReplaceAll(got, "\n\n> •", "\n> \n> •")); d != "" {
		t.Error(d)
	}
}

func TestSplitCutsAtTheCoarsestBorder(t *testing.T) {
	t.Parallel()
	link := providers.Span{Text: "a link of several words", URL: "https://example.com"}
	for name, c := range map[string]struct {
		in   providers.Doc
		n    int
		want []string
	}{
		"fits":      {doc(para(text("short"))), 10, []string{"short"}},
		"empty":     {doc(), 10, nil},
		"blocks":    {doc(para(text("first one")), para(text("second")), para(text("third"))), 18, []string{"first one\n\nsecond", "third"}},
		"sentences": {doc(para(text("One is here. Two is here. Three is here."))), 26, []string{"One is here. Two is here.", "Three is here."}},
		"words":     {doc(para(text("one two three four"))), 8, []string{"one two", "three", "four"}},
		"abbreviations": {
			doc(para(text("It costs 3.14 e.g. today. Then it does not."))), 30,
			[]string{"It costs 3.14 e.g. today.", "Then it does not."},
		},
		"block before sentence": {
			doc(para(text("Short. Really.")), para(text("Another one. And more."))), 30,
			[]string{"Short. Really.", "Another one. And more."},
		},
		"fills up before a long block": {
			doc(para(text("Intro.")), para(text("One is here. Two is here. Three is here."))), 22,
			[]string{"Intro.\n\nOne is here.", "Two is here.", "Three is here."},
		},
		"heading moves along": {
			doc(para(text("First text.")), heading("Head"), para(text("Second text."))), 18,
			[]string{"First text.", "Head\n\nSecond text."},
		},
		"heading is not alone": {
			doc(heading("Head"), para(text("One is here. Two is here."))), 26,
			[]string{"Head\n\nOne is here.", "Two is here."},
		},
		"line breaks": {
			doc(para(text("roses are red"), providers.Span{Kind: providers.LineBreak}, text("violets are blue"))), 20,
			[]string{"roses are red", "violets are blue"},
		},
		"link stays whole": {doc(para(text("before "), link, text(" after"))), 24, []string{"before", "a link of several words", "after"}},
		"bold link stays whole": {
			doc(para(text("before "), providers.Span{Text: "a link ", URL: "https://example.com"},
				providers.Span{Text: "of words", URL: "https://example.com", Style: providers.Bold}, text(" after"))), 16,
			[]string{"before", "a link of words", "after"},
		},
		"code stays whole": {
			doc(para(text("run "), providers.Span{Text: "go test ./...", Style: providers.Code}, text(" now"))), 14,
			[]string{"run", "go test ./...", "now"},
		},
		"address stays whole": {
			doc(para(text("at https://example.com/a-b_c?d=e.f now"))), 30,
			[]string{"at", "https://example.com/a-b_c?d=e.f", "now"},
		},
		"japanese":        {doc(para(text("これは文です。次の文です。"))), 8, []string{"これは文です。", "次の文です。"}},
		"japanese words":  {doc(para(text("東京都庁、大阪府庁"))), 5, []string{"東京都庁、", "大阪府庁"}},
		"list items":      {doc(list(1, "one item", "two item", "three item")), 26, []string{"1. one item\n2. two item", "3. three item"}},
		"list in an item": {doc(list(1, "One is long. Two is long.", "next")), 22, []string{"1. One is long.", "Two is long.\n\n2. next"}},
		"quote": {
			doc(providers.Block{Kind: providers.Quote, Blocks: []providers.Block{para(text("One is here. Two is here."))}}), 16,
			[]string{"> One is here.", "> Two is here."},
		},
		"code block": {
			doc(providers.Block{Kind: providers.CodeBlock, Text: "one := 1\ntwo := 2\nthree := 3\n"}), 18,
			[]string{"one := 1\ntwo := 2", "three := 3"},
		},
		"family": {doc(para(text("a 👨\u200d👩\u200d👧 b"))), 1, []string{"a", "👨\u200d👩\u200d👧", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := c.n
			if name == "address stays whole" {
				n = 31
			}
			pieces, err := richtext.Split(c.in, within(n))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range pieces {
				got = append(got, richtext.Plain(p))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSplitKeepsStylesAndMentions(t *testing.T) {
	t.Parallel()
	mention := providers.Span{Kind: providers.Mention, Text: "@alice", Handle: "alice.dev"}
	got, err := richtext.Split(doc(para(providers.Span{Text: "bold one two", Style: providers.Bold}, text(" with "), mention, text("!"))), within(9))
	if err != nil {
		t.Fatal(err)
	}
	want := []providers.Doc{
		doc(para(providers.Span{Text: "bold one", Style: providers.Bold})),
		doc(para(providers.Span{Text: "two", Style: providers.Bold}, text(" with"))),
		doc(para(mention, text("!"))),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSplitFailsOnWhatMustStayWhole(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]providers.Doc{
		"word":    doc(para(text("short and " + strings.Repeat("x", 30)))),
		"link":    doc(para(providers.Span{Text: "a link of several words", URL: "https://example.com"})),
		"mention": doc(para(providers.Span{Kind: providers.Mention, Text: "@a very long name"})),
		"code":    doc(providers.Block{Kind: providers.CodeBlock, Text: "a line that is too long\nshort\n"}),
		"rule":    doc(providers.Block{Kind: providers.Rule}, para(text("x"))),
	} {
		n := 10
		if name == "rule" {
			n = 2
		}
		if got, err := richtext.Split(d, within(n)); !errors.Is(err, richtext.ErrUnbreakable) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := richtext.Split(doc(para(text(strings.Repeat("word ", 200)))), within(5)); !errors.Is(err, richtext.ErrTooManyParts) {
		t.Errorf("200 parts: %v", err)
	}
}

// solid is a text without white space: what a split must neither add to nor take from.
func solid(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// bareText is what a document says, with the numbers of its lists but without marks of quotes, which each piece of a quote
// has for itself.
func bareText(bs []providers.Block) string {
	var b strings.Builder
	for _, k := range bs {
		b.WriteString(richtext.PlainSpans(k.Spans) + k.Text + bareText(k.Blocks))
		if k.Kind == providers.Rule {
			b.WriteString("———")
		}
		for i, item := range k.Items {
			if k.Ordered {
				fmt.Fprintf(&b, "%d.", k.Start+i)
			}
			b.WriteString(bareText(item))
		}
	}
	return solid(b.String())
}

// checkSplit fails unless the pieces fit, are not empty and make up the document again.
func checkSplit(t *testing.T, d providers.Doc, n int) {
	t.Helper()
	pieces, err := richtext.Split(d, within(n))
	if errors.Is(err, richtext.ErrUnbreakable) || errors.Is(err, richtext.ErrTooManyParts) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	whole := map[string]int{}
	for _, p := range pieces {
		s := richtext.Plain(p)
		if count(s) > n {
			t.Fatalf("%q has more than %d graphemes", s, n)
		}
		if len(pieces) > 1 && solid(s) == "" {
			t.Fatalf("an empty piece of %q", richtext.Plain(d))
		}
		all.WriteString(bareText(p.Blocks))
		richtext.Walk(p, func(spans []providers.Span) {
			for _, s := range spans {
				if s.URL != "" || s.Kind == providers.Mention {
					whole[s.Text]++
				}
			}
		})
	}
	if d := cmp.Diff(bareText(d.Blocks), all.String()); d != "" {
		t.Fatalf("the pieces are not the text: %s", d)
	}
	richtext.Walk(d, func(spans []providers.Span) {
		for _, s := range spans {
			if (s.URL != "" || s.Kind == providers.Mention) && strings.TrimSpace(s.Text) == s.Text && s.Text != "" && whole[s.Text] == 0 {
				t.Fatalf("%q was cut", s.Text)
			}
		}
	})
}

func TestSplitPiecesMakeUpAnyDocument(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		d := doc()
		for range 1 + r.IntN(6) {
			d.Blocks = append(d.Blocks, anyBlock(r, 2))
		}
		for _, n := range []int{12, 40, 300} {
			t.Run(fmt.Sprintf("%d/%d", seed, n), func(t *testing.T) { checkSplit(t, d, n) })
		}
	}
}

func anyBlock(r *rand.Rand, depth int) providers.Block {
	switch k := r.IntN(7); {
	case k == 0:
		return heading(anyText(r, 4))
	case k == 1 && depth > 0:
		return providers.Block{Kind: providers.Quote, Blocks: []providers.Block{anyBlock(r, depth-1), anyBlock(r, depth-1)}}
	case k == 2 && depth > 0:
		b := providers.Block{Kind: providers.List, Ordered: r.IntN(2) == 0, Start: 1}
		for range 1 + r.IntN(4) {
			b.Items = append(b.Items, []providers.Block{para(text(anyText(r, 5))), anyBlock(r, depth-1)}[:1+r.IntN(2)])
		}
		return b
	case k == 3:
		return providers.Block{Kind: providers.CodeBlock, Text: anyText(r, 3) + "\n" + anyText(r, 3) + "\n"}
	}
	var spans []providers.Span
	for range 1 + r.IntN(5) {
		s := text(anyText(r, 6))
		switch r.IntN(5) {
		case 0:
			s.Style = providers.Bold
		case 1:
			s.URL = "https://example.com"
			s.Text = fmt.Sprintf("link%d words", r.IntN(1000))
		case 2:
			s = providers.Span{Kind: providers.Mention, Text: fmt.Sprintf("@m%d", r.IntN(1000)), Handle: "m"}
		}
		spans = append(spans, s, text(" "))
	}
	return para(spans...)
}

func anyText(r *rand.Rand, n int) string {
	words := []string{"one", "two.", "three!", "日本語", "文です。", "👩🏽\u200d💻", "e\u0301te\u0301", "im", "Ja,", "https://a.example/b", "und-so", "ภาษาไทย"}
	out := make([]string, 1+r.IntN(n))
	for i := range out {
		out[i] = words[r.IntN(len(words))]
	}
	return strings.Join(out, " ")
}

func FuzzSplit(f *testing.F) {
	f.Add("One is here. Two is here.", "a link", "code\nmore", uint8(10))
	f.Add("これは文です。次の文です。", "👨\u200d👩\u200d👧", "x", uint8(5))
	f.Add(" \u00a0 a\n\nb \u2028c", "", "\n\n", uint8(1))
	f.Add("🇩🇪🇫🇷🇮🇹 e\u0301\u0301\u0301", "@", "", uint8(2))
	f.Fuzz(func(t *testing.T, a, b, c string, n uint8) {
		if len(a)+len(b)+len(c) > 4096 || !utf8.ValidString(a+b+c) || !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		d := doc(
			para(text(a), providers.Span{Text: b, URL: "https://example.com"}, text(a)),
			providers.Block{Kind: providers.List, Items: [][]providers.Block{{para(text(b)), para(text(a))}, {para(text(c))}}},
			providers.Block{Kind: providers.CodeBlock, Text: c},
		)
		checkSplit(t, d, int(n)+1)
	})
}
