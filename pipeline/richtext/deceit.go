package richtext

import (
	"net/url"
	"path"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/broadside-pub/broadside/providers"
)

// Suspicion is something that may deceive a reader without being wrong.
type Suspicion struct {
	Code string // "link_text_mismatch" or "confusable_mention"
	Text string // what is shown
	Real string // where it leads: the URL's host, or the handle
}

// Suspicions lists links whose text names another host than they lead to, and mentions that mix scripts within a word.
func Suspicions(d providers.Doc) []Suspicion {
	var out []Suspicion
	Walk(d, func(spans []providers.Span) {
		for i := 0; i < len(spans); i++ {
			s := spans[i]
			if s.Kind == providers.Mention && (MixedScript(s.Handle) || MixedScript(s.Text)) {
				out = append(out, Suspicion{Code: "confusable_mention", Text: s.Text, Real: s.Handle})
			}
			if s.URL == "" || s.Kind == providers.Mention || s.Kind == providers.Hashtag {
				continue
			}
			var text strings.Builder
			for ; i < len(spans) && spans[i].URL == s.URL; i++ {
				text.WriteString(spanText(spans[i]))
			}
			i--
			if host := Mismatch(text.String(), s.URL); host != "" {
				out = append(out, Suspicion{Code: "link_text_mismatch", Text: text.String(), Real: host})
			}
		}
	})
	return out
}

// Mismatch returns the host that link leads to where text names another one, else "". Hosts of one registrable domain
// count as one.
func Mismatch(text, link string) string {
	if text == link || !strings.ContainsAny(text, ".:") {
		return "" // it names no host, or the very address
	}
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	real := site(u.Hostname())
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, "()[]{}<>\"'“”‘’«»„.,;:!?…")
		if host := namedHost(word); host != "" && site(host) != real {
			return u.Hostname()
		}
	}
	return ""
}

// namedHost is the host that a word names to a reader: with a scheme, or by looking like a domain with a real ending.
func namedHost(word string) string {
	if rest, ok := cutScheme(word); ok {
		u, err := url.Parse("https://" + rest)
		if err != nil {
			return ""
		}
		return u.Hostname()
	}
	host, rest, _ := strings.Cut(word, "/")
	host, _, _ = strings.Cut(host, ":")
	if strings.ContainsAny(host, "@ \\%") || !strings.Contains(host, ".") || strings.HasPrefix(host, ".") {
		return ""
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return ""
	}
	if suffix, icann := publicsuffix.PublicSuffix(ascii); !icann && !strings.Contains(suffix, ".") {
		return "" // no ending that the list knows
	}
	if ending := strings.ToLower(path.Ext(host)); fileEndings[ending] && rest == "" && !strings.HasPrefix(host, "www.") {
		return ""
	}
	if _, err := publicsuffix.EffectiveTLDPlusOne(ascii); err != nil {
		return ""
	}
	return host
}

func cutScheme(word string) (string, bool) {
	for _, s := range []string{"https://", "http://"} {
		if len(word) > len(s) && strings.EqualFold(word[:len(s)], s) {
			return word[len(s):], true
		}
	}
	return "", false
}

// fileEndings are endings of files that are top-level domains too: "README.md" names no host.
var fileEndings = map[string]bool{
	".md": true, ".rs": true, ".py": true, ".sh": true, ".pl": true, ".zip": true, ".mov": true, ".so": true, ".cc": true,
	".tf": true, ".ps": true, ".ml": true,
}

// site is what makes two hosts the same to a reader: the registrable domain in its ASCII form.
func site(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := idna.Lookup.ToASCII(host); err == nil {
		host = a
	}
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

// MixedScript tells whether a word of s mixes letters of scripts that are not written together (UTS #39, section 5.2,
// "highly restrictive"): Latin with Cyrillic or Greek, say. Words are what '.', '@', '-', '_', '/' and blanks separate;
// punycode is looked into.
func MixedScript(s string) bool {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return r == '.' || r == '@' || r == '/' || r == '_' || unicode.IsSpace(r)
	})
	for _, w := range words {
		if strings.HasPrefix(strings.ToLower(w), "xn--") {
			if u, err := idna.Punycode.ToUnicode(strings.ToLower(w)); err == nil {
				w = u
			}
		}
		if mixed(w) {
			return true
		}
	}
	return false
}

const (
	latin = 1 << iota
	han
	kana
	hangul
	bopomofo
	other
)

func mixed(word string) bool {
	seen := 0
	var first *unicode.RangeTable // the one script that is none of the named ones
	for _, r := range word {
		if !unicode.IsLetter(r) {
			continue
		}
		switch {
		case unicode.Is(unicode.Latin, r):
			seen |= latin
		case unicode.Is(unicode.Han, r):
			seen |= han
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			seen |= kana
		case unicode.Is(unicode.Hangul, r):
			seen |= hangul
		case unicode.Is(unicode.Bopomofo, r):
			seen |= bopomofo
		case unicode.Is(unicode.Common, r), unicode.Is(unicode.Inherited, r):
		default:
			seen |= other
			if first == nil {
				first = script(r)
			}
			if !unicode.Is(first, r) {
				return true
			}
		}
	}
	switch seen &^ latin {
	case 0, han, han | kana, kana, han | hangul, hangul, han | bopomofo, bopomofo:
		return false
	}
	return seen != other
}

func script(r rune) *unicode.RangeTable {
	for _, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return table
		}
	}
	return &unicode.RangeTable{}
}
