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

// What a plan says of an entry, beside the states of a delivery.
const (
	planScheduled = "scheduled" // goes out at its time
	planDue       = "due"       // the next run sends it
	planWaiting   = "waiting"   // the network asked to come back later
	planHeld      = "held"
	planDraft     = "draft"
	planInvalid   = "invalid"
	planNoTarget  = "no_target"
	planLate      = "late"
	planExpired   = "expired"
	planDuplicate = "duplicate"
	planUsedUp    = "already_published"
	planGone      = "gone" // its file is gone: a run cancels it
)

// plan is what goes out when.
type plan struct {
	Now time.Time `json:"now"`
	// Ledger says which ledger was used, "" for none; Unused says why not.
	Ledger  string      `json:"ledger,omitempty"`
	Unused  string      `json:"ledger_unused,omitempty"`
	Entries []planEntry `json:"entries"`
	Drafts  []string    `json:"drafts"` // paths
	// Settled counts what is not shown because it is done with.
	Settled int `json:"settled"`
	// Records are the events that a run would append now, before it sends anything.
	Records []planRecord `json:"records"`

	// usedUp are deliveries that went out and whose post now has a later time.
	usedUp map[pipeline.DeliveryID]bool
	// scopeName says what a hold is on.
	scopeName func(scope string) string
}

// planEntry is one post at one destination.
type planEntry struct {
	Post        string          `json:"post,omitempty"`
	Path        string          `json:"path"`
	Destination string          `json:"destination"`
	Target      pipeline.Target `json:"target,omitempty"`
	State       string          `json:"state"`
	Due         time.Time       `json:"due,omitzero"` // UTC
	Local       string          `json:"local,omitempty"`
	By          time.Time       `json:"by,omitzero"`
	Parts       int             `json:"parts,omitempty"`
	Why         string          `json:"why,omitempty"`
	Hint        string          `json:"hint,omitempty"`

	settled bool
}

func (e planEntry) name() string {
	if e.Post == "" {
		return e.Path
	}
	return e.Post
}

