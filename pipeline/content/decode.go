package content

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"

	"github.com/broadside-pub/broadside/providers"
)

// special marks the bytes that decode has to look at.
var special = [256]bool{'\\': true, '&': true, '#': true, '@': true}

// decode appends a stretch of Markdown text that holds no other inline nodes: escapes and entities are resolved, tags
// and mentions become spans of their own. at is the offset of raw. In a link's text only @{person} is recognised.
func (in *inliner) decode(raw []byte, at int, linked bool) {
	for i := 0; i < len(raw); {
		j := i
		for j < len(raw) && !special[raw[j]] {
			j++
		}
		if j > i {
			in.copy(at+i, at+j)
			in.prev, _ = utf8.DecodeLastRune(raw[i:j])
			i = j
			continue
		}
		n := 0
		switch raw[i] {
		case '\\':
			n = in.escape(raw[i:])
		case '&':
			n = in.entity(raw[i:])
		case '#':
			if !linked {
				n = in.hashtag(raw[i:])
			}
		case '@':
			n = in.mention(raw[i:], at+i, linked)
		}
		if n == 0 {
			in.copy(at+i, at+i+1)
			in.prev, n = rune(raw[i]), 1
		}
		i += n
	}
}

func (in *inliner) escape(raw []byte) int {
	if len(raw) < 2 || !util.IsPunct(raw[1]) {
		return 0
	}
	in.write(raw[1])
	in.prev = rune(raw[1])
	return 2
}

func (in *inliner) entity(raw []byte) int {
	s, n := entity(raw)
	if n > 0 {
		in.write([]byte(s)...)
		in.prev, _ = utf8.DecodeLastRuneInString(s)
	}
	return n
}

// entity decodes the HTML entity or numeric reference at the start of raw and returns how long it is, 0 for none.
func entity(raw []byte) (string, int) {
	const longest = 33 // the longest name, &CounterClockwiseContourIntegral;
	end := bytes.IndexByte(raw[:min(len(raw), longest)], ';')
	if end < 2 {
		return "", 0
	}
	name := string(raw[1:end])
	if name[0] != '#' {
		if e, ok := util.LookUpHTML5EntityByName(name); ok {
			return string(e.Characters), end + 1
		}
		return "", 0
	}
	digits, base := name[1:], 10
	if digits != "" && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base = digits[1:], 16
	}
	if digits == "" || len(digits) > 7 || digits[0] == '+' || digits[0] == '-' {
		return "", 0
	}
	v, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return "", 0
	}
	r := rune(v) //nolint:gosec // seven hexadecimal digits fit
	if (r < 0x20 && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) || !utf8.ValidRune(r) {
		r = utf8.RuneError
	}
	return string(r), end + 1
}

// unescape resolves escapes and entities where nothing else can stand.
func unescape(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && bytes.IndexByte(raw, '&') < 0 {
		return string(raw)
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) && util.IsPunct(raw[i+1]) {
			i++
			b.WriteByte(raw[i])
			continue
		}
		if raw[i] == '&' {
			if s, n := entity(raw[i:]); n > 0 {
				b.WriteString(s)
				i += n - 1
				continue
			}
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// wordRune tells whether c can belong to a hashtag. Marks are needed by many scripts.
func wordRune(c rune) bool {
	return c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsMark(c)
}

// readWord reads runes for which ok holds from the start of raw. A backslash before punctuation is Markdown's, not the word's.
func readWord(raw []byte, ok func(rune) bool) (string, int) {
	plain := true
	i := 0
	for i < len(raw) {
		if raw[i] == '\\' && i+1 < len(raw) && util.IsPunct(raw[i+1]) && ok(rune(raw[i+1])) {
			plain = false
			i += 2
			continue
		}
		c, n := utf8.DecodeRune(raw[i:])
		if !ok(c) {
			break
		}
		i += n
	}
	if plain {
		return string(raw[:i]), i
	}
	return strings.ReplaceAll(string(raw[:i]), "\\", ""), i
}

func (in *inliner) hashtag(raw []byte) int {
	if in.prev != 0 && (wordRune(in.prev) || in.prev == '#' || in.prev == '/' || in.prev == '&') {
		return 0
	}
	tag, n := readWord(raw[1:], wordRune)
	if !strings.ContainsFunc(tag, unicode.IsLetter) {
		return 0
	}
	in.span(providers.Span{Kind: providers.Hashtag, Text: "#" + tag, Style: in.style, Handle: tag})
	return n + 1
}

func (in *inliner) mention(raw []byte, at int, linked bool) int {
	if len(raw) > 1 && raw[1] == '{' {
		return in.person(raw, at)
	}
	if linked || (in.prev != 0 && (wordRune(in.prev) || strings.ContainsRune("@/.-+", in.prev))) {
		return 0
	}
	handle, n := readHandle(raw[1:])
	if n == 0 {
		return 0
	}
	in.span(providers.Span{Kind: providers.Mention, Text: "@" + handle, Style: in.style, Handle: handle})
	return n + 1
}

// person reads @{name}. Who it is on each network is known when the post is resolved for a destination.
func (in *inliner) person(raw []byte, at int) int {
	const longest = 80
	end := bytes.IndexByte(raw[:min(len(raw), longest)], '}')
	if end < len("@{x") {
		return 0
	}
	name := unescape(raw[2:end])
	if _, ok := in.parser.cfg.People[name]; !ok {
		hint := didYouMean(name, in.parser.people)
		if hint == "" {
			hint = "add them to people in broadside.yaml"
		}
		in.error(CodeUnknownPerson, in.pos(at), "nobody is called "+strconv.Quote(name)+" in people", hint)
	}
	text := string(raw[:end+1])
	in.span(providers.Span{
		Kind: providers.Mention, Text: text, Style: in.style, URL: in.url, Handle: personMark + name,
	})
	return end + 1
}

// personMark begins the Handle of a mention of a person of broadside.yaml, until it is resolved. No handle begins so.
const personMark = "{"

func handleRune(c rune) bool {
	return c == '_' || c == '-' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

func domainRune(c rune) bool {
	return c == '-' || c == '.' || unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsMark(c)
}

// readHandle reads user@host.tld or name.tld from the start of raw.
func readHandle(raw []byte) (string, int) {
	user, n := readWord(raw, handleRune)
	if user == "" || len(user) > 128 || user[0] == '-' || user[0] == '.' {
		return "", 0
	}
	if n+1 < len(raw) && raw[n] == '@' && user[len(user)-1] != '.' {
		host, m := readWord(raw[n+1:], domainRune)
		trimmed := strings.TrimRight(host, ".-")
		if isDomain(trimmed) {
			return user + "@" + trimmed, n + 1 + m - (len(host) - len(trimmed))
		}
	}
	trimmed := strings.TrimRight(user, ".-_")
	if !isDomain(trimmed) || strings.Contains(trimmed, "_") {
		return "", 0
	}
	return trimmed, n - (len(user) - len(trimmed))
}

// isDomain tells whether s looks like a name with a top-level domain.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	if len(labels) < 2 || len(s) > 253 {
		return false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
	}
	tld := labels[len(labels)-1]
	first, _ := utf8.DecodeRuneInString(tld)
	return len(tld) > 1 && unicode.IsLetter(first)
}
