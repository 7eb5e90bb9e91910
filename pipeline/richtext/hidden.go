package richtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// HiddenKind groups hidden characters.
type HiddenKind string

// The kinds of hidden characters.
const (
	Bidi      HiddenKind = "bidi"      // changes the direction of what follows
	Invisible HiddenKind = "invisible" // takes no room
	Control   HiddenKind = "control"   // a control code, or a byte that is not UTF-8
)

// Hidden is one character that a reader would not see.
type Hidden struct {
	Offset int // in bytes
	Rune   rune
	Name   string
	Kind   HiddenKind
}

// HiddenChars lists bidi controls, invisible characters outside valid emoji and script sequences, and control codes other
// than tab and newline.
func HiddenChars(s string) []Hidden {
	plain := true
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || c < 0x20 && c != '\n' && c != '\t' || c == 0x7F {
			plain = false
			break
		}
	}
	if plain {
		return nil
	}
	var out []Hidden
	rs := decode(s)
	for i := range rs {
		if k := rs.kind(i); k != "" {
			r := rs[i]
			out = append(out, Hidden{Offset: r.at, Rune: r.r, Name: name(r.r, r.bad), Kind: k})
		}
	}
	return out
}

// Visible returns s with every hidden character shown as its code point, <U+202E>, and bytes that are not UTF-8 as <0xFF>,
// so that neither a reader nor a terminal is deceived. Tabs and newlines stay.
func Visible(s string) string {
	hidden := HiddenChars(s)
	if len(hidden) == 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, h := range hidden {
		b.WriteString(s[from:h.Offset])
		r, n := utf8.DecodeRuneInString(s[h.Offset:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, "<0x%02X>", s[h.Offset])
		} else {
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		from = h.Offset + n
	}
	b.WriteString(s[from:])
	return b.String()
}

type char struct {
	r   rune
	at  int
	bad bool // a byte that is not UTF-8
}

type chars []char

func decode(s string) chars {
	out := make(chars, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		out = append(out, char{r: r, at: i, bad: r == utf8.RuneError && n == 1})
		i += n
	}
	return out
}

func (c chars) get(i int) rune {
	if i < 0 || i >= len(c) {
		return -1
	}
	return c[i].r
}

// kind judges the character at i; "" where it may stand there.
func (c chars) kind(i int) HiddenKind {
	r := c[i].r
	switch {
	case c[i].bad:
		return Control
	case r == '\n' || r == '\t':
		return ""
	case r < 0x20 || r >= 0x7F && r < 0xA0 || r == 0x2028 || r == 0x2029:
		return Control
	case r < 0xA0:
		return ""
	case unicode.Is(bidi, r):
		return Bidi
	case !unicode.Is(invisible, r):
		return ""
	}
	if c.allowed(i) {
		return ""
	}
	return Invisible
}

// allowed tells whether an invisible character belongs to a sequence that needs it.
func (c chars) allowed(i int) bool {
	r, prev, next := c[i].r, c.get(i-1), c.get(i+1)
	switch {
	case r == zwj:
		return c.joinsEmoji(i) || joinsScript(r, c.beforeMarks(i), prev, next)
	case r == zwnj:
		return joinsScript(r, c.beforeMarks(i), prev, next)
	case r == 0xFE0F || r == 0xFE0E:
		if prev >= '0' && prev <= '9' || prev == '#' || prev == '*' {
			return r == 0xFE0F && next == 0x20E3 // keycap
		}
		return unicode.Is(emoji, prev) || r == 0xFE0E && unicode.Is(unicode.Han, prev)
	case r >= 0xFE00 && r <= 0xFE0D:
		return unicode.Is(unicode.Han, prev) || unicode.Is(unicode.Sm, prev) || unicode.Is(unicode.Myanmar, prev) ||
			unicode.Is(unicode.Phags_Pa, prev) || fullWidthPunctuation(prev)
	case r >= 0xE0100 && r <= 0xE01EF:
		return unicode.Is(unicode.Han, prev)
	case r >= 0x180B && r <= 0x180F:
		return unicode.Is(unicode.Mongolian, prev)
	case r == 0x200B:
		return breaksWords(prev) && breaksWords(next)
	case r == 0x2800:
		return isBraille(prev) || isBraille(next)
	case r >= 0xE0020 && r <= 0xE007F:
		return c.inFlag(i)
	}
	return false
}

const (
	zwnj = 0x200C
	zwj  = 0x200D
)

// joinsEmoji tells whether the joiner at i stands between two emoji (UTS #51, ED-16: emoji ZWJ sequence).
func (c chars) joinsEmoji(i int) bool {
	j := i - 1
	if r := c.get(j); r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF {
		j--
	}
	return unicode.Is(emoji, c.get(j)) && unicode.Is(emoji, c.get(i+1))
}

// inFlag tells whether the tag at i belongs to a flag of a region (UTS #51, ED-14a: black flag, three to six tags out of
// letters and digits, cancel tag).
func (c chars) inFlag(i int) bool {
	start := i
	for start > 0 && isTag(c[start-1].r) && i-start < 8 {
		start--
	}
	if c.get(start-1) != 0x1F3F4 {
		return false
	}
	n := 0
	for n < 7 && isTagText(c.get(start+n)) {
		n++
	}
	return n >= 3 && n <= 6 && c.get(start+n) == 0xE007F && i <= start+n
}

func isTag(r rune) bool { return r >= 0xE0020 && r <= 0xE007F }

func isTagText(r rune) bool {
	r -= 0xE0000
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z'
}

// beforeMarks is the last character before i that is no combining mark.
func (c chars) beforeMarks(i int) rune {
	for i--; i >= 0; i-- {
		if r := c[i].r; !unicode.Is(unicode.M, r) {
			return r
		}
	}
	return -1
}

// joinsScript follows RFC 5892, appendix A.1 and A.2: a joiner or non-joiner behind a virama, or between letters of a
// script whose letters join. A joiner may also end a word there, where it asks for the joining form.
func joinsScript(r, base, prev, next rune) bool {
	if unicode.Is(viramas, prev) {
		return unicode.IsOneOf(indic, base)
	}
	if !unicode.IsOneOf(joining, base) {
		if r == zwnj && unicode.IsOneOf(indic, base) {
			return unicode.IsOneOf(indic, next) // keeps a vowel sign apart (Bengali, Malayalam)
		}
		return false
	}
	return unicode.IsOneOf(joining, next) || r == zwj && !unicode.Is(invisible, next) && !unicode.Is(bidi, next)
}

func breaksWords(r rune) bool {
	return unicode.In(r, unicode.Khmer, unicode.Thai, unicode.Lao, unicode.Myanmar)
}

func isBraille(r rune) bool { return r > 0x2800 && r <= 0x28FF }

func fullWidthPunctuation(r rune) bool {
	switch r {
	case 0x3001, 0x3002, 0xFF01, 0xFF0C, 0xFF0E, 0xFF1A, 0xFF1B, 0xFF1F:
		return true
	}
	return false
}
