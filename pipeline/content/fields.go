package content

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/broadside-pub/broadside/pipeline"
)

func (y *yamlFile) wrongType(e entry, want, hint string) {
	at := e.at
	if !null(e.value) {
		at = y.pos(e.value)
	}
	y.error(CodeWrongType, at, fmt.Sprintf("%s is %s, not %s", e.key, kind(e.value), want), hint)
}

// str reads a text. A number or a truth value is taken as it is written. Null is reported.
func (y *yamlFile) str(e entry) (string, bool) {
	s, ok := scalar(e.value)
	if !ok {
		y.wrongType(e, "a text", "")
		return "", false
	}
	return s, y.printable(e, s)
}

// printable refuses control characters that escapes can bring into a YAML text.
func (y *yamlFile) printable(e entry, s string) bool {
	for _, c := range s {
		if (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == utf8.RuneError {
			y.error(CodeControlCharacter, y.pos(e.value), fmt.Sprintf("%s holds the control character U+%04X", e.key, c), "remove it")
			return false
		}
	}
	return true
}

// line reads a text of one line that is not empty.
func (y *yamlFile) lineText(e entry) (string, bool) {
	s, ok := y.str(e)
	if !ok {
		return "", false
	}
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "\n\t") {
		y.error(CodeBadValue, y.pos(e.value), e.key+" must be one line of text", "")
		return "", false
	}
	return s, true
}

func (y *yamlFile) boolean(e entry) (value, ok bool) {
	b, is := e.value.(*ast.BoolNode)
	if !is {
		y.wrongType(e, "true or false", "")
		return false, false
	}
	return b.Value, true
}

// word reads one of a few words.
func (y *yamlFile) word(e entry, words ...string) (string, bool) {
	s, ok := y.str(e)
	if !ok {
		return "", false
	}
	if slices.Contains(words, s) {
		return s, true
	}
	hint := didYouMean(s, words)
	if hint == "" {
		hint = "write " + either(words)
	}
	y.error(CodeBadValue, y.pos(e.value), fmt.Sprintf("%s is %q, not %s", e.key, s, either(words)), hint)
	return "", false
}

// items lists the values of a list. Null items are reported and left out.
func (y *yamlFile) items(e entry) ([]entry, bool) {
	seq, ok := e.value.(*ast.SequenceNode)
	if !ok {
		hint := ""
		if s, is := scalar(e.value); is {
			hint = fmt.Sprintf("write [%s]", s)
		}
		y.wrongType(e, "a list", hint)
		return nil, false
	}
	out := make([]entry, 0, len(seq.Values))
	for _, v := range seq.Values {
		if null(v) {
			y.error(CodeWrongType, y.pos(v), "an item of "+e.key+" is empty", "")
			ok = false
			continue
		}
		out = append(out, entry{key: "an item of " + e.key, at: y.pos(v), value: v})
	}
	return out, ok
}

// texts reads a list of one-line texts.
func (y *yamlFile) texts(e entry) (out []string, at []pipeline.Pos, ok bool) {
	items, ok := y.items(e)
	for _, i := range items {
		s, good := y.lineText(i)
		if !good {
			ok = false
			continue
		}
		out, at = append(out, s), append(at, i.at)
	}
	return out, at, ok
}

// unknown reports a key that has no meaning here.
func (y *yamlFile) unknown(e entry, known []string) {
	hint := didYouMean(e.key, known)
	if hint == "" {
		hint = "known here: " + strings.Join(known, ", ")
	}
	if len(known) == 0 {
		hint = "nothing can be set here"
	}
	y.error(CodeUnknownKey, e.at, fmt.Sprintf("unknown key %q", e.key), hint)
}

func (y *yamlFile) unsupported(e entry, hint string) {
	y.error(CodeUnsupported, e.at, e.key+" is not supported by this version", hint)
}
