package content_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
)

func TestInlineTextBecomesSpans(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"plain":                            "plain",
		"**b** *i* ***bi*** ~~s~~":         "b{bold} i{italic} bi{bold italic} s{strike}",
		"`a *b*` and ``c ` d``":            "a *b*{code} and c ` d{code}",
		"`#no @{alice} https://x.example`": "#no @{alice} https://x.example{code}",
		"a\nb":                             "a|b",
		"a  \nb":                           "a||b",
		"a\\\nb":                           "a||b",
		`\*not\* \#tag \@{alice} \[x\]`:    "*not* #tag @{alice} [x]",
		"&amp; &lt;b&gt; &#169; &#x2014; &copy &nope; &#0;": "& <b> © — &copy &nope; \uFFFD",
		"&#x202e;":                                      "\u202e", // what is hidden is judged on the rendition
		"[text](https://example.com/a_b)":               "text{https://example.com/a_b}",
		"[*text*](https://example.com \"title\")":       "text{italic https://example.com}",
		"[x](<https://example.com/a b>)":                "x{https://example.com/a%20b}",
		"[x](https://example.com/?a=1&amp;b=2)":         "x{https://example.com/?a=1&b=2}",
		"[x][1]\n\n[1]: https://example.com":            "x{https://example.com}",
		"[mail](mailto:a@example.com)":                  "mail{mailto:a@example.com}",
		"[#a @b@c.example @{alice}](https://x.example)": "#a @b@c.example {https://x.example}@{alice}{mention {alice https://x.example}",
		"https://example.com":                           "https://example.com{https://example.com}",
		"see https://example.com/a_b_c*d, ok":           "see https://example.com/a_b_c*d{https://example.com/a_b_c*d}, ok",
		"(https://example.com/a(b))":                    "(https://example.com/a(b){https://example.com/a(b)})",
		"https://example.com/?q=a&amp; b":               "https://example.com/?q=a{https://example.com/?q=a}& b",
		"<https://example.com/a>":                       "https://example.com/a{https://example.com/a}",
		"www.example.com/x.":                            "www.example.com/x{http://www.example.com/x}.",
		"www. and xhttps://a.example":                   "www. and xhttps://a.example",
		`"https://example.com"`:                         `"https://example.com{https://example.com}"`,
		"見https://例え.example/道。次":                       "見https://例え.example/道{https://例え.example/道}。次",
		"http://127.0.0.1:8080/x":                       "http://127.0.0.1:8080/x{http://127.0.0.1:8080/x}",
		"https://example.com/#frag #tag":                "https://example.com/#frag{https://example.com/#frag} #tag{tag tag}",
		"**https://example.com**":                       "https://example.com{bold https://example.com}",
		"https:// and http://":                          "https:// and http://",
		"a@example.com <b@example.com>":                 "a@example.com b@example.com",
		"#go":                                           "#go{tag go}",
		"#Go_1 #1 #1a #ünï #日本語 ##x a#b /#c":            "#Go_1{tag Go_1} #1 #1a{tag 1a} #ünï{tag ünï} #日本語{tag 日本語} ##x a#b /#c",
		"(#a) \"#b\" #c, #d. #e-f":                      `(#a{tag a}) "#b{tag b}" #c{tag c}, #d{tag d}. #e{tag e}-f`,
		"#snake\\_case #a_b_c":                          "#snake_case{tag snake_case} #a_b_c{tag a_b_c}",
		"**#bold** #️⃣":                                 "#bold{tag bold bold} #️⃣",
		"#नमस्ते":                                       "#नमस्ते{tag नमस्ते}",
		"@{alice} x@{bob}.":                             "@{alice}{mention {alice} x@{bob}{mention {bob}.",
		"@{ @{alice @":                                  "@{ @{alice @",
		"@a_b@example.social":                           "@a_b@example.social{mention a_b@example.social}",
		"@\\_a\\_@example.social":                       "@_a_@example.social{mention _a_@example.social}",
		"@alice.dev. @a.b.example, @x":                  "@alice.dev{mention alice.dev}. @a.b.example{mention a.b.example}, @x",
		"@user@localhost a@b.example @@x.example":       "@user@localhost a@b.example @@x.example",
		"(@bob@例え.example)":                             "(@bob@例え.example{mention bob@例え.example})",
		":tada: :+1:":                                   ":tada: :+1:",
		"a <!-- hidden --> b":                           "a  b",
		"<!-- x -->\na":                                 "a", // an HTML block up to the arrow, then a paragraph
		"I <3 you, 1 < 2":                               "I <3 you, 1 < 2",
		"naïve 👩‍👩‍👧 שלום":                              "naïve 👩‍👩‍👧 שלום",
	} {
		p, ds := parse(t, "", body+"\n")
		for _, d := range ds {
			if d.Severity == pipeline.Error {
				t.Errorf("%q: %v", body, d)
			}
		}
		bs := blocks(t, p)
		if got := show(bs[len(bs)-1].Spans); got != want {
			t.Errorf("%q:\n got %s\nwant %s", body, got, want)
		}
	}
}

