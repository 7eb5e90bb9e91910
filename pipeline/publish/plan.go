package publish

import (
	"cmp"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// LateAfter is how long after its time a post may be first seen and still go out without a new time.
const LateAfter = 15 * time.Minute

// DuplicateWithin is how long an equal post at the same target keeps another from going out.
const DuplicateWithin = 30 * 24 * time.Hour

// Facts is what the plan needs to know beside content, ledger and time; whoever asks finds them out beforehand.
type Facts struct {
	// InTime tells that the file was on the content branch by its time, though no run saw it then.
	InTime func(*compose.Item) bool
	// Exists tells whether a path is on the content tip.
	Exists func(path string) bool
	// Blob is the git blob of a path at the content tip.
	Blob func(path string) string
	// Refused hears which delivery the ledger would not take, and why; nil for nobody.
	Refused func(*compose.Item, error)
	// Stale is how long after its lease's end a delivery of this target is surely not written to any more.
	Stale func(*ledger.Delivery) time.Duration
}

// Housekeep brings the ledger up to what the content wants: what is new, moved, removed, late, expired or abandoned. It
// is pure but for tx, and does nothing on a state that is up to date.
func Housekeep(v *compose.View, f Facts, tx *journal.Tx) error {
	h := newHousekeeper(v, f, tx)
	for _, it := range v.Items {
		if err := h.item(it); err != nil {
			return err
		}
	}
	for _, d := range sorted(tx.State) {
		if err := h.delivery(d); err != nil {
			return err
		}
	}
	for _, it := range v.Items {
		if err := h.duplicate(it); err != nil {
			return err
		}
	}
	return nil
}

// duplicate fails what is due though its equal is out already. What becomes so while the run goes on is failed in its lane.
func (h housekeeper) duplicate(it *compose.Item) error {
	d := h.tx.State.Deliveries[it.ID]
	if d == nil || d.Doubt {
		return nil
	}
	other := outAlready(h.tx.State, d, it, h.tx.Now)
	if other == nil {
		return nil
	}
	return h.tx.Add(h.tx.State.Fail(h.tx.Stamp, it.ID, pipeline.ReasonDuplicate, sameText(other), ledger.ByRun))
}

func (f Facts) refused(it *compose.Item, err error) {
	if f.Refused != nil {
		f.Refused(it, err)
	}
}

type housekeeper struct {
	v      *compose.View
	f      Facts
	tx     *journal.Tx
	wanted map[pipeline.DeliveryID]bool
	byID   map[string]*pipeline.Post
	byPath map[string]*pipeline.Post
	// open are the posts of which some destination is not accounted for, known those that the ledger has seen.
	open    map[*pipeline.Post]bool
	known   map[string]bool
	settled map[string]bool
	// first is when a post was first seen: a destination that joins later does not make it new.
	first map[string]time.Time
}

// firstSeen is when the item's post was first seen, by any of its deliveries; now where the ledger does not know it.
func firstSeen(s *ledger.State, it *compose.Item, now time.Time) time.Time {
	seen := now
	for id, d := range s.Deliveries {
		if id.Post == it.ID.Post && d.FirstSeen.Before(seen) {
			seen = d.FirstSeen
		}
	}
	return seen
}

func newHousekeeper(v *compose.View, f Facts, tx *journal.Tx) housekeeper {
	h := housekeeper{
		v: v, f: f, tx: tx, wanted: map[pipeline.DeliveryID]bool{}, byID: map[string]*pipeline.Post{},
		byPath: map[string]*pipeline.Post{}, open: map[*pipeline.Post]bool{}, known: map[string]bool{},
		settled: map[string]bool{}, first: map[string]time.Time{},
	}
	for _, f := range v.Tree.Settled {
		h.settled[f.Path] = true
	}
	for _, p := range v.Tree.Posts {
		h.byID[p.ID], h.byPath[p.Path] = p, p
	}
	for _, it := range v.Items {
		if it.Errors || it.ID.Target == "" || it.Draft() {
			h.open[it.Post] = true
		}
	}
	for id, d := range tx.State.Deliveries {
		h.known[id.Post] = true
		if first, ok := h.first[id.Post]; !ok || d.FirstSeen.Before(first) {
			h.first[id.Post] = d.FirstSeen
		}
	}
	return h
}

// item schedules what is new or has changed.
func (h housekeeper) item(it *compose.Item) error {
	if it.ID.Target == "" {
		return nil
	}
	h.wanted[it.ID] = true
	d := h.tx.State.Deliveries[it.ID]
	if it.Draft() || it.Skip {
		return h.remove(d)
	}
	if it.Errors {
		return nil
	}
	seen := h.tx.Now
	if first, known := h.first[it.ID.Post]; known {
		seen = first
	}
	w, err := window(h.v.Config, it, seen)
	if err != nil {
		return nil // the content has a diagnostic for it
	}
	want := ledger.ScheduleInput{
		ID: it.ID, Dest: it.Destination.Name, Due: w.Due, By: w.By, Path: it.Post.Path, Config: h.v.Config.Hash, Source: it.Rendition.Source,
	}
	if d == nil && h.known[it.ID.Post] && h.tx.Now.After(w.By) {
		return nil // the destination came to a post whose time was over: LateDestinations tells
	}
	// The blob says that the file need not be read again once all that it wants is settled.
	if !it.Post.Errors && !h.open[it.Post] {
		want.Blob = h.f.Blob(it.Post.Path)
	}
	if d != nil && !changes(d, want) {
		return nil
	}
	moved := d == nil || !d.Due.Equal(want.Due)
	if err = h.tx.Add(h.tx.State.Schedule(h.tx.Stamp, want)); err != nil {
		// It stops only this delivery: a copy that nothing accounts for, say, or a field that the ledger cannot hold.
		h.f.refused(it, err)
		return nil
	}
	// What has failed and does not open again by this change has nothing to be late for.
	open := h.tx.State.Deliveries[it.ID].State != pipeline.Failed
	if moved && open && !it.Now() && h.tx.Now.Sub(w.Due) > LateAfter && !h.f.InTime(it) {
		return h.tx.Add(h.tx.State.Fail(h.tx.Stamp, it.ID, pipeline.ReasonLate,
			"first seen "+h.tx.Now.Sub(w.Due).Round(time.Minute).String()+" after its time; give it a new publish_at", ledger.ByRun))
	}
	return nil
}

// window is when the content lets a delivery go out that was first seen at seen. What was to go out at once, but not after
// a time that was over when it was seen, which no check of the file alone can tell, has a window that was never open: it
// expires.
func window(cfg *pipeline.Config, it *compose.Item, seen time.Time) (pipeline.Window, error) {
	w, err := it.Window(cfg, seen)
	by := it.Post.PublishBy
	if !it.At.PublishBy.IsZero() {
		by = it.At.PublishBy
	}
	if err != nil && it.Now() && !by.IsZero() {
		return pipeline.Window{Due: by.At, By: by.At}, nil
	}
	return w, err
}

// changes tells whether an open delivery must be scheduled anew.
func changes(d *ledger.Delivery, want ledger.ScheduleInput) bool {
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued, pipeline.Failed, pipeline.Canceled:
	case pipeline.Publishing, pipeline.Published, pipeline.Uncertain, pipeline.Adopted, pipeline.Retracted:
		return false
	}
	if len(d.Receipts) > 0 {
		return false
	}
	if d.State == pipeline.Canceled && d.Reason != pipeline.ReasonRemoved {
		return !d.Due.Equal(want.Due) && want.Due.After(d.Changed) // a person said no: only a new time says otherwise
	}
	if d.State == pipeline.Canceled {
		return true
	}
	return !d.Due.Equal(want.Due) || !d.By.Equal(want.By) || d.Source != want.Source || d.Path != want.Path ||
		want.Blob != "" && d.Blob != want.Blob
}

