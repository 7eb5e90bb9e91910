package content

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/broadside-pub/broadside/providers"
)

// compile prepares settings for checking.
func compile(list []providers.Setting) map[string]*setting {
	out := make(map[string]*setting, len(list))
	for _, s := range list {
		c := &setting{Setting: s}
		if s.Type == providers.Object && s.Schema != "" {
			c.schema, c.broken = compileSchema(s.Name, s.Schema)
		}
		out[s.Name] = c
	}
	return out
}

// knownSchemas keeps every schema that was compiled, by its name and text. There are few: they are made of what the binary
// holds, and compiling one takes longer than reading a repository whose posts are all settled.
var knownSchemas sync.Map

func compileSchema(name, text string) (*jsonschema.Schema, error) {
	key := [2]string{name, text}
	if s, ok := knownSchemas.Load(key); ok {
		return s.(*jsonschema.Schema), nil
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	at := "https://broadside.pub/schemas/setting/" + name + ".json"
	if err := c.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	s, err := c.Compile(at)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	knownSchemas.Store(key, s)
	return s, nil
}

// nothing loads no schema from anywhere.
type nothing struct{}

// Load implements jsonschema.URLLoader.
func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema %s is not built in", url)
}

// setting reads the value of a provider's setting: a string, bool, int, []string or, for an object, what plain returns.
func (y *yamlFile) setting(s *setting, e entry) (any, bool) {
	switch s.Type {
	case providers.String:
		return y.stringSetting(s, e)
	case providers.Boolean:
		return y.boolean(e)
	case providers.Integer:
		return y.integerSetting(s, e)
	case providers.Strings:
		return y.stringsSetting(s, e)
	case providers.Object:
		return y.objectSetting(s, e)
	}
	y.error(CodeSchema, e.at, fmt.Sprintf("the provider describes %s by the unknown type %q", e.key, s.Type), "report this")
	return nil, false
}

func (y *yamlFile) stringSetting(s *setting, e entry) (any, bool) {
	if len(s.Enum) > 0 {
		return y.word(e, s.Enum...)
	}
	v, ok := y.str(e)
	if !ok {
		return nil, false
	}
	if n := utf8.RuneCountInString(v); s.Max > 0 && n > s.Max {
		y.error(CodeBadValue, y.pos(e.value), fmt.Sprintf("%s has %d characters; the most is %d", e.key, n, s.Max), "")
		return nil, false
	}
	return v, true
}

func (y *yamlFile) integerSetting(s *setting, e entry) (any, bool) {
	n, ok := e.value.(*ast.IntegerNode)
	if !ok {
		y.wrongType(e, "a whole number", "")
		return nil, false
	}
	v, ok := integer(n)
	if !ok || v < 0 || (s.Max > 0 && v > s.Max) {
		limit := "not negative"
		if s.Max > 0 {
			limit = fmt.Sprintf("from 0 to %d", s.Max)
		}
		y.error(CodeBadValue, y.pos(e.value), fmt.Sprintf("%s is %s, but must be %s", e.key, n.Token.Value, limit), "")
		return nil, false
	}
	return v, true
}

func (y *yamlFile) stringsSetting(s *setting, e entry) (any, bool) {
	items, ok := y.items(e)
	if s.Max > 0 && len(items) > s.Max {
		y.error(CodeBadValue, y.pos(e.value), fmt.Sprintf("%s has %d items; the most is %d", e.key, len(items), s.Max), "")
		ok = false
	}
	out := make([]string, 0, len(items))
	for _, i := range items {
		var v string
		var good bool
		if len(s.Enum) > 0 {
			v, good = y.word(i, s.Enum...)
		} else {
			v, good = y.lineText(i)
		}
		ok = ok && good
		out = append(out, v)
	}
	return out, ok
}

func (y *yamlFile) objectSetting(s *setting, e entry) (any, bool) {
	if _, ok := y.entries(e.value); !ok {
		y.wrongType(e, "a map", "")
		return nil, false
	}
	if s.broken != nil {
		y.error(CodeSchema, e.at, s.broken.Error(), "report this")
		return nil, false
	}
	from := len(y.list)
	v := y.plain(e.value)
	if len(y.list) > from {
		return nil, false
	}
	if s.schema != nil && !y.conforms(s.schema, e, v) {
		return nil, false
	}
	return v, true
}

// conforms checks v, the plain value of e, against a schema and reports each place where it does not fit.
func (y *yamlFile) conforms(s *jsonschema.Schema, e entry, v any) bool {
	err := s.Validate(v)
	if err == nil {
		return true
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		y.error(CodeSchema, e.at, e.key+": "+err.Error(), "")
		return false
	}
	p := message.NewPrinter(language.English)
	for _, leaf := range leaves(invalid, nil) {
		where := strings.Join(append([]string{e.key}, leaf.InstanceLocation...), ".")
		y.error(CodeSchema, y.pos(y.child(e.value, leaf.InstanceLocation)), strings.Trim(where, ".")+": "+leaf.ErrorKind.LocalizedString(p), "")
	}
	return false
}

// leaves lists the errors that have no deeper cause, each place once.
func leaves(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		same := func(o *jsonschema.ValidationError) bool { return slices.Equal(o.InstanceLocation, e.InstanceLocation) }
		if slices.ContainsFunc(out, same) {
			return out
		}
		return append(out, e)
	}
	for _, c := range e.Causes {
		out = leaves(c, out)
	}
	return out
}