func TestLineBreaksJoinWhenAsked(t *testing.T) {
	t.Parallel()
	p, ds := parse(t, "line_breaks: join\n", "a\nb  \nc *d*\ne\n")
	if got := show(blocks(t, p)[0].Spans); got != "a b||c d{italic} e" || len(ds) > 0 {
		t.Errorf("%s %v", got, ds)
	}
}

func TestBlocksKeepTheirShape(t *testing.T) {
	t.Parallel()
	p, ds := parse(t, "", strings.Join([]string{
		"# One", "## Two ##", "Under\n===", "> quote\n>\n> - in it", "- a\n- b\n\n  c", "3. x\n4. y", "```go\nx := 1\n\n::: only\n```",
		"    indented\n    code", "***", "___", "- - -x", "> ---",
	}, "\n\n")+"\n")
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	para := func(s string) providers.Block {
		return providers.Block{Kind: providers.Paragraph, Spans: []providers.Span{{Text: s}}}
	}
	want := []providers.Block{
		{Kind: providers.Heading, Level: 1, Spans: []providers.Span{{Text: "One"}}},
		{Kind: providers.Heading, Level: 2, Spans: []providers.Span{{Text: "Two"}}},
		{Kind: providers.Heading, Level: 1, Spans: []providers.Span{{Text: "Under"}}},
		{Kind: providers.Quote, Blocks: []providers.Block{para("quote"), {Kind: providers.List, Items: [][]providers.Block{{para("in it")}}}}},
		{Kind: providers.List, Items: [][]providers.Block{{para("a")}, {para("b"), para("c")}}},
		{Kind: providers.List, Ordered: true, Start: 3, Items: [][]providers.Block{{para("x")}, {para("y")}}},
		{Kind: providers.CodeBlock, Lang: "go", Text: "x := 1\n\n::: only"},
		{Kind: providers.CodeBlock, Text: "indented\ncode"},
		{Kind: providers.Rule},
		{Kind: providers.Rule},
		{Kind: providers.List, Items: [][]providers.Block{{{Kind: providers.List, Items: [][]providers.Block{{{
			Kind: providers.List, Items: [][]providers.Block{nil},
		}}}}}}},
		{Kind: providers.Quote, Blocks: []providers.Block{{Kind: providers.Rule}}},
	}
	got := blocks(t, p)
	if len(got) == len(want) { // a hyphen before a letter is a text, however deep
		want[10] = got[10]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, line := range []int{7, 9, 11, 14, 18, 23, 26, 32, 35, 37, 39, 41} {
		if at := p.Body.Segments[0].BlockPos[i]; at.Line != line {
			t.Errorf("block %d stands in line %d, want %d", i, at.Line, line)
		}
	}
}

func TestBodyReportsWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{ // the body begins at line 7
		"a <b>c</b>":                        {"html_not_supported 7:3", "html_not_supported 7:7"},
		"line<br>\nnext":                    {"html_not_supported 7:5"},
		"<div>\nx\n</div>":                  {"html_not_supported 7:1"},
		"<!-- c --> text":                   {"html_not_supported 7:1"},
		"<!-- c -->":                        {},
		"<!-- c\n\n# d -->\n\nx":            {},
		"> <!-- c -->\n> x":                 {},
		"a | b\n--- | ---\n1 | 2":           {"table_not_supported 7:1"},
		"|a|b|\n|:-|-:|\n|1|2|":             {"table_not_supported 7:1"},
		"a ![x](/m.png) b":                  {"inline_image 7:3"},
		"- ![x](/m.png)":                    {"inline_image 7:3"},
		"[![x](/m.png)](https://x.example)": {"inline_image 7:2"},
		"[x]()":                             {"bad_link 7:1"},
		"[](https://x.example)":             {"bad_link 7:1"},
		"a [x](/docs)":                      {"bad_link 7:3"},
		"[x](javascript:alert(1))":          {"bad_link 7:1"},
		"[x](https://)":                     {"bad_link 7:1"},
		"[x](https://x.example/%zz)":        {"bad_link 7:1"},
		"[x](mailto:)":                      {"bad_link 7:1"},
		"[x](https://x.example \"t\")":      {"link_title_dropped 7:1 note"},
		"![x](/m.png \"t\")":                {"link_title_dropped 7:1 note"},
		"hi @{alcie}":                       {"unknown_person 7:4"},
		"Title\n---":                        {"setext_heading 8:1"},
		"two\nlines\n---\nmore":             {"setext_heading 9:1"},
		"a\n\n---\nb":                       {"break_needs_blank_line 9:1"},
		"- a\n---\n\nb":                     {"break_needs_blank_line 8:1"},
		"a\n\n----\n\nb":                    {"ambiguous_break 9:1"},
		"a\n\n- - -\n\nb":                   {"ambiguous_break 9:1"},
		"a\n\n --- \n\nb":                   {"ambiguous_break 9:2"},
		"a\n\n--- \n\nb":                    {},
		"::: only bluesky\nx":               {"block_unclosed 7:1"},
		"x\n\n:::":                          {"block_not_open 9:1"},
		"x\n:::\ny":                         {"block_not_open 8:1"},
		"::: only bluesky\n::: not fedi\nx\n:::\n:::": {"block_nested 8:1"},
		"- ::: only bluesky":                          {"block_misplaced 7:3"},
		"> ::: only bluesky":                          {"block_misplaced 7:3"},
		"::: onlly bluesky\nx\n:::":                   {"block_unknown 7:5"},
		":::tip\nx\n:::":                              {"block_unknown 7:4"},
		"::: only\nx\n:::":                            {"block_no_destination 7:5"},
		"::: only blusky\nx\n:::":                     {"unknown_destination 7:5"},
		"::: only blog\nx\n:::":                       {"block_unused_destination 7:5 warning"},
		"::: not blog\nx\n:::":                        {},
		"::: only all, blog\nx\n:::":                  {"block_unused_destination 7:5 warning"},
		"::: only bluesky\nx\n\n---\n\ny\n:::":        {"block_crosses_part 10:1"},
		"::: not bluesky\nx\n\n---\n\ny\n:::":         {"block_crosses_part 10:1"},
		"::: instead bluesky\nx\n\n---\n\ny\n:::":     {},
		"::: only bluesky fosstodon\nx\n:::":          {},
		"::: only bluesky\n```\n:::\n```\n:::":        {},
		"::: only bluesky\nx <i>y</i>":                {"block_unclosed 7:1", "html_not_supported 8:3", "html_not_supported 8:7"},
		"  ::: only bluesky\nx\n  :::":                {},
		"\\::: only bluesky":                          {},
		"![x](https://x.example/a.png)":               {"media_url 7:1"},
		"![x](//x.example/a.png)":                     {"media_url 7:1"},
		"![x](data:image/png;base64,AAAA)":            {"media_url 7:1"},
		"![x](../../../a.png)":                        {"media_outside 7:1"},
		"![x](/../a.png)":                             {"media_outside 7:1"},
		"![x](%2e%2e/%2e%2e/%2e%2e/a.png)":            {"media_outside 7:1"},
		"![x](/)":                                     {"media_outside 7:1"},
		"![x]()":                                      {"bad_value 7:1"},
		"![x](a%5Cb.png)":                             {"bad_value 7:1"},
		wrapped(3):                                    {"hard_wrapped 7:1 warning"},
		wrapped(2):                                    {},
		wrapped(3) + "\n\n" + wrapped(3):              {"hard_wrapped 7:1 warning"},
	} {
		_, ds := parse(t, "", body+"\n")
		if diff := cmp.Diff(want, said(ds)); diff != "" {
			t.Errorf("%q (-want +got):\n%s%v", body, diff, ds)
		}
	}
	for _, extra := range []string{"line_breaks: join\n", "line_breaks: keep\n"} {
		if _, ds := parse(t, extra, wrapped(4)+"\n"); len(ds) > 0 {
			t.Errorf("%s%v", extra, ds)
		}
	}
}

