package content_test

import (
	"bytes"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/content"
	goyaml "github.com/goccy/go-yaml"
	yaml "github.com/goccy/go-yaml/parser"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

func BenchmarkOne(b *testing.B) {
	cfg, infos := testConfig(b)
	data := benchPost(7)
	p := content.NewParser(cfg, infos)
	end := bytes.Index(data[4:], []byte("\n---\n")) + 4
	md := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999))...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	plain := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Parse("posts/a.md", data)
		}
	})
	b.Run("resolve", func(b *testing.B) {
		b.ReportAllocs()
		post, _ := p.Parse("posts/a.md", data)
		for b.Loop() {
			for _, d := range post.Destinations {
				dest, _ := cfg.Destination(d.Name)
				content.Resolve(post, d, *dest, cfg, infos[dest.Provider])
			}
		}
	})
	b.Run("yamlast", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			yaml.ParseBytes(data[4:end+1], 0)
		}
	})
	b.Run("yamlmap", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var m map[string]any
			goyaml.Unmarshal(data[4:end+1], &m)
		}
	})
	b.Run("mdgfm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			md.Parse(text.NewReader(data[end+5:]))
		}
	})
	b.Run("mdplain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plain.Parse(text.NewReader(data[end+5:]))
		}
	})
}
