package content

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// base holds the schemas without what providers add.
//
//go:embed schema/*.json
var base embed.FS

// Schemas are JSON Schemas (draft 2020-12) for editors and for validation, indented and with sorted keys.
type Schemas struct {
	Post   []byte // front matter of a post
	Config []byte // broadside.yaml
}

// SchemaFor makes the schemas for these providers. Under a configuration, which may be nil, the post's schema knows the
// names of destinations and the settings of each; without one it takes any name and the settings of all providers.
func SchemaFor(infos []providers.Info, cfg *pipeline.Config) (Schemas, error) {
	infos = slices.Clone(infos)
	slices.SortFunc(infos, func(a, b providers.Info) int { return strings.Compare(a.Name, b.Name) })
	post, err := postSchema(infos, cfg)
	if err != nil {
		return Schemas{}, err
	}
	config, err := configSchema(infos)
	if err != nil {
		return Schemas{}, err
	}
	var out Schemas
	if out.Post, err = indented(post); err != nil {
		return Schemas{}, err
	}
	out.Config, err = indented(config)
	return out, err
}

type object = map[string]any

func postSchema(infos []providers.Info, cfg *pipeline.Config) (object, error) {
	post, err := baseSchema("post")
	if err != nil {
		return nil, err
	}
	defs, override, err := overrideBase(post)
	if err != nil {
		return nil, err
	}
	if cfg == nil {
		return post, addSettings(override["properties"].(object), infos)
	}
	byName := map[string]providers.Info{}
	for _, i := range infos {
		byName[i.Name] = i
	}
	properties, names := object{}, []any{}
	add := func(name string, infos []providers.Info) error {
		o := clone(override).(object)
		if err := addSettings(o["properties"].(object), infos); err != nil {
			return err
		}
		properties[name], names = o, append(names, name)
		return nil
	}
	for _, d := range cfg.Destinations {
		if err := add(d.Name, []providers.Info{byName[d.Provider]}); err != nil {
			return nil, err
		}
	}
	for _, g := range slices.Sorted(maps.Keys(cfg.Groups)) {
		var members []providers.Info
		for _, m := range cfg.Groups[g] {
			if d, ok := cfg.Destination(m); ok {
				members = append(members, byName[d.Provider])
			}
		}
		if err := add(g, members); err != nil {
			return nil, err
		}
	}
	if len(names) > 0 {
		defs["name"] = object{"enum": names}
		defs["destinations"] = object{
			"type": "object", "minProperties": 1, "additionalProperties": false, "properties": properties,
		}
		delete(defs, "override")
		destinations := post["properties"].(object)["destinations"].(object)
		destinations["anyOf"].([]any)[1] = object{"$ref": "#/$defs/destinations"}
	}
	return post, nil
}

func overrideBase(post object) (defs, override object, err error) {
	defs, ok := post["$defs"].(object)
	if ok {
		override, ok = defs["override"].(object)
	}
	if ok {
		_, ok = override["properties"].(object)
	}
	if !ok {
		return nil, nil, errors.New("the post's base schema has no $defs.override")
	}
	return defs, override, nil
}

// addSettings adds what posts can set. Providers that give one name different meanings leave the choice open.
func addSettings(properties object, infos []providers.Info) error {
	variants := map[string][]any{}
	for _, i := range infos {
		for _, s := range i.Settings {
			if s.ConfigOnly {
				continue
			}
			v, err := settingSchema(s)
			if err != nil {
				return fmt.Errorf("provider %s: %w", i.Name, err)
			}
			if !slices.ContainsFunc(variants[s.Name], func(o any) bool { return reflect.DeepEqual(o, any(v)) }) {
				variants[s.Name] = append(variants[s.Name], v)
			}
		}
	}
	for name, v := range variants {
		properties[name] = v[0]
		if len(v) > 1 {
			properties[name] = object{"anyOf": v}
		}
	}
	return nil
}

