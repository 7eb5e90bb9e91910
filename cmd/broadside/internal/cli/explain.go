package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
)

// explain says what a delivery waits for, or why it did not go out, and what can be done.
func (b *statusBuilder) explain(out *statusDelivery, d *ledger.Delivery) {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued:
		b.explainOpen(out, d)
	case pipeline.Publishing:
		if o := d.Open(); o != nil {
			out.Waits = fmt.Sprintf("run %s is at it, under a lease until %s", o.Run, at(o.LeaseUntil))
			if b.now.After(o.LeaseUntil) {
				out.Waits = fmt.Sprintf("run %s did not come back; its lease ended at %s, a later run finds out what came of it", o.Run, at(o.LeaseUntil))
			}
		}
	case pipeline.Failed, pipeline.Uncertain:
		for _, t := range b.troubles {
			if t.Delivery == d.ID && t.Reason != ledger.TroubleExtraCopy {
				said := publish.Describe(t)
				out.Why, out.Hint = said.Message, said.Hint
				return
			}
		}
		out.Why = toldBy(d.Reason, d.Detail)
	case pipeline.Canceled:
		out.Why = toldBy(d.Reason, d.Detail)
	case pipeline.Published, pipeline.Adopted, pipeline.Retracted:
	}
	if len(out.ExtraCopies) > 0 {
		out.Hint = fmt.Sprintf("look at the network and delete the copy that should not be there, then: `broadside resolve %s %s known --id %s`", d.ID.Post, d.Dest, out.ExtraCopies[0].ID)
	}
}

func (b *statusBuilder) explainOpen(out *statusDelivery, d *ledger.Delivery) {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	if h, held := b.s.Blocked(d.ID, d.Login); held {
		out.Held = true
		out.Waits = "for the hold on " + b.w.scopeName(h.Scope) + " to be lifted: " + heldSince(h)
		out.Hint = b.releaseHint(h)
		return
	}
	if d.Reason != "" {
		out.Why = toldBy(d.Reason, d.Detail)
	}
	it, here := b.v.Item(d.ID)
	switch {
	case len(out.ExtraCopies) > 0:
		out.Waits = "for a person: a copy is out that no attempt accounts for"
	case !here:
		out.Waits = "the next run cancels it: this checkout has no such post, or the post no longer names the destination"
	case it.Errors:
		out.Waits = "for the post to be mended: it is not valid"
		out.Hint = "`broadside validate " + it.Post.Path + "`"
	case b.now.Before(d.Due):
		out.Waits = "for its time, " + at(d.Due)
	case b.now.Before(d.NotBefore):
		out.Waits = "until " + at(d.NotBefore)
	case b.now.After(d.By) && len(d.Receipts) == 0:
		out.Waits = "nothing: its publish_by has passed, the next run gives it up"
	default:
		out.Waits = "for the next run"
		if busy := b.s.Busy(d.ID.Target, d.Login); busy != nil {
			out.Waits = "for " + busy.ID.Post + ", which is being sent there"
		}
		for _, o := range b.s.EqualSource(d.ID.Target, d.Source, b.now.Add(-publish.DuplicateWithin)) {
			if o.ID != d.ID && !it.Post.AllowDuplicate && len(d.Receipts) == 0 {
				out.Waits = "for " + o.ID.Post + ", which says the same there"
			}
		}
	}
}

// releaseHint says how a hold is lifted.
func (b *statusBuilder) releaseHint(h ledger.Hold) string {
	switch kind, arg, _ := strings.Cut(h.Scope, ":"); kind {
	case ledger.ScopeAll:
		return "`broadside release all`"
	case "post":
		return "`broadside release " + arg + "`"
	case "target":
		if d := b.w.byTarget(pipeline.Target(arg)); d != nil {
			return "`broadside release destination " + d.Name + "`"
		}
	}
	return "a new login lifts it (`broadside auth add`), or `broadside release destination NAME`"
}

