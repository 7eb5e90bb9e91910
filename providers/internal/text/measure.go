package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Graphemes counts the extended grapheme clusters of s (UAX 29): what people take for one character.
func Graphemes(s string) int {
	if plain(s) {
		return len(s)
	}
	n := 0
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}

// plain tells that s is ASCII without carriage returns: then every byte is a cluster of its own.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] == '\r' {
			return false
		}
	}
	return true
}

// Span is a stretch of a string by byte offsets.
type Span struct {
	Start, End int
}

// FindURLs finds the bare http and https URLs in running text, in order. A URL begins at a border of words, and does not
// hold the punctuation that ends a sentence or closes a bracket opened before it.
func FindURLs(s string) []Span {
	var out []Span
	for at := 0; at < len(s); {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			break
		}
		colon := at + i
		start, ok := schemeStart(s, at, colon)
		if !ok {
			at = colon + 3
			continue
		}
		end := urlEnd(s, colon+3)
		if end > colon+3 {
			out = append(out, Span{Start: start, End: end})
		}
		at = max(end, colon+3)
	}
	return out
}

// schemeStart finds where the http or https that ends at colon begins, not before from.
func schemeStart(s string, from, colon int) (int, bool) {
	for _, scheme := range [...]string{"https", "http"} {
		start := colon - len(scheme)
		if start < from || !strings.EqualFold(s[start:colon], scheme) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		if start > 0 && before < utf8.RuneSelf && (unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("_@+-./", before)) {
			return 0, false
		}
		return start, true
	}
	return 0, false
}

// urlEnd finds the end of a URL whose host begins at i; i itself where no host does.
func urlEnd(s string, i int) int {
	host, _ := utf8.DecodeRuneInString(s[i:])
	if !unicode.IsLetter(host) && !unicode.IsDigit(host) && host != '[' {
		return i
	}
	end := i
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !inURL(r) || (r == utf8.RuneError && n == 1) {
			break
		}
		end += n
	}
	for end > i {
		r, n := utf8.DecodeLastRuneInString(s[i:end])
		if !strings.ContainsRune(".,;:!?'*_~", r) && !unopened(s[i:end], r) {
			break
		}
		end -= n
	}
	return end
}

// unopened tells whether r closes a bracket at the end of url that url does not open.
func unopened(url string, r rune) bool {
	for _, pair := range [...]string{"()", "[]"} {
		if r == rune(pair[1]) {
			return strings.Count(url, pair[:1]) < strings.Count(url, pair[1:])
		}
	}
	return false
}

// inURL tells whether r can stand in a URL as people write it: not a space, a control, a quote or the punctuation of
// East Asian scripts.
func inURL(r rune) bool {
	if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>\"`{}|\\^", r) {
		return false
	}
	if r >= utf8.RuneSelf {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
	}
	return true
}
