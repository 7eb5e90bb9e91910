package richtext

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

// MaxParts is the most parts that Split makes: what needs more is no thread.
const MaxParts = 100

// The errors of Split.
var (
	// ErrUnbreakable means that something which must stay whole (a word, a link, a mention, a line of code) does not fit.
	ErrUnbreakable = errors.New("cannot be split")
	// ErrTooManyParts means that more than MaxParts parts would be needed.
	ErrTooManyParts = errors.New("too many parts")
)

// grain is how fine the borders are at which a document may be split.
type grain int

const (
	atBlock    grain = iota // between blocks
	atItem                  // between list items and blocks of a quote
	atSentence              // between sentences and at line breaks
	atWord                  // at blanks, and between lines of code
	atScript                // between words of scripts that are written without blanks
)

// Split cuts a document into parts that fit, at block borders where possible, else at sentences, else at words; never
// inside a grapheme, link, mention, hashtag or code span. Read one after another the parts are the document's text, but for
// white space at the cuts. fits must hold for every part of a document that it holds for. A document that fits is
// returned as it is; an empty one gives no part.
func Split(doc providers.Doc, fits func(providers.Doc) bool) ([]providers.Doc, error) {
	ok := func(bs []providers.Block) bool { return fits(providers.Doc{Blocks: bs}) }
	var out []providers.Doc
	rest := doc.Blocks
	for len(rest) > 0 {
		if len(out) == MaxParts {
			return nil, fmt.Errorf("%w: more than %d would be needed", ErrTooManyParts, MaxParts)
		}
		head, tail, err := next(rest, ok)
		if err != nil {
			return nil, err
		}
		rest = tail
		if d := (providers.Doc{Blocks: head}); len(out)+len(rest) == 0 || strings.TrimSpace(Plain(d)) != "" {
			out = append(out, d)
		}
	}
	return out, nil
}

// next takes the next part off bs.
func next(bs []providers.Block, fits func([]providers.Block) bool) (head, tail []providers.Block, err error) {
	if fits(bs) {
		return bs, nil, nil
	}
	whole := takeBlocks(bs, fits)
	if n := whole; n > 0 && fits(bs[n:n+1]) {
		// a heading belongs to what follows it: it moves along, or takes what there is room for
		heading := bs[n-1].Kind == providers.Heading
		if heading && n > 1 {
			return bs[:n-1], bs[n-1:], nil
		}
		if !heading {
			return bs[:n], bs[n:], nil
		}
	}
	for g := atItem; g <= atScript; g++ {
		if g == atWord && whole > 0 {
			return bs[:whole], bs[whole:], nil
		}
		first, second, ok := cut(bs[whole], g, func(b []providers.Block) bool {
			return fits(append(slices.Clip(bs[:whole]), b...))
		})
		if ok {
			head = append(slices.Clip(bs[:whole]), first...)
			return head, append(second, bs[whole+1:]...), nil
		}
	}
	return nil, nil, fmt.Errorf("%w: %q is too long by itself", ErrUnbreakable, sample(bs[0]))
}

// takeBlocks is how many whole blocks fit.
func takeBlocks(bs []providers.Block, fits func([]providers.Block) bool) int {
	return largest(len(bs), func(n int) bool { return fits(bs[:n]) })
}

// largest returns the largest n in [0, limit] for which ok holds, where ok(0) counts as true and ok never comes back once
// it has failed. It tries small values first: what fits is mostly a small part of what there is.
func largest(limit int, ok func(int) bool) int {
	low, high := 0, 1
	for high <= limit && ok(high) {
		low, high = high, 2*high
	}
	if low == limit {
		return low
	}
	high = min(high, limit)
	return low + sort.Search(high-low, func(i int) bool { return !ok(low + i + 1) })
}

// cut splits one block so that its first piece is as long as fits allows. ok is false where no border of this grain
// leaves something on both sides.
func cut(b providers.Block, g grain, fits func([]providers.Block) bool) (first, second []providers.Block, ok bool) {
	switch b.Kind {
	case providers.Paragraph, providers.Heading:
		return cutSpans(b, g, fits)
	case providers.Quote:
		return cutQuote(b, g, fits)
	case providers.List:
		return cutList(b, g, fits)
	case providers.CodeBlock:
		if g >= atWord {
			return cutCode(b, fits)
		}
	case providers.Rule:
	}
	return nil, nil, false
}

func cutQuote(b providers.Block, g grain, fits func([]providers.Block) bool) (first, second []providers.Block, ok bool) {
	quote := func(bs []providers.Block) []providers.Block {
		q := b
		q.Blocks = bs
		return []providers.Block{q}
	}
	within := func(bs []providers.Block) bool { return fits(quote(bs)) }
	n := takeBlocks(b.Blocks, within)
	if n == len(b.Blocks) {
		return nil, nil, false
	}
	head, tail, ok := inside(b.Blocks, n, g, within)
	if !ok {
		return nil, nil, false
	}
	return quote(head), quote(tail), true
}

// inside cuts bs, of which n whole blocks fit: after those, or inside the first one.
func inside(bs []providers.Block, n int, g grain, fits func([]providers.Block) bool) (head, tail []providers.Block, ok bool) {
	if n > 0 {
		return bs[:n], bs[n:], true
	}
	first, second, ok := cut(bs[0], g, fits)
	if !ok {
		return nil, nil, false
	}
	return first, append(second, bs[1:]...), true
}

func cutList(b providers.Block, g grain, fits func([]providers.Block) bool) (first, second []providers.Block, ok bool) {
	list := func(from, to int) providers.Block {
		l := b
		l.Items = b.Items[from:to]
		l.Start = b.Start + from
		return l
	}
	n := largest(len(b.Items), func(n int) bool { return fits([]providers.Block{list(0, n)}) })
	if n == len(b.Items) {
		return nil, nil, false
	}
	if n > 0 {
		return []providers.Block{list(0, n)}, []providers.Block{list(n, len(b.Items))}, true
	}
	// The first item alone is too long: its rest goes on as blocks of their own, without a second mark.
	item := b.Items[0]
	one := func(bs []providers.Block) []providers.Block {
		l := list(0, 1)
		l.Items = [][]providers.Block{bs}
		return []providers.Block{l}
	}
	within := func(bs []providers.Block) bool { return fits(one(bs)) }
	n = takeBlocks(item, within)
	if n == len(item) {
		return nil, nil, false
	}
	head, tail, ok := inside(item, n, g, within)
	if !ok {
		return nil, nil, false
	}
	second = slices.Clone(tail)
	if len(b.Items) > 1 {
		second = append(second, list(1, len(b.Items)))
	}
	return one(head), second, true
}

func sample(b providers.Block) string {
	s := []rune(Plain(providers.Doc{Blocks: []providers.Block{b}}))
	if len(s) > 40 {
		return string(s[:40]) + "…"
	}
	return string(s)
}