// drift says how the file here differs from what was sent.
func (b *statusBuilder) drift(d *ledger.Delivery) string {
	if len(d.Receipts) == 0 || d.State == pipeline.Retracted {
		return ""
	}
	sent := ""
	for _, r := range d.Receipts {
		for _, t := range d.Attempts {
			if t.ID == r.Attempt && t.Source != "" {
				sent = t.Source
			}
		}
	}
	it, ok := b.v.Item(d.ID)
	switch {
	case !ok && !b.ids[d.ID.Post]:
		return "its file " + d.Path + " is gone; what is out stays out"
	case !ok:
		return "the post no longer names " + d.Dest + "; what is out stays out"
	case it.Skip:
		return "the post now skips " + d.Dest + "; what is out stays out"
	case it.Errors:
		return "the file is not valid now, so that it cannot be compared with what was sent"
	case sent != "" && it.Rendition.Source != sent:
		return it.Post.Path + " was edited since it went out; what is out stays as it is"
	}
	return ""
}

// only keeps one post.
func (s *status) only(id string) error {
	var known []string
	for _, p := range s.Posts {
		if p.Post == id || p.Path == id {
			s.Posts = []statusPost{p}
			s.Troubles = slices.DeleteFunc(s.Troubles, func(t publish.Trouble) bool { return t.Post != p.Post })
			return nil
		}
		known = append(known, p.Post)
	}
	hint := "`broadside status --all` lists those it knows"
	if n := nearest(id, known); n != "" {
		hint = "did you mean " + n + "?"
	}
	return usageError{fmt.Errorf("neither the ledger nor this checkout knows a post %q", id), hint}
}

// stories adds the whole story of what is shown.
func (s *status) stories(files ledger.Files) error {
	for _, p := range s.Posts {
		for _, d := range p.Deliveries {
			lines, err := ledger.Story(files, pipeline.DeliveryID{Post: p.Post, Target: d.Target})
			if err != nil {
				return err
			}
			d.Story = lines
		}
	}
	return nil
}

// shownFor is how long what is settled is shown.
const shownFor = 30 * 24 * time.Hour

// recent drops what was settled long ago.
func (s *status) recent(now time.Time) {
	n := len(s.Posts)
	s.Posts = slices.DeleteFunc(s.Posts, func(p statusPost) bool {
		return !p.settled.IsZero() && now.Sub(p.settled) > shownFor && !slices.ContainsFunc(p.Deliveries, func(d *statusDelivery) bool { return d.Drift != "" })
	})
	s.Older = n - len(s.Posts)
}

// closing sums a status up.
func (s *status) closing() string {
	n := map[pipeline.PostStatus]int{}
	for _, p := range s.Posts {
		n[p.Status]++
	}
	var out []string
	for _, st := range []pipeline.PostStatus{
		pipeline.StatusNeedsAttention, pipeline.StatusFailed, pipeline.StatusHeld, pipeline.StatusPublishing,
		pipeline.StatusPartiallyPublished, pipeline.StatusScheduled, pipeline.StatusPublished, pipeline.StatusCanceled, pipeline.StatusRetracted, pipeline.StatusDraft,
	} {
		if n[st] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[st], strings.ReplaceAll(string(st), "_", " ")))
		}
	}
	text := strings.Join(out, ", ")
	if text == "" {
		text = "nothing to show"
	}
	if s.Older > 0 {
		text += fmt.Sprintf("; %d settled long ago (--all)", s.Older)
	}
	switch {
	case s.Next.IsZero():
		text += "; nothing is waiting"
	case !s.Next.After(s.Now):
		text += "; a run has something to do now"
	default:
		text += "; next at " + s.Next.UTC().Format(time.RFC3339)
	}
	if !s.LastRun.IsZero() {
		text += "; last recorded at " + s.LastRun.UTC().Format(time.RFC3339)
	}
	return text
}
