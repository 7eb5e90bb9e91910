// Package richtext works on the document between Markdown and the networks: it shows it as plain text, splits it into
// parts, and finds text that would deceive a reader. It knows no network's rules of counting: callers bring a function
// that says what fits.
package richtext

import (
	"strconv"
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

// Plain returns the document as text: blocks separated by a blank line, list items marked, no styles and no link
// addresses. It is for people to look at; networks have encoders of their own.
func Plain(d providers.Doc) string {
	var b strings.Builder
	blocks(&b, d.Blocks, "")
	return b.String()
}

// blocks writes bs; every line but the first begins with indent.
func blocks(b *strings.Builder, bs []providers.Block, indent string) {
	for i, block := range bs {
		if i > 0 {
			b.WriteString("\n\n" + indent)
		}
		switch block.Kind {
		case providers.Paragraph, providers.Heading:
			b.WriteString(indented(PlainSpans(block.Spans), indent))
		case providers.Quote:
			b.WriteString("> ")
			blocks(b, block.Blocks, indent+"> ")
		case providers.List:
			for n, item := range block.Items {
				if n > 0 {
					b.WriteString("\n" + indent)
				}
				mark := "• "
				if block.Ordered {
					mark = strconv.Itoa(block.Start+n) + ". "
				}
				b.WriteString(mark)
				blocks(b, item, indent+"  ")
			}
		case providers.CodeBlock:
			b.WriteString(indented(strings.TrimRight(block.Text, "\n"), indent))
		case providers.Rule:
			b.WriteString("———")
		}
	}
}

func indented(s, indent string) string { return strings.ReplaceAll(s, "\n", "\n"+indent) }

// PlainSpans returns inline elements as text; a line break is "\n".
func PlainSpans(spans []providers.Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(spanText(s))
	}
	return b.String()
}

func spanText(s providers.Span) string {
	if s.Kind == providers.LineBreak {
		return "\n"
	}
	return s.Text
}

// Walk calls each for every run of inline elements in the document, in order.
func Walk(d providers.Doc, each func(spans []providers.Span)) { walk(d.Blocks, each) }

func walk(bs []providers.Block, each func(spans []providers.Span)) {
	for _, b := range bs {
		if len(b.Spans) > 0 {
			each(b.Spans)
		}
		walk(b.Blocks, each)
		for _, item := range b.Items {
			walk(item, each)
		}
	}
}
