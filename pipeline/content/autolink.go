package content

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// linkParser finds URLs in running text. The library's own asks at each word, which costs as much as all other parsing,
// and knows neither hosts outside ASCII nor URLs behind quotation marks or other scripts. This one wakes at the colon of
// https: and at the point of www., and takes back what was read before.
type linkParser struct{}

// Trigger implements parser.InlineParser.
func (linkParser) Trigger() []byte { return []byte{':', '.'} }

// Parse implements parser.InlineParser.
func (linkParser) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	_, segment := block.PeekLine()
	source := block.Source()
	before := prefixLength(source[:segment.Start], source[segment.Start:segment.Stop])
	if before == 0 || pc.IsInLinkLabel() {
		return nil
	}
	last, ok := parent.LastChild().(*ast.Text)
	if !ok || last.Segment.Stop != segment.Start || last.Segment.Len() < before {
		return nil // escaped, or part of something else
	}
	start := segment.Start - before
	if c, _ := utf8.DecodeLastRune(source[last.Segment.Start:start]); c < utf8.RuneSelf && util.IsAlphaNumeric(byte(c)) { //nolint:gosec // below RuneSelf it is one byte
		return nil // the end of a longer word
	}
	n := trimURL(bareURL(source[start:segment.Stop], before))
	if n <= before+1 {
		return nil
	}
	last.Segment.Stop = start
	if last.Segment.IsEmpty() {
		parent.RemoveChild(parent, last)
	}
	block.Advance(n - before)
	link := ast.NewAutoLink(ast.AutoLinkURL, ast.NewTextSegment(text.NewSegment(start, start+n)))
	if source[segment.Start] == '.' {
		link.Protocol = []byte("http")
	}
	link.SetPos(start)
	return link
}

// prefixLength tells how many bytes of a URL stand before the byte that woke the parser.
func prefixLength(before, after []byte) int {
	switch {
	case bytes.HasPrefix(after, []byte("://")) && bytes.HasSuffix(before, []byte("https")):
		return len("https")
	case bytes.HasPrefix(after, []byte("://")) && bytes.HasSuffix(before, []byte("http")):
		return len("http")
	case len(after) > 0 && after[0] == '.' && bytes.HasSuffix(before, []byte("www")):
		return len("www")
	}
	return 0
}

// bareURL returns what of s can be a URL whose first bytes, up to n, are a scheme or www. Any script may stand in it;
// full-width punctuation ends it, as quotation marks and angle brackets do.
func bareURL(s []byte, n int) []byte {
	i := n
	for i < len(s) && (s[i] == ':' || s[i] == '/' || s[i] == '.') && i < n+3 {
		i++
	}
	if first, _ := utf8.DecodeRune(s[i:]); !unicode.IsLetter(first) && !unicode.IsNumber(first) && first != '[' {
		return nil
	}
	host := i
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if c <= ' ' || c == '<' || c == '>' || c == '"' || c == '\\' || c == '^' || c == '`' || (c >= '{' && c <= '}') {
				break
			}
			i++
			continue
		}
		c, size := utf8.DecodeRune(s[i:])
		if unicode.IsSpace(c) || (c >= 0x2018 && c <= 0x201f) || (c >= 0x3000 && c <= 0x303f) ||
			(c >= 0xff00 && c <= 0xff0f) || (c >= 0xff1a && c <= 0xff20) {
			break
		}
		i += size
	}
	if n == len("www") && bytes.IndexByte(s[host:i], '.') < 1 {
		return nil
	}
	return s[:i]
}

// trimURL returns the length of a URL without the punctuation that belongs to the sentence around it.
func trimURL(u []byte) int {
	open, closed := bytes.Count(u, []byte{'('}), bytes.Count(u, []byte{')'})
	for n := len(u); n > 0; {
		c, size := utf8.DecodeLastRune(u[:n])
		switch {
		case c == ')' && closed > open:
			closed--
		case c == '/' || c == ')' || c == '#' || c == '=' || c == '&' || c == '-' || c == '+' || c == '%' || c == '$' || c == ']' || c == '@':
			return n
		case c == ';':
			if from := bytes.LastIndexByte(u[:n], '&'); from > 0 {
				if _, length := entity(u[from:n]); length == n-from {
					n = from
					continue
				}
			}
		case !unicode.IsPunct(c) && c != '~' && c != '*':
			return n
		}
		n -= size
	}
	return 0
}
