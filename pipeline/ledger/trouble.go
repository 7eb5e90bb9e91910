package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Trouble is something that a person must be told of.
type Trouble struct {
	// Fingerprint stays the same for as long as it is the same trouble; tip.told lists those that were told.
	Fingerprint string
	Delivery    pipeline.DeliveryID // zero for a credential
	Dest        string
	State       pipeline.State
	Reason      pipeline.Reason
	Detail      string
	Since       time.Time
	// Settled tells that nobody can do anything about it any more: it is told once, not every day.
	Settled bool
}

// The reasons of troubles that are no reason of a delivery.
const (
	TroubleExtraCopy   pipeline.Reason = "extra_copy"
	TroubleHeld        pipeline.Reason = "held"
	TroubleOverdue     pipeline.Reason = "overdue"
	TroubleRefreshLost pipeline.Reason = "refresh_lost"
)

// OverdueAfter is how long after its time a delivery that nothing holds back is a trouble of its own.
const OverdueAfter = time.Hour

// settledFor is how long a settled failure is listed, so that a run that comes late still tells it.
const settledFor = 30 * 24 * time.Hour

// Troubles lists what must be told, by time, post and target: uncertain, failed (not by a person's word), half
// published, due but held, overdue, extra copies, refreshes whose run did not come back.
func (s *State) Troubles(now time.Time) []Trouble {
	var out []Trouble
	for _, d := range s.Deliveries {
		if t, ok := s.troubleOf(d, now); ok {
			out = append(out, t)
		}
	}
	for i := range s.Extra {
		if x := &s.Extra[i]; !x.Known {
			t := Trouble{
				Delivery: x.Delivery, Dest: x.Dest, Reason: TroubleExtraCopy, Since: x.Receipt.At,
				Detail: strings.TrimSpace(x.Receipt.ID + " " + x.Receipt.URL),
			}
			if d := s.Deliveries[x.Delivery]; d != nil {
				t.State = d.State
			}
			t.Fingerprint = fingerprint(string(TroubleExtraCopy), x.Delivery.Post, string(x.Delivery.Target), x.Receipt.ID)
			out = append(out, t)
		}
	}
	for _, c := range s.Credentials {
		if c.Pending && c.PendingUntil.After(c.At) && now.After(c.PendingUntil.Add(OverdueAfter)) {
			out = append(out, Trouble{
				Reason: TroubleRefreshLost, Since: c.PendingUntil,
				Detail:      "run " + c.PendingRun + " did not finish refresh " + strconv.Itoa(c.PendingSeq) + " of login " + c.Login,
				Fingerprint: fingerprint(string(TroubleRefreshLost), c.Login, strconv.Itoa(c.PendingSeq), c.PendingRun),
			})
		}
	}
	slices.SortFunc(out, func(a, b Trouble) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Delivery.Post, b.Delivery.Post),
			cmp.Compare(a.Delivery.Target, b.Delivery.Target), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return out
}

func (s *State) troubleOf(d *Delivery, now time.Time) (Trouble, bool) {
	t := Trouble{
		Delivery: d.ID, Dest: d.Dest, State: d.State, Reason: d.Reason, Detail: d.Detail, Since: d.Changed,
		Settled: s.Settled(d, now),
	}
	mark := ""
	switch d.State {
	case pipeline.Uncertain:
	case pipeline.Failed:
		if d.Reason == pipeline.ReasonByPerson || (t.Settled && now.Sub(d.Changed) > settledFor) {
			return t, false
		}
	case pipeline.Scheduled, pipeline.Queued:
		if now.Before(d.Due) {
			return t, false
		}
		t.Since = d.Due
		if h, held := s.Blocked(d.ID, d.Login); held {
			t.Reason, t.Detail, mark = TroubleHeld, strings.TrimSpace(h.Scope+": "+h.Reason+" "+h.Detail), h.ID
		} else if now.Sub(d.Due) > OverdueAfter {
			t.Reason = TroubleOverdue
			if d.Reason != "" {
				t.Detail = strings.TrimSpace(string(d.Reason) + " " + d.Detail)
			}
			mark = d.Due.Format(instantForm)
		} else {
			return t, false
		}
	case pipeline.Publishing, pipeline.Published, pipeline.Canceled, pipeline.Adopted, pipeline.Retracted:
		return t, false
	}
	if mark == "" {
		mark = d.Changed.Format(instantForm)
	}
	t.Fingerprint = fingerprint(string(d.State), string(t.Reason), d.ID.Post, string(d.ID.Target), strconv.Itoa(d.Gen), mark)
	if t.Reason == TroubleHeld || t.Reason == TroubleOverdue {
		// Whether it waits as scheduled or as queued is the same trouble.
		t.Fingerprint = fingerprint(string(t.Reason), d.ID.Post, string(d.ID.Target), mark)
	}
	return t, true
}

func fingerprint(words ...string) string {
	h := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(h[:8])
}
