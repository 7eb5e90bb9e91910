package cli

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// errYAMLForm tells that a file is written in a way that the editor does not change: the person does it.
var errYAMLForm = errors.New("its form is unusual")

// yamlValue is what to write: Value is YAML in one line; where Lines are given they are the block form, without the key and
// its indent.
type yamlValue struct {
	Value string
	Lines []string
}

// setYAML sets key in the map that path leads to, and leaves every other byte as it is. A key that is there gets the new
// value; one that is not comes behind the last of after that the map has in one line, else at the map's beginning. The
// map itself may be empty. What it returns means the same as data in everything but that key; otherwise it is an error.
func setYAML(data []byte, path []string, key string, v yamlValue, after ...string) ([]byte, error) {
	out, err := editYAML(data, path, key, v, after)
	if err != nil {
		return nil, err
	}
	var before, now any
	if yaml.Unmarshal(data, &before) != nil || yaml.Unmarshal(out, &now) != nil {
		return nil, errYAMLForm
	}
	before, _ = dropKey(before, path, key)
	now, there := dropKey(now, path, key)
	if !there || !reflect.DeepEqual(before, now) {
		return nil, errYAMLForm
	}
	return out, nil
}

// dropKey removes key from the map that path leads to, where there is one. Maps on the way that are not there yet, or hold
// nothing more, count as absent.
func dropKey(v any, path []string, key string) (any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return v, false
	}
	there := false
	if len(path) == 0 {
		_, there = m[key]
		delete(m, key)
	} else {
		m[path[0]], there = dropKey(m[path[0]], path[1:], key)
		if m[path[0]] == nil {
			delete(m, path[0])
		}
	}
	if len(m) == 0 {
		return nil, there
	}
	return m, there
}

func editYAML(data []byte, path []string, key string, v yamlValue, after []string) ([]byte, error) {
	e, err := newYAMLEditor(data)
	if err != nil {
		return nil, err
	}
	at, node, err := e.find(path)
	if err != nil {
		return nil, err
	}
	if m, ok := node.(*ast.MappingNode); ok && m.IsFlowStyle {
		return e.setFlow(m, key, v)
	}
	values, ok := mappingValues(node)
	if !ok {
		return nil, fmt.Errorf("%s: %w", strings.Join(path, "."), errYAMLForm)
	}
	if len(values) == 0 {
		if at == nil {
			return e.insert(len(e.lines), 0, key, v), nil
		}
		return e.insert(line(at), column(at)+1, key, v), nil
	}
	indent := column(values[0]) - 1
	for _, old := range values {
		if yamlKey(old) == key {
			from := line(old) - 1
			return e.replace(from, e.end(from, indent), indent, key, v), nil
		}
	}
	anchor := line(values[0]) - 1 // before the first
	for _, name := range after {
		for _, old := range values {
			if from := line(old) - 1; yamlKey(old) == name && e.end(from, indent) == from+1 {
				anchor = max(anchor, from+1)
			}
		}
	}
	return e.insert(anchor, indent, key, v), nil
}

// yamlEditor is a YAML file by lines, each with its end.
type yamlEditor struct {
	lines []string
	root  ast.Node
	eol   string
}

func newYAMLEditor(data []byte) (*yamlEditor, error) {
	file, err := parser.ParseBytes(data, parser.ParseComments)
	if err != nil {
		return nil, errors.New("it is not valid YAML")
	}
	e := &yamlEditor{eol: "\n"}
	for l := range bytes.Lines(data) {
		e.lines = append(e.lines, string(l))
	}
	if len(e.lines) > 0 && strings.HasSuffix(e.lines[0], "\r\n") {
		e.eol = "\r\n"
	}
	if n := len(e.lines); n > 0 && !strings.HasSuffix(e.lines[n-1], "\n") {
		e.lines[n-1] += e.eol
	}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if e.root != nil {
			return nil, errYAMLForm
		}
		e.root = d.Body
	}
	return e, nil
}

// find returns the entry that the last step of path names, and its value.
func (e *yamlEditor) find(path []string) (*ast.MappingValueNode, ast.Node, error) {
	var at *ast.MappingValueNode
	node := e.root
	for _, step := range path {
		values, ok := mappingValues(node)
		if !ok {
			return nil, nil, fmt.Errorf("%s: %w", step, errYAMLForm)
		}
		at = nil
		for _, v := range values {
			if yamlKey(v) == step {
				at, node = v, v.Value
			}
		}
		if at == nil {
			return nil, nil, fmt.Errorf("it has no %s", strings.Join(path, "."))
		}
	}
	return at, node, nil
}

