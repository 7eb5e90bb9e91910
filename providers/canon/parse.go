package canon

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// parser reads JSON from in and appends its canonical form to out in the same pass.
type parser struct {
	in    []byte
	pos   int
	out   []byte
	exact bool // refuse integers that a double cannot hold
}

func (p *parser) fail(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrInvalid, what, p.pos)
}

func (p *parser) space() {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) error {
	if depth > MaxDepth {
		return p.fail("nested too deep")
	}
	if p.pos >= len(p.in) {
		return p.fail("unexpected end")
	}
	switch c := p.in[p.pos]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.str()
		if err != nil {
			return err
		}
		p.out = AppendString(p.out, s)
		return nil
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return p.literal("true")
	case c == 'f':
		return p.literal("false")
	case c == 'n':
		return p.literal("null")
	}
	return p.fail("unexpected character")
}

func (p *parser) literal(word string) error {
	if end := p.pos + len(word); end > len(p.in) || string(p.in[p.pos:end]) != word {
		return p.fail("unexpected word")
	}
	p.pos += len(word)
	p.out = append(p.out, word...)
	return nil
}

func (p *parser) array(depth int) error {
	p.pos++
	p.out = append(p.out, '[')
	p.space()
	if p.peek(']') {
		p.out = append(p.out, ']')
		return nil
	}
	for {
		p.space()
		if err := p.value(depth + 1); err != nil {
			return err
		}
		p.space()
		switch {
		case p.peek(','):
			p.out = append(p.out, ',')
		case p.peek(']'):
			p.out = append(p.out, ']')
			return nil
		default:
			return p.fail("expected ',' or ']'")
		}
	}
}

// peek consumes c if it is next.
func (p *parser) peek(c byte) bool {
	if p.pos < len(p.in) && p.in[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// member is one name of an object with the bounds of its canonical `"name":value` in out.
type member struct {
	name       string
	start, end int
}

func (p *parser) object(depth int) error {
	p.pos++
	p.out = append(p.out, '{')
	p.space()
	if p.peek('}') {
		p.out = append(p.out, '}')
		return nil
	}
	first := len(p.out)
	var members []member
	sorted := true
	for {
		p.space()
		if p.pos >= len(p.in) || p.in[p.pos] != '"' {
			return p.fail("expected a name")
		}
		name, err := p.str()
		if err != nil {
			return err
		}
		p.space()
		if !p.peek(':') {
			return p.fail("expected ':'")
		}
		m := member{name: name, start: len(p.out)}
		p.out = append(AppendString(p.out, name), ':')
		p.space()
		if err := p.value(depth + 1); err != nil {
			return err
		}
		m.end = len(p.out)
		if n := len(members); n > 0 && CompareNames(members[n-1].name, name) >= 0 {
			sorted = false
		}
		members = append(members, m)
		p.space()
		if p.peek(',') {
			p.out = append(p.out, ',')
			continue
		}
		if !p.peek('}') {
			return p.fail("expected ',' or '}'")
		}
		break
	}
	if !sorted {
		if err := p.reorder(first, members); err != nil {
			return err
		}
	}
	p.out = append(p.out, '}')
	return nil
}

// reorder sorts the members that stand in out from first on.
func (p *parser) reorder(first int, members []member) error {
	slices.SortFunc(members, func(a, b member) int { return CompareNames(a.name, b.name) })
	old := slices.Clone(p.out[first:])
	p.out = p.out[:first]
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return p.fail("duplicate name")
			}
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, old[m.start-first:m.end-first]...)
	}
	return nil
}

// str reads a string and returns what it stands for.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for i := start; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '"':
			s := p.in[start:i]
			if !utf8.Valid(s) {
				return "", p.fail("invalid UTF-8")
			}
			p.pos = i + 1
			return string(s), nil
		case c == '\\':
			p.pos = i
			return p.escaped(append(make([]byte, 0, 64), p.in[start:i]...))
		case c < 0x20:
			p.pos = i
			return "", p.fail("control character in a string")
		}
	}
	p.pos = len(p.in)
	return "", p.fail("unterminated string")
}

// escaped reads the rest of a string that holds escapes; buf is what came before.
func (p *parser) escaped(buf []byte) (string, error) {
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		switch {
		case c == '"':
			p.pos++
			if !utf8.Valid(buf) {
				return "", p.fail("invalid UTF-8")
			}
			return string(buf), nil
		case c < 0x20:
			return "", p.fail("control character in a string")
		case c != '\\':
			buf = append(buf, c)
			p.pos++
			continue
		}
		if p.pos+1 >= len(p.in) {
			break
		}
		e := p.in[p.pos+1]
		p.pos += 2
		switch e {
		case '"', '\\', '/':
			buf = append(buf, e)
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'n':
			buf = append(buf, '\n')
		case 'r':
			buf = append(buf, '\r')
		case 't':
			buf = append(buf, '\t')
		case 'u':
			r, err := p.unicode()
			if err != nil {
				return "", err
			}
			buf = utf8.AppendRune(buf, r)
		default:
			return "", p.fail("unknown escape")
		}
	}
	return "", p.fail("unterminated string")
}

func (p *parser) unicode() (rune, error) {
	r, ok := p.hex4()
	if !ok {
		return 0, p.fail("bad \\u escape")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if p.pos+1 < len(p.in) && p.in[p.pos] == '\\' && p.in[p.pos+1] == 'u' {
		p.pos += 2
		if low, ok := p.hex4(); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, nil
			}
		}
	}
	return 0, p.fail("lone surrogate")
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+4 > len(p.in) {
		return 0, false
	}
	var r rune
	for _, c := range p.in[p.pos : p.pos+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	p.pos += 4
	return r, true
}

// number reads a JSON number and writes it as ECMAScript prints a double.
func (p *parser) number() error {
	start := p.pos
	i := start
	digits := func() bool {
		from := i
		for i < len(p.in) && p.in[i] >= '0' && p.in[i] <= '9' {
			i++
		}
		return i > from
	}
	if p.in[i] == '-' {
		i++
	}
	first := i
	if !digits() || p.in[first] == '0' && i-first > 1 {
		return p.fail("malformed number")
	}
	integer := true
	if i < len(p.in) && p.in[i] == '.' {
		integer = false
		i++
		if !digits() {
			return p.fail("malformed number")
		}
	}
	if i < len(p.in) && (p.in[i] == 'e' || p.in[i] == 'E') {
		integer = false
		i++
		if i < len(p.in) && (p.in[i] == '+' || p.in[i] == '-') {
			i++
		}
		if !digits() {
			return p.fail("malformed number")
		}
	}
	lit := string(p.in[start:i])
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil {
		return p.fail("number out of range")
	}
	from := len(p.out)
	p.out = AppendNumber(p.out, f)
	if p.exact && integer && lit != "-0" && string(p.out[from:]) != lit {
		return p.fail("integer that a double cannot hold exactly; write it as a string,")
	}
	p.pos = i
	return nil
}