// planRecord is one event that a run would append.
type planRecord struct {
	Kind        string `json:"kind"`
	Post        string `json:"post"`
	Destination string `json:"destination"`
	State       string `json:"state,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

func (r planRecord) String() string {
	s := r.Post + " -> " + r.Destination + " " + r.Kind
	if r.State != "" {
		s += " " + r.State
	}
	if r.Reason != "" {
		s += " (" + r.Reason + ")"
	}
	return s
}

// chosen are the paths of the posts that arguments name, by path or id; nil for all.
func (w *workspace) chosen(v *compose.View, args []string) (map[string]bool, error) {
	if len(args) == 0 {
		return nil, nil
	}
	out := map[string]bool{}
	for _, arg := range args {
		p, err := w.repoPath(arg)
		if err != nil {
			return nil, err
		}
		n := len(out)
		for _, post := range v.Tree.Posts {
			if post.ID == arg || post.Path == p || p == "." || strings.HasPrefix(post.Path, p+"/") {
				out[post.Path] = true
			}
		}
		for _, d := range v.Diagnostics { // a file that cannot be read as a post
			if d.Severity == pipeline.Error && d.File != "" && d.File == p {
				out[d.File] = true
			}
		}
		if len(out) == n {
			return nil, usageError{fmt.Errorf("there is no file, folder or post %q", arg), "without a name all posts are shown"}
		}
	}
	return out, nil
}

// planOf works a plan out: what the next run would record on the ledger, and where that leaves every delivery.
func (w *workspace) planOf(v *compose.View, l *ledgerCopy, now time.Time) (*plan, error) {
	p := &plan{Now: now, Entries: []planEntry{}, Drafts: drafts(v), Records: []planRecord{}, scopeName: w.scopeName}
	st := ledger.Stamp{At: ledger.Instant(now), Run: "plan"}
	var before *ledger.State
	if l == nil {
		var err error
		if before, err = w.emptyLedger(st); err != nil {
			return nil, err
		}
	} else {
		before = l.State
		p.Ledger = fmt.Sprintf("%s, as of event file %d, %s", l.Where, before.Number, before.Tip.At.UTC().Format(time.RFC3339))
	}
	after := before.Fork()
	events, err := journal.Dry(after, st, func(tx *journal.Tx) error { return publish.Housekeep(v, w.facts(v), tx) })
	if err != nil {
		return nil, fmt.Errorf("what a run would record cannot be told: %w", err)
	}
	for _, e := range events {
		p.Records = append(p.Records, planRecord{Kind: string(e.Kind), Post: e.Post, Destination: e.Dest, State: e.State, Reason: string(e.Reason)})
	}
	p.usedUp = map[pipeline.DeliveryID]bool{}
	for _, d := range publish.Conflicts(v, before) {
		if dest, ok := v.Config.Destination(d.Destination); ok {
			p.usedUp[pipeline.DeliveryID{Post: d.Post, Target: dest.Target}] = true
		}
	}
	for _, it := range v.Items {
		if it.Skip {
			continue
		}
		e := p.entry(v, it, after, now)
		if e.State != planDraft {
			p.Entries = append(p.Entries, e)
		}
	}
	p.invalid(v)
	p.gone(v, before, after)
	p.twice(v)
	slices.SortStableFunc(p.Entries, func(a, b planEntry) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Post, b.Post), cmp.Compare(a.Destination, b.Destination))
	})
	return p, nil
}

// drafts lists the files of the posts that have no time at one of their destinations, or no destination and no time.
func drafts(v *compose.View) []string {
	out := []string{}
	seen := map[string]bool{} // posts that have a destination
	for _, it := range v.Items {
		seen[it.Post.Path] = seen[it.Post.Path] || !it.Skip
		if !it.Skip && it.Draft() && !slices.Contains(out, it.Post.Path) {
			out = append(out, it.Post.Path)
		}
	}
	for _, post := range v.Tree.Posts {
		if !seen[post.Path] && post.Draft() && !post.Errors {
			out = append(out, post.Path)
		}
	}
	slices.Sort(out)
	return out
}

// invalid adds an entry for each file that is wrong and has none that says so.
func (p *plan) invalid(v *compose.View) {
	said := map[string]bool{compose.ConfigPath: true}
	for _, e := range p.Entries {
		if e.State == planInvalid {
			said[e.Path] = true
		}
	}
	ids := map[string]string{}
	for _, post := range v.Tree.Posts {
		ids[post.Path] = post.ID
	}
	for _, d := range v.Diagnostics {
		if d.Severity != pipeline.Error || d.File == "" || said[d.File] {
			continue
		}
		said[d.File] = true
		p.Entries = append(p.Entries, planEntry{
			Post: ids[d.File], Path: d.File, Destination: d.Destination, State: planInvalid, Why: d.Message,
			Hint: "`broadside validate " + d.File + "` says what to do",
		})
	}
}

// facts are what a run would find out; of a checkout, the history is not asked.
func (w *workspace) facts(v *compose.View) publish.Facts {
	digits := 40
	if w.repo != nil && w.repo.ObjectFormat == gitstore.SHA256 {
		digits = 64
	}
	read := func(path string) ([]byte, bool) {
		data, err := w.files.Read(path)
		return data, err == nil
	}
	sums := map[string]string{}
	if digits == 40 {
		for _, p := range v.Tree.Posts {
			sums[p.Path] = p.Sum
		}
	}
	return publish.Facts{
		InTime: func(*compose.Item) bool { return false },
		Exists: func(path string) bool { _, ok := read(path); return ok },
		Blob: func(path string) string {
			if s, ok := sums[path]; ok {
				return s
			}
			data, ok := read(path)
			if !ok {
				return ""
			}
			return string(publish.BlobID(data, digits))
		},
		Stale: func(d *ledger.Delivery) time.Duration {
			provider, _, _, _ := d.ID.Target.Split()
			return w.a.fence().Stale(w.infos[provider].LongestRequest)
		},
	}
}

// twice marks what is equal to something that this plan sends before it.
func (p *plan) twice(v *compose.View) {
	type key struct {
		target pipeline.Target
		source string
	}
	source := map[pipeline.DeliveryID]*compose.Item{}
	for _, it := range v.Items {
		source[it.ID] = it
	}
	first := map[key]*planEntry{}
	for i := range p.Entries {
		e := &p.Entries[i]
		it := source[pipeline.DeliveryID{Post: e.Post, Target: e.Target}]
		if it == nil || it.Post.AllowDuplicate || it.Rendition.Source == "" || e.State != planScheduled && e.State != planDue && e.State != planWaiting {
			continue
		}
		k := key{e.Target, it.Rendition.Source}
		o := first[k]
		switch {
		case o == nil:
			first[k] = e
		case e.Due.Before(o.Due):
			o.duplicate(e.Post)
			first[k] = e
		default:
			e.duplicate(o.Post)
		}
	}
}

// gone adds what a run would cancel because its file is gone.
func (p *plan) gone(v *compose.View, before, after *ledger.State) {
	for id, d := range before.Deliveries {
		now := after.Deliveries[id]
		if _, here := v.Item(id); here || now.State == d.State || now.Reason != pipeline.ReasonRemoved {
			continue
		}
		p.Entries = append(p.Entries, planEntry{
			Post: id.Post, Path: d.Path, Destination: d.Dest, Target: id.Target, State: planGone,
			Due: d.Due, By: d.By, Local: localTime(d.Due.UTC(), ""), Why: "its file is gone, a draft, or no longer names the destination: a run cancels it",
		})
	}
}

// narrow keeps the entries of some paths (nil: all), and drops what is settled unless all is set.
func (p *plan) narrow(paths map[string]bool, all bool) {
	keep := p.Entries[:0]
	for _, e := range p.Entries {
		switch {
		case paths != nil && !paths[e.Path]:
		case e.settled && !all && paths == nil:
			p.Settled++
		default:
			keep = append(keep, e)
		}
	}
	p.Entries = keep
	if paths != nil {
		p.Drafts = slices.DeleteFunc(p.Drafts, func(path string) bool { return !paths[path] })
	}
}

// closing sums a plan up.
func (p *plan) closing() string {
	n := map[string]int{}
	var next time.Time
	for _, e := range p.Entries {
		n[e.State]++
		if e.State == planScheduled && (next.IsZero() || e.Due.Before(next)) {
			next = e.Due
		}
	}
	var out []string
	for _, s := range []string{
		planDue, planScheduled, planWaiting, string(pipeline.Publishing), string(pipeline.Uncertain), planHeld, planNoTarget, planInvalid,
		string(pipeline.Failed), planLate, planExpired, planDuplicate, planUsedUp, planGone,
		string(pipeline.Published), string(pipeline.Adopted), string(pipeline.Canceled), string(pipeline.Retracted),
	} {
		if n[s] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[s], strings.ReplaceAll(s, "_", " ")))
		}
	}
	if n := len(p.Drafts); n > 0 {
		out = append(out, counted(n, "draft", "drafts"))
	}
	if len(out) == 0 {
		out = []string{"nothing is planned"}
	}
	s := strings.Join(out, ", ")
	if !next.IsZero() {
		s += "; next at " + next.UTC().Format(time.RFC3339)
	}
	if p.Settled > 0 {
		s += fmt.Sprintf("; %d settled (--all shows them)", p.Settled)
	}
	return s
}
