package content

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newMarkdown returns the parser of post bodies. It is safe for concurrent use.
func newMarkdown() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(), util.Prioritized(directiveParser{}, 50))...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(linkParser{}, 600),
		)...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(bounder{}, 50))...),
	)
}

// Bounds on marks in paragraphs: the parser's time grows with their square.
const (
	maxMarks     = 4096
	maxMarksCost = 100_000_000 // sum of the squares over one text
)

// overlong stands for a paragraph with too many marks, which is not parsed.
type overlong struct{ ast.BaseBlock }

// Kind implements ast.Node.
func (*overlong) Kind() ast.NodeKind { return kindOverlong }

// IsRaw implements ast.Node: nothing looks for inline nodes in it.
func (*overlong) IsRaw() bool { return true }

// Dump implements ast.Node.
func (o *overlong) Dump(source []byte, level int) { ast.DumpHelper(o, source, level, nil, nil) }

// The library's registrations; each has to be made once.
var (
	kindOverlong  = ast.NewNodeKind("Overlong")
	kindDirective = ast.NewNodeKind("Directive")
	marksCost     = parser.NewContextKey()
)

// bounder replaces paragraphs with too many marks, before the parser looks into them.
type bounder struct{}

// Transform implements parser.ParagraphTransformer.
func (bounder) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	n := 0
	for i := range node.Lines().Len() {
		line := node.Lines().At(i)
		n += marks(line.Value(reader.Source()))
	}
	cost, _ := pc.Get(marksCost).(int)
	if n > 64 {
		cost += n * n
		pc.Set(marksCost, cost)
	}
	if n <= maxMarks && cost <= maxMarksCost {
		return
	}
	o := &overlong{}
	o.SetPos(node.Lines().At(0).Start)
	node.Parent().ReplaceChild(node.Parent(), node, o)
}

// mark tells the bytes that the parser of inline nodes stops at for good.
var mark = [256]bool{'*': true, '_': true, '~': true, '[': true, ']': true, '<': true, '`': true}

func marks(line []byte) int {
	n := 0
	for _, c := range line {
		if mark[c] {
			n++
		}
	}
	return n
}

// directive is a `:::` line with the blocks up to the line that closes it.
type directive struct {
	ast.BaseBlock
	role   role
	words  string // what follows the colons
	at     int    // offset of words
	closed bool
	inner  int // blocks that open inside and are not closed yet
}

// role tells which kind of `:::` line a directive is.
type role int

const (
	opener    role = iota
	stray          // closes nothing
	nested         // opens inside an open one
	misplaced      // stands in a list or quote
)

// Kind implements ast.Node.
func (d *directive) Kind() ast.NodeKind { return kindDirective }

// Dump implements ast.Node.
func (d *directive) Dump(source []byte, level int) { ast.DumpHelper(d, source, level, nil, nil) }

type directiveParser struct{}

func (directiveParser) Trigger() []byte { return []byte{':'} }

func (directiveParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	from := pc.BlockOffset()
	if from < 0 {
		return nil, parser.NoChildren
	}
	n := colons(line[from:])
	if n < 3 {
		return nil, parser.NoChildren
	}
	rest := line[from+n:]
	words := bytes.TrimSpace(rest)
	d := &directive{words: string(words), at: segment.Start + from + n + bytes.Index(rest, words)}
	state := parser.HasChildren
	switch {
	case parent.Kind() == kindDirective:
		// It is no container, so that no depth of them can be built up; what closes it is counted instead.
		d.role, state = nested, parser.NoChildren
		if outer, ok := parent.(*directive); ok {
			outer.inner++
		}
	case parent.Kind() != ast.KindDocument:
		d.role, state = misplaced, parser.NoChildren
	case len(words) == 0:
		d.role, state = stray, parser.NoChildren
	}
	reader.AdvanceToEOL()
	return d, state
}

func (directiveParser) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	d, ok := node.(*directive)
	if !ok || d.role != opener {
		return parser.Close
	}
	line, _ := reader.PeekLine()
	if !closes(line) || inCode(pc) {
		return parser.Continue | parser.HasChildren
	}
	reader.AdvanceToEOL()
	if d.inner > 0 {
		d.inner--
		return parser.Continue | parser.HasChildren
	}
	d.closed = true
	return parser.Close
}

func (directiveParser) Close(ast.Node, text.Reader, parser.Context) {}

func (directiveParser) CanInterruptParagraph() bool { return true }

func (directiveParser) CanAcceptIndentedLine() bool { return false }

func colons(line []byte) int {
	n := 0
	for n < len(line) && line[n] == ':' {
		n++
	}
	return n
}

func closes(line []byte) bool {
	w, from := util.IndentWidth(line, 0)
	if w > 3 || from > len(line) {
		return false
	}
	rest := line[from:]
	n := colons(rest)
	return n >= 3 && util.IsBlank(rest[n:])
}

// inCode tells whether a fenced code block is open, which takes every line.
func inCode(pc parser.Context) bool {
	last := pc.LastOpenedBlock().Node
	return last != nil && last.Kind() == ast.KindFencedCodeBlock
}
