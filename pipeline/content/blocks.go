package content

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// converter turns the library's tree of one Markdown text into blocks.
type converter struct {
	*report
	*source
	parser *Parser
	file   string // the post's path, for media
	join   bool   // a single newline is a space
	// wrapHint is set until a hint about hard-wrapped lines was given.
	wrapHint bool
	whole    string // the text once more, for spans to share
	mem      *scratch
}

// block converts n; ok is false where nothing is left to show.
func (c *converter) block(n ast.Node) (b providers.Block, ok bool) {
	switch v := n.(type) {
	case *ast.Paragraph:
		if table(v, c.text) {
			c.error(CodeTableNotSupported, c.pos(n.Pos()), "tables are not supported", "write a list, or attach an image of the table")
		}
		c.wrapped(v)
		b = providers.Block{Kind: providers.Paragraph, Spans: c.inline(n)}
		return b, len(b.Spans) > 0
	case *ast.TextBlock:
		b = providers.Block{Kind: providers.Paragraph, Spans: c.inline(n)}
		return b, len(b.Spans) > 0
	case *ast.Heading:
		c.setext(v)
		b = providers.Block{Kind: providers.Heading, Level: v.Level, Spans: c.inline(n)}
		return b, len(b.Spans) > 0
	case *ast.Blockquote:
		b = providers.Block{Kind: providers.Quote, Blocks: c.blocks(n)}
		return b, len(b.Blocks) > 0
	case *ast.List:
		return c.list(v)
	case *ast.FencedCodeBlock:
		b = providers.Block{Kind: providers.CodeBlock, Text: c.lines(v.Lines().Len(), v), Lang: string(v.Language(c.text))}
		return b, b.Text != ""
	case *ast.CodeBlock:
		b = providers.Block{Kind: providers.CodeBlock, Text: c.lines(v.Lines().Len(), v)}
		return b, b.Text != ""
	case *ast.ThematicBreak:
		return providers.Block{Kind: providers.Rule}, true
	case *ast.HTMLBlock:
		c.htmlBlock(v)
	case *directive:
		c.directiveInside(v)
	case *overlong:
		complexText(c.source, c.report, v.Pos())
	}
	return providers.Block{}, false
}

func (c *converter) blocks(parent ast.Node) []providers.Block {
	var out []providers.Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if b, ok := c.block(n); ok {
			out = append(out, b)
		}
	}
	return out
}

func (c *converter) list(v *ast.List) (providers.Block, bool) {
	b := providers.Block{Kind: providers.List, Ordered: v.IsOrdered(), Start: v.Start}
	for n := v.FirstChild(); n != nil; n = n.NextSibling() {
		b.Items = append(b.Items, c.blocks(n))
	}
	filled := slices.ContainsFunc(b.Items, func(item []providers.Block) bool { return len(item) > 0 })
	return b, filled
}

// lines joins the lines of a code block, without the last newline.
func (c *converter) lines(n int, v ast.Node) string {
	var b []byte
	for i := range n {
		line := v.Lines().At(i)
		b = append(b, line.Value(c.text)...)
	}
	return string(bytes.TrimSuffix(b, []byte{'\n'}))
}

// setext refuses a heading that a line of hyphens made: it was meant as the start of a part.
func (c *converter) setext(v *ast.Heading) {
	if v.Level != 2 || v.Lines().Len() == 0 || atx(c.lineAt(v.Pos())) {
		return
	}
	last := v.Lines().At(v.Lines().Len() - 1)
	bar := last.Stop
	if bar > 0 && bar <= len(c.text) && c.text[bar-1] != '\n' {
		if i := bytes.IndexByte(c.text[bar:], '\n'); i >= 0 {
			bar += i + 1
		}
	}
	c.error(CodeSetextHeading, c.pos(bar), "hyphens directly under text make it a heading in Markdown",
		"put a blank line above --- for the next part, or write ## for a heading")
}

