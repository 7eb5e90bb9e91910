package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Story tells the life of a delivery in plain words, oldest first: one line per event, with time and run; what
// compaction has folded is told from what is left of it. The holds that covered it are told too. Nil: not known.
func Story(files Files, id pipeline.DeliveryID) ([]string, error) {
	if err := checkFormat(files); err != nil {
		return nil, err
	}
	s := New()
	if err := s.loadArchives(files); err != nil {
		return nil, err
	}
	var out []string
	if d := s.Deliveries[id]; d != nil {
		out = append(out, d.summary(s.Number)...)
	}
	list, err := eventFiles(files)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		data, err := files.Read(f.Path)
		if err != nil {
			return nil, fmt.Errorf("ledger: read %s: %w", f.Path, err)
		}
		events, err := Decode(data)
		if err != nil {
			return nil, inFile(f.Path, err)
		}
		s.Number = f.Number
		for i := range events {
			e := &events[i]
			was := s.Deliveries[id]
			if was != nil {
				c := *was
				was = &c
			}
			if err := s.fold(e); err != nil {
				return nil, &LineError{Path: f.Path, Line: i + 1, Err: err}
			}
			if text := s.tell(e, id, was); text != "" {
				out = append(out, stamp(e.At)+"  "+text+" ("+e.Run+")")
			}
		}
	}
	return out, nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// tell puts one event into words; "" where it does not concern the delivery.
func (s *State) tell(e *Event, id pipeline.DeliveryID, was *Delivery) string {
	if e.Kind == Held || e.Kind == Released {
		h := Hold{Scope: e.Scope}
		if was == nil || !h.covers(id, was.Login) {
			return ""
		}
		if e.Kind == Held {
			return "held on " + e.Scope + because(e)
		}
		return "hold on " + e.Scope + " released" + because(e)
	}
	if e.Delivery() != id {
		return ""
	}
	d := s.Deliveries[id]
	switch e.Kind {
	case Scheduled:
		return tellScheduled(e, was, d)
	case Prepared:
		return "step " + e.Step + " " + e.State
	case Claimed:
		text := fmt.Sprintf("claimed to %s, attempt %s, %s, lease until %s", e.Purpose, e.Attempt, count(len(e.Parts), "part"), stamp(e.LeaseUntil))
		if sentOf(e).Before(e.At) {
			text += ", with the bytes of " + stamp(e.Sent)
		}
		return text
	case Renewed:
		return "lease renewed until " + stamp(e.LeaseUntil)
	case Receipt:
		return s.tellReceipt(e, was, d)
	case Ended:
		return tellEnded(e)
	case AdoptedEv:
		return "adopted: counted as done without being sent" + because(e)
	case Bound, Held, Released, Refreshing, Refreshed, TipEv:
	}
	return ""
}

func because(e *Event) string {
	out := ""
	if e.Reason != "" {
		out = ": " + string(e.Reason)
	}
	if e.Detail != "" {
		out += ": " + e.Detail
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func tellScheduled(e *Event, was, d *Delivery) string {
	times := "for " + stamp(e.Due) + ", until " + stamp(e.By)
	if was == nil {
		return "scheduled " + times + ", from " + e.Path
	}
	var changed []string
	if !was.Due.Equal(e.Due) || !was.By.Equal(e.By) {
		changed = append(changed, "now "+times)
	}
	if was.Path != e.Path {
		changed = append(changed, "moved to "+e.Path)
	}
	if was.Source != e.Source {
		changed = append(changed, "the text, media or settings changed")
	}
	if e.Login != "" && was.Login != e.Login {
		changed = append(changed, "another login")
	}
	if was.Dest != e.Dest {
		changed = append(changed, "the destination is now called "+e.Dest)
	}
	if len(changed) == 0 {
		changed = []string{"the file or the configuration changed"}
	}
	text := "seen again: " + strings.Join(changed, ", ")
	if was.State != d.State {
		text += "; it is " + string(d.State) + " again"
	}
	return text
}

func (s *State) tellReceipt(e *Event, was, d *Delivery) string {
	who := map[string]string{
		ByResponse: "answered by the network", ByFinder: "found on the network", ByPerson: "said by a person", ByAdopt: "adopted",
	}[e.ByWhom]
	place := strings.TrimSpace(e.ID + " " + e.URL)
	if place == "" {
		place = "place not known"
	}
	text := fmt.Sprintf("part %d is out: %s (%s)", e.Part+1, place, who)
	if x := s.extra(e.Delivery(), e.ID); x != nil && !x.Known {
		return text + "; an extra copy, which no open attempt accounts for"
	} else if x != nil {
		return text + "; a known extra copy"
	}
	if d != nil && d.State == pipeline.Published && (was == nil || was.State != pipeline.Published) {
		text += "; published"
	}
	return text
}

func tellEnded(e *Event) string {
	m, _ := endMove(e)
	text := map[Move]string{
		MoveQueue:        "surely not published, queued again",
		MoveRepeat:       "queued again: its key makes repetition harmless",
		MoveAbsent:       "surely absent on the network, queued again",
		MoveRetry:        "to be tried again, a person says",
		MoveFail:         "failed, surely not published",
		MovePartial:      "half published, the rest cannot follow",
		MoveExpire:       "expired: its deadline passed",
		MoveUncertain:    "uncertain: it was sent and the outcome is not known",
		MoveStaleLease:   "uncertain: the run that held the lease did not come back",
		MoveCancel:       "canceled",
		MovePersonCancel: "canceled by a person",
		MoveEdited:       "edited",
		MoveRetracted:    "retracted",
	}[m]
	if e.Detail != "" || (m != MoveExpire && m != MoveStaleLease && m != MovePartial && m != MoveAbsent) {
		text += because(e)
	}
	if !e.NotBefore.IsZero() {
		text += "; not before " + stamp(e.NotBefore)
	}
	return text
}

// summary tells what a compacted delivery still knows of itself.
func (d *Delivery) summary(through int) []string {
	out := []string{fmt.Sprintf("(up to event file %d this is told from the archive; the events are in the branch's history)", through)}
	if !d.Due.IsZero() {
		out = append(out, stamp(d.FirstSeen)+"  first seen; for "+stamp(d.Due)+", until "+stamp(d.By)+", from "+d.Path)
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		text := fmt.Sprintf("%s  attempt %s to %s, %s (%s)", stamp(a.At), a.ID, a.Purpose, count(len(a.Parts), "part"), a.Run)
		if a.Open {
			text += ": open, lease until " + stamp(a.LeaseUntil)
		} else {
			text += ": " + string(a.State) + because(&Event{Reason: a.Reason, Detail: a.Detail})
		}
		out = append(out, text)
	}
	for _, part := range slices.Sorted(maps.Keys(d.Receipts)) {
		r := d.Receipts[part]
		out = append(out, fmt.Sprintf("%s  part %d is out: %s (%s)", stamp(r.At), part+1, strings.TrimSpace(r.ID+" "+r.URL), r.ByWhom))
	}
	return append(out, stamp(d.Changed)+"  "+string(d.State)+because(&Event{Reason: d.Reason, Detail: d.Detail}))
}
