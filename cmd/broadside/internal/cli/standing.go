package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
)

// status is where everything stands.
type status struct {
	Now    time.Time `json:"now"`
	Ledger string    `json:"ledger"`
	// Behind says that this checkout is not at the content branch's tip, so that drift is only about the checkout.
	Behind   string            `json:"behind,omitempty"`
	Posts    []statusPost      `json:"posts"`
	Holds    []statusHold      `json:"holds"`
	Troubles []publish.Trouble `json:"troubles"`
	// Waiting counts what is due and will go out without anybody's help.
	Waiting int `json:"waiting"`
	// Next is when a run must do something next; zero for never.
	Next time.Time `json:"next,omitzero"`
	// LastRun is when a run last finished.
	LastRun time.Time `json:"last_run,omitzero"`
	// Older counts the posts that are not shown.
	Older int `json:"older"`
}

// statusPost is one post.
type statusPost struct {
	Post        string                `json:"post,omitempty"`
	Path        string                `json:"path"`
	Status      pipeline.PostStatus   `json:"status"`
	Why         string                `json:"why,omitempty"`
	Deliveries  []*statusDelivery     `json:"deliveries"`
	Diagnostics []pipeline.Diagnostic `json:"diagnostics"`

	settled time.Time // when the last of it was settled; zero while something is open
}

func (p statusPost) name() string {
	if p.Post == "" {
		return "(no id)"
	}
	return p.Post
}

// statusDelivery is one post at one target.
type statusDelivery struct {
	Destination string          `json:"destination"`
	Target      pipeline.Target `json:"target"`
	State       pipeline.State  `json:"state"`
	Reason      pipeline.Reason `json:"reason,omitempty"`
	Held        bool            `json:"held,omitempty"`
	Due         time.Time       `json:"due,omitzero"`
	By          time.Time       `json:"by,omitzero"`
	NotBefore   time.Time       `json:"not_before,omitzero"`
	// Waits says what it waits for, Why why it did not go out, Hint what a person can do.
	Waits       string          `json:"waits,omitempty"`
	Why         string          `json:"why,omitempty"`
	Hint        string          `json:"hint,omitempty"`
	Receipts    []statusReceipt `json:"receipts"`
	Attempts    []statusAttempt `json:"attempts"`
	ExtraCopies []statusReceipt `json:"extra_copies,omitempty"`
	// Drift says how the file differs now from what was sent.
	Drift string   `json:"drift,omitempty"`
	Story []string `json:"story,omitempty"`
}

type statusReceipt struct {
	Part   int       `json:"part"` // from 1
	ID     string    `json:"id,omitempty"`
	URL    string    `json:"url,omitempty"`
	SentAt time.Time `json:"sent_at,omitzero"`
	By     string    `json:"by"`
}

func (r statusReceipt) String() string {
	s := fmt.Sprintf("part %d  %s", r.Part, strings.TrimSpace(r.ID+"  "+r.URL))
	if !r.SentAt.IsZero() {
		s += "  " + r.SentAt.UTC().Format(time.RFC3339)
	}
	if r.By != ledger.ByResponse {
		s += "  (by " + r.By + ")"
	}
	return s
}

type statusAttempt struct {
	ID      string          `json:"id"`
	Run     string          `json:"run"`
	At      time.Time       `json:"at"`
	State   pipeline.State  `json:"state,omitempty"`
	Reason  pipeline.Reason `json:"reason,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Content string          `json:"content,omitempty"`
}

type statusHold struct {
	Scope string    `json:"scope"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"`
	By    string    `json:"by"`
}

func (h statusHold) String() string {
	return h.Scope + ", since " + h.At.UTC().Format(time.RFC3339) + " by " + h.By + ": " + h.Why
}

// standing gathers where everything stands.
func (w *workspace) standing(v *compose.View, j *journal.Journal, now time.Time) *status {
	s := j.State()
	b := &statusBuilder{w: w, v: v, s: s, now: now, byPost: map[string]*statusPost{}}
	for _, it := range v.Items {
		b.post(it.Post.ID, it.Post.Path)
	}
	for _, p := range v.Tree.Posts {
		b.post(p.ID, p.Path)
	}
	for _, d := range s.Deliveries {
		p := b.post(d.ID.Post, d.Path)
		p.Deliveries = append(p.Deliveries, b.delivery(d))
	}
	out := &status{Now: now, Ledger: fmt.Sprintf("event file %d of %s", s.Number, s.Binding.HomeURL), Posts: []statusPost{}, Holds: []statusHold{},
		Troubles: []publish.Trouble{}, Next: s.NextWake(now), LastRun: s.Tip.At, Behind: w.behind(s, j.Refs())}
	for _, p := range b.posts {
		b.finish(p)
		out.Posts = append(out.Posts, *p)
	}
	slices.SortStableFunc(out.Posts, func(x, y statusPost) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Post, y.Post)) })
	for _, h := range s.Holds {
		out.Holds = append(out.Holds, statusHold{Scope: h.Scope, Why: strings.TrimSpace(h.Reason + " " + h.Detail), At: h.At, By: h.By})
	}
	slices.SortFunc(out.Holds, func(x, y statusHold) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Scope, y.Scope)) })
	for _, t := range s.Troubles(now) {
		out.Troubles = append(out.Troubles, publish.Describe(t))
	}
	for _, d := range v.Diagnostics {
		if d.Severity == pipeline.Error {
			out.Troubles = append(out.Troubles, publish.Trouble{Post: d.Post, Destination: d.Destination, Code: d.Code, Message: d.String(), Hint: d.Hint, Invalid: true})
		}
	}
	for _, d := range s.Deliveries {
		if d.State == pipeline.Publishing || d.State == pipeline.Queued && !now.Before(d.Due) {
			out.Waiting++
		}
	}
	return out
}

// behind says that the checkout is not what the remote has.
func (w *workspace) behind(s *ledger.State, refs gitstore.Refs) string {
	tip := refs.Tips["refs/heads/"+s.Binding.ContentBranch]
	if w.repo == nil || w.repo.Head == "" || tip == "" || w.repo.Head == tip {
		return ""
	}
	return fmt.Sprintf("drift and drafts are as in this checkout (%.12s); %s on the remote is at %.12s", w.repo.Head, s.Binding.ContentBranch, tip)
}

type statusBuilder struct {
	w      *workspace
	v      *compose.View
	s      *ledger.State
	now    time.Time
	byPost map[string]*statusPost
	posts  []*statusPost
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
	for _, d := range b.v.Diagnostics {
		if d.File == p.Path && d.Severity == pipeline.Error {
			p.Diagnostics = append(p.Diagnostics, d)
		}
	}
	if len(states) == 0 {
		b.unseen(p)
		return
	}
	for id, d := range b.s.Deliveries {
		if id.Post != p.Post {
			continue
		}
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
	timed := false
	for _, it := range b.v.Items {
		if it.Post.Path == p.Path && it.Post.ID == p.Post && !it.Draft() && !it.Skip {
			timed = true
		}
	}
	switch {
	case len(p.Diagnostics) > 0:
		p.Why = "it is not valid: no run takes it up"
	case !timed:
		p.Why = "it has no publish_at: it will not go out"
		return
	default:
		p.Why = "no run has seen it yet"
	}
	p.Status = pipeline.StatusScheduled
}

func (b *statusBuilder) delivery(d *ledger.Delivery) *statusDelivery {
	out := &statusDelivery{Destination: d.Dest, Target: d.ID.Target, State: d.State, Reason: d.Reason, Due: d.Due, By: d.By, NotBefore: d.NotBefore,
		Receipts: []statusReceipt{}, Attempts: []statusAttempt{}}
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
