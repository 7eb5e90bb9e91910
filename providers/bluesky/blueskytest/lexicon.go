package blueskytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Lexicons checks values against the official descriptions of the network's methods and records. It may be used by
// several goroutines.
type Lexicons struct {
	dir string

	mu   sync.Mutex
	docs map[string]*lexiconDoc
}

type lexiconDoc struct {
	ID   string             `json:"id"`
	Defs map[string]*schema `json:"defs"`
}

// schema is any definition of the Lexicon language, as far as it is used by what we send.
type schema struct {
	Type         string             `json:"type"`
	Required     []string           `json:"required"`
	Nullable     []string           `json:"nullable"`
	Properties   map[string]*schema `json:"properties"`
	Items        *schema            `json:"items"`
	Ref          string             `json:"ref"`
	Refs         []string           `json:"refs"`
	Closed       bool               `json:"closed"`
	Format       string             `json:"format"`
	Enum         []string           `json:"enum"`
	MaxLength    *int               `json:"maxLength"`
	MinLength    *int               `json:"minLength"`
	MaxGraphemes *int               `json:"maxGraphemes"`
	Minimum      *float64           `json:"minimum"`
	Maximum      *float64           `json:"maximum"`
	Accept       []string           `json:"accept"`
	MaxSize      int                `json:"maxSize"`
	Key          string             `json:"key"`
	Record       *schema            `json:"record"`
	Parameters   *schema            `json:"parameters"`
	Input        *struct {
		Encoding string  `json:"encoding"`
		Schema   *schema `json:"schema"`
	} `json:"input"`
	Output *struct {
		Schema *schema `json:"schema"`
	} `json:"output"`
}

// The variables that say where the official descriptions are, and whether a test may do without.
const (
	SpecsEnv        = "BROADSIDE_SPECS"
	RequireSpecsEnv = "BROADSIDE_REQUIRE_SPECS"
)

// OfficialLexicons returns the lexicons in the folder bluesky/lexicons of BROADSIDE_SPECS. Without it the test is
// skipped, and fails where BROADSIDE_REQUIRE_SPECS is 1.
func OfficialLexicons(t testing.TB) *Lexicons {
	t.Helper()
	root := os.Getenv(SpecsEnv)
	if root == "" {
		text := SpecsEnv + " is not set: it names the folder that holds bluesky/lexicons, from github.com/bluesky-social/atproto"
		if os.Getenv(RequireSpecsEnv) == "1" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	l := &Lexicons{dir: filepath.Join(root, "bluesky", "lexicons"), docs: map[string]*lexiconDoc{}}
	if _, err := l.def("app.bsky.feed.post", ""); err != nil {
		t.Fatal(err)
	}
	return l
}

// def finds a definition: "nsid", "nsid#name", or "#name" within the document in.
func (l *Lexicons) def(ref, in string) (*schema, error) {
	nsid, name, _ := strings.Cut(ref, "#")
	if nsid == "" {
		nsid = in
	}
	if name == "" {
		name = "main"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	doc := l.docs[nsid]
	if doc == nil {
		raw, err := os.ReadFile(filepath.Join(l.dir, filepath.FromSlash(strings.ReplaceAll(nsid, ".", "/"))+".json"))
		if err != nil {
			return nil, err
		}
		doc = &lexiconDoc{}
		if err := json.Unmarshal(raw, doc); err != nil {
			return nil, fmt.Errorf("%s: %w", nsid, err)
		}
		if doc.ID != nsid {
			return nil, fmt.Errorf("the lexicon of %s is that of %q", nsid, doc.ID)
		}
		l.docs[nsid] = doc
	}
	d := doc.Defs[name]
	if d == nil {
		return nil, fmt.Errorf("%s has no definition %q", nsid, name)
	}
	return d, nil
}

// CheckRequest checks method, parameters, encoding and body of one request, and the record that it writes.
func (l *Lexicons) CheckRequest(r Request) error {
	d, err := l.def(r.NSID, "")
	if err != nil {
		return err
	}
	want := map[string]string{"query": http.MethodGet, "procedure": http.MethodPost}[d.Type]
	if r.Method != want {
		return fmt.Errorf("%s: %s, want %s", r.NSID, r.Method, want)
	}
	if err := l.params(d.Parameters, r.Query, r.NSID); err != nil {
		return fmt.Errorf("%s: parameters: %w", r.NSID, err)
	}
	if d.Input == nil {
		if len(r.Body) > 0 {
			return fmt.Errorf("%s: a body where none belongs", r.NSID)
		}
		return nil
	}
	ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if d.Input.Encoding != "*/*" && ct != d.Input.Encoding {
		return fmt.Errorf("%s: content type %q, want %s", r.NSID, ct, d.Input.Encoding)
	}
	if d.Input.Schema == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return fmt.Errorf("%s: %w", r.NSID, err)
	}
	if err := l.check(d.Input.Schema, v, r.NSID, "input"); err != nil {
		return fmt.Errorf("%s: %w", r.NSID, err)
	}
	m, _ := v.(map[string]any)
	if rec, ok := m["record"]; ok {
		return l.CheckRecord(m["collection"], m["rkey"], rec)
	}
	return nil
}

// CheckRecord checks a record against the lexicon of its collection.
func (l *Lexicons) CheckRecord(collection, rkey, value any) error {
	nsid, _ := collection.(string)
	d, err := l.def(nsid, "")
	if err != nil {
		return err
	}
	if d.Type != "record" {
		return fmt.Errorf("%s is no record", nsid)
	}
	if key, _ := rkey.(string); d.Key == "tid" && !tidForm.MatchString(key) {
		return fmt.Errorf("%s: the record key %q is no TID", nsid, rkey)
	}
	m, _ := value.(map[string]any)
	if m["$type"] != nsid {
		return fmt.Errorf("%s: $type is %v", nsid, m["$type"])
	}
	return l.check(d.Record, value, nsid, "record")
}

func (l *Lexicons) params(s *schema, q url.Values, nsid string) error {
	if s == nil {
		if len(q) > 0 {
			return errors.New("there are none")
		}
		return nil
	}
	for _, name := range s.Required {
		if !q.Has(name) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for name, values := range q {
		p := s.Properties[name]
		if p == nil {
			return fmt.Errorf("%s is unknown", name)
		}
		if p.Type != "string" { // numbers and lists travel as text, and only tests send them
			continue
		}
		if len(values) != 1 {
			return fmt.Errorf("%s is given %d times", name, len(values))
		}
		if err := l.check(p, values[0], nsid, name); err != nil {
			return err
		}
	}
	return nil
}
