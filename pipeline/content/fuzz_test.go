package content_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
)

// slow is far beyond what a file of a fuzzer's size may take, even on a busy machine.
const slow = 5 * time.Second

func sane(t *testing.T, ds []pipeline.Diagnostic, file string) {
	t.Helper()
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(file), "\n")
	for _, d := range ds {
		if d.Code == "" || d.Code == content.CodeInternal || d.Message == "" || d.Severity == "" || !utf8.ValidString(d.Message) || strings.ContainsAny(d.Code, " -") {
			t.Fatalf("%+v", d)
		}
		// A diagnostic may point behind the end, at what is missing there.
		if d.Line < 0 || d.Line > len(lines)+1 || d.Column < 0 {
			t.Fatalf("%+v in a file of %d lines", d, len(lines))
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, s := range []string{
		"", "a", "# h\n\ntext *b* `c`\n", "::: only bluesky\nx\n:::\n", "a\n---\nb", "a\n\n---\n\nb", "![a](b.png)", "- a\n  - b\n\n> c\n", "https://a.example/x_y). www.b.example",
		"#tag @{alice} @a@b.example", "<!-- x -->", "&amp;\\*", "a | b\n--|--\n", "```\n:::\n```", "[x]: y\n\n[x]", ":::\n:::", "**a @{alice}**  \nb", "@{", "#", "\t- a\n\t\tb",
		"::: instead all\n- a\n:::\n\n---\n", "~~x~~ <b> <a@b.example>", "\u2028", "[a](<b c> \"d\")",
	} {
		f.Add(s)
	}
	cfg, infos := testConfig(f)
	p := content.NewParser(cfg, infos)
	const head = "---\nid: a\npublish_at: now\ndestinations: [bluesky, fosstodon, blog]\n---\n"
	f.Fuzz(func(t *testing.T, body string) {
		start := time.Now()
		post, ds := p.Parse("posts/a.md", []byte(head+body))
		for _, d := range post.Destinations {
			dest, _ := cfg.Destination(d.Name)
			r, more := content.Resolve(post, d, *dest, cfg, infos[dest.Provider])
			ds = append(ds, more...)
			for _, part := range r.Parts {
				if len(part.Doc.Blocks) == 0 && len(part.Media) == 0 {
					t.Fatal("an empty part")
				}
				checkBlocks(t, part.Doc.Blocks)
			}
		}
		sane(t, ds, head+body)
		if d := time.Since(start); d > slow {
			t.Fatalf("%s for %d bytes", d, len(body))
		}
	})
}

func checkBlocks(t *testing.T, blocks []providers.Block) {
	t.Helper()
	for _, b := range blocks {
		for _, s := range b.Spans {
			if !utf8.ValidString(s.Text) || (s.Kind == providers.Mention && (s.Handle == "" || strings.HasPrefix(s.Handle, "{"))) ||
				(s.Kind == providers.Text && s.Text == "") {
				t.Fatalf("%+v", s)
			}
		}
		checkBlocks(t, b.Blocks)
		for _, i := range b.Items {
			checkBlocks(t, i)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{
		"", "id: a\n", "id: a\npublish_at: 2026-12-03 09:00\ndestinations: [bluesky]\n", "destinations:\n  bluesky:\n    text: |\n      x <b>\n  fedi: {visibility: unlisted}\n",
		"a: &b\n", "a: *b\n", "<<: x\n", "media: [{src: a.png, focus: [0, 1]}]\n", "? a\n: b\n", "id: 'x\n", "id: \"\\x00\"\n", "- a\n", "{}\n", "a: >\n  b\n\n  c\n", "id: 0x1F\n", "id: !!str a\n", "#c\n",
		"destinations: {bluesky: {text: \"::: only fedi\"}}\n", "title: ? \n", "a: [b, {c: d}]\n",
	} {
		f.Add(s)
	}
	cfg, infos := testConfig(f)
	p := content.NewParser(cfg, infos)
	f.Fuzz(func(t *testing.T, front string) {
		file := "---\n" + front + "\n---\n\nHello\n"
		start := time.Now()
		post, ds := p.Parse("posts/a.md", []byte(file))
		if post == nil {
			t.Fatal("no post")
		}
		sane(t, ds, file)
		out, err := content.AddID([]byte(file), "new-id")
		if d := time.Since(start); d > slow {
			t.Fatalf("%s for %d bytes", d, len(front))
		}
		if err != nil {
			return
		}
		if p, _ := p.Parse("posts/a.md", out); p.ID != "new-id" {
			t.Fatalf("the id was written, but is %q:\n%s", p.ID, out)
		}
	})
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		testYAML, "", "version: 1\n", "version: 1\ntimezone: UTC\n", "version: 1\ntimezone: UTC\nposts: [a, b]\npublish_within: 2d\nmedia: {roots: [/a]}\n",
		"version: 1\ntimezone: UTC\ndestinations: {a: {provider: bluesky, limits: {text: 1}, disable: [find]}}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		cfg, ds := content.LoadConfig("broadside.yaml", []byte(text), testProviders())
		sane(t, ds, text)
		if (cfg == nil) != pipeline.HasErrors(ds) {
			t.Fatalf("%v", ds)
		}
		for _, d := range ds {
			// The schema holds what the rules let through: where it alone refuses, the two disagree.
			if d.Code == content.CodeSchema && d.Line > 0 && strings.HasPrefix(d.Message, "broadside.yaml") {
				t.Fatalf("only the schema refuses: %v", d)
			}
		}
		if d := time.Since(start); d > slow {
			t.Fatalf("%s for %d bytes", d, len(text))
		}
	})
}