// mappingValues lists the entries of a map; nothing at all counts as an empty one.
func mappingValues(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch v := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, true
	case *ast.MappingNode:
		return v.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, true
	}
	return nil, false
}

func yamlKey(v *ast.MappingValueNode) string {
	if s, ok := v.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return v.Key.GetToken().Value
}

func line(v *ast.MappingValueNode) int   { return v.Key.GetToken().Position.Line }
func column(v *ast.MappingValueNode) int { return v.Key.GetToken().Position.Column }

// end is the line behind an entry that begins at line from with this indent: everything deeper belongs to it, blank lines
// and comments at its end do not.
func (e *yamlEditor) end(from, indent int) int {
	end := from + 1
	for i := from + 1; i < len(e.lines); i++ {
		text := strings.TrimLeft(e.lines[i], " ")
		deep := len(e.lines[i]) - len(text)
		switch body := strings.TrimSpace(text); {
		case body == "":
			continue
		case deep > indent:
			end = i + 1
			continue
		case deep == indent && strings.HasPrefix(body, "- "): // a list may stand as far out as its key
			end = i + 1
			continue
		}
		break
	}
	return end
}

// text is an entry as it is written in block style.
func (e *yamlEditor) text(indent int, key string, v yamlValue) []string {
	pad := strings.Repeat(" ", indent)
	if len(v.Lines) == 0 {
		return []string{pad + key + ": " + v.Value + e.eol}
	}
	out := []string{pad + key + ":" + e.eol}
	for _, l := range v.Lines {
		out = append(out, pad+"  "+l+e.eol)
	}
	return out
}

func (e *yamlEditor) insert(at, indent int, key string, v yamlValue) []byte {
	return e.replace(at, at, indent, key, v)
}

// replace puts an entry in the place of the lines from to end. A comment behind a value in one line stays.
func (e *yamlEditor) replace(from, end, indent int, key string, v yamlValue) []byte {
	fresh := e.text(indent, key, v)
	if end == from+1 && len(fresh) == 1 {
		if i := strings.Index(e.lines[from], " #"); i >= 0 && !strings.ContainsAny(e.lines[from], `"'`) {
			fresh[0] = strings.TrimRight(fresh[0], "\r\n") + " " + strings.TrimLeft(e.lines[from][i:], " ")
		}
	}
	out := append([]string{}, e.lines[:from]...)
	out = append(out, fresh...)
	return []byte(strings.Join(append(out, e.lines[end:]...), ""))
}

// setFlow sets a key in a map within braces.
func (e *yamlEditor) setFlow(m *ast.MappingNode, key string, v yamlValue) ([]byte, error) {
	for _, old := range m.Values {
		if yamlKey(old) != key {
			continue
		}
		tok := old.Value.GetToken()
		if tok == nil || old.Value.Type() == ast.MappingType || old.Value.Type() == ast.SequenceType {
			return nil, fmt.Errorf("%s: %w", key, errYAMLForm)
		}
		at := tok.Position
		row := []rune(e.lines[at.Line-1])
		written := []rune(strings.TrimSpace(tok.Origin))
		if at.Column-1+len(written) > len(row) || string(row[at.Column-1:at.Column-1+len(written)]) != string(written) {
			return nil, fmt.Errorf("%s: %w", key, errYAMLForm)
		}
		e.lines[at.Line-1] = string(row[:at.Column-1]) + v.Value + string(row[at.Column-1+len(written):])
		return []byte(strings.Join(e.lines, "")), nil
	}
	if m.End == nil || m.End.Position == nil {
		return nil, errYAMLForm
	}
	at := m.End.Position
	row := []rune(e.lines[at.Line-1])
	if at.Column > len(row) || row[at.Column-1] != '}' {
		return nil, errYAMLForm
	}
	before := strings.TrimRight(string(row[:at.Column-1]), " ")
	comma := ", "
	switch {
	case len(m.Values) == 0:
		comma = ""
	case strings.HasSuffix(before, ","):
		comma = " "
	case strings.TrimSpace(before) == "": // the brace stands alone on its line: the comma belongs to the line above
		return nil, errYAMLForm
	}
	e.lines[at.Line-1] = before + comma + key + ": " + v.Value + string(row[at.Column-1:])
	return []byte(strings.Join(e.lines, "")), nil
}
