package content_test

import (
	"bytes"
	"fmt"
	"math"
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
		if line%3 == 0 {
			fmt.Fprintf(&b, "Paragraph %d of *the* second part, with `code`, a link to https://example.com/%d and some more words &amp; an entity.\n", line, i)
		} else {
			b.WriteString("A sentence that says what is new: people read this, think about it, and go on to the next line of the text.\n")
		}
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
	defer func() { _ = root.Close() }()
	var failed atomic.Int64
	l := content.Loader{Config: cfg, Infos: infos, Release: true, Check: func(p *pipeline.Post) (ds []pipeline.Diagnostic) {
		for _, d := range p.Destinations {
			dest, _ := cfg.Destination(d.Name)
			r, more := content.Resolve(p, d, *dest, cfg, infos[dest.Provider])
			if len(r.Parts) != 2 {
				failed.Add(1)
			}
			ds = append(ds, more...)
		}
		return ds
	}}
	tree, ds := l.Load(b.Context(), content.Dir(root))
	if len(tree.Posts) != benchPosts || len(ds) != 0 || failed.Load() > 0 {
		b.Fatalf("%d posts, %d do not resolve, diagnostics %v", len(tree.Posts), failed.Load(), ds[:min(len(ds), 3)])
	}
}

// BenchmarkValidate10k loads and resolves 10,000 posts of 2 KB. It reports the shortest time against the shortest time of
// the YAML and Markdown libraries alone ("x-libraries"), and the memory that the process took for its own runs ("MB").
func BenchmarkValidate10k(b *testing.B) {
	folder := benchRepository(b)
	cfg, infos := testConfig(b)
	benchValidate(b, folder, cfg, infos) // warms the file cache for both
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	alone, ours := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		libraries(b, folder)
		middle := time.Now()
		benchValidate(b, folder, cfg, infos)
		alone, ours = min(alone, middle.Sub(start)), min(ours, time.Since(middle))
	}
	b.ReportMetric(float64(ours)/float64(alone), "x-libraries")
	b.ReportMetric(float64(m.Sys)/1e6, "MB")
}
