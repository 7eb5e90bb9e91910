package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// index answers what would else be a walk over all deliveries. It is built when first asked for, kept up to date by
// the fold from then on, and never shared between forks.
type index struct {
	sources map[sourceKey][]pipeline.DeliveryID
	ids     map[idKey]takenBy
}

type sourceKey struct {
	target pipeline.Target
	source string
}

type idKey struct {
	target pipeline.Target
	id     string
}

type takenBy struct {
	delivery pipeline.DeliveryID
	part     int
}

func (s *State) indexed() *index {
	if x := s.index.Load(); x != nil {
		return x
	}
	x := &index{
		sources: make(map[sourceKey][]pipeline.DeliveryID, len(s.Deliveries)),
		ids:     make(map[idKey]takenBy, len(s.Deliveries)),
	}
	for id, d := range s.Deliveries {
		for i := range d.Attempts {
			if d.Attempts[i].Purpose == PurposePublish {
				x.addSource(d, d.Attempts[i].Source)
			}
		}
		if d.State == pipeline.Adopted {
			x.addSource(d, d.Source)
		}
		for _, r := range d.Receipts {
			x.addID(id, r)
		}
	}
	for _, e := range s.Extra {
		x.addID(e.Delivery, e.Receipt)
	}
	s.index.Store(x)
	return x
}

func (x *index) addSource(d *Delivery, source string) {
	k := sourceKey{d.ID.Target, source}
	if source != "" && !slices.Contains(x.sources[k], d.ID) {
		x.sources[k] = append(x.sources[k], d.ID)
	}
}

func (x *index) addID(id pipeline.DeliveryID, r PartReceipt) {
	if r.ID == "" {
		return
	}
	k := idKey{id.Target, r.ID}
	by := takenBy{id, r.Part}
	// Should a network give one id to two parts, the answer does not depend on the order of a map.
	if old, ok := x.ids[k]; !ok || compareTaken(by, old) < 0 {
		x.ids[k] = by
	}
}

func compareTaken(a, b takenBy) int {
	return cmp.Or(cmp.Compare(a.delivery.Post, b.delivery.Post), cmp.Compare(a.part, b.part))
}

// Taken tells which delivery and part at this target already has the network's id, extra copies included.
func (s *State) Taken(target pipeline.Target, id string) (d pipeline.DeliveryID, part int, ok bool) {
	by, ok := s.indexed().ids[idKey{target, id}]
	return by.delivery, by.part, ok
}

// EqualSource lists, by post id, the deliveries that make another one of this source at this target a duplicate: those
// publishing, uncertain or half out with it, in doubt of it, and those published with it, adopted, or canceled while they
// might be out, since then.
func (s *State) EqualSource(target pipeline.Target, source string, since time.Time) []*Delivery {
	var out []*Delivery
	for _, id := range s.indexed().sources[sourceKey{target, source}] {
		if d := s.Deliveries[id]; d.equals(source, since) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *Delivery) int { return cmp.Compare(a.ID.Post, b.ID.Post) })
	return out
}

func (d *Delivery) equals(source string, since time.Time) bool {
	switch d.State {
	case pipeline.Adopted:
		at := d.Due
		if at.IsZero() {
			at = d.Changed
		}
		return d.Source == source && !at.Before(since)
	case pipeline.Published:
		out, known := d.outSource()
		return (out == source || (!known && d.Source == source)) && !d.PublishedAt().Before(since)
	case pipeline.Retracted:
		return false
	case pipeline.Canceled:
		// A person has decided; like what is published, it counts for as long as the caller looks back.
		if d.Changed.Before(since) {
			return false
		}
	case pipeline.Scheduled, pipeline.Queued, pipeline.Failed, pipeline.Publishing, pipeline.Uncertain:
	}
	if !d.MaybeOut() {
		return false
	}
	for i := range d.Attempts {
		if a := &d.Attempts[i]; a.Purpose == PurposePublish && a.Source == source &&
			(a.Open || a.State == pipeline.Uncertain || d.has(a.ID)) {
			return true
		}
	}
	return false
}

func (d *Delivery) has(attempt string) bool {
	for _, r := range d.Receipts {
		if r.Attempt == attempt {
			return true
		}
	}
	return false
}
