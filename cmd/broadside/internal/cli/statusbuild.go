package cli

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// statusBuilder looks things up by post: a repository may have ten thousand.
type statusBuilder struct {
	w        *workspace
	v        *compose.View
	s        *ledger.State
	now      time.Time
	byPost   map[string]*statusPost
	posts    []*statusPost
	known    map[string][]*ledger.Delivery    // by post id
	errors   map[string][]pipeline.Diagnostic // by file
	timed    map[string]bool                  // files with something that has a time
	ids      map[string]bool                  // of the posts of this checkout
	troubles []ledger.Trouble
}

func newStatusBuilder(w *workspace, v *compose.View, s *ledger.State, now time.Time) *statusBuilder {
	b := &statusBuilder{
		w: w, v: v, s: s, now: now, byPost: map[string]*statusPost{}, known: map[string][]*ledger.Delivery{},
		errors: map[string][]pipeline.Diagnostic{}, timed: map[string]bool{}, ids: map[string]bool{}, troubles: s.Troubles(now),
	}
	for _, d := range s.Deliveries {
		b.known[d.ID.Post] = append(b.known[d.ID.Post], d)
	}
	for _, d := range v.Diagnostics {
		if d.Severity == pipeline.Error {
			b.errors[d.File] = append(b.errors[d.File], d)
		}
	}
	for _, it := range v.Items {
		if !it.Draft() && !it.Skip {
			b.timed[it.Post.Path] = true
		}
	}
	for _, p := range v.Tree.Posts {
		b.ids[p.ID] = true
	}
	return b
}

// post finds or begins the entry of a post; posts without an id are told apart by their files.
func (b *statusBuilder) post(id, path string) *statusPost {
	key := id
	if id == "" {
		key = "\x00" + path
	}
	p := b.byPost[key]
	if p == nil {
		p = &statusPost{Post: id, Path: path, Deliveries: []*statusDelivery{}, Diagnostics: []pipeline.Diagnostic{}}
		b.byPost[key] = p
		b.posts = append(b.posts, p)
	}
	return p
}

// finish derives a post's status from its deliveries, and says why one without any has none.
func (b *statusBuilder) finish(p *statusPost) {
	slices.SortFunc(p.Deliveries, func(x, y *statusDelivery) int {
		return cmp.Or(cmp.Compare(x.Destination, y.Destination), cmp.Compare(x.Target, y.Target))
	})
	var states []pipeline.State
	held := false
	for _, d := range p.Deliveries {
		states = append(states, d.State)
		held = held || d.Held
	}
	p.Status = pipeline.StatusOf(states, held)
	p.Diagnostics = append(p.Diagnostics, b.errors[p.Path]...)
	if len(states) == 0 {
		b.unseen(p)
		return
	}
	for _, d := range b.known[p.Post] {
		if !b.s.Settled(d, b.now) {
			p.settled = time.Time{}
			return
		}
		if d.Touched.After(p.settled) {
			p.settled = d.Touched
		}
	}
}

// unseen says why the ledger knows nothing of a post.
func (b *statusBuilder) unseen(p *statusPost) {
	switch {
	case len(p.Diagnostics) > 0:
		p.Why = "it is not valid: no run takes it up"
	case !b.timed[p.Path]:
		p.Why = "it has no publish_at: it will not go out"
		return
	default:
		p.Why = "no run has seen it yet"
	}
	p.Status = pipeline.StatusScheduled
}

func (b *statusBuilder) delivery(d *ledger.Delivery) *statusDelivery {
	out := &statusDelivery{
		Destination: d.Dest, Target: d.ID.Target, State: d.State, Reason: d.Reason, Due: d.Due, By: d.By, NotBefore: d.NotBefore,
		Receipts: []statusReceipt{}, Attempts: []statusAttempt{},
	}
	for _, n := range slices.Sorted(maps.Keys(d.Receipts)) {
		out.Receipts = append(out.Receipts, receiptOf(d.Receipts[n]))
	}
	for _, t := range d.Attempts {
		out.Attempts = append(out.Attempts, statusAttempt{ID: t.ID, Run: t.Run, At: t.At, State: t.State, Reason: t.Reason, Detail: t.Detail, Content: t.Content})
	}
	for _, x := range b.s.Extra {
		if x.Delivery == d.ID && !x.Known {
			out.ExtraCopies = append(out.ExtraCopies, receiptOf(x.Receipt))
		}
	}
	b.explain(out, d)
	out.Drift = b.drift(d)
	return out
}

func receiptOf(r ledger.PartReceipt) statusReceipt {
	at := r.SentAt
	if at.IsZero() {
		at = r.At
	}
	return statusReceipt{Part: r.Part + 1, ID: r.ID, URL: r.URL, SentAt: at, By: r.ByWhom}
}