func settingSchema(s providers.Setting) (object, error) {
	out := object{}
	switch s.Type {
	case providers.String:
		out["type"] = []any{"string", "number", "boolean"}
		if s.Max > 0 {
			out["maxLength"] = s.Max
		}
		if len(s.Enum) > 0 {
			delete(out, "type")
			out["enum"] = anys(s.Enum)
		}
	case providers.Boolean:
		out["type"] = "boolean"
	case providers.Integer:
		out["type"], out["minimum"] = "integer", 0
		if s.Max > 0 {
			out["maximum"] = s.Max
		}
	case providers.Strings:
		item := object{"type": []any{"string", "number", "boolean"}}
		if len(s.Enum) > 0 {
			item = object{"enum": anys(s.Enum)}
		}
		out["type"], out["items"] = "array", item
		if s.Max > 0 {
			out["maxItems"] = s.Max
		}
	case providers.Object:
		if s.Schema != "" {
			if err := json.Unmarshal([]byte(s.Schema), &out); err != nil {
				return nil, fmt.Errorf("schema of the setting %s: %w", s.Name, err)
			}
			delete(out, "$schema")
			delete(out, "$id")
		}
		out["type"] = "object"
	default:
		return nil, fmt.Errorf("the setting %s has the unknown type %q", s.Name, s.Type)
	}
	if s.Title != "" {
		out["title"] = s.Title
	}
	if s.Help != "" {
		out["description"] = s.Help
	}
	if s.Default != nil {
		out["default"] = s.Default
	}
	return out, nil
}

func configSchema(infos []providers.Info) (object, error) {
	config, err := baseSchema("config")
	if err != nil {
		return nil, err
	}
	destination, ok := at(config, "$defs", "destination").(object)
	properties, ok2 := at(config, "$defs", "destination", "properties").(object)
	items, ok3 := at(config, "$defs", "destination", "properties", "disable", "items").(object)
	limits, ok4 := at(config, "$defs", "destination", "properties", "limits").(object)
	if !ok || !ok2 || !ok3 || !ok4 {
		return nil, errors.New("the base schema of broadside.yaml has no $defs.destination")
	}
	items["enum"] = anys(abilities)
	limits["properties"], limits["additionalProperties"] = limitsSchema(), false
	var names, rules []any
	for _, i := range infos {
		names = append(names, i.Name)
		settings := object{}
		for _, s := range i.Settings {
			v, err := settingSchema(s)
			if err != nil {
				return nil, fmt.Errorf("provider %s: %w", i.Name, err)
			}
			// In broadside.yaml a key without a value is as if it were not there.
			settings[s.Name] = object{"anyOf": []any{v, object{"type": "null"}}}
		}
		then := object{"properties": object{"settings": object{"properties": settings, "additionalProperties": false}}}
		switch i.Server {
		case providers.ServerRequired:
			then["required"] = []any{"server"}
		case providers.ServerNone:
			then["properties"].(object)["server"] = object{"type": "null"}
		case providers.ServerOptional:
		}
		rules = append(rules, object{
			"if":   object{"required": []any{"provider"}, "properties": object{"provider": object{"const": i.Name}}},
			"then": then,
		})
	}
	if len(infos) > 0 {
		properties["provider"].(object)["enum"] = names
		destination["allOf"] = rules
	}
	return config, nil
}

// limitsSchema describes providers.Limits.
func limitsSchema() object {
	out := object{}
	t := reflect.TypeFor[providers.Limits]()
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch field.Type.Kind() {
		case reflect.String:
			out[name] = object{"type": []any{"string", "null"}}
		case reflect.Slice:
			out[name] = object{"type": []any{"array", "null"}, "items": object{"type": "string"}}
		default:
			out[name] = object{"type": []any{"integer", "null"}, "minimum": 0}
		}
	}
	return out
}

func baseSchema(name string) (object, error) {
	raw, err := base.ReadFile("schema/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("base schema: %w", err)
	}
	var out object
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("base schema %s: %w", name, err)
	}
	return out, nil
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return b.Bytes(), nil
}

func at(v any, path ...string) any {
	for _, p := range path {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[p]
	}
	return v
}

func clone(v any) any {
	switch t := v.(type) {
	case object:
		out := make(object, len(t))
		for k, e := range t {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
