package mastodon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// specsEnv names the folder of the networks' published descriptions; with requireEnv at 1 its absence is a failure.
const (
	specsEnv   = "BROADSIDE_SPECS"
	requireEnv = "BROADSIDE_REQUIRE_SPECS"
)

// description is the community's OpenAPI description of Mastodon's API, generated from the official documentation.
type description struct {
	whole    any
	paths    map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
}

// describe loads the description, or says how to get it.
func describe(t testing.TB) *description {
	t.Helper()
	d, err := loadDescription()
	if errors.Is(err, errNoSpecs) {
		text := fmt.Sprintf("%v: set %s to the folder that holds mastodon/mastodon-openapi.json", err, specsEnv)
		if os.Getenv(requireEnv) == "1" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var errNoSpecs = errors.New("the published description of Mastodon's API is not at hand")

const specURL = "https://mastodon.test/openapi.json"

// loadDescription reads the description once: it is large, and every schema of it is compiled once as well.
var loadDescription = sync.OnceValues(func() (*description, error) {
	dir := os.Getenv(specsEnv)
	if dir == "" {
		return nil, errNoSpecs
	}
	raw, err := os.ReadFile(filepath.Join(dir, "mastodon", "mastodon-openapi.json"))
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	paths, ok := dig(doc, "paths").(map[string]any)
	if !ok {
		return nil, errors.New("the description has no paths")
	}
	// It says that a status is exactly one of text, media and poll, and in the same place that media and polls may have a
	// text: at least one is what holds.
	body, ok := dig(doc, "paths", "/api/v1/statuses", "post", "requestBody", "content", "application/json", "schema").(map[string]any)
	if !ok || body["oneOf"] == nil {
		return nil, errors.New("the description of POST /api/v1/statuses has changed")
	}
	body["anyOf"] = body["oneOf"]
	delete(body, "oneOf")
	c := jsonschema.NewCompiler()
	if err := c.AddResource(specURL, doc); err != nil {
		return nil, err
	}
	return &description{whole: doc, paths: paths, compiler: c}, nil
})

func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// outside are the requests that belong to other standards.
func outside(path string) bool { return strings.Contains(path, "nodeinfo") }

// operation finds what the description says about a request.
func (d *description) operation(method, path string) (template string, op map[string]any, err error) {
	want := strings.Split(path, "/")
	for _, t := range slices.Sorted(maps.Keys(d.paths)) {
		have := strings.Split(t, "/")
		if len(have) != len(want) {
			continue
		}
		match := true
		for i := range have {
			match = match && (have[i] == want[i] || strings.HasPrefix(have[i], "{"))
		}
		if o, ok := dig(d.paths, t, strings.ToLower(method)).(map[string]any); match && ok {
			// A path without a parameter in the place of one is the better match.
			if template == "" || strings.Count(t, "{") < strings.Count(template, "{") {
				template, op = t, o
			}
		}
	}
	if op == nil {
		return "", nil, fmt.Errorf("%s %s is not in the description", method, path)
	}
	return template, op, nil
}

func pointer(keys ...string) string {
	var b strings.Builder
	b.WriteString(specURL + "#")
	for _, k := range keys {
		b.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(k)))
	}
	return b.String()
}

