package content_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/content"
)

func TestParseReportsFrontMatterWhereItStands(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	const dests = "destinations: [bluesky]\n"
	const full = "id: a\npublish_at: 2026-12-03 09:00\n"
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"a full post":            {"---\n" + full + dests + "---\n\nHello\n", nil},
		"front matter only":      {"---\n" + full + dests + "---\n", nil},
		"no newline at the end":  {"---\n" + full + dests + "---", nil},
		"a body without newline": {"---\n" + full + dests + "---\nHello", nil},
		"CRLF and a byte order mark": {
			"\xef\xbb\xbf" + strings.ReplaceAll("---\n"+full+dests+"colour: red\n---\n\nHello <b>\n", "\n", "\r\n"),
			[]string{"unknown_key 5:1", "html_not_supported 8:7"},
		},
		"emoji and right-to-left count as characters": {
			"---\n" + full + dests + "---\n\n👩‍👩‍👧 שלום <b>x</b>\n", []string{"html_not_supported 7:12", "html_not_supported 7:16"},
		},
		"nothing":            {"", []string{"no_front_matter 1:1"}},
		"no front matter":    {"# Hello\n", []string{"no_front_matter 1:1"}},
		"never closed":       {"---\nid: a\n", []string{"unclosed_front_matter 1:1"}},
		"empty front matter": {"---\n---\nHello\n", nil}, // a draft
		"a list":             {"---\n- id\n---\n", []string{"wrong_type 2:1"}},
		"a text":             {"---\nhello\n---\n", []string{"wrong_type 2:1"}},
		"bad syntax":         {"---\nid: [a\n---\n", []string{"yaml_syntax 2:5"}},
		"a tab":              {"---\nid:\n\ta: b\n---\n", []string{"yaml_syntax 3:1"}},
		"two keys":           {"---\n" + full + dests + "id: b\n---\n", []string{"duplicate_key 5:1"}},
		"two keys below": {
			"---\n" + full + "destinations:\n  bluesky:\n    title: a\n    title: b\n---\n", []string{"duplicate_key 7:5 at bluesky"},
		},
		"an unknown key":           {"---\n" + full + dests + "titel: x\n---\n", []string{"unknown_key 5:1"}},
		"an anchor":                {"---\n" + full + "destinations: &a [bluesky]\n---\n", []string{"yaml_unsafe 4:15"}},
		"an alias":                 {"---\n" + full + dests + "title: *a\n---\n", []string{"yaml_unsafe 5:8"}},
		"a merge key":              {"---\n" + full + dests + "<<: {title: x}\n---\n", []string{"yaml_unsafe 5:1"}},
		"a tag":                    {"---\n" + full + dests + "title: !!str x\n---\n", []string{"yaml_unsafe 5:8"}},
		"a directive":              {"---\n%YAML 1.2\n---\n", []string{"yaml_unsafe 2:1"}},
		"a complex key":            {"---\n? [a]\n: b\n---\n", []string{"yaml_unsafe 2:1"}},
		"a document end":           {"---\n" + full + "...\n---\n", []string{"yaml_unsafe 4:1"}},
		"no id":                    {"---\npublish_at: 2026-12-03 09:00\n" + dests + "---\nHello\n", []string{"missing_id 1:1"}},
		"an empty id":              {"---\nid:\npublish_at: 2026-12-03 09:00\n" + dests + "---\nHello\n", []string{"missing_id 1:1"}},
		"a bad id":                 {"---\nid: Über Uns\npublish_at: now\n" + dests + "---\n", []string{"bad_id 2:5"}},
		"a long id":                {"---\nid: " + strings.Repeat("a", 65) + "\npublish_at: now\n" + dests + "---\n", []string{"bad_id 2:5"}},
		"a number for an id":       {"---\nid: 2026\npublish_at: now\n" + dests + "---\n", nil},
		"a list for an id":         {"---\nid: [a]\npublish_at: now\n" + dests + "---\n", []string{"wrong_type 2:5"}},
		"a draft":                  {"---\ntitle: later\n---\n", nil},
		"no destinations":          {"---\n" + full + "---\n", []string{"no_destinations 1:1"}},
		"empty destinations":       {"---\n" + full + "destinations: []\n---\n", []string{"no_destinations 4:1"}},
		"empty map":                {"---\n" + full + "destinations: {}\n---\n", []string{"no_destinations 4:1"}},
		"null destinations":        {"---\n" + full + "destinations:\n---\n", []string{"no_destinations 4:1"}},
		"an empty list in a draft": {"---\ndestinations: []\n---\n", []string{"no_destinations 2:1"}},
		"a text for destinations":  {"---\n" + full + "destinations: bluesky\n---\n", []string{"wrong_type 4:15"}},
		"an unknown destination": {
			"---\n" + full + "destinations: [bluesky, mastodn]\n---\n", []string{"unknown_destination 4:25"},
		},
		"an unknown one in a map": {"---\n" + full + "destinations:\n  bluesky:\n  x:\n---\n", []string{"unknown_destination 6:3"}},
		"an empty item":           {"---\n" + full + "destinations:\n  - bluesky\n  -\n---\n", []string{"wrong_type 6:5"}},
		"a bad time":              {"---\nid: a\npublish_at: tomorrow\n" + dests + "---\n", []string{"bad_time 3:13"}},
		"a date":                  {"---\nid: a\npublish_at: 2026-12-03\n" + dests + "---\n", []string{"date_without_time 3:13"}},
		"a gap":                   {"---\nid: a\npublish_at: 2026-03-29 02:30\n" + dests + "---\n", []string{"time_in_gap 3:13"}},
		"twice":                   {"---\nid: a\npublish_at: 2026-10-25 02:30\n" + dests + "---\n", []string{"ambiguous_time 3:13"}},
		"a slot":                  {"---\nid: a\npublish_at: next_slot\n" + dests + "---\n", []string{"unsupported 3:13"}},
		"a list for a time":       {"---\nid: a\npublish_at: [1]\n" + dests + "---\n", []string{"wrong_type 3:13"}},
		"by now":                  {"---\n" + full + "publish_by: now\n" + dests + "---\n", []string{"bad_time 4:13"}},
		"by before at":            {"---\n" + full + "publish_by: 2026-12-03 09:00\n" + dests + "---\n", []string{"publish_by_too_early 4:13 at bluesky"}},
		"by before at, said once": {
			"---\n" + full + "publish_by: 2026-12-03 08:00\ndestinations: [all]\n---\n", []string{"publish_by_too_early 4:13 at bluesky"},
		},
		"times in a draft": {
			"---\nid: a\ndestinations:\n  bluesky: {publish_at: 2026-12-03 09:00}\n---\n", []string{"draft_with_time 4:3 at bluesky"},
		},
		"a destination's deadline": {
			"---\n" + full + "destinations:\n  bluesky:\n    publish_by: 2026-12-03 08:00\n---\n",
			[]string{"publish_by_too_early 6:17 at bluesky"},
		},
		"the post's deadline at a destination": {
			"---\n" + full + "publish_by: 2026-12-03 10:00\ndestinations:\n  bluesky:\n    publish_at: 2026-12-03 11:00\n---\n",
			[]string{"publish_by_too_early 4:13 at bluesky"},
		},
		"a language":           {"---\n" + full + dests + "lang: de-AT\n---\n", nil},
		"Norwegian":            {"---\n" + full + dests + "lang: no\n---\n", nil},
		"no language":          {"---\n" + full + dests + "lang: German\n---\n", []string{"bad_language 5:7"}},
		"an underscore":        {"---\n" + full + dests + "lang: de_AT\n---\n", []string{"bad_language 5:7"}},
		"thread: auto":         {"---\n" + full + dests + "thread: auto\n---\n", nil},
		"thread: false":        {"---\n" + full + dests + "thread: false\n---\n", nil},
		"thread: true":         {"---\n" + full + dests + "thread: true\n---\n", []string{"bad_value 5:9"}},
		"line_breaks: jion":    {"---\n" + full + dests + "line_breaks: jion\n---\n", []string{"bad_value 5:14"}},
		"a word for a truth":   {"---\n" + full + dests + "embargo: yes\n---\n", []string{"wrong_type 5:10"}},
		"a number for a title": {"---\n" + full + dests + "title: 1.10\n---\n", nil},
		"two lines of title":   {"---\n" + full + dests + "title: |\n  a\n  b\n---\n", []string{"bad_value 5:8"}},
		"a control character":  {"---\n" + full + dests + "title: \"a\\u0007b\"\n---\n", []string{"control_character 5:8"}},
		"later keys": {
			"---\n" + full + dests + "on_edit: update\nretract: true\nafter: b\nevergreen: true\n---\n",
			[]string{"unsupported 5:1", "unsupported 6:1", "unsupported 7:1", "unsupported 8:1"},
		},
	} {
		p, ds := content.Parse("posts/a.md", []byte(c.file), cfg, infos)
		if diff := cmp.Diff(append([]string{}, c.want...), said(ds)); diff != "" {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, ds)
		}
		if p == nil {
			t.Fatalf("%s: no post", name)
		}
	}
}

