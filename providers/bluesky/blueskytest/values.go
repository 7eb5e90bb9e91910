package blueskytest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// check checks one value against s, which stands in the document in. Unknown fields are errors here: the language
// allows them, and what we send has none.
func (l *Lexicons) check(s *schema, v any, in, path string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
	}
	switch s.Type {
	case "unknown":
		if _, ok := v.(map[string]any); !ok {
			return fail("no object")
		}
		return nil
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fail("no boolean")
		}
		return nil
	case "integer":
		n, ok := v.(float64)
		if !ok || n != float64(int64(n)) || (s.Minimum != nil && n < *s.Minimum) || (s.Maximum != nil && n > *s.Maximum) {
			return fail("%v is no integer in bounds", v)
		}
		return nil
	case "string":
		return s.checkString(v, fail)
	case "array":
		list, ok := v.([]any)
		if !ok || (s.MaxLength != nil && len(list) > *s.MaxLength) || (s.MinLength != nil && len(list) < *s.MinLength) {
			return fail("no array within bounds")
		}
		for i, e := range list {
			if err := l.check(s.Items, e, in, fmt.Sprintf("%s/%d", path, i)); err != nil {
				return err
			}
		}
		return nil
	case "ref":
		d, err := l.def(s.Ref, in)
		if err != nil {
			return err
		}
		return l.check(d, v, home(s.Ref, in), path)
	case "union":
		m, _ := v.(map[string]any)
		name, _ := m["$type"].(string)
		for _, r := range s.Refs {
			full := r
			if strings.HasPrefix(r, "#") {
				full = in + r
			}
			if name == strings.TrimSuffix(full, "#main") {
				d, err := l.def(full, in)
				if err != nil {
					return err
				}
				return l.check(d, v, home(full, in), path)
			}
		}
		return fail("$type %q is none of %v", name, s.Refs)
	case "blob":
		return s.checkBlob(v, fail)
	case "object":
		return l.checkObject(s, v, in, path)
	}
	return fail("a schema of type %q is not understood", s.Type)
}

// home is the document that ref leads to from the document in.
func home(ref, in string) string {
	if nsid, _, _ := strings.Cut(ref, "#"); nsid != "" {
		return nsid
	}
	return in
}

func (l *Lexicons) checkObject(s *schema, v any, in, path string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: no object", path)
	}
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			return fmt.Errorf("%s: %s is missing", path, name)
		}
	}
	for name, e := range m {
		p := s.Properties[name]
		switch {
		case name == "$type":
		case p == nil:
			return fmt.Errorf("%s: %s is unknown", path, name)
		case e == nil && slices.Contains(s.Nullable, name):
		default:
			if err := l.check(p, e, in, path+"/"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *schema) checkString(v any, fail func(string, ...any) error) error {
	str, ok := v.(string)
	switch {
	case !ok:
		return fail("no string")
	case s.MaxLength != nil && len(str) > *s.MaxLength:
		return fail("%d bytes, most %d", len(str), *s.MaxLength)
	case s.MinLength != nil && len(str) < *s.MinLength:
		return fail("%d bytes, least %d", len(str), *s.MinLength)
	case s.MaxGraphemes != nil && count(str) > *s.MaxGraphemes:
		return fail("%d graphemes, most %d", count(str), *s.MaxGraphemes)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, str):
		return fail("%q is none of %v", str, s.Enum)
	}
	check := formats[s.Format]
	if s.Format != "" && check == nil {
		return fail("the format %q is not understood", s.Format)
	}
	if check != nil && !check(str) {
		return fail("%q is no %s", str, s.Format)
	}
	return nil
}

var (
	handleForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	nsidForm   = regexp.MustCompile(`^[a-zA-Z]([a-zA-Z0-9-]{0,62})(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,62}))+\.[a-zA-Z][a-zA-Z0-9]{0,62}$`)
	keyForm    = regexp.MustCompile(`^[a-zA-Z0-9_~.:-]{1,512}$`)
	// An ISO time with a zone, as atproto.com/specs/lexicon has it.
	datetimeForm = regexp.MustCompile(`^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,20})?(Z|[+-][0-2]\d:[0-5]\d)$`)
)

var formats = map[string]func(string) bool{
	"at-identifier": func(s string) bool { return didForm.MatchString(s) || handleForm.MatchString(s) },
	"at-uri":        atForm.MatchString,
	"cid":           cidForm.MatchString,
	"datetime": func(s string) bool {
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil && datetimeForm.MatchString(s)
	},
	"did":        didForm.MatchString,
	"handle":     handleForm.MatchString,
	"language":   bcp47.MatchString,
	"nsid":       nsidForm.MatchString,
	"record-key": keyForm.MatchString,
	"tid":        tidForm.MatchString,
	"uri":        func(s string) bool { return len(s) <= 8<<10 && uriForm.MatchString(s) },
}

func (s *schema) checkBlob(v any, fail func(string, ...any) error) error {
	m, _ := v.(map[string]any)
	link, _ := m["ref"].(map[string]any)
	cid, _ := link["$link"].(string)
	mime, _ := m["mimeType"].(string)
	size, _ := m["size"].(float64)
	if m["$type"] != "blob" || !cidForm.MatchString(cid) || mime == "" || size < 1 || len(m) != 4 {
		return fail("no blob: %v", v)
	}
	if s.MaxSize > 0 && size > float64(s.MaxSize) {
		return fail("%v bytes, most %d", size, s.MaxSize)
	}
	for _, a := range s.Accept {
		if prefix, any := strings.CutSuffix(a, "*"); (any && strings.HasPrefix(mime, prefix)) || a == mime {
			return nil
		}
	}
	return fail("%s is none of %v", mime, s.Accept)
}