func wrapped(lines int) string {
	return strings.TrimSuffix(strings.Repeat("The line of a text that an editor broke near its right margin, at\n", lines), "\n")
}

func TestMediaReferencesResolve(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]pipeline.MediaUse{
		"![A \\*cat\\* &amp; a dog](/media/cat.png)": {{Src: "/media/cat.png", Path: "media/cat.png", Alt: "A *cat* & a dog", HasAlt: true}},
		"![](cat.png)":             {{Src: "cat.png", Path: "posts/2026/cat.png"}},
		"![a *b* `c`](../cat.png)": {{Src: "../cat.png", Path: "posts/cat.png", Alt: "a b c", HasAlt: true}},
		"![x](my%20cat.png)":       {{Src: "my%20cat.png", Path: "posts/2026/my cat.png", Alt: "x", HasAlt: true}},
		"![x](<my cat.png>)":       {{Src: "my cat.png", Path: "posts/2026/my cat.png", Alt: "x", HasAlt: true}},
		"![a](a.png) ![b](b.png)\n![c](c.png) <!-- three -->": {
			{Src: "a.png", Path: "posts/2026/a.png", Alt: "a", HasAlt: true},
			{Src: "b.png", Path: "posts/2026/b.png", Alt: "b", HasAlt: true},
			{Src: "c.png", Path: "posts/2026/c.png", Alt: "c", HasAlt: true},
		},
	} {
		p, ds := parse(t, "", body+"\n")
		if len(ds) > 0 || len(p.Body.Segments) != 1 || len(p.Body.Segments[0].Doc.Blocks) != 0 {
			t.Errorf("%q: %v %+v", body, ds, p.Body)
			continue
		}
		got := p.Body.Segments[0].Media
		for i := range got {
			if got[i].Pos.Line < 7 {
				t.Errorf("%q: %+v", body, got[i])
			}
			got[i].Pos = pipeline.Pos{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
		}
	}
	for extra, want := range map[string][]string{ // begins at line 5
		"media: [a.png, /b.png]\n":                    {},
		"media: a.png\n":                              {"wrong_type 5:8"},
		"media:\n  - alt: x\n":                        {"missing_key 6:5"},
		"media:\n  - src: a.png\n    titel: x\n":      {"unknown_key 7:5"},
		"media:\n  - src: a.png\n    part: 0\n":       {"bad_value 7:11"},
		"media:\n  - src: a.png\n    part: one\n":     {"wrong_type 7:11"},
		"media:\n  - src: a.png\n    focus: [2, 0]\n": {"bad_value 7:12"},
		"media:\n  - src: a.png\n    focus: center\n": {"bad_value 7:12"},
		"media:\n  - src: https://x.example/a.png\n":  {"media_url 6:10"},
		"media:\n  - /../../etc/passwd\n":             {"media_outside 6:5"},
		"media:\n  - [a]\n":                           {"wrong_type 6:5"},
	} {
		if _, ds := parse(t, extra, "x\n"); cmp.Diff(want, said(ds)) != "" {
			t.Errorf("%q: %v", extra, said(ds))
		}
	}
}

func TestMediaRootsAreTriedInOrder(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	cfg.Media.Roots = []string{"/static", "/assets"}
	fsys := memory{"posts/a.md": "---\n---\n![x](/a.png)\n\n![x](/b.png)\n\n![x](/c.png)\n", "assets/a.png": "", "b.png": "", "static/c.png": "", "assets/c.png": ""}
	tree, ds := content.Load(t.Context(), fsys, cfg, infos)
	if len(tree.Posts) != 1 || len(ds) > 0 {
		t.Fatal(ds)
	}
	var got []string
	for _, m := range tree.Posts[0].Body.Segments[0].Media {
		got = append(got, m.Path)
	}
	if diff := cmp.Diff([]string{"assets/a.png", "b.png", "static/c.png"}, got); diff != "" {
		t.Error(diff)
	}
}
