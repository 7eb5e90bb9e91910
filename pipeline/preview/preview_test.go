package preview_test

import (
	"bytes"
	"image"
	"image/png"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/preview"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
)

// tree is a repository in memory.
type tree map[string]string

func (t tree) List(prefix string) ([]content.File, error) {
	var out []content.File
	for p, data := range t {
		if prefix == "" || p == prefix || strings.HasPrefix(p, strings.TrimSuffix(prefix, "/")+"/") {
			out = append(out, content.File{Path: p, Size: int64(len(data))})
		}
	}
	return out, nil
}

func (t tree) Read(path string) ([]byte, error) {
	if data, ok := t[path]; ok {
		return []byte(data), nil
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}

const config = `version: 1
timezone: UTC
posts: [posts]
destinations:
  home: {provider: sandbox, server: "https://sandbox.test", account: me, target: "sandbox:sandbox.test:a1"}
  away: {provider: sandbox, server: "https://sandbox.test", account: you, target: "sandbox:sandbox.test:a2", settings: {visibility: unlisted}}
`

func view(t *testing.T, files tree) *compose.View {
	t.Helper()
	files["broadside.yaml"] = config
	infos := map[string]providers.Info{sandbox.Name: sandbox.Info()}
	cfg, ds, err := compose.ReadConfig(files, infos)
	if err != nil || pipeline.HasErrors(ds) {
		t.Fatal(err, ds)
	}
	v, err := compose.Build(t.Context(), compose.Input{Files: files, Config: cfg, Providers: infos})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func text(posts []preview.Post, st report.Style) string {
	var b bytes.Buffer
	preview.Text(&b, posts, st)
	return b.String()
}

func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 12, 8))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPreviewShowsEachPartAsItIsSent(t *testing.T) {
	t.Parallel()
	v := view(t, tree{
		"media/a.png": picture(t),
		"posts/a.md":  "---\nid: a\ndestinations: {home: , away: {skip: true}}\n---\n\nHello **you**.\n\n![A grey box](/media/a.png)\n\n---\n\nBye.\n",
		"posts/b.md":  "---\nid: b\npublish_at: 2027-01-01 09:00\ndestinations: [home, away]\n---\n\n" + strings.Repeat("0123456789", 51) + "\n",
	})
	posts := preview.Posts(v, "")
	size := v.Items[1].Encoded.Parts[0].Media[0].Bytes
	want := `a  posts/a.md  draft: will not go out

  away (sandbox, you)
    skipped: the post wants nothing here

  home (sandbox, me)
    part 1 of 2 · 10/500 graphemes
    │ Hello you.
    media media/a.png  image/png, 12×8, ` + preview.Size(size) + `
      alt A grey box
    visibility: public

    part 2 of 2 · 4/500 graphemes
    │ Bye.
    visibility: public
`
	if diff := cmp.Diff(want, text(posts[:1], report.Style{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// What is too long is shown all the same, with how much.
	b := text(posts[1:], report.Style{})
	for _, s := range []string{"510/500 graphemes", "nothing goes out here until this is dealt with", "[too_long]", "visibility: unlisted", "│ 0123456789"} {
		if !strings.Contains(b, s) {
			t.Errorf("no %q in\n%s", s, b)
		}
	}
	if one := preview.Posts(v, "away"); len(one[1].Destinations) != 1 || one[1].Destinations[0].Name != "away" {
		t.Errorf("one destination: %+v", one[1].Destinations)
	}
}

func TestPreviewCannotActOnATerminal(t *testing.T) {
	t.Parallel()
	const bad = "::warning::pwned \x1b[2J\u202E\u200B\r\n::error::x"
	ds := []pipeline.Diagnostic{{Code: "c", Severity: pipeline.Warning, Line: 3, Message: bad, Hint: bad}}
	posts := []preview.Post{{ID: bad, Path: bad, Diagnostics: ds, Destinations: []preview.Destination{{
		Name: bad, Provider: bad, Account: bad, Diagnostics: ds,
		Parts: []preview.Part{{
			Text: bad, Media: []preview.Media{{Path: bad, MIME: bad, Alt: bad}}, Settings: []providers.Shown{{Name: bad, Value: bad}},
			Mentions: []string{bad},
		}},
	}}}}
	got := text(posts, report.Style{})
	for _, bad := range []string{"\x1b", "\u202E", "\u200B"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q reaches the terminal:\n%s", bad, got)
		}
	}
	for line := range strings.Lines(got) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("a workflow command: %q", line)
		}
	}
	if !strings.Contains(got, "<U+202E>") || !strings.Contains(got, "::warning::pwned") {
		t.Errorf("the text is not shown as it is:\n%s", got)
	}
}

func TestColourIsTheOnlyDifferenceOfAStyle(t *testing.T) {
	t.Parallel()
	v := view(t, tree{"posts/a.md": "---\nid: a\npublish_at: 2027-01-01 09:00\ndestinations: [home]\n---\n\n" + strings.Repeat("word ", 98) + "\n"})
	plain, coloured := text(preview.Posts(v, ""), report.Style{}), text(preview.Posts(v, ""), report.Style{Color: true})
	if plain == coloured {
		t.Fatal("a style colours nothing")
	}
	var b strings.Builder
	for rest := coloured; rest != ""; {
		before, after, found := strings.Cut(rest, "\x1b[")
		b.WriteString(before)
		if !found {
			break
		}
		_, rest, _ = strings.Cut(after, "m")
	}
	if diff := cmp.Diff(plain, b.String()); diff != "" {
		t.Errorf("(-plain +coloured)\n%s", diff)
	}
}

func TestSizeIsReadable(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 999_499: "999 kB", 1_000_000: "1.0 MB", 12_345_678: "12.3 MB"} {
		if got := preview.Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
