package content_test

import (
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
