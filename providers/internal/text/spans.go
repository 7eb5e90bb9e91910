package text

import (
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

// styles pairs each style with the mark that shows it.
var styles = [...]struct {
	style providers.Style
	kind  MarkKind
}{
	{providers.Bold, Bold}, {providers.Italic, Italic}, {providers.Strike, Strike}, {providers.Code, Code},
}

// liner gathers the spans of one block.
type liner struct {
	text  strings.Builder
	marks []Mark
	// open holds, by kind, the index in marks of a mark that the next span may prolong.
	open map[MarkKind]int
}

func (o Options) spans(spans []providers.Span) Flat {
	l := &liner{open: map[MarkKind]int{}}
	for i := 0; i < len(spans); {
		j := i + 1
		if url := spans[i].URL; linked(spans[i]) {
			for j < len(spans) && linked(spans[j]) && spans[j].URL == url {
				j++
			}
			o.link(l, spans[i:j], url)
		} else {
			l.add(spans[i])
		}
		i = j
	}
	return l.flat()
}

// linked tells whether a span is part of a link; an image's URL is its source, a mention has its own mark.
func linked(s providers.Span) bool {
	return s.URL != "" && (s.Kind == providers.Text || s.Kind == providers.LineBreak)
}

// link writes the spans of one link.
func (o Options) link(l *liner, spans []providers.Span, url string) {
	url = clean(url)
	start := l.text.Len()
	if o.Links == LinksAppended {
		var shown strings.Builder
		for _, s := range spans {
			shown.WriteString(clean(s.Text))
		}
		switch named := shown.String(); {
		case strings.TrimSpace(named) == "" || sameAddress(named, url):
			l.text.WriteString(plainAddress(url))
		default:
			for _, s := range spans {
				l.add(s)
			}
			l.text.WriteString(" (")
			start = l.text.Len()
			l.text.WriteString(plainAddress(url))
			l.mark(Mark{Start: start, End: l.text.Len(), Kind: Link, URL: url})
			l.text.WriteString(")")
			return
		}
	} else {
		for _, s := range spans {
			l.add(s)
		}
		if l.text.Len() == start { // a link without a text shows its address
			l.text.WriteString(plainAddress(url))
		}
	}
	l.mark(Mark{Start: start, End: l.text.Len(), Kind: Link, URL: url})
}

// plainAddress is how url is written where people read it.
func plainAddress(url string) string { return strings.TrimPrefix(url, "mailto:") }

// sameAddress tells whether a link's text is nothing but its URL, perhaps without scheme or last slash.
func sameAddress(text, url string) bool {
	text = strings.TrimSpace(text)
	if text == url {
		return true
	}
	bare := func(s string) string {
		for _, scheme := range []string{"https://", "http://", "mailto:"} {
			if rest, ok := strings.CutPrefix(s, scheme); ok {
				s = rest
				break
			}
		}
		return strings.TrimSuffix(s, "/")
	}
	return bare(text) == bare(url)
}

// add writes one span with the marks of its style and kind.
func (l *liner) add(s providers.Span) {
	start := l.text.Len()
	if s.Kind == providers.LineBreak {
		l.text.WriteByte('\n')
	} else {
		l.text.WriteString(clean(s.Text))
	}
	end := l.text.Len()
	if start == end {
		return
	}
	for _, st := range styles {
		if s.Style&st.style == 0 {
			continue
		}
		if i, ok := l.open[st.kind]; ok && l.marks[i].End == start {
			l.marks[i].End = end
			continue
		}
		l.open[st.kind] = len(l.marks)
		l.mark(Mark{Start: start, End: end, Kind: st.kind})
	}
	switch s.Kind {
	case providers.Mention:
		l.mark(Mark{Start: start, End: end, Kind: Mention, Handle: clean(s.Handle)})
	case providers.Hashtag:
		l.mark(Mark{Start: start, End: end, Kind: Hashtag, Handle: clean(s.Handle)})
	case providers.Text, providers.LineBreak, providers.Image:
	}
}

func (l *liner) mark(m Mark) { l.marks = append(l.marks, m) }

// flat trims the gathered text and clips the marks to it.
func (l *liner) flat() Flat {
	const blank = " \t\n"
	all := l.text.String()
	text := strings.TrimLeft(all, blank)
	by := len(all) - len(text)
	text = strings.TrimRight(text, blank)
	f := Flat{Text: text}
	for _, m := range l.marks {
		m.Start = max(m.Start-by, 0)
		m.End = min(m.End-by, len(text))
		if m.Start < m.End {
			f.Marks = append(f.Marks, m)
		}
	}
	return f
}

// Dropped names, sorted, the formatting of d that plain text loses: bold, code, code_block, heading, image (inside
// running text), italic, strike. Lists, quotes, rules and links stay readable.
func Dropped(d providers.Doc) []string {
	have := map[string]bool{}
	dropped(d.Blocks, have)
	var out []string
	for _, k := range [...]string{"bold", "code", "code_block", "heading", "image", "italic", "strike"} {
		if have[k] {
			out = append(out, k)
		}
	}
	return out
}

func dropped(bs []providers.Block, have map[string]bool) {
	for _, b := range bs {
		switch b.Kind {
		case providers.Heading:
			have["heading"] = true
		case providers.CodeBlock:
			have["code_block"] = true
		case providers.Paragraph, providers.Quote, providers.List, providers.Rule:
		}
		for _, s := range b.Spans {
			for _, st := range styles {
				if s.Style&st.style != 0 {
					have[st.kind.String()] = true
				}
			}
			if s.Kind == providers.Image {
				have["image"] = true
			}
		}
		dropped(b.Blocks, have)
		for _, item := range b.Items {
			dropped(item, have)
		}
	}
}
