package content

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// bodyReader turns a Markdown text into segments.
type bodyReader struct {
	*converter
	post *pipeline.Post
	out  []pipeline.Segment
	cur  pipeline.Segment // the segment that is being filled
	// blocks and at are the current segment's.
	blocks []providers.Block
	at     []pipeline.Pos
	parts  int // that were begun after the first
}

// body parses a Markdown text. override tells that it is a text: of the front matter, where no ::: block may stand.
func (p *Parser) body(post *pipeline.Post, s *source, r *report, wrapHint, override bool) pipeline.Body {
	if !shallow(s, r) {
		return pipeline.Body{}
	}
	c := &converter{
		report: r, source: s, parser: p, file: post.Path, join: post.LineBreaks == lineBreaksJoin, wrapHint: wrapHint,
	}
	if len(s.text) > 0 && s.text[len(s.text)-1] != '\n' {
		s.text = append(slices.Clip(s.text), '\n') // the library forgets some closing lines at the end
	}
	c.mem, _ = p.scratch.Get().(*scratch)
	defer p.scratch.Put(c.mem)
	c.whole, s.starts = string(s.text), c.mem.lines[:0]
	doc := p.markdown.Parse(text.NewReader(s.text))
	b := &bodyReader{converter: c, post: post, out: c.mem.segments[:0], blocks: c.mem.blocks[:0], at: c.mem.at[:0]}
	for n := doc.FirstChild(); n != nil && b.parts < maxParts; n = n.NextSibling() {
		if d, ok := n.(*directive); ok && d.role == opener && !override {
			b.directive(d)
			continue
		}
		b.add(n)
	}
	b.flush(pipeline.Segment{})
	out := slices.Clone(b.out)
	if b.parts >= maxParts {
		out = nil
	}
	c.mem.segments, c.mem.blocks, c.mem.at, c.mem.lines = b.out, b.blocks, b.at, s.starts
	s.starts = nil
	return pipeline.Body{Segments: out}
}

// add puts one block at the end of the current segment.
func (b *bodyReader) add(n ast.Node) {
	if v, ok := n.(*ast.ThematicBreak); ok {
		b.thematicBreak(v)
		return
	}
	if images, ok := b.attached(n); ok {
		b.place(n.Pos())
		b.cur.Media = append(b.cur.Media, images...)
		return
	}
	b.show(n)
}

func (b *bodyReader) show(n ast.Node) {
	block, ok := b.block(n)
	if !ok {
		return
	}
	b.place(n.Pos())
	b.blocks = append(b.blocks, block)
	b.at = append(b.at, b.pos(n.Pos()))
}

func (b *bodyReader) place(at int) {
	if b.cur.Pos.Line == 0 {
		b.cur.Pos = b.pos(at)
	}
}

// flush ends the current segment and begins one with next's audience.
func (b *bodyReader) flush(next pipeline.Segment) {
	if len(b.blocks) > 0 || len(b.cur.Media) > 0 {
		b.cur.Doc.Blocks, b.cur.BlockPos = slices.Clone(b.blocks), slices.Clone(b.at)
		b.blocks, b.at = b.blocks[:0], b.at[:0]
		b.out = append(b.out, b.cur)
	}
	b.cur = pipeline.Segment{Only: next.Only, Not: next.Not, Instead: next.Instead}
}

// thematicBreak tells apart what starts a part and what is a rule in the text.
func (b *bodyReader) thematicBreak(v *ast.ThematicBreak) {
	line := b.lineAt(v.Pos())
	mark := bytes.TrimSpace(line)
	if len(mark) == 0 || mark[0] != '-' {
		b.show(v)
		return
	}
	at := b.pos(v.Pos())
	if string(bytes.TrimRight(line, " \t")) != "---" {
		b.error(CodeAmbiguousBreak, at, fmt.Sprintf("%q could be the next part or a line in the text", mark),
			"write --- for the next part, or *** for a line in the text")
		return
	}
	if !b.blankAround(v.Pos()) {
		b.error(CodeBreakNeedsBlankLine, at, "--- starts the next part only between blank lines",
			"put a blank line above and below it, or write *** for a line in the text")
		return
	}
	if len(b.cur.Only) > 0 || len(b.cur.Not) > 0 {
		b.error(CodeBlockCrossesPart, at, "a part starts inside a ::: block",
			"close the block before --- and open it again after it; only `instead` may hold parts")
		return
	}
	if b.parts++; b.parts >= maxParts {
		if b.parts == maxParts {
			b.error(CodeTooManyParts, at, fmt.Sprintf("more than %d parts in one text", maxParts), "make several posts of it")
		}
		return
	}
	audience := pipeline.Segment{Instead: b.cur.Instead}
	b.flush(audience)
	b.out = append(b.out, pipeline.Segment{Break: true, Instead: audience.Instead, Pos: at})
}

