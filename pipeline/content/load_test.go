package content_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
)

// memory is an FS, as the tree of a commit is one.
type memory map[string]string

func (m memory) List(prefix string) ([]content.File, error) {
	var out []content.File
	for name, data := range m {
		if prefix == "" || name == prefix || strings.HasPrefix(name, prefix+"/") {
			link := strings.HasPrefix(data, "link to ")
			out = append(out, content.File{Path: name, Size: int64(len(data)), Sum: fmt.Sprintf("%040x", len(name)), Symlink: link})
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

func filed(ds []pipeline.Diagnostic) []string {
	out := []string{}
	for i, s := range said(ds) {
		out = append(out, ds[i].File+" "+s)
	}
	return out
}

func postFile(id string) string {
	return "---\nid: " + id + "\npublish_at: 2026-12-03 09:00\ndestinations: [bluesky]\n---\n\nHello\n"
}

func TestLoadKnowsEachFileInThePostsFolders(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	files := memory{
		"broadside.yaml":         testYAML,
		"media/root.png":         "x",
		"posts/README.md":        "# How we post",
		"posts/.hidden.md":       "junk",
		"posts/.obsidian/app.md": "junk",
		"posts/.gitkeep":         "",
		"posts/b.md":             postFile("b") + "\n![x](shown.png)\n",
		"posts/2026/a.md":        postFile("a"),
		"posts/2026/c.markdown":  postFile("c"),
		"posts/2026/d.MD":        postFile("d"),
		"posts/2026/draft.md":    "---\n---\n",
		"posts/2026/bad.md":      "nothing\n",
		"posts/2026/link.md":     "link to a.md",
		"posts/shown.png":        "x",
		"posts/override.png":     "x",
		"posts/e.md":             "---\nid: e\npublish_at: now\ndestinations:\n  bluesky:\n    media: [override.png]\n---\n\nHi\n",
		"posts/unused.JPG":       "x",
		"posts/notes.txt":        "x",
		"posts-old/z.md":         postFile("z"),
		"posts/2026/big.md":      strings.Repeat("a", content.MaxPost+1),
		"posts/link.png":         "link to /etc/passwd",
	}
	tree, ds := content.Load(t.Context(), files, cfg, infos)
	want := []string{
		"posts/2026/bad.md no_front_matter 1:1",
		"posts/2026/big.md post_too_large 0:0",
		"posts/2026/link.md symlink 0:0 warning",
		"posts/link.png symlink 0:0 warning",
		"posts/notes.txt stray_file 0:0 warning",
		"posts/unused.JPG unreferenced_media 0:0 warning",
	}
	if diff := cmp.Diff(want, filed(ds)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got []string
	for _, p := range tree.Posts {
		got = append(got, p.Path+" "+p.ID)
	}
	want = []string{
		"posts/2026/a.md a", "posts/2026/bad.md ", "posts/2026/c.markdown c", "posts/2026/d.MD d", "posts/2026/draft.md ", "posts/b.md b",
		"posts/e.md e",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadReportsACopiedIDAtBothFiles(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	files := memory{"posts/a.md": postFile("same"), "posts/b.md": postFile("same"), "posts/c.md": postFile("other"), "posts/d.md": postFile("same")}
	tree, ds := content.Load(t.Context(), files, cfg, infos)
	want := []string{"posts/a.md duplicate_id 2:5", "posts/b.md duplicate_id 2:5", "posts/d.md duplicate_id 2:5"}
	if diff := cmp.Diff(want, filed(ds)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(ds[0].Message, "posts/b.md") || !strings.Contains(ds[1].Message, "posts/a.md") || ds[0].Post != "same" {
		t.Errorf("%v", ds)
	}
	for _, p := range tree.Posts {
		if p.Errors != (p.ID == "same") {
			t.Errorf("%s: Errors is %v", p.Path, p.Errors)
		}
	}
	// One file alone is compared with all, and so is one that is settled.
	_, ds = content.Load(t.Context(), files, cfg, infos, "posts/b.md")
	if diff := cmp.Diff([]string{"posts/b.md duplicate_id 2:5"}, filed(ds)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l := content.Loader{Config: cfg, Infos: infos, Settled: func(f content.File) (string, bool) { return "same", f.Path == "posts/a.md" }}
	tree, ds = l.Load(t.Context(), files)
	if diff := cmp.Diff([]string{"posts/b.md duplicate_id 2:5", "posts/d.md duplicate_id 2:5"}, filed(ds)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(tree.Settled) != 1 || tree.Settled[0].Path != "posts/a.md" || len(tree.Posts) != 3 {
		t.Errorf("%+v", tree)
	}
}

func TestLoadTakesPaths(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	files := memory{
		"posts/a.md": postFile("a"), "posts/x/b.md": postFile("b"), "posts/x/stray.txt": "", "drafts/c.md": postFile("c"), "drafts/note.txt": "",
	}
	for paths, want := range map[string][]string{
		"posts/a.md":         {"a"},
		"./posts/a.md":       {"a"},
		"/posts/x/":          {"b"},
		"posts":              {"a", "b"},
		".":                  {"a", "b"},
		"posts/x posts/a.md": {"a", "b"},
		"drafts":             {"c", "!drafts/c.md outside_posts 0:0 warning"},
		"nowhere":            {"!nowhere not_found 0:0"},
	} {
		tree, ds := content.Load(t.Context(), files, cfg, infos, strings.Fields(paths)...)
		got := []string{}
		for _, p := range tree.Posts {
			got = append(got, p.ID)
		}
		for _, s := range filed(ds) {
			got = append(got, "!"+s)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", paths, diff)
		}
	}
}

func TestLoadSaysThatThereIsNothing(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	tree, ds := content.Load(t.Context(), memory{}, cfg, infos)
	if diff := cmp.Diff([]string{"posts no_posts_folder 0:0 warning"}, filed(ds)); diff != "" || len(tree.Posts) > 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ds = content.Load(ctx, memory{"posts/a.md": postFile("a")}, cfg, infos)
	if diff := cmp.Diff([]string{"posts/a.md read_failed 0:0"}, filed(ds)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoaderChecksEachPostOnceAndReleasesIt(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	files := memory{}
	for i := range 200 {
		files[fmt.Sprintf("posts/%03d.md", i)] = postFile(fmt.Sprintf("p%03d", i)) + "\n![x](/shown.png)\n"
	}
	files["posts/shown.png"] = "x"
	cfg.Media.Roots = []string{"/posts"}
	var mu sync.Mutex
	seen := map[string]int{}
	l := content.Loader{Config: cfg, Infos: infos, Workers: 8, Release: true, Check: func(p *pipeline.Post) []pipeline.Diagnostic {
		mu.Lock()
		defer mu.Unlock()
		seen[p.ID] += len(p.Body.Segments)
		if p.ID == "p007" {
			return []pipeline.Diagnostic{{Code: "too_long", Severity: pipeline.Warning, File: p.Path}}
		}
		return nil
	}}
	tree, ds := l.Load(t.Context(), files)
	if diff := cmp.Diff([]string{"posts/007.md too_long 0:0 warning"}, filed(ds)); diff != "" || len(tree.Posts) != 200 {
		t.Errorf("%d posts (-want +got):\n%s", len(tree.Posts), diff)
	}
	for i, p := range tree.Posts {
		if seen[p.ID] != 1 || len(p.Body.Segments) != 0 || p.Path != fmt.Sprintf("posts/%03d.md", i) {
			t.Errorf("%s: checked %d times, %d segments", p.Path, seen[p.ID], len(p.Body.Segments))
		}
	}
}

func TestDirStaysInItsFolder(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.md")
	folder := t.TempDir()
	write := func(name, data string) {
		t.Helper()
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("posts/a.md", "hello")
	write("posts/x/b.md", "b")
	write("posts/big.md", strings.Repeat("x", content.MaxPost+10))
	write(".git/config", "x")
	write("broadside.yaml", "x")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	links := runtime.GOOS != "windows" // where a link needs a privilege
	if links {
		for name, to := range map[string]string{"posts/out.md": outside, "posts/up": filepath.Dir(outside), "posts/in.md": "a.md"} {
			if err := os.Symlink(to, filepath.Join(folder, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	d := content.Dir(root)
	list := func(prefix string) map[string]bool {
		files, err := d.List(prefix)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
		}
		out := map[string]bool{}
		for _, f := range files {
			out[f.Path] = f.Symlink
		}
		return out
	}
	want := map[string]bool{"posts/a.md": false, "posts/x/b.md": false, "posts/big.md": false}
	if links {
		want["posts/out.md"], want["posts/up"], want["posts/in.md"] = true, true, true
	}
	if diff := cmp.Diff(want, list("posts")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want["broadside.yaml"] = false
	if diff := cmp.Diff(want, list("")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"posts/x/b.md": false}, list("posts/x/b.md")); diff != "" || len(list("nowhere")) > 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if data, err := d.Read("posts/a.md"); string(data) != "hello" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := d.Read("posts/big.md"); len(data) <= content.MaxPost || err != nil {
		t.Errorf("%d bytes, %v: a large file must not look like a small one", len(data), err)
	}
	for _, name := range []string{"posts", "posts/nothing.md", "../secret.md", outside, "posts/out.md", "posts/up/secret.md"} {
		if data, err := d.Read(name); err == nil {
			t.Errorf("%s: read %q", name, data)
		}
	}
}
