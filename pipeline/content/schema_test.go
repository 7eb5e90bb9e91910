package content_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/schemas"
)

func compiled(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decoded reads YAML as an editor does before it looks at the schema.
func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchemasAgreeWithTheParser holds front matter against the schema and the parser: what one refuses for its shape, the
// other refuses too.
func TestSchemasAgreeWithTheParser(t *testing.T) {
	t.Parallel()
	cfg, infos := testConfig(t)
	made, err := content.SchemaFor(testProviders(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := compiled(t, made.Post)
	shape := map[string]bool{
		"wrong_type": true, "unknown_key": true, "bad_value": true, "schema": true, "unsupported": true, "missing_key": true,
		"unknown_destination": true, "no_destinations": true, "setting_not_in_post": true, "bad_id": true,
	}
	for _, front := range []string{
		"id: a\n", "id: 12\n", "id:\n", "id: A\n", "id: [a]\n", "id: true\n", "title: x\n", "title: 1.5\n", "title: [x]\n", "lang: de\n", "lang: [de]\n",
		"publish_at: now\ndestinations: [blog]\nid: a\n", "publish_at: {a: b}\n", "publish_by:\n", "thread: auto\n", "thread: false\n", "thread: true\n", "thread: x\n",
		"line_breaks: keep\n", "line_breaks: none\n", "allow_duplicate: true\n", "allow_duplicate: 1\n", "embargo: false\n", "embargo: x\n",
		"colour: x\n", "on_edit: update\n", "destinations: [bluesky]\n", "destinations: [all]\n", "destinations: []\n", "destinations: bluesky\n",
		"destinations: [x]\n", "destinations: {}\n", "destinations: {bluesky: }\n", "destinations: {x: }\n", "destinations: {bluesky: x}\n",
		"destinations: {bluesky: {labels: [porn]}}\n", "destinations: {bluesky: {labels: [x]}}\n", "destinations: {bluesky: {labels: porn}}\n",
		"destinations: {bluesky: {langs: [a, b, c, d]}}\n", "destinations: {bluesky: {visibility: public}}\n",
		"destinations: {fosstodon: {visibility: public}}\n", "destinations: {fosstodon: {visibility: }}\n",
		"destinations: {fosstodon: {content_warning: 123456789012345678901}}\n", "destinations: {fosstodon: {content_warning: abcdefghijklmnopqrstu}}\n",
		"destinations: {fosstodon: {sensitive: true}}\n", "destinations: {fosstodon: {sensitive: 1}}\n",
		"destinations: {fosstodon: {instance_note: x}}\n", "destinations: {fosstodon: {poll: {options: [a, b]}}}\n",
		"destinations: {fosstodon: {poll: {options: [a]}}}\n", "destinations: {fosstodon: {poll: x}}\n",
		"destinations: {blog: {priority: 3}}\n", "destinations: {blog: {priority: 30}}\n", "destinations: {blog: {priority: -1}}\n",
		"destinations: {blog: {tags: [a, 1]}}\n", "destinations: {blog: {text: x, title: y, skip: true, media: []}}\n",
		"destinations: {blog: {skip: x}}\n", "destinations: {blog: {text: [x]}}\n",
		"media: [a.png]\n", "media: a.png\n", "media: [{src: a.png, alt: x, part: 1, focus: [0, 1]}]\n", "media: [{alt: x}]\n", "media: [{src: a.png, part: 0}]\n",
		"media: [{src: a.png, focus: [0, 2]}]\n", "media: [{src: a.png, focus: x}]\n", "media: [{src: a.png, x: y}]\n", "media: [[a]]\n",
	} {
		invalid := s.Validate(decoded(t, front))
		_, ds := content.Parse("a.md", []byte("---\n"+front+"---\n"), cfg, infos)
		refused := ""
		for _, d := range ds {
			if shape[d.Code] {
				refused = d.Code
			}
		}
		// A long number is a text only to the parser.
		if strings.Contains(front, "content_warning: 1") && refused == "bad_value" {
			continue
		}
		if (invalid != nil) != (refused != "") {
			t.Errorf("%q: the parser says %q, the schema %v", front, refused, invalid)
		}
	}
}

func TestConfigSchemaAgreesWithTheParser(t *testing.T) {
	t.Parallel()
	made, err := content.SchemaFor(testProviders(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := compiled(t, made.Config)
	if err := s.Validate(decoded(t, testYAML)); err != nil {
		t.Error(err)
	}
	const head = "version: 1\ntimezone: UTC\n"
	for _, text := range []string{
		"timezone: UTC\n", head + "x: y\n", head + "posts: []\n", head + "destinations: {a: {}}\n", head + "destinations: {a: {provider: x}}\n",
		head + "destinations: {ledger: {provider: bluesky}}\n", head + "destinations: {A: {provider: bluesky}}\n",
		head + "destinations: {a: {provider: mastodon}}\n", head + "destinations: {a: {provider: hook, server: x}}\n",
		head + "destinations: {a: {provider: bluesky, settings: {x: y}}}\n", head + "destinations: {a: {provider: bluesky, slots: []}}\n",
		head + "destinations: {a: {provider: bluesky, limits: {texts: 1}}}\n", head + "destinations: {a: {provider: bluesky, disable: [x]}}\n",
		head + "destinations: {a: {provider: blog, server: x, settings: {visibility: x}}}\n", head + "groups: {a: []}\n", head + "publish_within: soon\n",
		head + "media: {fit: x}\n", head + "ledger: {id: x}\n", head + "people: {a: b}\n",
	} {
		_, ds := content.LoadConfig("broadside.yaml", []byte(text), testProviders())
		if err := s.Validate(decoded(t, text)); err == nil || !pipeline.HasErrors(ds) {
			t.Errorf("%q: the schema says %v, the parser %v", text, err, ds)
		}
	}
}

func TestSchemaForKnowsEachProvider(t *testing.T) {
	t.Parallel()
	first, err := content.SchemaFor(testProviders(), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := content.SchemaFor(testProviders(), nil)
	if err != nil || !bytes.Equal(first.Post, second.Post) || !bytes.Equal(first.Config, second.Config) {
		t.Errorf("the schemas differ from one time to the next: %v", err)
	}
	var post map[string]any
	if err := json.Unmarshal(first.Post, &post); err != nil {
		t.Fatal(err)
	}
	visibility := post["$defs"].(map[string]any)["override"].(map[string]any)["properties"].(map[string]any)["visibility"]
	want := map[string]any{"anyOf": []any{
		map[string]any{"enum": []any{"public", "draft"}},
		map[string]any{"enum": []any{"public", "unlisted", "private"}, "title": "Visibility", "description": "Who sees it.", "default": "public"},
	}}
	if diff := cmp.Diff(any(want), visibility); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	broken := testProviders()
	broken[1].Settings[3].Schema = "{"
	if _, err := content.SchemaFor(broken, nil); err == nil {
		t.Error("a broken schema was taken")
	}
}

// TestCommittedSchemasCompile looks at the files that editors load.
func TestCommittedSchemasCompile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"post", "config"} {
		raw, err := schemas.Files.ReadFile(name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		compiled(t, raw)
		var v struct {
			ID     string `json:"$id"`
			Schema string `json:"$schema"`
		}
		if err := json.Unmarshal(raw, &v); err != nil || v.ID != "https://broadside.pub/schemas/v1/"+name+".schema.json" ||
			v.Schema != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}
