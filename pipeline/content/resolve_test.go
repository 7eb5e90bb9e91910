package content_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
)

// resolved writes what a post says at a destination: parts divided by " / ", blocks by "; ", media in parentheses.
func resolved(t *testing.T, extra, destinations, body, name string) (string, []string) {
	t.Helper()
	cfg, infos := testConfig(t)
	file := "---\nid: a\npublish_at: 2026-12-03 09:00\n" + extra + "destinations:\n" + destinations + "---\n\n" + body
	p, ds := content.Parse("posts/a.md", []byte(file), cfg, infos)
	if pipeline.HasErrors(ds) {
		t.Fatalf("%v", ds)
	}
	dest, _ := cfg.Destination(name)
	for _, d := range p.Destinations {
		if d.Name != name {
			continue
		}
		r, ds := content.Resolve(p, d, *dest, cfg, infos[dest.Provider])
		var parts []string
		for _, part := range r.Parts {
			var out []string
			for _, b := range part.Doc.Blocks {
				switch b.Kind {
				case providers.Rule:
					out = append(out, "---")
				case providers.List:
					out = append(out, "- "+show(b.Items[0][0].Spans))
				case providers.Quote:
					out = append(out, "> "+show(b.Blocks[0].Spans))
				case providers.Paragraph, providers.Heading, providers.CodeBlock:
					out = append(out, show(b.Spans))
				}
			}
			for _, m := range part.Media {
				out = append(out, "("+m.Path+")")
			}
			if part.Pos.Line == 0 {
				t.Errorf("a part without a place: %+v", part)
			}
			parts = append(parts, strings.Join(out, "; "))
		}
		text := strings.Join(parts, " / ")
		if r.Title != "" {
			text = r.Title + ": " + text
		}
		return text, said(ds)
	}
	t.Fatalf("the post does not go to %s", name)
	return "", nil
}

