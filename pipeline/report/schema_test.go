package report_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/schemas"
)

func schemaDocument(t *testing.T) map[string]any {
	t.Helper()
	data, err := schemas.Files.ReadFile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any)
}

func reportSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("report.json", schemaDocument(t)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// full is a result in which no field is empty.
func full() publish.Result {
	at := time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)
	return publish.Result{
		Run: "0123456789abcdef", Content: strings.Repeat("a", 40), Started: at, Ended: at.Add(time.Minute), Next: at.Add(time.Hour), Waiting: 1, Drafts: 2,
		Idle: true, Unrecorded: "broadside-results-1.json", DryRun: true,
		Outcomes: []publish.Outcome{{
			Post: "launch-1-0", Destination: "bluesky", Target: "bluesky:bsky.social:did:plc:x", State: pipeline.Published, Reason: pipeline.ReasonThrottled,
			Detail: "d", URLs: []string{"https://example.com/1"}, IDs: []string{"1"}, Due: at, SentAt: at, NotBefore: at,
		}},
		Troubles: []publish.Trouble{{
			Fingerprint: "f", Post: "launch-1-0", Destination: "bluesky", State: pipeline.Uncertain, Code: "ambiguous", Message: "m",
			Hint: "h", Person: true, Failed: true, Invalid: true, Settled: true, New: true,
		}},
		Diagnostics: []pipeline.Diagnostic{{
			Code: "too_long", Severity: pipeline.Error, File: "posts/a.md", Line: 1, Column: 1, Message: "m", Hint: "h",
			Post: "launch-1-0", Destination: "bluesky",
		}},
	}
}

func validate(t *testing.T, s *jsonschema.Schema, res publish.Result) error {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, res); err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestReportFitsItsSchema(t *testing.T) {
	t.Parallel()
	s := reportSchema(t)
	for name, res := range map[string]publish.Result{"full": full(), "empty": {}} {
		if err := validate(t, s, res); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, st := range pipeline.States() {
		res := full()
		res.Outcomes[0].State = st
		if err := validate(t, s, res); err != nil {
			t.Errorf("state %s: %v", st, err)
		}
	}
	wrong := full()
	wrong.Outcomes[0].State = "invented"
	if validate(t, s, wrong) == nil {
		t.Error("the schema takes any state")
	}
	wrong = full()
	wrong.Diagnostics[0].Line = -1
	if validate(t, s, wrong) == nil {
		t.Error("the schema takes any line")
	}
}

func TestReportSchemaHasEveryField(t *testing.T) {
	t.Parallel()
	doc := schemaDocument(t)
	defs := doc["$defs"].(map[string]any)
	for _, c := range []struct {
		of     any
		schema any
	}{{publish.Result{}, doc}, {publish.Outcome{}, defs["outcome"]}, {publish.Trouble{}, defs["trouble"]}, {pipeline.Diagnostic{}, defs["diagnostic"]}} {
		typ := reflect.TypeOf(c.of)
		schema := c.schema.(map[string]any)
		props := schema["properties"].(map[string]any)
		var required []string
		for _, r := range schema["required"].([]any) {
			required = append(required, r.(string))
		}
		var fields []string
		for field := range typ.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields = append(fields, name)
			if _, ok := props[name]; !ok {
				t.Errorf("%s.%s: the schema has no %q", typ, field.Name, name)
			}
			if must := options == ""; must != slices.Contains(required, name) {
				t.Errorf("%s.%s: always there: %t, required in the schema: %t", typ, field.Name, must, !must)
			}
		}
		for name := range props {
			if !slices.Contains(fields, name) {
				t.Errorf("%s: the schema has %q, which is no field", typ, name)
			}
		}
	}
}
