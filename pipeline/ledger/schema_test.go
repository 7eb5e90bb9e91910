package ledger

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var schemaPath = filepath.Join("..", "..", "schemas", "ledger.schema.json")

// about says what each field is, for readers of the schema.
var about = map[string]string{
	"v": "Version of the format.", "kind": "What happened.", "at": "When, by the run's clock.",
	"run":  "The run's nonce, or person:<name> for a command.",
	"post": "Id of the post.", "target": "The place where it appears, provider:host:id.",
	"dest":   "The destination's name at that time, for people.",
	"ledger": "Id of this ledger.", "home_url": "The repository that it belongs to, without credentials.",
	"repo_id": "The forge's id of that repository.", "content_branch": "The branch whose posts are published.",
	"actor": "Who bound it.", "why": "Which command bound it.", "signer": "Public key that signs from here on.",
	"due": "Not to be published before.", "by": "Its first part is not to be published after.",
	"slot": "The slot that it takes.", "path": "The post's file.", "blob": "Git blob of that file.",
	"config": "SHA-256 of broadside.yaml.", "source": "Hash of what the author wants at this destination.",
	"step": "Name of a step that is not public.", "state": "What it came to.",
	"handle": "What the network gave for the step.", "expires": "When the handle expires.",
	"attempt": "Random id of the try.", "gen": "Rises when a person retries; part of the keys.",
	"lease_until": "Until when the run alone may act.", "content": "Commit of the content branch.",
	"rendition": "Hash of the encoded parts.", "parts": "Exactly what is sent.", "purpose": "What the try is for.",
	"evidence": "Why it may go out though it is late.", "login": "Which login of the credential.",
	"sent": "When these very bytes were first claimed.", "part": "Which part, from 0.", "id": "The network's id of it.",
	"url": "Where people see it.", "ref": "What a reply or a deletion needs beside the id.",
	"sent_at": "When, by the network's clock where it tells.", "by_whom": "Who knows it.",
	"reason": "Why, as a stable code.", "detail": "Why, for people.", "not_before": "Not to be claimed before.",
	"hold": "Id of the hold.", "scope": "What it covers.", "seq": "Which refresh of the login.",
	"file": "The refreshed credential in this very commit.", "digest": "SHA-256 of that file.",
	"next": "When something must be done next.", "finished": "Whether the run came to its end.",
	"told": "Troubles that were told and stand, by fingerprint.", "told_at": "When all that stood was last told.",
	"chain": "For runs that go on as another job.", "waiting": "How many deliveries wait.",
}

// makeSchema builds the schema of a line from the tables that the codec uses.
func makeSchema() map[string]any {
	text := func(f form) map[string]any {
		m := map[string]any{"type": "string", "minLength": 1, "maxLength": f.max}
		if f.pattern != "" {
			m["pattern"] = f.pattern
		}
		if f.enum != nil {
			m["enum"] = f.enum
		}
		return m
	}
	defs := map[string]any{
		"instant": map[string]any{
			"type": "string", "pattern": `^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z$`,
			"description": "UTC, to the millisecond.",
		},
		"count": map[string]any{"type": "integer", "minimum": 0, "maximum": maxCount},
		"part": map[string]any{
			"type": "object", "required": []string{"payload"}, "additionalProperties": false,
			"properties": map[string]any{
				"key":     map[string]any{"type": "string", "pattern": "^[!-~]{1,512}$", "description": "Makes repetition harmless where the network honours it."},
				"payload": map[string]any{"description": "The sealed part, as its provider encodes it."},
			},
		},
	}
	field := func(k Kind, name string) map[string]any {
		m := map[string]any{}
		i := eventTable.index[name]
		switch eventTable.fields[i].at(&Event{}).(type) {
		case *string:
			m = text(*kindMasks[k].forms[i])
		case *int:
			m["$ref"] = "#/$defs/count"
		case *bool:
			m["type"] = "boolean"
		case *time.Time:
			m["$ref"] = "#/$defs/instant"
		case *[]string:
			m = map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "minLength": 1, "maxLength": 128}}
		case *[]ClaimPart:
			m = map[string]any{"type": "array", "maxItems": 1000, "items": map[string]any{"$ref": "#/$defs/part"}}
		}
		m["description"] = about[name]
		return m
	}
	var kinds []any
	for _, k := range Kinds() {
		props, required := map[string]any{}, []string{}
		for _, f := range Fields(k) {
			p := field(k, f.Name)
			switch f.Name {
			case "kind":
				p = map[string]any{"const": string(k)}
			case "v":
				p = map[string]any{"const": FormatVersion}
			}
			props[f.Name] = p
			if f.Required {
				required = append(required, f.Name)
			}
		}
		slices.Sort(required)
		defs[string(k)] = map[string]any{
			"type": "object", "properties": props, "required": required, "additionalProperties": false,
		}
		kinds = append(kinds, map[string]any{"$ref": "#/$defs/" + string(k)})
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://broadside.pub/schemas/v1/ledger.schema.json",
		"title":   "broadside ledger event",
		"description": "One line of a file below events/ on the ledger branch. Written by broadside only; each line must also be " +
			"a legal move from what the lines before it led to (broadside ledger verify).",
		"$defs": defs, "oneOf": kinds,
	}
}

