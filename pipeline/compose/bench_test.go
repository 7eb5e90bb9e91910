package compose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-yaml/parser"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
)

// BenchmarkValidate10k checks 10,000 posts of 2 KB, each a thread of eight parts, for one network as `validate` does (each file read, parsed, rendered
// and checked once, on all cores) and compares with what the YAML and Markdown libraries alone take for the same files on
// the same cores. It prints the ratio and the most memory in use.
func BenchmarkValidate10k(b *testing.B) {
	root := bigTree(b, 10_000)
	dir, err := os.OpenRoot(root)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	infos := map[string]providers.Info{}
	for _, i := range all.All() {
		infos[i.Name] = i
	}
	files := content.Dir(dir)
	var ours, libs time.Duration
	var peak atomic.Uint64
	for range b.N {
		runtime.GC()
		stop := watch(&peak)
		// The binary collects garbage as seldom: its memory stays far below the bound.
		was := debug.SetGCPercent(compose.GCPercent)
		start := time.Now()
		cfg, diags, err := compose.ReadConfig(files, infos)
		if err != nil || cfg == nil {
			b.Fatal(err, diags)
		}
		v, err := compose.Build(b.Context(), compose.Input{Files: files, Config: cfg, Providers: infos, Lean: true})
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		debug.SetGCPercent(was)
		stop()
		if len(v.Tree.Posts) != 10_000 || len(v.Diagnostics) != 0 {
			b.Fatalf("%d posts, %v", len(v.Tree.Posts), v.Diagnostics[:min(3, len(v.Diagnostics))])
		}
		runtime.GC()
		start = time.Now()
		libraries(b, root)
		libs += time.Since(start)
	}
	ratio := float64(ours) / float64(libs)
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(float64(peak.Load())/(1<<20), "peak-MB")
	if b.N > 1 && (ratio > 1.5 || peak.Load() > 200<<20) {
		b.Errorf("ratio %.2f, %d MB; the promise is under 1.5 and under 200 MB", ratio, peak.Load()>>20)
	}
}

// watch follows the memory in use until it is stopped.
func watch(peak *atomic.Uint64) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(50 * time.Millisecond)
		defer t.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse+m.StackInuse))
			select {
			case <-done:
				return
			case <-t.C:
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// libraries reads every file and has the YAML and Markdown libraries parse it, on all cores.
func libraries(b *testing.B, root string) {
	b.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "posts", "*", "*.md"))
	if err != nil || len(paths) == 0 {
		b.Fatal("no posts", err)
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough)).Parser()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(paths) {
					return
				}
				data, err := os.ReadFile(paths[i])
				if err != nil {
					b.Error(err)
					return
				}
				_, rest, _ := strings.Cut(string(data), "---\n")
				matter, body, _ := strings.Cut(rest, "---\n")
				if _, err := parser.ParseBytes([]byte(matter), 0); err != nil {
					b.Error(err)
				}
				md.Parse(text.NewReader([]byte(body)))
			}
		})
	}
	wg.Wait()
}

func bigTree(b *testing.B, n int) string {
	b.Helper()
	root := b.TempDir()
	config := "version: 1\ntimezone: Europe/Berlin\nposts: [posts]\nledger: {branch: broadside-ledger, id: 0123456789abcdef0123456789abcdef}\n" +
		"destinations:\n  bluesky:\n    provider: bluesky\n    account: example.com\n    target: bluesky:bsky.social:did:plc:abc\n" +
		"  fosstodon:\n    provider: mastodon\n    server: https://fosstodon.org\n    account: me\n    target: mastodon:fosstodon.org:1\n"
	if err := os.WriteFile(filepath.Join(root, "broadside.yaml"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	part := "Version %d is out, in part %d, with many changes, a link to https://example.com/notes and a #hashtag. It is faster, smaller and easier to use than ever.\n\nSome more words follow here.\n"
	for i := range n {
		var body strings.Builder
		for p := range 8 {
			if p > 0 {
				body.WriteString("\n---\n\n")
			}
			fmt.Fprintf(&body, part, i, p)
		}
		post := fmt.Sprintf("---\nid: p%d\npublish_at: 2026-12-%02d 09:%02d\ndestinations: [bluesky]\n---\n\n%s", i, i%28+1, i%60, body.String())
		path := filepath.Join(root, "posts", fmt.Sprintf("%02d", i%50), fmt.Sprintf("p%d.md", i))
		if i < 50 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(post), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return root
}
