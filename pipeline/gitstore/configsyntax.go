package gitstore

import (
	"fmt"
	"strings"
)

// parseConfig reads git's configuration syntax (git-config(1), "Syntax"). Errors begin with the line number.
func parseConfig(text string) ([]setting, error) {
	p := &configParser{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	for {
		p.skipBlank()
		switch c := p.peek(); {
		case c == 0 && p.pos >= len(p.text):
			return p.out, nil
		case c == '[':
			if err := p.header(); err != nil {
				return nil, err
			}
		case isAlpha(c):
			if err := p.variable(); err != nil {
				return nil, err
			}
		default:
			return nil, p.fail("unexpected %q", string(c))
		}
	}
}

type configParser struct {
	text         string
	pos, line    int
	section, sub string
	out          []setting
}

func (p *configParser) fail(format string, args ...any) error {
	return fmt.Errorf("%d: "+format, append([]any{p.line}, args...)...)
}

// peek returns the next byte, with CR LF as LF, and 0 at the end.
func (p *configParser) peek() byte {
	if p.pos >= len(p.text) {
		return 0
	}
	if p.text[p.pos] == '\r' && p.pos+1 < len(p.text) && p.text[p.pos+1] == '\n' {
		p.pos++
	}
	return p.text[p.pos]
}

func (p *configParser) next() byte {
	c := p.peek()
	if p.pos < len(p.text) {
		p.pos++
	}
	if c == '\n' {
		p.line++
	}
	return c
}

// skipBlank skips white space and comments.
func (p *configParser) skipBlank() {
	for p.pos < len(p.text) {
		switch c := p.peek(); c {
		case ' ', '\t', '\n', '\r':
			p.next()
		case '#', ';':
			p.skipLine()
		default:
			return
		}
	}
}

func (p *configParser) skipLine() {
	for p.pos < len(p.text) && p.next() != '\n' {
	}
}

// header reads [section], [section "subsection"] or the old [section.subsection].
func (p *configParser) header() error {
	p.next()
	start := p.pos
	for isAlnum(p.peek()) || p.peek() == '-' || p.peek() == '.' {
		p.next()
	}
	name := strings.ToLower(p.text[start:p.pos])
	if name == "" {
		return p.fail("bad section header")
	}
	p.section, p.sub = name, ""
	if sec, sub, ok := strings.Cut(name, "."); ok {
		p.section, p.sub = sec, sub
	}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	if p.peek() == '"' {
		p.next()
		var b strings.Builder
		for {
			c := p.next()
			if c == '\\' {
				c = p.next()
			} else if c == '"' {
				break
			}
			if c == 0 || c == '\n' {
				return p.fail("unfinished section header")
			}
			b.WriteByte(c)
		}
		p.sub = b.String()
	}
	if p.next() != ']' {
		return p.fail("bad section header")
	}
	return nil
}

func (p *configParser) variable() error {
	start := p.pos
	for isAlnum(p.peek()) || p.peek() == '-' {
		p.next()
	}
	s := setting{section: p.section, sub: p.sub, key: strings.ToLower(p.text[start:p.pos]), value: "true"}
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
	switch c := p.peek(); {
	case c == '=':
		p.next()
		v, err := p.value()
		if err != nil {
			return err
		}
		s.value = v
	case c == '\n' || c == '#' || c == ';' || c == 0 && p.pos >= len(p.text):
		p.skipLine()
	default:
		return p.fail("bad variable %q", s.key)
	}
	if p.section != "" { // git reads past a variable that stands before any section
		p.out = append(p.out, s)
	}
	return nil
}

// value reads up to the end of the line, with quotes, escapes and continuation lines.
func (p *configParser) value() (string, error) {
	var b strings.Builder
	quoted := false
	keep := 0 // white space at the end is dropped, unless it was quoted
	for {
		if p.pos >= len(p.text) {
			if quoted {
				return "", p.fail("missing closing quote")
			}
			return b.String()[:keep], nil
		}
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", p.fail("missing closing quote")
		case c == '\n':
			return b.String()[:keep], nil
		case c == '"':
			quoted = !quoted
			keep = b.Len()
		case (c == '#' || c == ';') && !quoted:
			p.skipLine()
			return b.String()[:keep], nil
		case (c == ' ' || c == '\t') && !quoted:
			if b.Len() > 0 {
				b.WriteByte(c)
			}
		case c == '\\':
			e := p.next()
			switch e {
			case '\n':
				continue
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			case '\\', '"':
				b.WriteByte(e)
			default:
				return "", p.fail("bad escape \\%c", e)
			}
			keep = b.Len()
		default:
			b.WriteByte(c)
			keep = b.Len()
		}
	}
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isAlnum(c byte) bool { return isAlpha(c) || c >= '0' && c <= '9' }

// wildmatch is git's pattern language for paths: * and ? stay within a directory, ** crosses directories.
func wildmatch(pattern, text string) bool {
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**/"):
			rest := pattern[3:]
			if wildmatch(rest, text) {
				return true
			}
			for i := range len(text) {
				if text[i] == '/' && wildmatch(rest, text[i+1:]) {
					return true
				}
			}
			return false
		case pattern == "**":
			return true
		case pattern[0] == '*':
			rest := strings.TrimLeft(pattern, "*")
			for i := 0; i <= len(text); i++ {
				if wildmatch(rest, text[i:]) {
					return true
				}
				if i < len(text) && text[i] == '/' {
					return false
				}
			}
			return false
		case text == "":
			return false
		case pattern[0] == '?':
			if text[0] == '/' {
				return false
			}
		case pattern[0] == '[':
			end := strings.IndexByte(pattern[1:], ']')
			if end < 1 || text[0] == '/' {
				return false
			}
			if !inClass(pattern[1:end+1], text[0]) {
				return false
			}
			pattern = pattern[end+1:]
		case pattern[0] == '\\' && len(pattern) > 1:
			pattern = pattern[1:]
			if pattern[0] != text[0] {
				return false
			}
		case pattern[0] != text[0]:
			return false
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}

// inClass tells whether c is in the set of a bracket expression.
func inClass(set string, c byte) bool {
	negate := set[0] == '!' || set[0] == '^'
	if negate {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || c >= set[i] && c <= set[i+2]
			i += 2
			continue
		}
		found = found || c == set[i]
	}
	return found != negate
}