func TestSchemaFileIsThatOfTheTables(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(makeSchema()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(schemaPath, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(buf.String(), string(have)); d != "" {
		t.Errorf("schemas/ledger.schema.json is not that of the tables; run UPDATE_GOLDEN=1 go test ./pipeline/ledger -run SchemaFile\n%s", d)
	}
	for _, c := range eventTable.fields {
		if about[c.name] == "" {
			t.Errorf("the schema does not say what %s is", c.name)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("ledger.json", doc); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("ledger.json")
	if err != nil {
		t.Fatal(err)
	}
	return sch
}

func validates(t *testing.T, sch *jsonschema.Schema, line []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return sch.Validate(v)
}

func TestEveryEncodedEventValidates(t *testing.T) {
	t.Parallel()
	sch := compileSchema(t)
	w := newWalker(t, 5)
	for range 800 {
		w.step()
		if w.chance(5) {
			w.commit()
		}
	}
	w.commit()
	lines := 0
	for path, data := range w.tree {
		if _, ok := ParseEventPath(path); !ok {
			continue
		}
		for l := range bytes.Lines(data) {
			lines++
			if err := validates(t, sch, l); err != nil {
				t.Fatalf("%s: %v", l, err)
			}
		}
	}
	if lines < 100 {
		t.Errorf("only %d lines were checked", lines)
	}
	for _, k := range Kinds() {
		for _, e := range []Event{fullEvent(k), bareEvent(k)} {
			data, err := Encode([]Event{e})
			if err != nil {
				t.Fatal(err)
			}
			if err := validates(t, sch, data); err != nil {
				t.Errorf("%s: %v", data, err)
			}
		}
	}
}

// The schema and Decode refuse the same: a missing field, one of another kind, an unknown one.
func TestSchemaRefusesWhatDecodeRefuses(t *testing.T) {
	t.Parallel()
	sch := compileSchema(t)
	for _, k := range Kinds() {
		data, err := Encode([]Event{fullEvent(k)})
		if err != nil {
			t.Fatal(err)
		}
		var whole map[string]json.RawMessage
		if err := json.Unmarshal(data, &whole); err != nil {
			t.Fatal(err)
		}
		try := func(what string, change func(m map[string]json.RawMessage)) {
			m := maps.Clone(whole)
			change(m)
			line, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Decode(append(line, '\n'))
			if serr := validates(t, sch, line); (err == nil) != (serr == nil) {
				t.Errorf("%s %s: Decode says %v, the schema says %v", k, what, err, serr)
			}
		}
		for _, c := range eventTable.fields {
			try("without "+c.name, func(m map[string]json.RawMessage) { delete(m, c.name) })
			other, err := Encode([]Event{fullEvent(kindOf(c.name))})
			if err != nil {
				t.Fatal(err)
			}
			var from map[string]json.RawMessage
			if err := json.Unmarshal(other, &from); err != nil {
				t.Fatal(err)
			}
			if c.name != "kind" {
				try("with "+c.name, func(m map[string]json.RawMessage) { m[c.name] = from[c.name] })
			}
		}
		try("with an unknown field", func(m map[string]json.RawMessage) { m["zzz"] = json.RawMessage(`1`) })
	}
}

// kindOf returns a kind that has the field.
func kindOf(field string) Kind {
	for _, k := range Kinds() {
		for _, f := range Fields(k) {
			if f.Name == field {
				return k
			}
		}
	}
	panic(field)
}
