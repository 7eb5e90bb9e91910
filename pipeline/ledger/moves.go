package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Stamp says when a transition is made and by which run; Run is "person:<name>" for a command.
type Stamp struct {
	At  time.Time
	Run string
}

// PersonRun is the Stamp.Run of a command that a person gave.
func PersonRun(name string) string { return "person:" + name }

// bounded makes a detail fit to be recorded: one line, valid, at most MaxDetail bytes.
func bounded(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= MaxDetail {
		return s
	}
	return clip(s, MaxDetail-3)
}

// about begins an event of a delivery. The name of a destination is what it was last called.
func (s *State) about(k Kind, id pipeline.DeliveryID) Event {
	e := Event{Kind: k, Post: id.Post, Target: id.Target}
	if d := s.Deliveries[id]; d != nil {
		e.Dest = d.Dest
	}
	if e.Dest == "" {
		// Known from an extra copy only, or not at all: the event needs a name that people can read.
		e.Dest = string(id.Target)
	}
	return e
}

// ScheduleInput is what a run sees of a delivery in the content.
type ScheduleInput struct {
	ID     pipeline.DeliveryID
	Dest   string // the destination's present name
	Due    time.Time
	By     time.Time
	Slot   string
	Path   string
	Blob   string // git blob id of the file
	Config string // SHA-256 of broadside.yaml
	Source string
	Login  string // of the credential that would be used; "" leaves the last one as it is
}

// Schedule records a delivery at first sight, or that its times, source, path, config or credential changed. What
// failed becomes queued, and what was canceled scheduled, where the change allows it (DESIGN section 3); else the
// change is recorded and the state stays. It refuses new times while the outcome is unknown (CodeTimes), and a time
// that moves past the publication (CodePublished).
func (s *State) Schedule(st Stamp, in ScheduleInput) (Event, error) {
	e := s.about(Scheduled, in.ID)
	if in.Dest != "" {
		e.Dest = in.Dest
	}
	e.Due, e.By, e.Slot, e.Path, e.Blob, e.Config = in.Due, in.By, in.Slot, in.Path, in.Blob, in.Config
	e.Source, e.Login = in.Source, in.Login
	return s.make(st, e)
}

// Unscheduled tells whether Schedule(in) would change anything: false means that the ledger knows it all.
func (s *State) Unscheduled(in ScheduleInput) bool {
	d := s.Deliveries[in.ID]
	return d == nil || !d.Due.Equal(Instant(in.Due)) || !d.By.Equal(Instant(in.By)) || d.Slot != in.Slot ||
		d.Path != in.Path || d.Blob != in.Blob || d.Config != in.Config || d.Source != in.Source ||
		(in.Dest != "" && d.Dest != in.Dest) || (in.Login != "" && d.Login != in.Login) ||
		(d.State == pipeline.Canceled && d.Reason != pipeline.ReasonByPerson)
}

// ClaimInput is what a claim says.
type ClaimInput struct {
	ID         pipeline.DeliveryID
	Attempt    string // random, 16 hex digits
	LeaseUntil time.Time
	Content    string // content commit
	Source     string
	Rendition  string
	Parts      []ClaimPart
	Purpose    string // "" for publish
	Login      string
	Sent       time.Time // zero: that of Reusable where the bytes are the same, else now
	Evidence   string
}

// Claim lets the run publish (edit, retract) until the lease ends. The code of a refusal says why: held, busy,
// not_due, expired, source, bytes, copy_out, state.
func (s *State) Claim(st Stamp, in ClaimInput) (Event, error) {
	e := s.about(Claimed, in.ID)
	e.Attempt, e.LeaseUntil, e.Content, e.Source, e.Rendition = in.Attempt, in.LeaseUntil, in.Content, in.Source, in.Rendition
	e.Parts, e.Purpose, e.Login, e.Sent, e.Evidence = slices.Clone(in.Parts), in.Purpose, in.Login, in.Sent, in.Evidence
	if e.Purpose == "" {
		e.Purpose = PurposePublish
	}
	if d := s.Deliveries[in.ID]; d != nil {
		e.Gen = d.Gen
		if e.Sent.IsZero() {
			if parts, sent, ok := d.Reusable(in.Rendition); ok && equalParts(parts, in.Parts) {
				e.Sent = sent
			}
		}
	}
	if e.Sent.IsZero() {
		e.Sent = st.At
	}
	return s.make(st, e)
}

// Renew makes the lease of the open attempt longer. Only its own run may, and only before the lease has ended.
func (s *State) Renew(st Stamp, id pipeline.DeliveryID, until time.Time) (Event, error) {
	e := s.about(Renewed, id)
	e.Attempt, e.LeaseUntil = s.openID(id), until
	if e.Attempt == "" {
		return Event{}, s.refuse(&e, MoveRenew, CodeState, "no attempt is open")
	}
	return s.make(st, e)
}

func (s *State) openID(id pipeline.DeliveryID) string {
	if d := s.Deliveries[id]; d != nil {
		if a := d.Open(); a != nil {
			return a.ID
		}
	}
	return ""
}

// ReceiptInput is the proof of one published part.
type ReceiptInput struct {
	ID      pipeline.DeliveryID
	Attempt string // the attempt that sent it; "" only for a person and for adoption
	Part    int    // from 0
	Network string // the network's id
	URL     string
	Ref     string
	SentAt  time.Time
	ByWhom  string // ByResponse, ByFinder, ByPerson, ByAdopt
}

// RecordReceipt records a receipt. An answer of the network is legal in every state; what it does is decided by the
// fold (see Outcome). When every part has one, the attempt is closed and the delivery published.
func (s *State) RecordReceipt(st Stamp, in ReceiptInput) (Event, error) {
	e := s.about(Receipt, in.ID)
	e.Attempt, e.Part, e.ID, e.URL, e.Ref, e.SentAt = in.Attempt, in.Part, in.Network, in.URL, in.Ref, in.SentAt
	e.ByWhom = in.ByWhom
	if a := s.Deliveries[in.ID]; a == nil && len(s.Extra) > 0 {
		if x := s.extra(in.ID, in.Network); x != nil {
			e.Dest = x.Dest
		}
	}
	return s.make(st, e)
}

// IsExtraCopy tells whether this receipt event, applied to s, would be an extra copy.
func (s *State) IsExtraCopy(e Event) bool {
	return e.Kind == Receipt && s.place(&e) == extraCopy
}

// Adopt counts a delivery as done without sending it. It need not be known yet; dest names its destination then.
func (s *State) Adopt(st Stamp, id pipeline.DeliveryID, dest string, reason pipeline.Reason) (Event, error) {
	e := s.about(AdoptedEv, id)
	if dest != "" {
		e.Dest = dest
	}
	e.Reason = reason
	return s.make(st, e)
}

// PrepareInput is a step that is not public.
type PrepareInput struct {
	ID         pipeline.DeliveryID
	Step       string
	LeaseUntil time.Time // of a step that begins
	Handle     []byte    // JSON, of a step that is done
	Expires    time.Time // of the handle; zero: does not expire
}

// Prepare records that a step begins (no handle) or is done. It refuses a step that another run has under a lease.
func (s *State) Prepare(st Stamp, in PrepareInput) (Event, error) {
	e := s.about(Prepared, in.ID)
	e.Step, e.LeaseUntil, e.Handle, e.Expires, e.State = in.Step, in.LeaseUntil, in.Handle, in.Expires, "begun"
	if len(in.Handle) > 0 {
		e.State = "done"
	}
	return s.make(st, e)
}
