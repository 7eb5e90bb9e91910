package cli

import (
	"cmp"
	"fmt"
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
	Name  string    `json:"name"` // what it is on, as people call it
	Why   string    `json:"why,omitempty"`
	At    time.Time `json:"at"`
	By    string    `json:"by"`

	since string
}

func (h statusHold) String() string {
	return h.Name + ", " + h.since
}

// standing gathers where everything stands.
func (w *workspace) standing(v *compose.View, j *journal.Journal, now time.Time) *status {
	s := j.State()
	b := newStatusBuilder(w, v, s, now)
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
	out := &status{
		Now: now, Ledger: fmt.Sprintf("event file %d of %s", s.Number, s.Binding.HomeURL), Posts: []statusPost{}, Holds: []statusHold{},
		Troubles: []publish.Trouble{}, Next: s.NextWake(now), LastRun: s.Tip.At, Behind: w.behind(s, j.Refs()),
	}
	for _, p := range b.posts {
		b.finish(p)
		out.Posts = append(out.Posts, *p)
	}
	slices.SortStableFunc(out.Posts, func(x, y statusPost) int { return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Post, y.Post)) })
	for _, h := range s.Holds {
		out.Holds = append(out.Holds, statusHold{Scope: h.Scope, Name: w.scopeName(h.Scope), Why: holdWhy(h), At: h.At, By: h.By, since: heldSince(h)})
	}
	slices.SortFunc(out.Holds, func(x, y statusHold) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Scope, y.Scope)) })
	for _, t := range b.troubles {
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