func (d *description) validate(at string, v any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.compiler.Compile(at)
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// checkRequest holds one request against the description.
func (d *description) checkRequest(r *http.Request, body []byte) error {
	if outside(r.URL.Path) {
		return nil
	}
	template, op, err := d.operation(r.Method, r.URL.Path)
	if err != nil {
		return err
	}
	name := r.Method + " " + template
	if err := d.checkParameters(op, r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	content, _ := dig(op, "requestBody", "content").(map[string]any)
	if len(body) == 0 {
		if dig(op, "requestBody", "required") == true {
			return fmt.Errorf("%s: the body is missing", name)
		}
		return nil
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if content[kind] == nil {
		return fmt.Errorf("%s takes no %s", name, kind)
	}
	var v any
	if kind == "multipart/form-data" {
		v, err = formValue(body, params["boundary"])
	} else {
		v, err = jsonschema.UnmarshalJSON(bytes.NewReader(body))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	at := pointer("paths", template, strings.ToLower(r.Method), "requestBody", "content", kind, "schema")
	if err := d.validate(at, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return d.checkNames(template, strings.ToLower(r.Method), kind, v)
}

// checkNames finds fields that the description does not know: it does not close its objects itself. It writes the one
// list of objects in a form's way, with brackets.
func (d *description) checkNames(template, method, kind string, v any) error {
	known := map[string]bool{}
	var gather func(any)
	gather = func(s any) {
		m, ok := s.(map[string]any)
		if !ok {
			return
		}
		if ref, ok := m["$ref"].(string); ok {
			gather(dig(d.whole, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
		}
		for k := range asMap(m["properties"]) {
			known[strings.TrimSuffix(k, "[]")] = true
		}
		for _, k := range []string{"allOf", "anyOf", "oneOf"} {
			if list, ok := m[k].([]any); ok {
				for _, e := range list {
					gather(e)
				}
			}
		}
	}
	gather(dig(d.paths, template, method, "requestBody", "content", kind, "schema"))
	for k := range asMap(v) {
		if !known[k] {
			return fmt.Errorf("%s %s: there is no field %q", method, template, k)
		}
	}
	return nil
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (d *description) checkParameters(op map[string]any, r *http.Request) error {
	query, headers := map[string]map[string]any{}, map[string]bool{}
	list, _ := op["parameters"].([]any)
	for _, e := range list {
		p := asMap(e)
		name, _ := p["name"].(string)
		switch p["in"] {
		case "query":
			query[name] = asMap(p["schema"])
		case "header":
			headers[http.CanonicalHeaderKey(name)] = true
		}
	}
	for name, values := range r.URL.Query() {
		schema, ok := query[name]
		if !ok {
			return fmt.Errorf("there is no parameter %q", name)
		}
		for _, v := range values {
			var err error
			switch schema["type"] {
			case "boolean":
				_, err = strconv.ParseBool(v)
			case "integer":
				_, err = strconv.Atoi(v)
			}
			if err != nil {
				return fmt.Errorf("the parameter %q is %q", name, v)
			}
		}
	}
	if r.Header.Get("Idempotency-Key") != "" && !headers["Idempotency-Key"] {
		return errors.New("an idempotency key where none is known")
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return errors.New("the token is missing")
	}
	return nil
}

// formValue reads a multipart form as the object that the description means by it.
func formValue(body []byte, boundary string) (any, error) {
	out := map[string]any{}
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		v, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" && part.Header.Get("Content-Type") == "" {
			return nil, fmt.Errorf("the file %q has no type", part.FormName())
		}
		out[part.FormName()] = string(v)
	}
}

// checkAnswer holds one successful answer against the description.
func (d *description) checkAnswer(r *http.Request, status int, body []byte) error {
	if outside(r.URL.Path) || status != http.StatusOK {
		return nil
	}
	template, op, err := d.operation(r.Method, r.URL.Path)
	if err != nil {
		return err
	}
	keys := []string{"paths", template, strings.ToLower(r.Method), "responses", "200", "content", "application/json", "schema"}
	if dig(op, keys[3:]...) == nil {
		return fmt.Errorf("%s %s: no answer is described", r.Method, template)
	}
	var v any
	if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
		return err
	}
	if err := d.validate(pointer(keys...), v); err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, template, err)
	}
	return nil
}

// checked passes requests on and gathers what does not follow the description.
type checked struct {
	d       *description
	next    http.RoundTripper
	answers bool

	mu      sync.Mutex
	seen    map[string]int // by operation
	trouble []error
}

// RoundTrip implements http.RoundTripper.
func (c *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	err := c.d.checkRequest(r, body)
	resp, failed := c.next.RoundTrip(r)
	if failed == nil && c.answers {
		answer, readErr := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(answer))
		err = errors.Join(err, readErr, c.d.checkAnswer(r, resp.StatusCode, answer))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if template, _, e := c.d.operation(r.Method, r.URL.Path); e == nil {
		if c.seen == nil {
			c.seen = map[string]int{}
		}
		c.seen[r.Method+" "+template]++
	}
	if err != nil {
		c.trouble = append(c.trouble, err)
	}
	return resp, failed
}