// delivery looks at one delivery of the ledger, wanted or not.
func (h housekeeper) delivery(d *ledger.Delivery) error {
	now := h.tx.Now
	switch d.State {
	case pipeline.Publishing:
		if o := d.Open(); o != nil && now.After(o.LeaseUntil.Add(h.f.Stale(d))) {
			return h.tx.Add(h.tx.State.StaleLease(h.tx.Stamp, d.ID, "run "+o.Run+" did not come back before its lease ended"))
		}
		return nil
	case pipeline.Scheduled, pipeline.Queued:
	case pipeline.Published, pipeline.Failed, pipeline.Uncertain, pipeline.Canceled, pipeline.Adopted, pipeline.Retracted:
		return nil
	}
	if !h.wanted[d.ID] && h.gone(d) {
		return h.remove(d)
	}
	if d.Doubt && h.edited(d) {
		return h.doubtful(d, "the post was edited since")
	}
	if len(d.Receipts) > 0 {
		return h.resumable(d)
	}
	if now.After(d.By) {
		if d.Doubt {
			return h.doubtful(d, "its deadline has passed")
		}
		return h.tx.Add(h.tx.State.Expire(h.tx.Stamp, d.ID))
	}
	return nil
}

// doubtful takes back a delivery that was to be repeated under its key, and will not be: an earlier attempt may be out.
func (h housekeeper) doubtful(d *ledger.Delivery, why string) error {
	return h.tx.Add(h.tx.State.MarkUncertain(h.tx.Stamp, d.ID, pipeline.ReasonAmbiguous, "an earlier attempt may be out, and "+why, ledger.ByRun))
}

