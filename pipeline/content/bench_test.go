package content_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	yaml "github.com/goccy/go-yaml/parser"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
)

const (
	benchPosts = 10_000
	benchSize  = 2048 // bytes of each post
)

// benchPost is a post as people write them: overrides, a block, people, tags, links, an image, a second part.
func benchPost(i int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `---
id: release-%d
title: Release %d of the tool
publish_at: 2026-12-%02d %02d:%02d
publish_by: 2026-12-31 23:30
lang: en
destinations:
  bluesky:
  fosstodon:
    visibility: unlisted
    content_warning: release notes
---

**Version %d** is out, thanks to @{alice} and @bob@example.social. [Read the notes](https://example.com/notes/%d).

![The new dashboard in dark mode](/media/launch.png)

::: only fedi

Only the fediverse sees this line. #golang #release

:::

---

`, i, i, i%28+1, i%24, i%60, i, i)
	line := 0
	for b.Len() < benchSize-140 {
		line++
		fmt.Fprintf(&b, "Paragraph %d of *the* second part, with `code`, a link to https://example.com/%d and some more words &amp; an entity.\n", line, i)
		if line%2 == 0 {
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
	b.WriteString(strings.Repeat("x", max(0, benchSize-b.Len()-1)) + "\n")
	return b.Bytes()
}

func benchRepository(b *testing.B) string {
	b.Helper()
	folder := b.TempDir()
	for i := range benchPosts {
		name := filepath.Join(folder, "posts", fmt.Sprintf("%02d", i%100), fmt.Sprintf("%05d.md", i))
		if i < 100 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name, benchPost(i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return folder
}

// libraries does what cannot be avoided with the same files on the same cores: read each, parse the YAML and the
// Markdown. It checks nothing and keeps nothing.
func libraries(b *testing.B, folder string) {
	b.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil || len(files) != benchPosts {
		b.Fatalf("%d files, %v", len(files), err)
	}
	md := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999))...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				data, err := os.ReadFile(files[i])
				if err != nil {
					b.Error(err)
					return
				}
				end := bytes.Index(data[4:], []byte("\n---\n")) + 4
				if _, err := yaml.ParseBytes(data[4:end+1], 0); err != nil {
					b.Error(err)
				}
				md.Parse(text.NewReader(data[end+5:]))
			}
		})
	}
	wg.Wait()
}

func benchValidate(b *testing.B, folder string, cfg *pipeline.Config, infos map[string]providers.Info) {
	b.Helper()
	root, err := os.OpenRoot(folder)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	tree, ds := content.Load(b.Context(), content.Dir(root), cfg, infos)
	if len(tree.Posts) != benchPosts || len(ds) != 0 {
		b.Fatalf("%d posts, diagnostics %v", len(tree.Posts), ds[:min(len(ds), 3)])
	}
	var failed atomic.Int64
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(tree.Posts); i = int(next.Add(1)) - 1 {
				p := tree.Posts[i]
				for _, d := range p.Destinations {
					dest, _ := cfg.Destination(d.Name)
					if r, ds := content.Resolve(p, d, *dest, cfg, infos[dest.Provider]); len(r.Parts) != 2 || len(ds) > 0 {
						failed.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		b.Fatal("posts do not resolve")
	}
}

// BenchmarkValidate10k loads and resolves 10,000 posts of 2 KB and reports the time against that of the YAML and Markdown
// libraries alone ("x-libraries"), and the memory in use at the end ("MB").
func BenchmarkValidate10k(b *testing.B) {
	folder := benchRepository(b)
	cfg, infos := testConfig(b)
	libraries(b, folder) // warms the file cache for both
	var alone, ours time.Duration
	for b.Loop() {
		start := time.Now()
		libraries(b, folder)
		middle := time.Now()
		benchValidate(b, folder, cfg, infos)
		alone += middle.Sub(start)
		ours += time.Since(middle)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(ours)/float64(alone), "x-libraries")
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB")
}
