package providers

// Doc is rich text between Markdown and the networks: every provider encodes it its own way.
type Doc struct {
	Blocks []Block
}

// Empty tells whether the document has nothing to show.
func (d Doc) Empty() bool { return len(d.Blocks) == 0 }

// BlockKind is the kind of a block.
type BlockKind int

// The kinds of blocks.
const (
	Paragraph BlockKind = iota
	Heading             // Level 1 to 6
	Quote               // Blocks
	List                // Items, Ordered, Start
	CodeBlock           // Text, Lang
	Rule                // a thematic break
)

// Block is one element of the document's flow.
type Block struct {
	Kind    BlockKind
	Level   int
	Ordered bool
	Start   int // first number of an ordered list
	Spans   []Span
	Items   [][]Block
	Blocks  []Block
	Lang    string
	Text    string
}

// SpanKind is the kind of an inline element.
type SpanKind int

// The kinds of spans.
const (
	Text      SpanKind = iota
	LineBreak          // a line break that stays one
	Mention            // Text is what is shown, Handle whom it names on this destination's network
	Hashtag            // Text is what is shown, with '#'; Handle is the tag without it
	Image              // an image inside running text: Text is its alt, URL its source
)

// Style is a set of inline styles.
type Style uint8

// The styles, to be combined.
const (
	Bold Style = 1 << iota
	Italic
	Strike
	Code
)

// Span is a run of inline text with one style and one link.
type Span struct {
	Kind   SpanKind
	Text   string
	Style  Style
	URL    string // where the span links to; "" for none
	Handle string
}
