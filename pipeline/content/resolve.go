package content

import (
	"fmt"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// Resolved is what a post says at one destination, before it is rendered.
type Resolved struct {
	Title string
	Lang  string
	Parts []ResolvedPart // none of them empty
}

// ResolvedPart is one part. Its documents may be shared with the post: nothing changes them. In a LineBreak of a Doc, Text
// is "\n" where the author made the break hard and "" where it is a newline in the file.
type ResolvedPart struct {
	Doc   providers.Doc
	Media []pipeline.MediaUse
	Pos   pipeline.Pos
}

// Resolve applies to a post what concerns d: blocks, `text:`, media, people. dest is d's destination in cfg, info its
// provider. For long-form providers, and for posts with `thread: false`, the result has one part and every break is a
// rule. The diagnostics concern d alone.
func Resolve(p *pipeline.Post, d pipeline.PostDestination, dest pipeline.Destination, cfg *pipeline.Config, info providers.Info) (Resolved, []pipeline.Diagnostic) {
	r := &resolver{report: report{file: p.Path}, name: dest.Name, people: cfg.People, longForm: info.LongForm}
	out := Resolved{Title: p.Title, Lang: p.Lang}
	if d.Title != "" {
		out.Title = d.Title
	}
	parts := r.parts(r.segments(p, d), info.LongForm || p.Thread == pipeline.ThreadNone)
	media := p.Media
	if d.Media != nil {
		media = d.Media
	}
	parts = r.attach(parts, media, info.LongForm || p.Thread == pipeline.ThreadNone)
	for _, part := range parts {
		if len(part.Doc.Blocks) > 0 || len(part.Media) > 0 {
			out.Parts = append(out.Parts, part)
		}
	}
	if len(out.Parts) == 0 && !d.Skip {
		at := d.Pos
		if at.Line == 0 {
			at = p.IDPos
		}
		r.error(CodeEmptyPost, at, "the post says nothing at "+d.Name, "write a text, attach media, or set skip: true")
	}
	for i := range r.list {
		r.list[i].Post, r.list[i].Destination = p.ID, d.Name
	}
	return out, r.list
}

type resolver struct {
	report
	name     string // of the destination
	people   map[string]map[string]string
	longForm bool
}

// segments returns what of the post's body is meant for the destination.
func (r *resolver) segments(p *pipeline.Post, d pipeline.PostDestination) []pipeline.Segment {
	body := p.Body.Segments
	if d.Text != nil {
		body = d.Text.Segments
	}
	everywhere := true
	for _, s := range p.Body.Segments {
		everywhere = everywhere && s.Only == nil && s.Not == nil && s.Instead == nil
	}
	if everywhere {
		return body
	}
	instead := r.instead(p, d)
	switch {
	case d.Text != nil:
		return body
	case instead != nil:
		return instead
	}
	var out []pipeline.Segment
	for _, s := range body {
		if s.Instead == nil && (s.Only == nil || slices.Contains(s.Only, r.name)) && !slices.Contains(s.Not, r.name) {
			out = append(out, s)
		}
	}
	return out
}

// instead returns the segments of the block that replaces the body, and reports a second one. The segments of one block
// share their list of names; those of another have one of their own.
func (r *resolver) instead(p *pipeline.Post, d pipeline.PostDestination) []pipeline.Segment {
	var out []pipeline.Segment
	for _, s := range p.Body.Segments {
		if !slices.Contains(s.Instead, r.name) {
			continue
		}
		if d.Text != nil {
			r.error(CodeSeveralInstead, s.Pos, d.Name+" has a text: override and an `instead` block", "keep one of them")
			return nil
		}
		if out != nil && &out[0].Instead[0] != &s.Instead[0] {
			r.error(CodeSeveralInstead, s.Pos, "a second `instead` block for "+d.Name, "keep one of them")
			return out
		}
		out = append(out, s)
	}
	return out
}

// parts divides segments at breaks; where single is set, breaks become rules between what is not empty.
func (r *resolver) parts(segments []pipeline.Segment, single bool) []ResolvedPart {
	out := []ResolvedPart{{}}
	var ownBlocks, ownMedia bool // the last part's are no segment's
	broken := false
	for _, s := range segments {
		if s.Break {
			if single {
				broken = len(out[0].Doc.Blocks) > 0
			} else {
				out = append(out, ResolvedPart{})
				ownBlocks, ownMedia = false, false
			}
			continue
		}
		part := &out[len(out)-1]
		if part.Pos.Line == 0 {
			part.Pos = s.Pos
		}
		part.Media = join(part.Media, s.Media, &ownMedia)
		blocks := r.document(s)
		if len(blocks) == 0 {
			continue
		}
		if broken {
			part.Doc.Blocks = join(part.Doc.Blocks, []providers.Block{{Kind: providers.Rule}}, &ownBlocks)
			broken = false
		}
		part.Doc.Blocks = join(part.Doc.Blocks, blocks, &ownBlocks)
	}
	return out
}

// join appends without writing into what a belongs to, unless own says that it belongs to nobody else, as it does from
// then on; where one is empty, it returns the other.
func join[T any](a, b []T, own *bool) []T {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	if !*own {
		a, *own = slices.Clip(a), true
	}
	return append(a, b...)
}

// attach gives the media of the front matter to the parts that they name, or the first.
func (r *resolver) attach(parts []ResolvedPart, media []pipeline.MediaUse, single bool) []ResolvedPart {
	own := make([]bool, len(parts))
	for _, m := range media {
		i := max(m.Part, 1) - 1
		if single {
			i = 0
		}
		if i >= len(parts) {
			r.error(CodeMediaPart, m.Pos, fmt.Sprintf("there is no part %d at %s", m.Part, r.name),
				fmt.Sprintf("the post has %d there", len(parts)))
			continue
		}
		if parts[i].Pos.Line == 0 {
			parts[i].Pos = m.Pos
		}
		parts[i].Media = join(parts[i].Media, []pipeline.MediaUse{m}, &own[i])
	}
	return parts
}

// document resolves people and, for articles, line breaks. It returns the segment's own blocks where nothing changes.
func (r *resolver) document(s pipeline.Segment) []providers.Block {
	var out []providers.Block
	for i := range s.Doc.Blocks {
		at := s.Pos
		if i < len(s.BlockPos) {
			at = s.BlockPos[i]
		}
		b, changed := r.block(s.Doc.Blocks[i], at)
		if changed && out == nil {
			out = slices.Clone(s.Doc.Blocks)
		}
		if changed {
			out[i] = b
		}
	}
	if out == nil {
		return s.Doc.Blocks
	}
	return out
}

func (r *resolver) block(b providers.Block, at pipeline.Pos) (providers.Block, bool) {
	spans, changed := r.spans(b.Spans, at)
	b.Spans = spans
	if len(b.Blocks) > 0 {
		inner, c := r.blocks(b.Blocks, at)
		b.Blocks, changed = inner, changed || c
	}
	var items [][]providers.Block
	for i, item := range b.Items {
		inner, c := r.blocks(item, at)
		if c && items == nil {
			items = slices.Clone(b.Items)
		}
		if c {
			items[i], changed = inner, true
		}
	}
	if items != nil {
		b.Items = items
	}
	return b, changed
}

func (r *resolver) blocks(in []providers.Block, at pipeline.Pos) ([]providers.Block, bool) {
	var out []providers.Block
	for i := range in {
		if b, changed := r.block(in[i], at); changed {
			if out == nil {
				out = slices.Clone(in)
			}
			out[i] = b
		}
	}
	if out == nil {
		return in, false
	}
	return out, true
}

func (r *resolver) spans(in []providers.Span, at pipeline.Pos) ([]providers.Span, bool) {
	var out []providers.Span
	for i, s := range in {
		switch {
		case s.Kind == providers.Mention && strings.HasPrefix(s.Handle, personMark):
			s = r.person(s, at)
		case s.Kind == providers.LineBreak && r.longForm && s.Text == "":
			s = providers.Span{Text: " "}
		default:
			continue
		}
		if out == nil {
			out = slices.Clone(in)
		}
		out[i] = s
	}
	if out == nil {
		return in, false
	}
	return out, true
}

// person turns @{alice} into the destination's handle for alice. Inside a link, which is a link first, it is only a text.
func (r *resolver) person(s providers.Span, at pipeline.Pos) providers.Span {
	name := s.Handle[len(personMark):]
	handle := r.people[name][r.name]
	switch {
	case handle == "":
		r.warn(CodeNoHandle, at, fmt.Sprintf("%s has no handle at %s: the plain name is sent", name, r.name),
			"add it to people."+name+" in broadside.yaml")
		return providers.Span{Text: name, Style: s.Style, URL: s.URL}
	case s.URL != "":
		return providers.Span{Text: "@" + handle, Style: s.Style, URL: s.URL}
	}
	return providers.Span{Kind: providers.Mention, Text: "@" + handle, Style: s.Style, Handle: handle}
}
