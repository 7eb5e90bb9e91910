package render

import (
	"errors"
	"fmt"
	"slices"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/richtext"
	"github.com/broadside-pub/broadside/providers"
)

// TooLong is the code that providers use for a text over the network's limit; `thread: auto` answers it.
const TooLong = "too_long"

// maxSplit is the longest text that is split, in bytes: more makes more than richtext.MaxParts parts on any network.
const maxSplit = 128 << 10

// tooLong tells whether a text of the rendition is over its limit.
func (r *renderer) tooLong(enc providers.Encoded, problems []providers.Problem) bool {
	if slices.ContainsFunc(enc.Parts, overLong) {
		return true
	}
	return slices.ContainsFunc(problems, isTooLong)
}

func isTooLong(p providers.Problem) bool { return p.Error && p.Code == TooLong && p.Setting == "" }

func overLong(p providers.EncodedPart) bool {
	return slices.ContainsFunc(p.Lengths, func(l providers.Length) bool { return l.Limit > 0 && l.Count > l.Limit })
}

// split cuts the parts that are too long and encodes again. Media stay with the first piece of their part. Where that
// does not help, the result is the unsplit one with its problems.
func (r *renderer) split(enc providers.Encoded, problems []providers.Problem) (providers.Encoded, []providers.Problem) {
	if !r.able(providers.CanReply) {
		r.add(pipeline.Error, "thread_unsupported", 0, "", r.in.Info.Title+" takes one part, so `thread: auto` cannot split there",
			"write a shorter text for it in an `::: instead` block")
		return enc, problems
	}
	var parts []providers.DraftPart
	var origin []int
	for i, p := range r.draft.Parts {
		if i < len(enc.Parts) && !overLong(enc.Parts[i]) && !slices.ContainsFunc(problems, func(q providers.Problem) bool {
			return isTooLong(q) && q.Part == i
		}) {
			parts, origin = append(parts, p), append(origin, r.origin[i])
			continue
		}
		if budget := maxSplit; spend(p.Doc.Blocks, &budget) {
			r.add(pipeline.Error, "split_failed", i, "", fmt.Sprintf("`thread: auto`: the text is too long for a thread: more than %d KiB",
				maxSplit>>10), "make several posts of it")
			return enc, problems
		}
		docs, err := richtext.Split(p.Doc, func(d providers.Doc) bool { return r.fits(providers.DraftPart{Doc: d, Media: p.Media}) })
		if err != nil {
			hint := "shorten it, or write parts by hand with `---`"
			if errors.Is(err, richtext.ErrUnbreakable) {
				hint = "a word, link or line of code stays whole; shorten it"
			}
			r.add(pipeline.Error, "split_failed", i, "", "`thread: auto`: "+err.Error(), hint)
			return enc, problems
		}
		for n, d := range docs {
			piece := providers.DraftPart{Doc: d}
			if n == 0 {
				piece.Media = p.Media
			}
			parts, origin = append(parts, piece), append(origin, r.origin[i])
		}
	}
	r.draft.Parts, r.origin = parts, origin
	return r.in.Info.Encode(r.draft)
}

// fits encodes a piece both as the first and as a later part: what only one of them carries must have room too.
func (r *renderer) fits(p providers.DraftPart) bool {
	if budget := 32*r.limits.Text + 4096; r.limits.Text > 0 && spend(p.Doc.Blocks, &budget) {
		return false // no text of so many bytes is within the limit: it need not be encoded to know
	}
	d := r.draft
	d.Parts = []providers.DraftPart{p, p}
	enc, problems := r.in.Info.Encode(d)
	return !r.tooLong(enc, problems)
}

// spend takes the size of blocks off budget, and tells whether it is used up.
func spend(bs []providers.Block, budget *int) bool {
	for i := range bs {
		*budget -= 1 + len(bs[i].Text)
		for _, s := range bs[i].Spans {
			*budget -= 1 + len(s.Text)
			if *budget < 0 {
				return true
			}
		}
		if *budget < 0 || spend(bs[i].Blocks, budget) {
			return true
		}
		for _, item := range bs[i].Items {
			if spend(item, budget) {
				return true
			}
		}
	}
	return false
}