func TestParseReportsOverridesAtTheirDestination(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	for name, c := range map[string]struct {
		destinations string // begins at line 5
		want         []string
	}{
		"settings": {"  fosstodon:\n    visibility: unlisted\n    sensitive: true\n    content_warning: x\n", nil},
		"all keys": {
			"  bluesky:\n    text: Hi\n    title: T\n    media: []\n    publish_at: 2026-12-03 10:00\n    publish_by: 2026-12-03 11:00\n    skip: true\n", nil,
		},
		"another's setting":            {"  bluesky:\n    visibility: unlisted\n", []string{"unknown_key 6:5 at bluesky"}},
		"a slip":                       {"  fosstodon:\n    visibilty: unlisted\n", []string{"unknown_key 6:5 at fosstodon"}},
		"a bad word":                   {"  fosstodon:\n    visibility: unlistd\n", []string{"bad_value 6:17 at fosstodon"}},
		"too long":                     {"  fosstodon:\n    content_warning: 123456789012345678901\n", []string{"bad_value 6:22 at fosstodon"}},
		"long, but not in characters":  {"  fosstodon:\n    content_warning: ääääääääääääääääääää\n", nil},
		"no truth":                     {"  fosstodon:\n    sensitive: 1\n", []string{"wrong_type 6:16 at fosstodon"}},
		"an empty setting":             {"  fosstodon:\n    sensitive:\n", []string{"wrong_type 6:5 at fosstodon"}},
		"a number":                     {"  blog:\n    priority: 3\n", nil},
		"too large":                    {"  blog:\n    priority: 10\n", []string{"bad_value 6:15 at blog"}},
		"negative":                     {"  blog:\n    priority: -1\n", []string{"bad_value 6:15 at blog"}},
		"no number":                    {"  blog:\n    priority: 1.5\n", []string{"wrong_type 6:15 at blog"}},
		"huge":                         {"  blog:\n    priority: 99999999999999999999999\n", []string{"wrong_type 6:15 at blog"}},
		"a list":                       {"  bluesky:\n    labels: [porn, nudity]\n", nil},
		"a bad item":                   {"  bluesky:\n    labels: [porn, nudty]\n", []string{"bad_value 6:20 at bluesky"}},
		"too many":                     {"  bluesky:\n    langs: [a, b, c, d]\n", []string{"bad_value 6:12 at bluesky"}},
		"no list":                      {"  bluesky:\n    labels: porn\n", []string{"wrong_type 6:13 at bluesky"}},
		"an object":                    {"  fosstodon:\n    poll: {options: [a, b], expires_in: 60}\n", nil},
		"an incomplete object":         {"  fosstodon:\n    poll:\n      expires_in: 60\n", []string{"schema 7:7 at fosstodon"}},
		"a wrong object":               {"  fosstodon:\n    poll:\n      options: [a, 1]\n", []string{"schema 7:20 at fosstodon"}},
		"an unknown key in it":         {"  fosstodon:\n    poll:\n      options: [a, b]\n      optoins: x\n", []string{"schema 7:7 at fosstodon"}},
		"no object":                    {"  fosstodon:\n    poll: yes\n", []string{"wrong_type 6:11 at fosstodon"}},
		"of the config only":           {"  fosstodon:\n    instance_note: x\n", []string{"setting_not_in_post 6:5 at fosstodon"}},
		"later keys":                   {"  fosstodon:\n    on_edit: update\n", []string{"unsupported 6:5 at fosstodon"}},
		"no map":                       {"  fosstodon: unlisted\n", []string{"wrong_type 5:14 at fosstodon"}},
		"a group":                      {"  fedi:\n    visibility: unlisted\n", nil},
		"a group that lacks a setting": {"  all:\n    visibility: unlisted\n", []string{"unknown_key 6:5 at bluesky"}},
		"said once for a group":        {"  all:\n    title: [a]\n", []string{"wrong_type 6:12 at bluesky"}},
		"two groups":                   {"  all:\n    title: a\n  social:\n    title: b\n", []string{"conflicting_override 8:5 at bluesky", "conflicting_override 8:5 at fosstodon"}},
		"one's own over a group":       {"  all:\n    title: a\n  social:\n    skip: true\n  bluesky:\n    title: b\n", nil},
		"a text":                       {"  bluesky:\n    text: |\n\n      Hello <b>\n", []string{"html_not_supported 8:13 at bluesky"}},
		"a folded text":                {"  bluesky:\n    text: >\n      Hello <b>\n", []string{"html_not_supported 6:11 at bluesky"}},
		"a quoted text":                {"  bluesky:\n    text: \"Hello <b>\"\n", []string{"html_not_supported 6:11 at bluesky"}},
		"a block in a text":            {"  bluesky:\n    text: |\n      ::: only fosstodon\n      x\n      :::\n", []string{"block_misplaced 7:7 at bluesky"}},
	} {
		file := "---\nid: a\npublish_at: 2026-12-03 09:00\ndestinations:\n" + c.destinations + "---\n\nHello\n"
		p, ds := content.Parse("posts/a.md", []byte(file), cfg, infos)
		if diff := cmp.Diff(append([]string{}, c.want...), said(ds)); diff != "" {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, ds)
		}
		if p.Errors {
			t.Errorf("%s: an error at one destination stops the post", name)
		}
		for _, d := range p.Destinations {
			stopped := false
			for _, s := range c.want {
				stopped = stopped || strings.HasSuffix(s, " at "+d.Name)
			}
			// What is wrong with a group is said once, and stops each member.
			if d.Errors != stopped && name != "said once for a group" {
				t.Errorf("%s: %s.Errors is %v", name, d.Name, d.Errors)
			}
		}
	}
}