func TestResolveAppliesWhatConcernsTheDestination(t *testing.T) {
	t.Parallel()
	const three = "  bluesky:\n  fosstodon:\n  blog:\n"
	const body = `Hello

::: only fedi

fedi

:::

::: not bluesky

not bluesky

:::

::: instead blog

Blog

---

Blog two
:::

---

::: only bluesky
sky
:::

---

Last
`
	for name, c := range map[string]struct {
		extra, destinations, body string
		want                      map[string]string
		said                      map[string][]string
	}{
		"blocks": {
			destinations: three, body: body,
			want: map[string]string{
				"bluesky": "Hello / sky / Last", "fosstodon": "Hello; fedi; not bluesky / Last", "blog": "Blog; ---; Blog two",
			},
		},
		"text": {
			destinations: "  bluesky:\n    text: |\n      Other *text*\n\n      ---\n\n      two\n    title: T\n  fosstodon:\n", extra: "title: Post\n",
			body: "Hello\n",
			want: map[string]string{"bluesky": "T: Other text{italic} / two", "fosstodon": "Post: Hello"},
		},
		"text and instead": {
			destinations: "  bluesky:\n    text: Other\n", body: "Hello\n\n::: instead bluesky\nx\n:::\n",
			want: map[string]string{"bluesky": "Other"},
			said: map[string][]string{"bluesky": {"several_instead 12:1 at bluesky"}},
		},
		"two insteads": {
			destinations: three, body: "Hello\n\n::: instead bluesky\nx\n:::\n\n::: instead bluesky, blog\ny\n:::\n",
			want: map[string]string{"bluesky": "x", "blog": "y", "fosstodon": "Hello"},
			said: map[string][]string{"bluesky": {"several_instead 17:1 at bluesky"}},
		},
		"breaks at the ends": {
			destinations: three, body: "---\n\na\n\n---\n\n---\n\nb\n\n---\n",
			want: map[string]string{"bluesky": "a / b", "blog": "a; ---; b"},
		},
		"no thread": {
			extra: "thread: false\n", destinations: three, body: "---\n\na\n\n---\n\nb\n\n***\n\nc\n",
			want: map[string]string{"bluesky": "a; ---; b; ---; c"},
		},
		"rules in a thread": {
			destinations: three, body: "a\n\n***\n\nb\n\n---\n\nc\n", want: map[string]string{"bluesky": "a; ---; b / c"},
		},
		"people": {
			destinations: three, body: "@{alice}, @{bob}\n\n> @{bob}\n\n- [@{bob}](https://x.example)\n",
			want: map[string]string{
				"bluesky":   "@alice.dev{mention alice.dev}, @bob.dev{mention bob.dev}; > @bob.dev{mention bob.dev}; - @bob.dev{https://x.example}",
				"fosstodon": "@alice@hachyderm.io{mention alice@hachyderm.io}, bob; > bob; - bob{https://x.example}",
			},
			said: map[string][]string{"fosstodon": {
				"no_handle 10:1 warning at fosstodon", "no_handle 12:1 warning at fosstodon", "no_handle 14:1 warning at fosstodon",
			}},
		},
		"lines": {
			destinations: three, body: "a\nb\\\nc\n", want: map[string]string{"bluesky": "a|b||c", "blog": "a b||c"},
		},
		"media": {
			extra: "media:\n  - a.png\n  - {src: b.png, part: 2}\n", destinations: "  bluesky:\n  fosstodon:\n    media: [/c.png]\n  blog:\n    media: []\n",
			body: "one\n\n![x](d.png)\n\n---\n\ntwo\n",
			want: map[string]string{
				"bluesky": "one; (posts/d.png); (posts/a.png) / two; (posts/b.png)", "fosstodon": "one; (posts/d.png); (c.png) / two",
				"blog": "one; ---; two; (posts/d.png)",
			},
		},
		"media for a part that is not there": {
			extra: "media:\n  - {src: b.png, part: 3}\n", destinations: three, body: "one\n",
			want: map[string]string{"bluesky": "one", "blog": "one; (posts/b.png)"},
			said: map[string][]string{"bluesky": {"media_part 5:5 at bluesky"}},
		},
		"media alone": {
			extra: "media: [b.png]\n", destinations: three, body: "", want: map[string]string{"bluesky": "(posts/b.png)"},
		},
		"an image is a part": {
			destinations: three, body: "a\n\n---\n\n![x](/x.png)\n", want: map[string]string{"bluesky": "a / (x.png)", "blog": "a; (x.png)"},
		},
		"nothing": {
			destinations: "  bluesky:\n  fosstodon: {text: Hi}\n", body: "<!-- later -->\n",
			want: map[string]string{"bluesky": "", "fosstodon": "Hi"},
			said: map[string][]string{"bluesky": {"empty_post 5:3 at bluesky"}},
		},
		"nothing for one": {
			destinations: "  bluesky:\n  fosstodon:\n", body: "::: only fosstodon\nx\n:::\n",
			want: map[string]string{"bluesky": "", "fosstodon": "x"},
			said: map[string][]string{"bluesky": {"empty_post 5:3 at bluesky"}},
		},
		"nothing, and skipped": {destinations: "  bluesky: {skip: true}\n", body: "", want: map[string]string{"bluesky": ""}},
	} {
		for dest, want := range c.want {
			got, ds := resolved(t, c.extra, c.destinations, c.body, dest)
			if got != want {
				t.Errorf("%s at %s:\n got %s\nwant %s", name, dest, got, want)
			}
			if diff := cmp.Diff(append([]string{}, c.said[dest]...), ds); diff != "" {
				t.Errorf("%s at %s (-want +got):\n%s", name, dest, diff)
			}
		}
	}
}

func TestResolveLeavesThePostAsItIs(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	file := []byte("---\nid: a\npublish_at: now\ndestinations: [bluesky, fosstodon, blog]\nmedia: [a.png]\n---\n\na\nb @{alice}\n\n" +
		"> @{bob}\n\n- c\n- @{bob}\n\n::: only fedi\nd @{alice}\n:::\n\n---\n\ne\n\n![x](y.png)\n")
	p, _ := content.Parse("a.md", file, cfg, infos)
	before, _ := content.Parse("a.md", file, cfg, infos)
	first := map[string]content.Resolved{}
	for range 2 {
		for _, d := range p.Destinations {
			dest, _ := cfg.Destination(d.Name)
			r, _ := content.Resolve(p, d, *dest, cfg, infos[dest.Provider])
			if earlier, ok := first[d.Name]; ok {
				if diff := cmp.Diff(earlier, r); diff != "" {
					t.Errorf("%s differs the second time:\n%s", d.Name, diff)
				}
			}
			first[d.Name] = r
		}
	}
	if diff := cmp.Diff(before, p, cmp.AllowUnexported()); diff != "" {
		t.Errorf("the post was changed:\n%s", diff)
	}
}
