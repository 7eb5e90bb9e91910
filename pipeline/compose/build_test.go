package compose_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
)

// memory is a content.FS.
type memory map[string]string

func (m memory) List(prefix string) ([]content.File, error) {
	var out []content.File
	for name, data := range m {
		if prefix == "" || name == prefix || strings.HasPrefix(name, prefix+"/") {
			out = append(out, content.File{Path: name, Size: int64(len(data))})
		}
	}
	return out, nil
}

func (m memory) Read(name string) ([]byte, error) {
	data, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(data), nil
}

const everywhere = `version: 1
timezone: UTC
destinations:
  bluesky: {provider: bluesky, account: a.example, target: "bluesky:bsky.social:did:plc:a"}
  social: {provider: mastodon, server: "https://social.example", target: "mastodon:social.example:1"}
  hook: {provider: webhook, target: "webhook::1"}
`

func build(tb testing.TB, files memory, lean bool) *compose.View {
	tb.Helper()
	infos := map[string]providers.Info{}
	for _, i := range all.All() {
		infos[i.Name] = i
	}
	files[compose.ConfigPath] = everywhere
	cfg, diags, err := compose.ReadConfig(files, infos)
	if err != nil || cfg == nil || pipeline.HasErrors(diags) {
		tb.Fatal(err, diags)
	}
	v, err := compose.Build(tb.Context(), compose.Input{Files: files, Config: cfg, Providers: infos, Lean: lean})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestBuildCountsAsDraftsOnlyWhatCanBeRead(t *testing.T) {
	t.Parallel()
	v := build(t, memory{
		"posts/draft.md":   "---\nid: draft\ndestinations: [hook]\n---\n\nHi\n",
		"posts/bare.md":    "no front matter\n",
		"posts/broken.md":  "---\nid: [\n---\n\nHi\n",
		"posts/timed.md":   "---\nid: timed\npublish_at: 2026-12-03 09:00\ndestinations: [hook]\n---\n\nHi\n",
		"posts/a\x01.md":   "---\nid: odd\ndestinations: [hook]\n---\n\nHi\n",
		"posts/unknown.md": "---\nid: unknown\ndestinations: [nowhere]\n---\n\nHi\n",
	}, true)
	if v.Drafts != 1 {
		t.Errorf("%d drafts: %v", v.Drafts, v.Diagnostics)
	}
}

// hostile are units of which a post can hold thousands.
func hostile() map[string]string {
	return map[string]string{
		"breaks": "a\n\n---\n\n", "rules": "a\n\n***\n\n", "only": "::: only hook\na\n:::\n", "not": "::: not hook\na\n:::\n",
		"instead": "::: instead hook\na\n:::\n", "links": "[a.com](https://b.com/%d)\n\n", "one link": "[a.com](https://b.com/)\n\n",
		"hidden": "a\u200b%d\n\n", "links with hidden": "[a](https://b.com/%d\u200b) ", "images": "![a](x%d.png)\n\n", "same image": "![a](x.png)\n\n",
		"mentions": "@a%d@b.example\n\n", "tags": "#a%d ", "people": "@{a%d}\n\n", "ambiguous": "----\n\n", "html": "<b>%d\n\n",
		"words": "word ", "paragraphs": "word\n\n", "items": "- a\n", "quotes": "> a\n\n", "headings": "# a\n\n", "emoji": "👩‍👩‍👧", "letters": "a",
		"urls": "https://a.example/%d ", "code": "```\na\n```\n\n", "confusable": "@gоogle%d.com\n\n", "only then breaks": "::: only hook\na\n:::\n\n---\n\n",
	}
}

// hostilePost is as large as a post may be, in bytes or in lines.
func hostilePost(unit, more string) string {
	var b strings.Builder
	b.WriteString("---\nid: hostile\npublish_at: 2026-12-03 09:00\ndestinations: [bluesky, social, hook]\n" + more + "---\n\n")
	for i := 0; ; i++ {
		s := unit
		if strings.Contains(unit, "%d") {
			s = fmt.Sprintf(unit, i)
		}
		if b.Len()+len(s) > content.MaxPost || (i+1)*strings.Count(s, "\n") > 99_900 {
			return b.String()
		}
		b.WriteString(s)
	}
}

// TestBuildEndsSoonWithHostilePosts allows some times what each should take at most, two seconds.
func TestBuildEndsSoonWithHostilePosts(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("takes half a minute, and measures nothing under the race detector")
	}
	for name, unit := range hostile() {
		for mode, more := range map[string]string{"": "", "/auto": "thread: auto\n"} {
			t.Run(name+mode, func(t *testing.T) {
				files := memory{"posts/a.md": hostilePost(unit, more)}
				start := time.Now()
				v := build(t, files, true)
				took := time.Since(start)
				t.Logf("%v, %d diagnostics", took, len(v.Diagnostics))
				if took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}
