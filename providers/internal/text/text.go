// Package text flattens rich text for networks that take running text, with or without marks over it, and measures it.
//
// It decides nothing about limits, and reaches no network.
package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

// MarkKind is what a mark says about its stretch of text.
type MarkKind int

// The kinds of marks.
const (
	Link    MarkKind = iota // URL
	Mention                 // Handle: whom it names
	Hashtag                 // Handle: the tag without '#'
	Bold
	Italic
	Strike
	Code
	Pre // a code block; Lang
	Quote
	Heading
)

var markNames = [...]string{
	"link", "mention", "hashtag", "bold", "italic", "strike", "code", "pre", "quote", "heading",
}

func (k MarkKind) String() string { return markNames[k] }

// Mark says what a stretch of a Flat's text is. Start and End are byte offsets in its UTF-8, on borders of runes, with
// Start < End.
type Mark struct {
	Start, End int
	Kind       MarkKind
	URL        string
	Handle     string
	Lang       string
}

// Flat is text with marks, in order of their start, at the same start the longer first.
type Flat struct {
	Text  string
	Marks []Mark
}

// LinkMode says how a link whose text is not its URL stays usable.
type LinkMode int

// The link modes.
const (
	LinksMarked   LinkMode = iota // the text stays as it is, its mark carries the URL
	LinksAppended                 // "text (url)"; just the URL where the text is nothing else
)

// Options say how to flatten.
type Options struct {
	Links LinkMode
}

// rule is how a thematic break looks in plain text.
const rule = "———"

// Flatten lays d out as plain text: blocks apart by a blank line, lists as "• item" or "1. item", quotes behind "> ",
// code as it is, rules as "———"; lines end with LF. Text that is no valid UTF-8 becomes U+FFFD.
func Flatten(d providers.Doc, o Options) Flat {
	f := o.blocks(d.Blocks, false)
	sortMarks(f.Marks)
	return f
}

// blocks joins blocks; inside a list item a nested list follows directly.
func (o Options) blocks(bs []providers.Block, item bool) Flat {
	var out joined
	for _, b := range bs {
		f := o.block(b)
		if f.Text == "" {
			continue
		}
		sep := ""
		if out.text.Len() > 0 {
			sep = "\n\n"
			if item && b.Kind == providers.List {
				sep = "\n"
			}
		}
		out.append(sep, f)
	}
	return out.flat()
}

func (o Options) block(b providers.Block) Flat {
	switch b.Kind {
	case providers.Heading:
		return o.spans(b.Spans).whole(Mark{Kind: Heading})
	case providers.Quote:
		return o.blocks(b.Blocks, false).indent("> ", "> ").whole(Mark{Kind: Quote})
	case providers.List:
		return o.list(b)
	case providers.CodeBlock:
		return Flat{Text: strings.Trim(clean(b.Text), "\n")}.whole(Mark{Kind: Pre, Lang: b.Lang})
	case providers.Rule:
		return Flat{Text: rule}
	case providers.Paragraph:
	}
	return o.spans(b.Spans)
}

func (o Options) list(b providers.Block) Flat {
	var out joined
	for i, item := range b.Items {
		mark := "• "
		if b.Ordered {
			mark = strconv.Itoa(b.Start+i) + ". "
		}
		f := o.blocks(item, true)
		rest := strings.Repeat(" ", Graphemes(mark))
		if f.Text == "" { // an empty item still counts in an ordered list
			f = Flat{Text: strings.TrimRight(mark, " ")}
		} else {
			f = f.indent(mark, rest)
		}
		sep := ""
		if i > 0 {
			sep = "\n"
		}
		out.append(sep, f)
	}
	return out.flat()
}

// joined grows by whole texts, each copied once.
type joined struct {
	text  strings.Builder
	marks []Mark
}

func (j *joined) flat() Flat { return Flat{Text: j.text.String(), Marks: j.marks} }

func (j *joined) append(sep string, g Flat) {
	by := j.text.Len() + len(sep)
	j.text.WriteString(sep)
	j.text.WriteString(g.Text)
	for _, m := range g.Marks {
		m.Start += by
		m.End += by
		j.marks = append(j.marks, m)
	}
}

// whole puts m over all of f.
func (f Flat) whole(m Mark) Flat {
	if f.Text == "" {
		return f
	}
	m.Start, m.End = 0, len(f.Text)
	f.Marks = append([]Mark{m}, f.Marks...)
	return f
}

// indent puts first before the first line and rest before the others. A mark over several lines becomes one for each
// line, so that none covers what was put in; marks of blocks stay whole. Blank lines get no trailing space.
func (f Flat) indent(first, rest string) Flat {
	var out Flat
	var b strings.Builder
	at := 0 // where the line begins in f.Text
	moved := make([]int, 0, 8)
	for i, line := range strings.Split(f.Text, "\n") {
		prefix := rest
		if i == 0 {
			prefix = first
		} else {
			b.WriteByte('\n')
		}
		if line == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		b.WriteString(prefix)
		by := b.Len() - at
		moved = append(moved, by)
		for _, m := range f.Marks {
			if m.block() {
				continue
			}
			if s, e := max(m.Start, at), min(m.End, at+len(line)); s < e {
				m.Start, m.End = s+by, e+by
				out.Marks = append(out.Marks, m)
			}
		}
		b.WriteString(line)
		at += len(line) + 1
	}
	out.Text = b.String()
	for _, m := range f.Marks {
		if m.block() {
			m.Start += moved[strings.Count(f.Text[:m.Start], "\n")]
			m.End += moved[strings.Count(f.Text[:m.End], "\n")]
			out.Marks = append(out.Marks, m)
		}
	}
	return out
}

// block tells whether m belongs to a whole block.
func (m Mark) block() bool { return m.Kind == Pre || m.Kind == Quote || m.Kind == Heading }

func sortMarks(ms []Mark) {
	slices.SortStableFunc(ms, func(a, b Mark) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		if a.End != b.End {
			return b.End - a.End
		}
		return int(a.Kind) - int(b.Kind)
	})
}

// clean makes s valid UTF-8 with LF line ends.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.ToValidUTF8(s, "\uFFFD")
}
