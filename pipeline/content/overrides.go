package content

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/schedule"
)

func asTimeError(err error) (*schedule.Error, bool) {
	var e *schedule.Error
	ok := errors.As(err, &e)
	return e, ok
}

// named is one destination of the post while destinations are read.
type named struct {
	*pipeline.PostDestination
	// by tells which entry set each override: the group's name, or "" for the destination's own, which wins.
	by map[string]string
}

// readDestinations reads a list of names or a map from names to overrides. A name may be a group's.
func (f *frontMatter) readDestinations(e entry) {
	found := map[string]*named{}
	var ok bool
	if _, list := e.value.(*ast.SequenceNode); list {
		ok = f.destinationList(e, found)
	} else {
		ok = f.destinationMap(e, found)
	}
	if len(found) == 0 && ok {
		f.error(CodeNoDestinations, e.at, "destinations is empty", "name at least one: ["+f.parser.example()+"]")
		return
	}
	f.post.Destinations = make([]pipeline.PostDestination, 0, len(found))
	for _, d := range found {
		f.post.Destinations = append(f.post.Destinations, *d.PostDestination)
	}
	slices.SortFunc(f.post.Destinations, func(a, b pipeline.PostDestination) int { return strings.Compare(a.Name, b.Name) })
}

// expand returns the destinations that name means; a group is one that is not single.
func (f *frontMatter) expand(name string, at pipeline.Pos) (names []string, single, ok bool) {
	if _, ok := f.parser.dests[name]; ok {
		return []string{name}, true, true
	}
	if g, ok := f.parser.cfg.Groups[name]; ok {
		return g, false, true
	}
	f.parser.unknownDestination(f.report, at, name)
	return nil, false, false
}

func (f *frontMatter) destinationList(e entry, found map[string]*named) bool {
	items, ok := f.items(e)
	for _, i := range items {
		name, good := f.lineText(i)
		if !good {
			ok = false
			continue
		}
		names, _, good := f.expand(name, i.at)
		ok = ok && good
		for _, n := range names {
			f.destinationOf(found, n, i.at)
		}
	}
	return ok
}

func (f *frontMatter) destinationOf(found map[string]*named, name string, at pipeline.Pos) *named {
	d, ok := found[name]
	if !ok {
		d = &named{PostDestination: &pipeline.PostDestination{Name: name, Pos: at}, by: map[string]string{}}
		found[name] = d
	}
	return d
}

func (f *frontMatter) destinationMap(e entry, found map[string]*named) bool {
	if null(e.value) {
		return true
	}
	entries, ok := f.entries(e.value)
	if !ok {
		hint := ""
		if s, is := scalar(e.value); is {
			hint = "write [" + s + "]"
		}
		f.wrongType(e, "a list or a map", hint)
		return false
	}
	// A destination's own overrides come first: they win over those of a group, whatever the order in the file.
	var groups []entry
	for _, d := range entries {
		names, single, good := f.expand(d.key, d.at)
		ok = ok && good
		switch {
		case single:
			nd := f.destinationOf(found, names[0], d.at)
			nd.Pos = d.at
			f.overrides(nd, d, "")
		case good:
			groups = append(groups, d)
		}
	}
	for _, g := range groups {
		for i, n := range f.parser.cfg.Groups[g.key] {
			from := len(f.list)
			f.overrides(f.destinationOf(found, n, g.at), g, g.key)
			if i > 0 {
				f.once(from)
			}
		}
	}
	return ok
}

// once drops the diagnostics from index from on that only repeat an earlier one for another member of a group.
func (f *frontMatter) once(from int) {
	kept := f.list[:from]
	for _, d := range f.list[from:] {
		same := func(o pipeline.Diagnostic) bool {
			return o.Code == d.Code && o.Line == d.Line && o.Column == d.Column && o.Message == d.Message
		}
		if !slices.ContainsFunc(f.list[:from], same) {
			kept = append(kept, d)
		}
	}
	f.list = kept
}

// overrides reads what stands under a destination's or a group's name.
func (f *frontMatter) overrides(d *named, e entry, group string) {
	if null(e.value) {
		return
	}
	from := len(f.list)
	entries, ok := f.entries(e.value)
	if !ok {
		f.wrongType(e, "a map of overrides", "")
	}
	for _, o := range entries {
		other, set := d.by[o.key]
		if set && other == "" {
			continue // the destination's own value wins
		}
		if set {
			f.error(CodeConflictingOverride, o.at, fmt.Sprintf("the groups %s and %s both set %s for %s", other, group, o.key, d.Name),
				"set it under "+d.Name)
			continue
		}
		d.by[o.key] = group
		f.override(d.PostDestination, o)
	}
	if f.destination(from, d.Name) {
		d.Errors = true
	}
}

func (f *frontMatter) override(d *pipeline.PostDestination, e entry) {
	dest := f.parser.dests[d.Name]
	if e.key == keyMedia {
		d.Media = f.mediaList(e)
		return
	}
	if known(e.key, overrideKeys) {
		if !null(e.value) {
			f.overrideKey(d, e)
		}
		return
	}
	s, ok := dest.settings[e.key]
	switch {
	case !ok:
		if hint, later := laterPostKeys[e.key]; later {
			f.unsupported(e, hint)
			return
		}
		f.unknown(e, dest.keys)
	case s.ConfigOnly:
		f.error(CodeSettingNotInPost, e.at, e.key+" belongs to the destination and cannot be set in a post",
			"set it in broadside.yaml under destinations."+d.Name+".settings")
	case null(e.value):
		f.wrongType(e, "a value", "remove the key to keep what broadside.yaml says")
	default:
		if v, ok := f.setting(s, e); ok {
			if d.Settings == nil {
				d.Settings, d.SettingPos = map[string]any{}, map[string]pipeline.Pos{}
			}
			d.Settings[e.key], d.SettingPos[e.key] = v, e.at
		}
	}
}

func (f *frontMatter) overrideKey(d *pipeline.PostDestination, e entry) {
	switch e.key {
	case keyTextBody:
		f.textOverride(d, e)
	case keyTitle:
		d.Title, _ = f.lineText(e)
	case keyPublishAt:
		d.PublishAt = f.when(e)
	case keyPublishBy:
		d.PublishBy = f.deadline(e)
	case keySkip:
		d.Skip, _ = f.boolean(e)
	}
}

// textOverride parses a text: as a body. Only the lines of a literal block are lines of the file.
func (f *frontMatter) textOverride(d *pipeline.PostDestination, e entry) {
	s, ok := f.str(e)
	if !ok {
		return
	}
	src := &source{text: []byte(s), fixed: f.pos(e.value)}
	if l, ok := e.value.(*ast.LiteralNode); ok && strings.HasPrefix(l.Start.Value, "|") {
		src.line, src.column = f.pos(e.value).Line+1, f.indent(f.pos(e.value).Line+1)
		src.fixed = pipeline.Pos{}
	}
	body := f.parser.body(f.post, src, f.report, false, true)
	d.Text = &body
}

// indent counts the spaces at the start of the file's line with this number, or of the next one that is not blank.
func (f *frontMatter) indent(line int) int {
	lines := strings.Split(string(f.text), "\n")
	for i := line - f.above - 1; i >= 0 && i < len(lines); i++ {
		if trimmed := strings.TrimLeft(lines[i], " "); trimmed != "" {
			return len(lines[i]) - len(trimmed)
		}
	}
	return 0
}