func TestParseKeepsWhatTheAuthorWrote(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	p, ds := content.Parse("posts/a.md", []byte(`---
id: launch-1-0
title: 1.10
lang: pt-BR
publish_at: 2026-12-03 09:00
allow_duplicate: true
embargo: true
thread: auto
line_breaks: join
media:
  - /media/a.png
  - src: b.mp4
    alt: "  A film  "
    part: 2
    focus: [0.5, -1]
destinations:
  fosstodon:
    visibility: unlisted
    poll: {options: [a, b], expires_in: 60}
  blog:
    priority: 3
    tags: [one, 2]
  bluesky:
---
`), cfg, infos)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	type dest struct {
		Name     string
		Settings map[string]any
	}
	got := []dest{}
	for _, d := range p.Destinations {
		got = append(got, dest{d.Name, d.Settings})
	}
	want := []dest{
		{"blog", map[string]any{"priority": 3, "tags": []string{"one", "2"}}},
		{"bluesky", nil},
		{"fosstodon", map[string]any{
			"visibility": "unlisted", "poll": map[string]any{"options": []any{"a", "b"}, "expires_in": 60},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("destinations (-want +got):\n%s", diff)
	}
	if p.ID != "launch-1-0" || p.Title != "1.10" || p.Lang != "pt-BR" || !p.AllowDuplicate || !p.Embargo || p.Thread != "auto" || p.LineBreaks != "join" {
		t.Errorf("%+v", p)
	}
	if len(p.Media) != 2 || p.Media[0].HasAlt || p.Media[0].Path != "media/a.png" || p.Media[1].Path != "posts/b.mp4" ||
		p.Media[1].Alt != "A film" || p.Media[1].Part != 2 || *p.Media[1].Focus != [2]float64{0.5, -1} {
		t.Errorf("media: %+v", p.Media)
	}
	if p.IDPos.Line != 2 || p.Destinations[2].SettingPos["visibility"].Line != 18 || p.PublishAt.Pos.Column != 13 {
		t.Errorf("positions: %+v", p)
	}
	// The name that git gives a file with these bytes: git hash-object --stdin < /dev/null, and of "hello\n".
	for data, sum := range map[string]string{
		"": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "hello\n": "ce013625030ba8dba906f756967f9e9ca394464a",
	} {
		if p, _ := content.Parse("a.md", []byte(data), cfg, infos); p.Sum != sum {
			t.Errorf("%q has the sum %s, want %s", data, p.Sum, sum)
		}
	}
}

func TestParseBoundsHostileFiles(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	const head = "---\nid: a\npublish_at: now\ndestinations: [bluesky]\n---\n\n"
	bomb := "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n---\n"
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"1 MB of text":         {head + strings.Repeat("A line of some forty characters, and more.\n\n", 1<<20/45), nil},
		"one line of 1 MB":     {head + strings.Repeat("word ", 1<<20/5-20), nil},
		"1 MB of line breaks":  {head + strings.Repeat("a\n", 1<<19-50), []string{"too_complex 6:1"}},
		"more than 1 MB":       {head + strings.Repeat("a", 1<<20), []string{"post_too_large 0:0"}},
		"NUL":                  {head + "a\x00b\n", []string{"control_character 7:2"}},
		"an escape sequence":   {head + "\x1b[31mred\n", []string{"control_character 7:1"}},
		"invalid UTF-8":        {head + "aä\xff\n", []string{"invalid_utf8 7:3"}},
		"UTF-16":               {"\xff\xfe-\x00-\x00-\x00", []string{"invalid_utf8 1:1"}},
		"an alias bomb":        {bomb, []string{"yaml_unsafe 2:4"}},
		"deep flow":            {"---\na: " + strings.Repeat("[", 10000) + "\n---\n", []string{"yaml_too_deep 2:28"}},
		"deep maps":            {"---\n" + strings.Repeat("{a: ", 10000) + "\n---\n", []string{"yaml_too_deep 2:97"}},
		"deep lists":           {"---\n" + strings.Repeat("- ", 10000) + "\n---\n", []string{"yaml_too_deep 2:49"}},
		"much front matter":    {"---\ntitle: " + strings.Repeat("a", 1<<16) + "\n---\n", []string{"yaml_too_large 2:1"}},
		"many lines of it":     {"---\n" + strings.Repeat("#\n", 4001) + "---\n", []string{"yaml_too_large 2:1"}},
		"deep quotes":          {head + strings.Repeat("> ", 100000) + "a\n", []string{"too_deep 7:1"}},
		"deep lists on a line": {head + strings.Repeat("- ", 100000) + "a\n", []string{"too_deep 7:1"}},
		"open brackets":        {head + strings.Repeat("[", 100000) + "\n", []string{"too_complex 7:1"}},
		"open links":           {head + strings.Repeat("[a](", 100000) + "\n", []string{"too_complex 7:1"}},
		"open emphasis":        {head + "x\n\n" + strings.Repeat("*a_ ", 100000) + "\n", []string{"too_complex 9:1"}},
		"in a heading":         {head + "# " + strings.Repeat("*a_ ", 100000) + "\n", []string{"too_complex 7:1"}},
		"open tags":            {head + strings.Repeat("<a b='", 100000) + "\n", []string{"too_complex 7:1"}},
		"people without end":   {head + strings.Repeat("@{a", 200000) + "\n", nil},
		"colons":               {head + strings.Repeat(":::\n", 3), []string{"block_not_open 7:1", "block_not_open 8:1", "block_not_open 9:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ds := content.Parse("posts/a.md", []byte(c.file), cfg, infos)
			if diff := cmp.Diff(append([]string{}, c.want...), said(ds)); diff != "" {
				t.Errorf("(-want +got):\n%.2000s", diff)
			}
		})
	}
	// As many paragraphs as fit, each just under the bound of one, are refused by the bound on their sum.
	_, ds := content.Parse("a.md", []byte(head+strings.Repeat(strings.Repeat("[a](", 2000)+"\n\n", 60)), cfg, infos)
	if len(ds) == 0 || ds[0].Code != "too_complex" || ds[0].Line != 19 {
		t.Errorf("%v", said(ds))
	}
}
