package bluesky

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers/internal/text"
)

// note is a facet before names are resolved: what the bytes from Start to End of the text are. One of the others is set.
type note struct {
	End     int    `json:"end"`
	Link    string `json:"link,omitempty"`
	Mention string `json:"mention,omitempty"` // a handle
	Start   int    `json:"start"`
	Tag     string `json:"tag,omitempty"`
}

func (n note) meaning() note { return note{Link: n.Link, Mention: n.Mention, Tag: n.Tag} }

// notes works out the facets of the final text. Facets must not overlap: what the author marked goes before bare URLs,
// what begins earlier before what begins later, and the longer before the shorter.
func notes(f text.Flat, part int, r *problems) []note {
	var out []note
	for _, m := range f.Marks {
		n, ok := noteOf(f, m, part, r)
		if !ok {
			continue
		}
		if k := len(out) - 1; k >= 0 && n.Start < out[k].End {
			continue
		} else if k >= 0 && n.Start == out[k].End && n.Link != "" && n.meaning() == out[k].meaning() {
			out[k].End = n.End
			continue
		}
		out = append(out, n)
	}
	// Both are in order and none overlaps another.
	marked, code := slices.Clone(out), []note{}
	for _, m := range f.Marks {
		if m.Kind == text.Code || m.Kind == text.Pre {
			code = append(code, note{Start: m.Start, End: m.End})
		}
	}
	for _, u := range text.FindURLs(f.Text) {
		link, ok := linkURI(f.Text[u.Start:u.End])
		if n := (note{Start: u.Start, End: u.End, Link: link}); ok && !taken(marked, n) && !taken(code, n) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b note) int { return a.Start - b.Start })
	return out
}

// taken tells whether n lies over one of others: another facet, or code, where an address is no invitation to follow it.
func taken(others []note, n note) bool {
	i := sort.Search(len(others), func(i int) bool { return others[i].End > n.Start })
	return i < len(others) && others[i].Start < n.End
}

func noteOf(f text.Flat, m text.Mark, part int, r *problems) (note, bool) {
	n, ok := trimmed(f.Text, m.Start, m.End)
	if !ok {
		return note{}, false
	}
	shown := f.Text[n.Start:n.End]
	switch m.Kind {
	case text.Link:
		if n.Link, ok = linkURI(m.URL); !ok {
			r.warn("link_dropped", part, fmt.Sprintf("the link of %q to %q is dropped: only web addresses can be links on Bluesky", shown, m.URL),
				"use an https:// address, or write it out")
		}
	case text.Mention:
		if n.Mention = handleOf(m.Handle); !validHandle(n.Mention) {
			r.warn("mention_dropped", part, fmt.Sprintf("%q is no Bluesky handle: %q stays plain text", m.Handle, shown),
				"write the whole handle, such as alice.bsky.social")
			ok = false
		}
	case text.Hashtag:
		n.Tag = strings.TrimPrefix(m.Handle, "#")
		if n.Tag == "" {
			n.Tag = strings.TrimPrefix(shown, "#")
		}
		if ok = tagFits(n.Tag); !ok {
			r.warn("hashtag_dropped", part, fmt.Sprintf("the hashtag %q stays plain text: it is too long", shown),
				fmt.Sprintf("a hashtag has at most %d characters", maxTagGraphemes))
		}
	case text.Bold, text.Italic, text.Strike, text.Code, text.Pre, text.Quote, text.Heading:
		ok = false
	}
	return n, ok
}

// trimmed returns the stretch from start to end of s without white space at its borders; ok is false where nothing is
// left, or where the stretch is none of s.
func trimmed(s string, start, end int) (note, bool) {
	if start < 0 || end > len(s) || start >= end || !border(s, start) || !border(s, end) {
		return note{}, false
	}
	in := s[start:end]
	start += len(in) - len(strings.TrimLeftFunc(in, unicode.IsSpace))
	end -= len(in) - len(strings.TrimRightFunc(in, unicode.IsSpace))
	return note{Start: start, End: end}, start < end
}

// border tells whether i is on a border of runes.
func border(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }
