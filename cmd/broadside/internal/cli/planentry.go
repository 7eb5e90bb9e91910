package cli

import (
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
)

// entry says where one post stands at one destination.
func (p *plan) entry(v *compose.View, it *compose.Item, s *ledger.State, now time.Time) planEntry {
	e := planEntry{Post: it.ID.Post, Path: it.Post.Path, Destination: it.Destination.Name, Target: it.ID.Target, Parts: len(it.Encoded.Parts)}
	if it.Draft() {
		e.State = planDraft
		return e
	}
	d := s.Deliveries[it.ID]
	seen := now
	if d != nil {
		seen = d.FirstSeen
	}
	win, err := it.Window(v.Config, seen)
	if err == nil {
		e.Due, e.By = win.Due.UTC(), win.By.UTC()
		e.Local = localTime(win.Due, zoneOf(it))
		if it.Now() {
			e.Local = localTime(win.Due.In(v.Config.Location), "")
		}
	}
	switch {
	case it.Errors || err != nil:
		e.State, e.Why = planInvalid, firstError(v, it)
		e.Hint = "`broadside validate " + it.Post.Path + "` says what to do"
	case it.ID.Target == "":
		e.State, e.Why = planNoTarget, "the account at "+it.Destination.Name+" is not known yet"
		e.Hint = "`broadside auth add " + it.Destination.Name + "` writes its target into broadside.yaml"
	case d == nil:
		e.State, e.Why = planLate, it.Destination.Name+" was added after the post's deadline: it does not go out there"
		e.Hint = "to send it all the same, give the destination a publish_at of its own"
	default:
		p.delivery(&e, it, d, s, now)
	}
	return e
}

// zoneOf is the zone that the time of an item was written in.
func zoneOf(it *compose.Item) string {
	if !it.At.PublishAt.IsZero() {
		return it.At.PublishAt.Zone
	}
	return it.Post.PublishAt.Zone
}

func firstError(v *compose.View, it *compose.Item) string {
	for _, d := range v.Diagnostics {
		if d.Severity == pipeline.Error && d.File == it.Post.Path && (d.Destination == "" || d.Destination == it.Destination.Name) {
			return d.Message
		}
	}
	return ""
}

// delivery says where a delivery stands after what a run would record.
func (p *plan) delivery(e *planEntry, it *compose.Item, d *ledger.Delivery, s *ledger.State, now time.Time) {
	e.State, e.settled = string(d.State), s.Settled(d, now)
	switch d.State {
	case pipeline.Scheduled, pipeline.Queued:
		p.open(e, it, d, s, now)
	case pipeline.Failed:
		switch d.Reason { //nolint:exhaustive // all others are told in the ledger's own words
		case pipeline.ReasonLate:
			e.State, e.Why = planLate, fmt.Sprintf("first seen %s after its time; it goes out only if the content branch had it in time", inWords(now.Sub(d.Due)))
			e.Hint = "give it a new publish_at"
		case pipeline.ReasonDuplicate:
			e.State, e.Why = planDuplicate, d.Detail
			e.Hint = "change the text, or set allow_duplicate: true"
		case pipeline.ReasonExpired:
			e.State, e.Why = planExpired, "its publish_by has passed"
			e.Hint = "give it a new publish_at or publish_by"
		default:
			e.Why = toldBy(d.Reason, d.Detail)
			e.Hint = "`broadside status " + d.ID.Post + "` tells more"
		}
		e.settled = e.settled && now.Sub(d.Changed) > shownFor
	case pipeline.Uncertain:
		e.Why = "it may be out or not: " + d.Detail
		e.Hint = "`broadside status " + d.ID.Post + "` says what to do"
	case pipeline.Published, pipeline.Retracted, pipeline.Adopted:
		if p.usedUp[d.ID] {
			e.State, e.Why, e.settled = planUsedUp, "its id went out before; the new time changes nothing", false
			e.Hint = "a new post needs a new id"
		}
	case pipeline.Canceled:
		e.Why = toldBy(d.Reason, d.Detail)
	case pipeline.Publishing:
	}
}

func (p *plan) open(e *planEntry, it *compose.Item, d *ledger.Delivery, s *ledger.State, now time.Time) {
	if h, held := s.Blocked(d.ID, d.Login); held {
		e.State, e.Why = planHeld, p.scopeName(h.Scope)+" is held "+heldSince(h)
		e.Hint = "`broadside release` lifts a hold"
		return
	}
	if !it.Post.AllowDuplicate && len(d.Receipts) == 0 {
		for _, o := range s.EqualSource(d.ID.Target, it.Rendition.Source, now.Add(-publish.DuplicateWithin)) {
			if o.ID != d.ID {
				e.duplicate(o.ID.Post)
				return
			}
		}
	}
	switch {
	case now.Before(d.Due):
		e.State = planScheduled
	case now.Before(d.NotBefore):
		e.State, e.Why = planWaiting, fmt.Sprintf("%s: not before %s", d.Reason, d.NotBefore.UTC().Format(time.RFC3339))
	default:
		e.State = planDue
	}
}

func (e *planEntry) duplicate(of string) {
	e.State, e.Why = planDuplicate, "the same text is out, or on its way, as "+of
	e.Hint = "change the text, or set allow_duplicate: true"
}