// gone tells that the content no longer wants a delivery: its post is removed, or no longer names the destination.
// A file that is there but cannot be read keeps its deliveries.
func (h housekeeper) gone(d *ledger.Delivery) bool {
	if h.settled[d.Path] {
		return false // its file was not read: all that it wants is settled
	}
	if p := h.byID[d.ID.Post]; p != nil {
		return !p.Errors
	}
	// A file that is there and has no id, or cannot be read, keeps what it wanted; one of another id does not.
	p := h.byPath[d.Path]
	return !h.f.Exists(d.Path) || p != nil && p.ID != "" && p.ID != d.ID.Post
}

// remove cancels what is open and has nothing out; a half-published thread needs a person.
func (h housekeeper) remove(d *ledger.Delivery) error {
	if d == nil || d.State != pipeline.Scheduled && d.State != pipeline.Queued {
		return nil
	}
	if d.Doubt {
		return h.doubtful(d, "its file is gone from the content branch, is a draft, or no longer names the destination")
	}
	if len(d.Receipts) > 0 {
		return h.partial(d, "its file is gone from the content branch")
	}
	return h.tx.Add(h.tx.State.Cancel(h.tx.Stamp, d.ID, pipeline.ReasonRemoved,
		"its file is gone from the content branch, is a draft, or no longer names the destination"))
}

// resumable ends a half-published thread whose text has changed: its rest would not fit what is out.
func (h housekeeper) resumable(d *ledger.Delivery) error {
	if !h.edited(d) {
		return nil
	}
	return h.partial(d, "the post was edited while only a part of it was out")
}

// edited tells that the content says something else than the last attempt sent.
func (h housekeeper) edited(d *ledger.Delivery) bool {
	it, ok := h.v.Item(d.ID)
	last := d.Last()
	return ok && !it.Errors && last != nil && it.Rendition.Source != last.Source
}

func (h housekeeper) partial(d *ledger.Delivery, why string) error {
	return h.tx.Add(h.tx.State.Partial(h.tx.Stamp, d.ID, why, ledger.ByRun))
}

// dueNow tells whether a delivery may be claimed now; why is empty when it may.
func dueNow(s *ledger.State, d *ledger.Delivery, it *compose.Item, now time.Time) (ok bool, why string) {
	switch {
	case d == nil:
		return false, "not scheduled yet"
	case d.State != pipeline.Scheduled && d.State != pipeline.Queued:
		return false, string(d.State)
	case it.Draft() || it.Skip:
		return false, "the author wants nothing there"
	case it.Errors:
		return false, "the post has errors"
	case now.Before(d.Due):
		return false, "not due before " + d.Due.Format(time.RFC3339)
	case now.Before(d.NotBefore):
		return false, "waits until " + d.NotBefore.Format(time.RFC3339)
	case len(d.Receipts) == 0 && now.After(d.By):
		return false, "its deadline has passed"
	case !it.Post.AllowDuplicate && duplicateOf(s, d, it.Rendition.Source, now) != nil:
		return false, "an equal post is out or on its way"
	}
	return true, ""
}

