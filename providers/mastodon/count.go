package mastodon

import (
	"strings"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers/internal/text"
)

// length counts a status as Mastodon does: grapheme clusters of the content warning and the text together, where each
// link that will be made counts as urlLength and a mention as its name without the host. With a urlLength of 0 links
// count as they are.
//
// The rule is that of app/validators/status_length_validator.rb and spec/validators/status_length_validator_spec.rb in
// mastodon/mastodon, and of the links that it takes over from twitter-text (read 2026-11-30).
func length(warning, status string, urlLength int) int {
	var b strings.Builder
	b.WriteString(warning)
	placeholder := strings.Repeat("x", max(urlLength, 0))
	at := 0
	for _, e := range entities(status) {
		if e.link && urlLength == 0 {
			continue
		}
		b.WriteString(status[at:e.start])
		if e.link {
			b.WriteString(placeholder)
		} else {
			b.WriteString(e.short)
		}
		at = e.end
	}
	b.WriteString(status[at:])
	return text.Graphemes(b.String())
}

// entity is a stretch of a status that counts differently: a link, or a mention with its short form.
type entity struct {
	start, end int // bytes
	link       bool
	short      string
}

// entities finds links and mentions in order. Where two overlap the first one counts.
func entities(s string) []entity {
	var found []entity
	prev := rune(-1) // the rune before i, -1 at the start
	tooLong := 0     // where a link ends that is too long to be one; none begins inside it
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		var e entity
		ok := false
		if r == '@' {
			e, ok = mentionAt(s, i, prev)
		} else if isLetterASCII(r) && i >= tooLong {
			e, ok = linkAt(s, i, prev)
			if !ok {
				tooLong = e.end
			}
		}
		if ok {
			found = append(found, e)
			prev, _ = utf8.DecodeLastRuneInString(s[:e.end])
			i = e.end
			continue
		}
		prev = r
		i += size
	}
	return found
}

// maxHost is the longest host of a mention that is recognised, in characters.
const maxHost = 253

// mentionAt reads a mention whose '@' stands at i.
func mentionAt(s string, i int, prev rune) (entity, bool) {
	if prev == '=' || prev == '/' || (prev >= 0 && isWord(prev)) {
		return entity{}, false
	}
	name := joined(s[i+1:], isNameASCII)
	if name == 0 {
		return entity{}, false
	}
	end := i + 1 + name
	short := s[i:end]
	if end < len(s) && s[end] == '@' {
		if host := joined(s[end+1:], isWord); host > 0 {
			if utf8.RuneCountInString(s[end+1:end+1+host]) > maxHost {
				return entity{}, false
			}
			end += 1 + host
		}
	}
	after, _ := utf8.DecodeRuneInString(s[end:])
	if after == '@' || after == '＠' || isLatinAccent(after) || strings.HasPrefix(s[end:], "://") {
		return entity{}, false
	}
	return entity{start: i, end: end, short: short}, true
}

// joined measures a run of words joined by dots and hyphens.
func joined(s string, word func(rune) bool) int {
	end := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case word(r):
			i += size
			end = i
		case end > 0 && (r == '.' || r == '-'):
			i += size
		default:
			return end
		}
	}
	return end
}