// atx tells whether a line is a heading with #.
func atx(line []byte) bool {
	line = bytes.TrimLeft(line, " \t>")
	n := len(line) - len(bytes.TrimLeft(line, "#"))
	return n > 0 && n <= 6 && (n == len(line) || line[n] == ' ' || line[n] == '\t')
}

// table tells whether a paragraph is a table to those who know tables: its second line is made of bars and hyphens.
func table(v *ast.Paragraph, text []byte) bool {
	if v.Lines().Len() < 2 {
		return false
	}
	head, rule := v.Lines().At(0), v.Lines().At(1)
	line := bytes.TrimSpace(rule.Value(text))
	return bytes.IndexByte(line, '-') >= 0 && bytes.IndexByte(line, '|') >= 0 && len(bytes.Trim(line, "|-: \t")) == 0 &&
		bytes.IndexByte(head.Value(text), '|') >= 0
}

// wrapped gives a hint where the lines of a paragraph look as if an editor had broken them.
func (c *converter) wrapped(v *ast.Paragraph) {
	const shortest, longest = 60, 100 // characters in a line that an editor breaks
	n := v.Lines().Len()
	if !c.wrapHint || n < 3 {
		return
	}
	for i := range n - 1 {
		s := v.Lines().At(i)
		if w := utf8.RuneCount(bytes.TrimRight(s.Value(c.text), " \n\\")); w < shortest || w > longest {
			return
		}
	}
	c.wrapHint = false
	c.warn(CodeHardWrapped, c.pos(v.Pos()), "the lines look hard-wrapped: each newline is sent as a line break",
		"write each paragraph in one line, or set line_breaks: join (or keep)")
}

// htmlBlock drops comments and refuses all other HTML.
func (c *converter) htmlBlock(v *ast.HTMLBlock) {
	var raw []byte
	for i := range v.Lines().Len() {
		line := v.Lines().At(i)
		raw = append(raw, line.Value(c.text)...)
	}
	if v.HasClosure() {
		raw = append(raw, v.ClosureLine.Value(c.text)...)
	}
	rest := raw
	for {
		from := bytes.Index(rest, []byte("<!--"))
		if from < 0 {
			break
		}
		to := bytes.Index(rest[from:], []byte("-->"))
		before := rest[:from]
		if len(bytes.TrimSpace(before)) > 0 || to < 0 {
			rest = before
			break
		}
		rest = rest[from+to+len("-->"):]
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		c.html(v.Pos(), rest)
	}
}

// directiveInside reports a directive where none may stand.
func (c *converter) directiveInside(v *directive) {
	at := c.pos(v.Pos())
	switch v.role {
	case nested:
		c.error(CodeBlockNested, at, "a block inside a block", "close the first one with ::: before the next one opens")
	case stray:
		c.error(CodeBlockNotOpen, at, "::: closes a block that was never opened", "remove it, or write \\::: for the text")
	case misplaced, opener:
		c.error(CodeBlockMisplaced, at, "a ::: block in a list, a quote or a text: override",
			"put it at the margin of the body, or write \\::: for the text")
	}
	c.blocks(v)
}

// attached returns the images of a paragraph that holds nothing else.
func (c *converter) attached(n ast.Node) ([]pipeline.MediaUse, bool) {
	if n.Kind() != ast.KindParagraph || n.FirstChild() == nil {
		return nil, false
	}
	images := 0
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		switch v := k.(type) {
		case *ast.Image:
			images++
		case *ast.Text:
			if len(bytes.TrimSpace(v.Segment.Value(c.text))) > 0 {
				return nil, false
			}
		case *ast.RawHTML:
			first := v.Segments.At(0)
			if !bytes.HasPrefix(first.Value(c.text), []byte("<!--")) {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	if images == 0 {
		return nil, false
	}
	out := make([]pipeline.MediaUse, 0, images)
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		if v, ok := k.(*ast.Image); ok {
			out = append(out, c.image(v))
		}
	}
	return out, true
}
