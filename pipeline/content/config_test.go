package content_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/providers"
)

const (
	testSigner = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	testAge    = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
)

func TestLoadConfigReadsAll(t *testing.T) {
	t.Parallel()
	cfg, ds := content.LoadConfig("broadside.yaml", []byte(`version: 1
timezone: Europe/Berlin
posts: [posts, /news/]
ledger: {branch: ledger/main, id: 0123456789abcdef0123456789abcdef, signer: `+testSigner+` name}
age: {recipients: [`+testAge+`, `+testSigner+`]}
publish_within: 2d
heartbeat_url: https://ping.example/abc
media: {roots: [/static, /], fit: none, alt: warn}
destinations:
  fosstodon:
    provider: mastodon
    server: https://fosstodon.org/
    account: "@me@fosstodon.org"
    target: mastodon:fosstodon.org:1
    settings: {visibility: public, instance_note: x, poll: {options: [a, b]}, sensitive:}
    limits: {text: 1000, unit: code points, mime: [image/png], source: instance, date: 2026-11-01}
    disable: [find, key]
  local:
    provider: mastodon
    server: http://127.0.0.1:3000/sub
    allow_private: true
    target: mastodon:127.0.0.1:3000:7
  bluesky:
    provider: bluesky
    target: bluesky:bsky.social:did:plc:abc
groups: {fedi: [fosstodon, local, fosstodon], empty-ish: [bluesky]}
people:
  alice: {bluesky: "@alice.dev", fedi: alice@hachyderm.io, local: alice@local.example}
  Bob_2:
`), testProviders())
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	if cfg.Location == nil || cfg.Location.String() != "Europe/Berlin" || cfg.PublishWithin != 48*time.Hour ||
		cfg.HeartbeatURL != "https://ping.example/abc" || len(cfg.Hash) != 64 || cfg.Path != "broadside.yaml" ||
		cfg.Ledger.Branch != "ledger/main" || cfg.Ledger.Signer != testSigner+" name" || len(cfg.Recipients) != 2 {
		t.Errorf("%+v", cfg)
	}
	if diff := cmp.Diff([]string{"posts", "news"}, cfg.Posts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(pipeline.MediaConfig{Roots: []string{"/static", "/"}, Fit: "none", Alt: "warn"}, cfg.Media); diff != "" {
		t.Error(diff)
	}
	want := []pipeline.Destination{
		{Name: "bluesky", Provider: "bluesky", Target: "bluesky:bsky.social:did:plc:abc", Settings: map[string]any{}, Pos: pipeline.Pos{Line: 23, Column: 3}},
		{
			Name: "fosstodon", Provider: "mastodon", Server: "https://fosstodon.org", Account: "@me@fosstodon.org", Target: "mastodon:fosstodon.org:1",
			Settings: map[string]any{"visibility": "public", "instance_note": "x", "poll": map[string]any{"options": []any{"a", "b"}}},
			Limits:   &providers.Limits{Text: 1000, Unit: "code points", MIME: []string{"image/png"}, Source: "instance", Date: "2026-11-01"},
			Disable:  []providers.Ability{"find", "key"}, Pos: pipeline.Pos{Line: 10, Column: 3},
		},
		{
			Name: "local", Provider: "mastodon", Server: "http://127.0.0.1:3000/sub", Private: true, Target: "mastodon:127.0.0.1:3000:7",
			Settings: map[string]any{}, Pos: pipeline.Pos{Line: 18, Column: 3},
		},
	}
	if diff := cmp.Diff(want, cfg.Destinations); diff != "" {
		t.Errorf("destinations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"fedi": {"fosstodon", "local"}, "empty-ish": {"bluesky"}}, cfg.Groups); diff != "" {
		t.Error(diff)
	}
	people := map[string]map[string]string{
		"alice": {"bluesky": "alice.dev", "fosstodon": "alice@hachyderm.io", "local": "alice@local.example"}, "Bob_2": {},
	}
	if diff := cmp.Diff(people, cfg.People); diff != "" {
		t.Error(diff)
	}
}

func TestLoadConfigHasDefaults(t *testing.T) {
	t.Parallel()
	cfg, ds := content.LoadConfig("broadside.yaml", []byte("version: 1\ntimezone: UTC\nheartbeat_url: \"\"\nledger:\n"), nil)
	if len(ds) > 0 || cfg == nil {
		t.Fatal(ds)
	}
	if cfg.Ledger.Branch != pipeline.DefaultLedgerBranch || cfg.PublishWithin != 24*time.Hour || cfg.Media.Alt != "required" ||
		cfg.Media.Fit != "auto" || len(cfg.Posts) != 1 || cfg.Posts[0] != "posts" || cfg.Media.Roots[0] != "/" {
		t.Errorf("%+v", cfg)
	}
}

func TestLoadConfigReportsWhereItStands(t *testing.T) {
	t.Parallel()
	const head = "version: 1\ntimezone: UTC\n" // what follows begins at line 3
	dest := func(lines string) string { return head + "destinations:\n  a:\n" + lines }
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"nothing":             {"", []string{"missing_key 1:1", "missing_key 1:1"}},
		"a list":              {"- a\n", []string{"wrong_type 1:1"}},
		"bad syntax":          {"version: [1\n", []string{"yaml_syntax 1:10"}},
		"CRLF":                {strings.ReplaceAll(head+"colour: x\n", "\n", "\r\n"), []string{"unknown_key 3:1"}},
		"two documents":       {head + "---\nversion: 1\n", []string{"yaml_unsafe 4:1"}},
		"an anchor":           {head + "posts: &a [x]\n", []string{"yaml_unsafe 3:8"}},
		"a duplicate key":     {head + "version: 1\n", []string{"duplicate_key 3:1"}},
		"an unknown key":      {head + "destination:\n", []string{"unknown_key 3:1"}},
		"another version":     {"version: 2\ntimezone: UTC\n", []string{"unknown_version 1:10"}},
		"no version":          {"version: one\ntimezone: UTC\n", []string{"wrong_type 1:10"}},
		"an unknown zone":     {"version: 1\ntimezone: Europe/Berln\n", []string{"unknown_zone 2:11"}},
		"a local zone":        {"version: 1\ntimezone: Local\n", []string{"unknown_zone 2:11"}},
		"an empty zone":       {"version: 1\ntimezone:\n", []string{"wrong_type 2:1"}},
		"no list of posts":    {head + "posts: posts\n", []string{"wrong_type 3:8"}},
		"an empty list":       {head + "posts: []\n", []string{"bad_value 3:8"}},
		"a format":            {head + "posts:\n  - posts\n  - {path: content, format: hugo}\n", []string{"unsupported 5:5"}},
		"outside":             {head + "posts: [../x]\n", []string{"bad_folder 3:9"}},
		"everything":          {head + "posts: [/]\n", []string{"bad_folder 3:9"}},
		"overlapping folders": {head + "posts: [posts/a, posts]\n", []string{"bad_folder 3:18"}},
		"the ledger": {
			head + "ledger:\n  branch: a..b\n  id: 123\n  signer: ssh-rsa AAAA\n  name: x\n",
			[]string{"bad_value 4:11", "bad_value 5:7", "bad_key 6:11", "unknown_key 7:3"},
		},
		"a branch that is locked": {head + "ledger: {branch: a.lock}\n", []string{"bad_value 3:18"}},
		"recipients": {
			head + "age:\n  recipients:\n    - age1x\n    - " + testAge + "\n    - " + testAge + "\n    - ssh-ed25519 AAAA\n",
			[]string{"bad_key 5:7", "bad_key 7:7", "bad_key 8:7"},
		},
		"no duration":          {head + "publish_within: 1 day\n", []string{"bad_duration 3:17"}},
		"no https":             {head + "heartbeat_url: http://x.example\n", []string{"bad_url 3:16"}},
		"media":                {head + "media: {roots: [static], fit: yes, alt: never}\n", []string{"bad_folder 3:17", "bad_value 3:31", "bad_value 3:41"}},
		"no map":               {head + "media: [x]\n", []string{"wrong_type 3:8"}},
		"no destinations":      {head + "destinations: [a]\n", []string{"wrong_type 3:15"}},
		"named ledger":         {head + "destinations:\n  ledger: {provider: bluesky}\n", []string{"bad_name 4:3"}},
		"bad names":            {head + "destinations:\n  A: {provider: bluesky}\n  -b: {provider: bluesky}\n  a_b: {provider: bluesky}\n", []string{"bad_name 4:3", "bad_name 5:3", "bad_name 6:3"}},
		"no provider":          {dest("    server: https://x.example\n"), []string{"missing_key 4:3"}},
		"an unknown provider":  {dest("    provider: blueksy\n"), []string{"unknown_provider 5:15"}},
		"an empty destination": {head + "destinations:\n  a:\n", []string{"wrong_type 4:3"}},
		"no target":            {dest("    provider: bluesky\n"), []string{"no_target 4:3 warning"}},
		"a bad target":         {dest("    provider: bluesky\n    target: did:plc\n"), []string{"bad_target 6:13"}},
		"another's target":     {dest("    provider: bluesky\n    target: mastodon:x.example:1\n"), []string{"bad_target 6:13"}},
		"one target twice": {
			dest("    provider: bluesky\n    target: bluesky:x.example:1\n") + "  b:\n    provider: bluesky\n    target: bluesky:x.example:1\n",
			[]string{"same_target 7:3"},
		},
		"no server":                     {dest("    provider: mastodon\n    target: mastodon:x.example:1\n"), []string{"bad_server 4:3"}},
		"a needless server":             {dest("    provider: hook\n    target: hook::1\n    server: https://x.example\n"), []string{"bad_server 7:5"}},
		"a name for a URL":              {dest("    provider: mastodon\n    target: mastodon:x.example:1\n    server: x.example\n"), []string{"bad_server 7:13"}},
		"http":                          {dest("    provider: mastodon\n    target: mastodon:x.example:1\n    server: http://x.example\n"), []string{"bad_server 7:13"}},
		"a password":                    {dest("    provider: mastodon\n    target: mastodon:x.example:1\n    server: https://a:b@x.example\n"), []string{"bad_server 7:13"}},
		"a query":                       {dest("    provider: mastodon\n    target: mastodon:x.example:1\n    server: https://x.example/?a\n"), []string{"bad_server 7:13"}},
		"a file":                        {dest("    provider: mastodon\n    target: mastodon:x.example:1\n    server: file:///etc/passwd\n"), []string{"bad_server 7:13"}},
		"later keys":                    {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    slots: [\"Mon 09:00\"]\n    spacing: 10m\n    on_edit: update\n"), []string{"unsupported 7:5", "unsupported 8:5", "unsupported 9:5"}},
		"an unknown key below":          {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    acount: x\n"), []string{"unknown_key 7:5"}},
		"an unknown setting":            {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    settings: {visibility: public}\n"), []string{"unknown_key 7:16"}},
		"no settings at all":            {dest("    provider: hook\n    target: hook::1\n    settings: {nothing: 1}\n"), []string{"unknown_key 7:16"}},
		"a bad setting":                 {dest("    provider: blog\n    server: https://x.example\n    target: blog:x.example:1\n    settings: {visibility: hidden}\n"), []string{"bad_value 8:28"}},
		"limits":                        {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    limits: {texts: 5}\n"), []string{"unknown_key 7:14"}},
		"bad limits":                    {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    limits: {text: many}\n"), []string{"wrong_type 7:5"}},
		"negative limits":               {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    limits: {text: -1}\n"), []string{"bad_value 7:5"}},
		"an ability":                    {dest("    provider: bluesky\n    target: bluesky:x.example:1\n    disable: [fnd]\n"), []string{"unknown_ability 7:15"}},
		"a group that is a destination": {dest("    provider: bluesky\n    target: bluesky:x.example:1\n") + "groups: {a: [a]}\n", []string{"name_clash 7:10"}},
		"a group of nobody":             {head + "groups: {g: []}\n", []string{"bad_value 3:10"}},
		"an unknown member":             {dest("    provider: bluesky\n    target: bluesky:x.example:1\n") + "groups: {g: [b]}\n", []string{"unknown_destination 7:14"}},
		"a group in a group":            {dest("    provider: bluesky\n    target: bluesky:x.example:1\n") + "groups: {g: [a], h: [g]}\n", []string{"unknown_destination 7:22"}},
		"a bad group":                   {head + "groups: {G: [a]}\n", []string{"bad_name 3:10"}},
		"people":                        {head + "people: {\"a b\": {}, c: {x: y}, d: z}\n", []string{"bad_name 3:10", "unknown_destination 3:25", "wrong_type 3:35"}},
		"a bad handle":                  {dest("    provider: bluesky\n    target: bluesky:x.example:1\n") + "people: {c: {a: \"a b\"}}\n", []string{"bad_handle 7:17"}},
	} {
		cfg, ds := content.LoadConfig("broadside.yaml", []byte(c.file), testProviders())
		if diff := cmp.Diff(append([]string{}, c.want...), said(ds)); diff != "" {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, ds)
		}
		if (cfg == nil) != pipeline.HasErrors(ds) {
			t.Errorf("%s: an invalid configuration must stop everything", name)
		}
	}
}

func TestHintsNameTheNearestWord(t *testing.T) {
	t.Parallel()
	_, ds := content.LoadConfig("broadside.yaml", []byte("version: 1\ntimezone: europe/berlin\ndestnations: {}\n"), nil)
	_, more := parse(t, "", "::: onlly blusky\nx\n:::\n\n@{alcie}\n")
	var got []string
	for _, d := range append(ds, more...) {
		got = append(got, d.Hint)
	}
	want := []string{"did you mean Europe/Berlin?", "did you mean destinations?", "did you mean only?", "did you mean alice?"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
