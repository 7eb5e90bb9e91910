package richtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/sentences"
	"github.com/clipperhouse/uax29/v2/words"

	"github.com/broadside-pub/broadside/providers"
)

// cutSpans splits a paragraph at the last border of its grain up to which it fits.
func cutSpans(b providers.Block, g grain, fits func([]providers.Block) bool) (first, second []providers.Block, ok bool) {
	if g < atSentence {
		return nil, nil, false
	}
	text := PlainSpans(b.Spans)
	at := borders(b.Spans, text, g)
	piece := func(from, to int) []providers.Block {
		p := b
		p.Spans = slice(b.Spans, from, to)
		return []providers.Block{p}
	}
	n := largest(len(at), func(n int) bool { return fits(piece(0, at[n-1])) })
	if n == 0 {
		return nil, nil, false
	}
	return piece(0, at[n-1]), piece(at[n-1], len(text)), true
}

// borders lists the byte offsets in text, rising, at which spans may be cut: something visible on both sides, and nothing
// that must stay whole across them.
func borders(spans []providers.Span, text string, g grain) []int {
	fixed := unbreakable(spans, text)
	edge := graphemeEdges(text)
	var out []int
	add := func(at int) {
		if at <= 0 || at >= len(text) || fixed[at] || !edge[at] || strings.TrimSpace(text[:at]) == "" ||
			strings.TrimSpace(text[at:]) == "" || len(out) > 0 && out[len(out)-1] >= at {
			return
		}
		out = append(out, at)
	}
	switch g {
	case atSentence:
		for it := sentences.FromString(text); it.Next(); {
			add(it.End()) // also after each line break (UAX #29, SB4)
		}
	case atWord:
		for i, r := range text {
			if unicode.IsSpace(r) && !noBreak(r) {
				add(i + utf8.RuneLen(r))
			}
		}
	case atScript:
		for it := words.FromString(text); it.Next(); {
			if at := it.End(); scriptBorder(text, at) {
				add(at)
			}
		}
	case atBlock, atItem:
	}
	return out
}

func noBreak(r rune) bool { return r == 0x00A0 || r == 0x202F || r == 0x2007 }

// unbreakable marks the offsets inside links, mentions, hashtags, code, images and bare addresses.
func unbreakable(spans []providers.Span, text string) []bool {
	out := make([]bool, len(text)+1)
	mark := func(from, to int) {
		for i := from + 1; i < to; i++ {
			out[i] = true
		}
	}
	at, start := 0, 0
	for i, s := range spans {
		n := len(spanText(s))
		if i > 0 && joined(spans[i-1], s) {
			mark(start, at+n)
		} else {
			start = at
		}
		if s.Kind == providers.Mention || s.Kind == providers.Hashtag || s.Kind == providers.Image || s.URL != "" ||
			s.Style&providers.Code != 0 {
			mark(at, at+n)
		}
		at += n
	}
	for i := 0; ; {
		j := strings.Index(text[i:], "://")
		if j < 0 {
			return out
		}
		from, to := i+j, i+j+3
		for from > 0 && !space(text, from-1) {
			from--
		}
		for to < len(text) && !space(text, to) {
			to++
		}
		mark(from, to)
		i = to
	}
}

func space(s string, i int) bool { return s[i] == ' ' || s[i] == '\n' || s[i] == '\t' }

// joined tells whether two neighbouring spans are one link or one stretch of code.
func joined(a, b providers.Span) bool {
	return a.URL != "" && a.URL == b.URL || a.Style&b.Style&providers.Code != 0
}

func graphemeEdges(text string) []bool {
	out := make([]bool, len(text)+1)
	for it := graphemes.FromString(text); it.Next(); {
		out[it.End()] = true
	}
	return out
}

// scriptBorder tells whether a line of a script without blanks may be broken at a word's end: not before closing
// punctuation or a mark, not after opening punctuation.
func scriptBorder(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	if unicode.In(after, unicode.P, unicode.M, unicode.Cf) && !unicode.In(after, unicode.Ps, unicode.Pi) ||
		unicode.In(before, unicode.Ps, unicode.Pi) {
		return false
	}
	return withoutBlanks(before) && withoutBlanks(after) && !strings.ContainsRune(notFirst, after)
}

// notFirst are letters that do not begin a line in Japanese (JIS X 4051, characters not starting a line).
const notFirst = "ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶー々ゝゞヽヾ"

func withoutBlanks(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar, unicode.Tibetan) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFF65
}

// slice returns the spans between two byte offsets of their text, without white space at either end.
func slice(spans []providers.Span, from, to int) []providers.Span {
	text := PlainSpans(spans)
	for from < to {
		r, n := utf8.DecodeRuneInString(text[from:to])
		if !unicode.IsSpace(r) {
			break
		}
		from += n
	}
	for to > from {
		r, n := utf8.DecodeLastRuneInString(text[from:to])
		if !unicode.IsSpace(r) {
			break
		}
		to -= n
	}
	var out []providers.Span
	at := 0
	for _, s := range spans {
		t := spanText(s)
		a, b := max(from-at, 0), min(to-at, len(t))
		at += len(t)
		if a >= b {
			continue
		}
		if s.Kind != providers.LineBreak {
			s.Text = t[a:b]
		}
		out = append(out, s)
	}
	return out
}

// cutCode splits a code block between lines.
func cutCode(b providers.Block, fits func([]providers.Block) bool) (first, second []providers.Block, ok bool) {
	lines := strings.SplitAfter(strings.TrimRight(b.Text, "\n"), "\n")
	piece := func(ls []string) []providers.Block {
		p := b
		p.Text = strings.Join(ls, "")
		return []providers.Block{p}
	}
	n := largest(len(lines)-1, func(n int) bool { return fits(piece(lines[:n])) })
	if n == 0 || strings.TrimSpace(strings.Join(lines[:n], "")) == "" {
		return nil, nil, false
	}
	return piece(lines[:n]), piece(lines[n:]), true
}