// duplicateOf finds an equal post at the same target that keeps this one from going out.
func duplicateOf(s *ledger.State, d *ledger.Delivery, source string, now time.Time) *ledger.Delivery {
	if len(d.Receipts) > 0 {
		return nil
	}
	for _, o := range s.EqualSource(d.ID.Target, source, now.Add(-DuplicateWithin)) {
		if o.ID != d.ID {
			return o
		}
	}
	return nil
}

// sorted lists deliveries by due time and id, so that every run decides in the same order.
func sorted(s *ledger.State) []*ledger.Delivery {
	out := make([]*ledger.Delivery, 0, len(s.Deliveries))
	for _, d := range s.Deliveries {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *ledger.Delivery) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID.Post, b.ID.Post), cmp.Compare(a.ID.Target, b.ID.Target))
	})
	return out
}

// Conflicts are what only content and ledger together show: an id that is used again after its post went out.
func Conflicts(v *compose.View, s *ledger.State) []pipeline.Diagnostic {
	var out []pipeline.Diagnostic
	for _, it := range v.Items {
		d := s.Deliveries[it.ID]
		if d == nil || it.Errors || it.Draft() || it.Skip {
			continue
		}
		if d.State != pipeline.Published && d.State != pipeline.Adopted && d.State != pipeline.Retracted {
			continue
		}
		w, err := it.Window(v.Config, d.FirstSeen)
		at := d.PublishedAt()
		if at.IsZero() {
			at = d.Changed
		}
		moved := err == nil && !w.Due.Equal(d.Due) && w.Due.After(at)
		// A post to go out at once, in another file and with another text, is another post.
		other := it.Now() && d.Path != it.Post.Path && d.Source != it.Rendition.Source
		if !moved && !other {
			continue
		}
		pos := it.Post.PublishAt.Pos
		if !it.At.PublishAt.IsZero() {
			pos = it.At.PublishAt.Pos
		}
		out = append(out, pipeline.Diagnostic{
			Code: "already_published", Severity: pipeline.Error, File: it.Post.Path, Line: pos.Line, Column: pos.Column,
			Post: it.ID.Post, Destination: it.Destination.Name,
			Message: "post " + it.ID.Post + " went out at " + at.UTC().Format(time.RFC3339) + ": what now has its id does not go out",
			Hint:    "a new post needs a new id; for an edited one, restore its publish_at and its file",
		})
	}
	return out
}

// LateDestinations are deliveries that the content wants and that will never be: their destination was added to a post
// (mostly by way of a group) after its deadline.
func LateDestinations(v *compose.View, s *ledger.State, now time.Time) []pipeline.Diagnostic {
	known := map[string]time.Time{}
	for id, d := range s.Deliveries {
		if first, ok := known[id.Post]; !ok || d.FirstSeen.Before(first) {
			known[id.Post] = d.FirstSeen
		}
	}
	var out []pipeline.Diagnostic
	for _, it := range v.Items {
		if it.Errors || it.Draft() || it.Skip || it.ID.Target == "" || s.Deliveries[it.ID] != nil || known[it.ID.Post].IsZero() {
			continue
		}
		if w, err := it.Window(v.Config, known[it.ID.Post]); err == nil && now.After(w.By) {
			out = append(out, pipeline.Diagnostic{
				Code: "late_destination", Severity: pipeline.Warning, File: it.Post.Path, Line: it.At.Pos.Line,
				Column: it.At.Pos.Column, Post: it.ID.Post, Destination: it.Destination.Name,
				Message: it.Destination.Name + " was added after the post's deadline, " + w.By.UTC().Format(time.RFC3339) + ": it does not go out there",
				Hint:    "to send it all the same, give the destination a publish_at of its own",
			})
		}
	}
	return out
}
