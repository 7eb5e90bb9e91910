package content_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
)

func TestPathsThatCannotBeRecordedAreErrorsOfTheFile(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	long := "posts/" + strings.Repeat("x", 1016)
	for name, shown := range map[string]string{
		"posts/a\nb.md": `posts/a\nb.md`, "posts/\x1b[2J.md": `posts/\x1b[2J.md`, "posts/\x7f.md": `posts/\x7f.md`,
		"posts/\xff.md": `posts/\xff.md`, "posts/\u0085.md": `posts/\u0085.md`, long + ".md": long + ".md", "posts/ä b.md": "",
		long[:1021] + ".md": "",
	} {
		var want []string
		if shown != "" {
			want = []string{shown + " bad_path 0:0"}
		}
		tree, ds := content.Load(t.Context(), memory{name: postFile("a"), "posts/good.md": postFile("good")}, cfg, infos)
		if diff := cmp.Diff(append([]string{}, want...), filed(ds)); diff != "" || len(tree.Posts) != 2-len(want) {
			t.Errorf("%q: %d posts (-want +got):\n%s", name, len(tree.Posts), diff)
		}
		p, ds := content.Parse(name, []byte(postFile("a")), cfg, infos)
		if diff := cmp.Diff(append([]string{}, want...), filed(ds)); diff != "" || p.Errors != (want != nil) {
			t.Errorf("%q: Errors is %v (-want +got):\n%s", name, p.Errors, diff)
		}
	}
}

func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		extra, body string
		want        []string
	}{
		"most parts":  {"", "a" + strings.Repeat("\n\n---\n\na", 499), []string{}},
		"more parts":  {"", "a" + strings.Repeat("\n\n---\n\na", 500), []string{"too_many_parts 2005:1"}},
		"many more":   {"", "a" + strings.Repeat("\n\n---\n\na", 4000), []string{"too_many_parts 2005:1"}},
		"in a block":  {"", "::: instead bluesky\na" + strings.Repeat("\n\n---\n\na", 600) + "\n:::", []string{"too_many_parts 2006:1"}},
		"most lines":  {"", strings.Repeat("a  \n", 99_999), []string{}},
		"more lines":  {"", strings.Repeat("a\n\n", 50_001), []string{"too_complex 6:1"}},
		"part 501":    {"media: [{src: /a.png, alt: a, part: 501}]\n", "a", []string{"bad_value 5:37"}},
		"blank lines": {"", strings.Repeat("\n", 100_001), []string{"too_complex 6:1"}},
	} {
		p, ds := parse(t, c.extra, c.body)
		if diff := cmp.Diff(c.want, said(ds)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if p.Errors != pipeline.HasErrors(ds) {
			t.Errorf("%s: Errors is %v", name, p.Errors)
		}
	}
}
