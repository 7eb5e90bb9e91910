package content

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

var scratchInfos = []providers.Info{
	{Name: "bluesky", Server: providers.ServerOptional, Settings: []providers.Setting{{Name: "labels", Type: providers.Strings, Enum: []string{"porn", "nudity"}}}},
	{Name: "mastodon", Server: providers.ServerRequired, Settings: []providers.Setting{
		{Name: "visibility", Type: providers.String, Enum: []string{"public", "unlisted"}},
		{Name: "content_warning", Type: providers.String, Max: 20},
		{Name: "poll", Type: providers.Object, Schema: `{"type":"object","required":["options"],"additionalProperties":false,"properties":{"options":{"type":"array","minItems":2,"items":{"type":"string"}}}}`},
	}},
}

func TestScratch(t *testing.T) {
	cfg, ds := LoadConfig("broadside.yaml", []byte(`version: 1
timezone: Europe/Berlin
posts: [posts]
ledger: {branch: broadside-ledger, id: 0123456789abcdef0123456789abcdef}
destinations:
  bluesky:
    provider: bluesky
    account: example.com
    target: bluesky:bsky.social:did:plc:abc
  fosstodon:
    provider: mastodon
    server: https://fosstodon.org
    target: mastodon:fosstodon.org:1
    settings: {visibility: public}
groups: {fedi: [fosstodon], all: [bluesky, fosstodon]}
people: {alice: {bluesky: alice.dev, fosstodon: alice@hachyderm.io}}
`), scratchInfos)
	for _, d := range ds {
		fmt.Println(d, d.Hint)
	}
	if cfg == nil {
		t.Fatal()
	}
	infos := map[string]providers.Info{}
	for _, i := range scratchInfos {
		infos[i.Name] = i
	}
	p, ds := Parse("posts/a.md", []byte(`---
id: launch-1-0
publish_at: 2026-12-03 09:00
publish_by: 2026-12-03 18:00
destinations:
  bluesky:
  fosstodon:
    visibility: unlisted
    content_warning: release notes
    text: |
      hello #foo_bar
      ^x <b>y</b>
    poll:
      options: [a]
---

**Version 1.0** is out, thanks to @{alice}. [Read the notes](https://example.com/1.0). https://x.y/a_b_c. #tag_1 #123 \#no @a_b@c.de @x.y,
next &amp; line

![The new dashboard in dark mode](/media/launch.png)

::: only fedi

Only the fediverse sees this line. #golang

:::

::: instead bluesky

A shorter text that replaces the body on X.

---

second
:::

---

Second part of the thread.
`), cfg, infos)
	for _, d := range ds {
		fmt.Println(d, d.Hint)
	}
	b, _ := json.MarshalIndent(p, "", " ")
	fmt.Println(string(b))
	for _, d := range p.Destinations {
		de, _ := cfg.Destination(d.Name)
		r, ds := Resolve(p, d, *de, cfg, infos[de.Provider])
		b, _ := json.MarshalIndent(r, "", " ")
		fmt.Println(d.Name, string(b), ds)
	}
}

func scratchCfg() *pipeline.Config {
	cfg, _ := LoadConfig("b", []byte("version: 1\ntimezone: UTC\n"), nil)
	return cfg
}
