package mastodon

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// schemes are those that Mastodon makes links of (config/initializers/twitter_regex.rb).
var schemes = [...]string{"https://", "http://", "dat://", "dweb://", "ipfs://", "ipns://", "ssb://", "gopher://", "gemini://"}

// maxLink is the longest link that is recognised, in characters.
const maxLink = 4096

// linkAt reads a link whose scheme stands at i. One that is too long is not ok, and comes back with its end.
func linkAt(s string, i int, prev rune) (entity, bool) {
	if prev >= 0 && (isAlnumASCII(prev) || prev != ' ' && strings.ContainsRune("@＠$#＃\uFFFE\uFEFF\uFFFF", prev)) {
		return entity{}, false
	}
	for _, scheme := range schemes {
		if len(s)-i < len(scheme) || s[i]|0x20 != scheme[0] || !strings.EqualFold(s[i:i+len(scheme)], scheme) {
			continue
		}
		host := i + len(scheme)
		end, growth := hostEnd(s, host)
		if end == host {
			return entity{}, false
		}
		end = pathEnd(s, end)
		if utf8.RuneCountInString(s[i:end])+growth > maxLink {
			return entity{end: end}, false
		}
		return entity{start: i, end: end, link: true}, true
	}
	return entity{}, false
}

// hostEnd returns where the host that begins at start ends: the longest one whose last label is a top-level domain.
// It returns start where there is none. growth is how much longer the host is in ASCII.
func hostEnd(s string, start int) (end, growth int) {
	run := start
	for run < len(s) {
		r, size := utf8.DecodeRuneInString(s[run:])
		if r != '.' && r != '-' && r != '_' && !isHostRune(r) {
			break
		}
		run += size
	}
	end = start
	for at, n := start, 0; at <= run; n++ {
		dot := strings.IndexByte(s[at:run], '.')
		last := dot < 0
		if last {
			dot = run - at
		}
		label := s[at : at+dot]
		if label == "" {
			break
		}
		if n > 0 {
			if e := domainEnd(s, at, label); e > 0 {
				end = e
			}
		}
		at += dot + 1
		if last {
			break
		}
	}
	if end == start {
		return start, 0
	}
	host := s[start:end]
	if ascii, err := idna.ToASCII(host); err == nil {
		growth = max(0, len(ascii)-utf8.RuneCountInString(host))
	}
	return end, growth
}

// domainEnd returns the end of the top-level domain that label, at byte at of s, is or begins with, 0 for none. A
// top-level domain may be followed directly by text that is neither a Latin letter nor a digit ("example.comです").
func domainEnd(s string, at int, label string) int {
	follows := func(end int) bool {
		if end == len(s) {
			return true
		}
		c := s[end]
		return !isAlnumASCII(rune(c)) && c != '@' && c != '+' && c != '-'
	}
	if end := at + len(label); topLevel(label) && follows(end) {
		return end
	}
	n := 0
	for n < len(label) && (isAlnumASCII(rune(label[n])) || label[n] == '-') {
		n++
	}
	if n > 0 && n < len(label) && topLevel(label[:n]) && follows(at+n) {
		return at + n
	}
	return 0
}

// topLevel tells whether label is a top-level domain of the public list, or has the form of an encoded one.
func topLevel(label string) bool {
	label = strings.ToLower(label)
	if strings.HasPrefix(label, "xn--") {
		return len(label) > len("xn--")
	}
	ascii, err := idna.ToASCII(label)
	if err != nil {
		return false
	}
	suffix, icann := publicsuffix.PublicSuffix(ascii)
	return icann && suffix == ascii
}

// pathEnd extends a link that ends at end by its port, path and query.
func pathEnd(s string, end int) int {
	if end < len(s) && s[end] == ':' {
		port := end + 1
		for port < len(s) && s[port] >= '0' && s[port] <= '9' {
			port++
		}
		if port > end+1 {
			end = port
		}
	}
	if end < len(s) && s[end] == '/' {
		end = pathOnlyEnd(s, end+1)
	}
	if end < len(s) && s[end] == '?' {
		last := end
		for i := end + 1; i < len(s); {
			r, size := utf8.DecodeRuneInString(s[i:])
			closes := isAlnumASCII(r) || strings.ContainsRune("_&=#/-", r) || isURLUnicode(r)
			if !closes && !strings.ContainsRune("!?*'();:+$%[].,~|@^", r) {
				break
			}
			i += size
			if closes {
				last = i
			}
		}
		if last > end {
			end = last
		}
	}
	return end
}

// pathOnlyEnd returns where the path that goes on at start ends: after the last character that may end one.
func pathOnlyEnd(s string, start int) int {
	last := start
	for i := start; i < len(s); {
		if n := parens(s[i:], 2); n > 0 {
			i += n
			last = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isPathRune(r) {
			break
		}
		i += size
		if !strings.ContainsRune("!*\"'「」;:=,.$%[]~&|@", r) {
			last = i
		}
	}
	return last
}

// parens measures a balanced pair of parentheses at the start of s with something in it, nested at most depth deep.
func parens(s string, depth int) int {
	if depth == 0 || !strings.HasPrefix(s, "(") {
		return 0
	}
	for i := 1; i < len(s); {
		if s[i] == ')' {
			if i == 1 {
				return 0
			}
			return i + 1
		}
		if n := parens(s[i:], depth-1); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isPathRune(r) {
			return 0
		}
		i += size
	}
	return 0
}

func isPathRune(r rune) bool {
	return !unicode.Is(unicode.White_Space, r) && !strings.ContainsRune("<>()?", r)
}

func isLetterASCII(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

func isAlnumASCII(r rune) bool { return isLetterASCII(r) || '0' <= r && r <= '9' }

func isNameASCII(r rune) bool { return isAlnumASCII(r) || r == '_' }

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Pc, r)
}

// isHostRune tells whether r may stand in a label beside hyphens: all but ASCII punctuation, spaces, controls and marks
// of direction.
func isHostRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlnumASCII(r)
	}
	switch r {
	case 0x061C, 0x180E, 0x200E, 0x200F, 0xFFFE, 0xFEFF, 0xFFFF, utf8.RuneError:
		return false
	}
	if 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069 {
		return false
	}
	return !unicode.Is(unicode.White_Space, r)
}

// isURLUnicode tells whether r is one of the characters beyond ASCII that a query may hold (RFC 3987, ucschar and
// iprivate).
func isURLUnicode(r rune) bool {
	switch {
	case r < 0xA0, r > 0x10FFFD, 0xFDD0 <= r && r <= 0xFDEF, r == utf8.RuneError, r&0xFFFE == 0xFFFE:
		return false
	}
	return true
}

// isLatinAccent tells whether r is an accented Latin letter by twitter-text's list: one that would continue a name.
func isLatinAccent(r rune) bool {
	switch {
	case r == 0xD7, r == 0xF7:
		return false
	case 0xC0 <= r && r <= 0x024F, 0x0300 <= r && r <= 0x036F, 0x1E00 <= r && r <= 0x1EFF:
		return true
	}
	return strings.ContainsRune("\u0253\u0254\u0256\u0257\u0259\u025B\u0263\u0268\u026F\u0272\u0289\u028B\u02BB", r)
}