// blankAround tells whether the lines above and below the one at offset are blank. The ends of the text count as blank.
func (b *bodyReader) blankAround(offset int) bool {
	from := bytes.LastIndexByte(b.text[:offset], '\n') + 1
	if from > 0 && len(bytes.TrimSpace(b.lineAt(from-1))) > 0 {
		return false
	}
	n := bytes.IndexByte(b.text[offset:], '\n')
	return n < 0 || len(bytes.TrimSpace(b.lineAt(offset+n+1))) == 0
}

// directive reads a ::: block with an audience.
func (b *bodyReader) directive(d *directive) {
	audience, ok := b.audience(d)
	if !d.closed {
		b.error(CodeBlockUnclosed, b.pos(d.Pos()), "this block is never closed", "add a line with ::: where it ends")
		ok = false
	}
	if !ok {
		b.converter.blocks(d) // what is wrong inside is reported all the same
		return
	}
	b.flush(audience)
	for n := d.FirstChild(); n != nil; n = n.NextSibling() {
		b.add(n)
	}
	b.flush(pipeline.Segment{})
}

// audience reads what follows the colons: a kind and the names of destinations or groups.
func (b *bodyReader) audience(d *directive) (pipeline.Segment, bool) {
	at := b.pos(d.at)
	kind, rest, _ := strings.Cut(d.words, " ")
	kinds := []string{"only", "not", "instead"}
	known := false
	for _, k := range kinds {
		known = known || k == kind
	}
	if !known {
		hint := didYouMean(kind, kinds)
		if hint == "" {
			hint = "write ::: only, ::: not or ::: instead, or \\::: for the text"
		}
		b.error(CodeBlockUnknown, at, fmt.Sprintf("unknown block %q", short(kind)), hint)
		return pipeline.Segment{}, false
	}
	names := strings.FieldsFunc(rest, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	if len(names) == 0 {
		b.error(CodeBlockNoDestination, at, "a block without destinations", "name them: ::: "+kind+" "+b.parser.example())
		return pipeline.Segment{}, false
	}
	expanded, unknown := b.parser.cfg.Expand(names)
	for _, name := range unknown {
		b.parser.unknownDestination(b.report, at, name)
	}
	if len(unknown) > 0 {
		return pipeline.Segment{}, false
	}
	var out pipeline.Segment
	switch kind {
	case "only":
		out.Only = expanded
	case "not":
		out.Not = expanded
	case "instead":
		out.Instead = expanded
	}
	if kind != "not" {
		b.unused(at, names)
	}
	return out, true
}

// unused warns where a block names a destination that the post does not go to. Groups may hold such.
func (b *bodyReader) unused(at pipeline.Pos, names []string) {
	for _, name := range names {
		if _, single := b.parser.dests[name]; !single {
			continue
		}
		goes := false
		for _, d := range b.post.Destinations {
			goes = goes || d.Name == name
		}
		if !goes && len(b.post.Destinations) > 0 {
			b.warn(CodeBlockUnusedDestination, at, fmt.Sprintf("the post does not go to %s", name),
				"add it to destinations, or remove it here")
		}
	}
}

// maxLines bounds the lines of one text: what many thousands of blocks become is no post any more.
const maxLines = 100_000

// shallow bounds the lines of a text, the nesting of quotes and lists, over which the parser recurses, and the marks in
// one heading.
func shallow(s *source, r *report) bool {
	if n := bytes.Count(s.text, []byte{'\n'}); n > maxLines {
		r.error(CodeTooComplex, s.pos(0), fmt.Sprintf("the text has %d lines; the most is %d", n, maxLines), "make several posts of it")
		return false
	}
	const maxDepth = 32
	for from := 0; from < len(s.text); {
		line := s.text[from:]
		next := len(s.text)
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line, next = line[:n], from+n+1
		}
		if markers(line) > maxDepth {
			r.error(CodeTooDeep, s.pos(from), fmt.Sprintf("quotes or lists nested more than %d levels deep", maxDepth), "")
			return false
		}
		if len(line) > maxMarks && bytes.HasPrefix(bytes.TrimLeft(line, " \t>"), []byte{'#'}) && marks(line) > maxMarks {
			complexText(s, r, from)
			return false
		}
		from = next
	}
	return true
}

func complexText(s *source, r *report, at int) {
	r.error(CodeTooComplex, s.pos(at), "too many Markdown marks (*, _, [, ` and the like) in one paragraph",
		"divide it by blank lines, or put it into a code block")
}

// markers counts what could open quotes and lists at the start of a line.
func markers(line []byte) int {
	n := 0
	for i, c := range line {
		switch {
		case c == '>':
			n++
		case c == ' ' || c == '\t':
		case c == '-' || c == '+' || c == '*' || c == '.' || c == ')':
			if i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') {
				n++
			}
		case c >= '0' && c <= '9':
		default:
			return n
		}
	}
	return n
}
