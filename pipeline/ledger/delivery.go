package ledger

import (
	"bytes"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// lastPublish returns the last attempt to publish, or nil.
func (d *Delivery) lastPublish() *Attempt {
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		if d.Attempts[i].Purpose == PurposePublish {
			return &d.Attempts[i]
		}
	}
	return nil
}

// attempt finds an attempt by id, or nil.
func (d *Delivery) attempt(id string) *Attempt {
	for i := range d.Attempts {
		if d.Attempts[i].ID == id && id != "" {
			return &d.Attempts[i]
		}
	}
	return nil
}

// Reusable returns the parts of the last attempt of the present generation that had this rendition, and when they were
// first claimed. A later claim must send exactly these bytes, with these keys; ok is false where there are none.
func (d *Delivery) Reusable(rendition string) (parts []ClaimPart, sent time.Time, ok bool) {
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		a := &d.Attempts[i]
		if a.Purpose == PurposePublish && a.Gen == d.Gen && a.Rendition == rendition && a.hasBytes() {
			return slices.Clone(a.Parts), a.Sent, true
		}
	}
	return nil, time.Time{}, false
}

func (a *Attempt) hasBytes() bool {
	return len(a.Parts) > 0 && !slices.ContainsFunc(a.Parts, func(p ClaimPart) bool { return len(p.Payload) == 0 })
}

// dropBytes forgets the payloads of a; keys and the number of parts stay.
func (a *Attempt) dropBytes() {
	if !slices.ContainsFunc(a.Parts, func(p ClaimPart) bool { return len(p.Payload) > 0 }) {
		return
	}
	parts := make([]ClaimPart, len(a.Parts))
	for i, p := range a.Parts {
		parts[i].Key = p.Key
	}
	a.Parts = parts
}

func equalParts(a, b []ClaimPart) bool {
	return slices.EqualFunc(a, b, func(p, q ClaimPart) bool {
		return p.Key == q.Key && bytes.Equal(p.Payload, q.Payload)
	})
}

// MaybeOut tells that some part is out, or may be: what then happens must never look like a first try.
func (d *Delivery) MaybeOut() bool {
	if len(d.Receipts) > 0 || d.Doubt || d.State == pipeline.Publishing || d.State == pipeline.Uncertain {
		return true
	}
	a := d.lastPublish()
	return a != nil && a.State == pipeline.Uncertain
}

// Partial tells that some parts are out and some are not.
func (d *Delivery) Partial() bool {
	return len(d.Receipts) > 0 && d.State != pipeline.Published && d.State != pipeline.Retracted && d.State != pipeline.Adopted
}

// Parts is how many parts the delivery has, as its last claim said; 0 before the first.
func (d *Delivery) Parts() int {
	if a := d.lastPublish(); a != nil {
		return len(a.Parts)
	}
	return 0
}

// Missing lists the parts without a receipt, in order: those that a claim still has to send.
func (d *Delivery) Missing() []int {
	var out []int
	for i := range max(d.Parts(), 1) {
		if _, ok := d.Receipts[i]; !ok {
			out = append(out, i)
		}
	}
	return out
}

// PublishedAt is when the last of its receipts was recorded; zero where it has none.
func (d *Delivery) PublishedAt() time.Time {
	var t time.Time
	for _, r := range d.Receipts {
		if r.At.After(t) {
			t = r.At
		}
	}
	return t
}

// outSource is the source of what is out: that of the attempt of its receipts; known is false where nothing tells.
func (d *Delivery) outSource() (source string, known bool) {
	for i := range d.Attempts {
		for _, r := range d.Receipts {
			if r.Attempt == d.Attempts[i].ID && r.Attempt != "" {
				return d.Attempts[i].Source, true
			}
		}
	}
	return "", false
}

// copyOut finds a receipt of this delivery that nothing accounts for.
func (s *State) copyOut(id pipeline.DeliveryID) *ExtraCopy {
	for i := range s.Extra {
		if s.Extra[i].Delivery == id && !s.Extra[i].Known {
			return &s.Extra[i]
		}
	}
	return nil
}
