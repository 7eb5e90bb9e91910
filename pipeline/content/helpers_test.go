package content_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
)

const testYAML = `version: 1
timezone: Europe/Berlin
destinations:
  bluesky:
    provider: bluesky
    account: example.com
    target: bluesky:bsky.social:did:plc:abc
  blog:
    provider: blog
    server: https://blog.example
    target: blog:blog.example:1
  fosstodon:
    provider: mastodon
    server: https://fosstodon.org
    target: mastodon:fosstodon.org:1
    settings: {visibility: public}
groups: {fedi: [fosstodon], all: [bluesky, fosstodon], social: [bluesky, fosstodon]}
people: {alice: {bluesky: alice.dev, fosstodon: alice@hachyderm.io}, bob: {bluesky: bob.dev}}
`

// testProviders are shaped like real networks: short and long form, each type of setting, each rule for servers.
func testProviders() []providers.Info {
	return []providers.Info{
		{Name: "bluesky", Server: providers.ServerOptional, DefaultServer: "https://bsky.social", Settings: []providers.Setting{
			{Name: "labels", Type: providers.Strings, Enum: []string{"porn", "nudity"}, Max: 2},
			{Name: "langs", Type: providers.Strings, Max: 3},
		}},
		{Name: "mastodon", Server: providers.ServerRequired, Settings: []providers.Setting{
			{Name: "visibility", Title: "Visibility", Help: "Who sees it.", Type: providers.String, Enum: []string{"public", "unlisted", "private"}, Default: "public"},
			{Name: "content_warning", Type: providers.String, Max: 20},
			{Name: "sensitive", Type: providers.Boolean},
			{Name: "poll", Type: providers.Object, Schema: `{
				"type": "object", "required": ["options"], "additionalProperties": false,
				"properties": {
					"options": {"type": "array", "minItems": 2, "items": {"type": "string"}},
					"expires_in": {"type": "integer"}}}`},
			{Name: "instance_note", Type: providers.String, ConfigOnly: true},
		}},
		{Name: "blog", Server: providers.ServerRequired, LongForm: true, Settings: []providers.Setting{
			{Name: "tags", Type: providers.Strings},
			{Name: "priority", Type: providers.Integer, Max: 9},
			{Name: "visibility", Type: providers.String, Enum: []string{"public", "draft"}},
		}},
		{Name: "hook", Server: providers.ServerNone},
	}
}

func testConfig(tb testing.TB) (*pipeline.Config, map[string]providers.Info) {
	tb.Helper()
	infos := map[string]providers.Info{}
	for _, i := range testProviders() {
		infos[i.Name] = i
	}
	cfg, ds := content.LoadConfig("broadside.yaml", []byte(testYAML), testProviders())
	if cfg == nil || len(ds) > 0 {
		tb.Fatalf("the test's own configuration is wrong: %v", ds)
	}
	return cfg, infos
}

// said writes diagnostics as "code line:column", with a mark for what is no error and the destination where there is one.
func said(ds []pipeline.Diagnostic) []string {
	out := []string{}
	for _, d := range ds {
		s := fmt.Sprintf("%s %d:%d", d.Code, d.Line, d.Column)
		switch d.Severity {
		case pipeline.Warning:
			s += " warning"
		case pipeline.Note:
			s += " note"
		case pipeline.Error:
		}
		if d.Destination != "" {
			s += " at " + d.Destination
		}
		out = append(out, s)
	}
	return out
}

// parse parses a post whose front matter has an id, a time and destinations, followed by extra; the body begins at line 7
// where extra is empty.
func parse(t testing.TB, extra, body string) (*pipeline.Post, []pipeline.Diagnostic) {
	t.Helper()
	cfg, infos := testConfig(t)
	text := "---\nid: a-post\npublish_at: 2026-12-03 09:00\ndestinations: [bluesky, fosstodon]\n" + extra + "---\n\n" + body
	return content.Parse("posts/2026/a.md", []byte(text), cfg, infos)
}

// blocks returns all blocks of a body that has one segment.
func blocks(t testing.TB, p *pipeline.Post) []providers.Block {
	t.Helper()
	if len(p.Body.Segments) != 1 {
		t.Fatalf("%d segments: %+v", len(p.Body.Segments), p.Body.Segments)
	}
	return p.Body.Segments[0].Doc.Blocks
}

// show writes spans in a short form: text, then in brackets what it is.
func show(spans []providers.Span) string {
	var b strings.Builder
	for _, s := range spans {
		var marks []string
		switch s.Kind {
		case providers.LineBreak:
			b.WriteString(map[string]string{"": "|", "\n": "||"}[s.Text])
			continue
		case providers.Mention:
			marks = append(marks, "mention "+s.Handle)
		case providers.Hashtag:
			marks = append(marks, "tag "+s.Handle)
		case providers.Text, providers.Image:
		}
		for i, name := range []string{"bold", "italic", "strike", "code"} {
			if s.Style&(1<<i) != 0 {
				marks = append(marks, name)
			}
		}
		if s.URL != "" {
			marks = append(marks, s.URL)
		}
		b.WriteString(s.Text)
		if len(marks) > 0 {
			b.WriteString("{" + strings.Join(marks, " ") + "}")
		}
	}
	return b.String()
}
