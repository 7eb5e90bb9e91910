package content

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/broadside-pub/broadside/pipeline"
)

// Bounds on YAML. The library's parser recurses over its input and holds it several times over.
const (
	maxYAML      = 64 << 10 // bytes
	maxYAMLDepth = 24
	maxYAMLLines = 4000
)

// yamlFile reads one YAML mapping and reports where it stands. above is the number of the file's lines before it.
type yamlFile struct {
	*report
	above int
}

func (y *yamlFile) at(t *token.Token) pipeline.Pos {
	if t == nil || t.Position == nil {
		return pipeline.Pos{Line: y.above + 1, Column: 1}
	}
	return pipeline.Pos{Line: t.Position.Line + y.above, Column: t.Position.Column}
}

// pos tells where n begins.
func (y *yamlFile) pos(n ast.Node) pipeline.Pos {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return y.pos(v.Values[0].Key)
		}
		return y.at(v.Start)
	case *ast.MappingValueNode:
		return y.pos(v.Key)
	case *ast.LiteralNode:
		return y.at(v.Start)
	case nil:
		return pipeline.Pos{Line: y.above + 1, Column: 1}
	}
	return y.at(n.GetToken())
}

// parse reads text, which holds at most one mapping; an empty one is nil. What could be used to hide or multiply
// content is refused: aliases, anchors, merge keys, tags, directives, further documents.
func (y *yamlFile) parse(text string) (ast.Node, bool) {
	if len(text) > maxYAML || strings.Count(text, "\n") > maxYAMLLines {
		y.error(CodeYAMLTooLarge, pipeline.Pos{Line: y.above + 1, Column: 1},
			fmt.Sprintf("more than %d KiB or %d lines of YAML", maxYAML>>10, maxYAMLLines), "put the text into the body")
		return nil, false
	}
	tokens := lexer.Tokenize(text)
	if !y.safe(tokens) {
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		y.syntax(err)
		return nil, false
	}
	var root ast.Node
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			y.error(CodeYAMLUnsafe, y.pos(doc.Body), "a second YAML document", "keep one document in the file")
			return nil, false
		}
		if doc.Body != nil {
			root = doc.Body
		}
	}
	return root, true
}

func (y *yamlFile) syntax(err error) {
	var positioned interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &positioned) {
		y.error(CodeYAMLSyntax, y.at(positioned.GetToken()), "YAML: "+positioned.GetMessage(), "")
		return
	}
	y.error(CodeYAMLSyntax, pipeline.Pos{Line: y.above + 1, Column: 1}, "YAML: "+err.Error(), "")
}

// safe checks the tokens before the parser recurses over them.
func (y *yamlFile) safe(tokens token.Tokens) bool {
	refuse := func(t *token.Token, what, hint string) bool {
		y.error(CodeYAMLUnsafe, y.at(t), what, hint)
		return false
	}
	flow := 0
	var columns []int // of the open block collections
	for _, t := range tokens {
		column := t.Position.Column
		switch t.Type {
		case token.AnchorType, token.AliasType:
			return refuse(t, "YAML anchors and aliases are not allowed", "write the value out, or quote a text that starts with & or *")
		case token.MergeKeyType:
			return refuse(t, "YAML merge keys are not allowed", "write the values out")
		case token.TagType:
			return refuse(t, "YAML tags are not allowed", "remove it, or quote a text that starts with !")
		case token.DirectiveType:
			return refuse(t, "YAML directives are not allowed", "remove it, or quote a text that starts with %")
		case token.MappingKeyType:
			return refuse(t, "complex YAML keys are not allowed", "write key: value, or quote a text that starts with ?")
		case token.DocumentEndType:
			return refuse(t, "YAML document ends are not allowed", "remove the line ...")
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.MappingValueType:
			if t.Prev != nil {
				column = t.Prev.Position.Column
			}
			if flow == 0 {
				columns = push(columns, column)
			}
		case token.SequenceEntryType:
			columns = push(columns, column)
		default:
		}
		if flow > maxYAMLDepth || len(columns) > maxYAMLDepth {
			y.error(CodeYAMLTooDeep, y.at(t), fmt.Sprintf("YAML nested more than %d levels deep", maxYAMLDepth), "")
			return false
		}
	}
	return true
}

// push opens a collection at column and closes those that cannot contain it.
func push(columns []int, column int) []int {
	for len(columns) > 0 && columns[len(columns)-1] >= column {
		columns = columns[:len(columns)-1]
	}
	return append(columns, column)
}

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	at    pipeline.Pos
	value ast.Node
}

// entries lists a mapping's keys in order, each once. A second one is reported and left out.
func (y *yamlFile) entries(n ast.Node) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch v := n.(type) {
	case *ast.MappingNode:
		values = v.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{v}
	default:
		return nil, false
	}
	out := make([]entry, 0, len(values))
	var seen map[string]bool
	if len(values) > 16 {
		seen = make(map[string]bool, len(values))
	}
	for _, v := range values {
		e := entry{key: keyText(v.Key), at: y.pos(v.Key), value: v.Value}
		if repeated(out, seen, e.key) {
			y.error(CodeDuplicateKey, e.at, fmt.Sprintf("the key %q stands here twice", e.key), "keep one of them")
			continue
		}
		if seen != nil {
			seen[e.key] = true
		}
		out = append(out, e)
	}
	return out, true
}

func repeated(out []entry, seen map[string]bool, key string) bool {
	if seen != nil {
		return seen[key]
	}
	for _, e := range out {
		if e.key == key {
			return true
		}
	}
	return false
}

func keyText(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	if t := k.GetToken(); t != nil {
		return t.Value
	}
	return k.String()
}

func null(n ast.Node) bool {
	_, is := n.(*ast.NullNode)
	return is || n == nil
}

// scalar returns the text of a scalar that is not null, as the author wrote it: 1.10 stays 1.10.
func scalar(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// kind names what n is, for people.
func kind(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	}
	return "a text"
}

// plain turns n into what encoding/json would decode from the same value, but that whole numbers are int.
func (y *yamlFile) plain(n ast.Node) any {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value
	case *ast.LiteralNode:
		return v.Value.Value
	case *ast.BoolNode:
		return v.Value
	case *ast.IntegerNode:
		if i, ok := integer(v); ok {
			return i
		}
		return v.Token.Value
	case *ast.FloatNode:
		return v.Value
	case *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value // JSON has no such number
	case *ast.SequenceNode:
		out := make([]any, len(v.Values))
		for i, item := range v.Values {
			out[i] = y.plain(item)
		}
		return out
	case *ast.MappingNode, *ast.MappingValueNode:
		entries, _ := y.entries(n)
		out := make(map[string]any, len(entries))
		for _, e := range entries {
			out[e.key] = y.plain(e.value)
		}
		return out
	}
	return nil
}

func integer(n *ast.IntegerNode) (int, bool) {
	switch v := n.Value.(type) {
	case int64:
		return int(v), int64(int(v)) == v
	case uint64:
		return int(v), v <= 1<<62 //nolint:gosec // bounded by the comparison beside it
	}
	return 0, false
}

// child finds the node that a JSON pointer's steps lead to, or the nearest one above it.
func (y *yamlFile) child(n ast.Node, steps []string) ast.Node {
	for _, s := range steps {
		var next ast.Node
		switch v := n.(type) {
		case *ast.SequenceNode:
			if i, err := strconv.Atoi(s); err == nil && i >= 0 && i < len(v.Values) {
				next = v.Values[i]
			}
		case *ast.MappingNode:
			for _, e := range v.Values {
				if keyText(e.Key) == s {
					next = e.Value
				}
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
