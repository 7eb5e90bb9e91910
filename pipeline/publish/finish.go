package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// toldAgain is how often a trouble that stands is told.
const toldAgain = 24 * time.Hour

// What the fingerprints of troubles begin with that are not the ledger's.
const (
	fileTrouble    = "invalid:"
	accountTrouble = "account:"
)

// finish gathers what a person should know, and writes the tip that says how far this run came.
func (r *run) finish(ctx context.Context) error {
	if r.j == nil {
		return nil
	}
	s, now := r.j.State(), r.clock.Wall()
	again := now.Sub(s.Tip.ToldAt) >= toldAgain
	r.result.Troubles = r.troubles(s, now)
	var told []string
	for i := range r.result.Troubles {
		t := &r.result.Troubles[i]
		t.New = again && !t.Settled || !slices.Contains(s.Tip.Told, t.Fingerprint)
		told = append(told, t.Fingerprint)
	}
	if r.result.Idle {
		// Nothing was read, and nothing has changed: what was wrong with files and accounts still is.
		told = append(told, slices.DeleteFunc(slices.Clone(s.Tip.Told), func(f string) bool {
			return !strings.HasPrefix(f, fileTrouble) && !strings.HasPrefix(f, accountTrouble)
		})...)
	}
	slices.Sort(told)
	told = slices.Compact(told)
	r.result.Waiting = waiting(s, now)
	if next := s.NextWake(now); next.After(now) {
		r.result.Next = next
	}
	if r.opt.DryRun || r.failed != nil {
		return nil
	}
	if r.result.Idle && slices.Equal(told, s.Tip.Told) && (!again || len(told) == 0) {
		return nil
	}
	if r.opt.Tell != nil {
		// Said before it is noted as told: a run that ends in between is to say it twice rather than never.
		r.opt.Tell(r.result.Troubles)
	}
	if err := r.writeTip(ctx, s, told, again); err != nil || r.view == nil || r.ending.Load() {
		return err
	}
	return r.compact(ctx)
}

// writeTip is the last commit of a run that has something to say that the ledger does not: newer content, another next
// time, other troubles, or a day's silence.
func (r *run) writeTip(ctx context.Context, s *ledger.State, told []string, again bool) error {
	content, config := s.Tip.Content, s.Tip.Config
	if r.view != nil {
		content, config = r.view.Commit, r.view.Config.Hash
	}
	now := r.clock.Wall()
	same := s.Tip.Finished && s.Tip.Content == content && s.Tip.Config == config && s.Tip.Next.Equal(s.NextWake(now)) &&
		slices.Equal(s.Tip.Told, told) && now.Sub(s.Tip.At) < Heartbeat && (!again || len(told) <= 0)
	if same {
		return nil
	}
	err := r.record(ctx, func(tx *journal.Tx) error {
		in := ledger.TipInput{
			Content: content, Config: config, Next: tx.State.NextWake(tx.Now), Finished: !r.ending.Load(), Told: told,
			Waiting: waiting(tx.State, tx.Now),
		}
		if in.Told == nil {
			in.Told = []string{}
		}
		if again {
			in.ToldAt = tx.Now
		}
		return tx.Add(tx.State.TipEvent(tx.Stamp, in))
	})
	if errors.Is(err, journal.ErrMoved) {
		return nil
	}
	return err
}

// waiting counts what is due and will go out later without anybody's help.
func waiting(s *ledger.State, now time.Time) int {
	n := 0
	for _, d := range s.Deliveries {
		if d.State == pipeline.Queued && !now.Before(d.Due) || d.State == pipeline.Publishing {
			n++
		}
	}
	return n
}

// troubles are everything that a person should know: of the ledger, of destinations that cannot be used, and of files.
func (r *run) troubles(s *ledger.State, now time.Time) []Trouble {
	var out []Trouble
	for _, t := range s.Troubles(now) {
		out = append(out, describe(t))
	}
	for _, e := range r.blockedAccounts() {
		if !r.wantedSoon(e.Dest) {
			continue
		}
		out = append(out, Trouble{
			Fingerprint: accountTrouble + e.Dest + ":" + e.Code, Destination: e.Dest, Code: e.Code, Message: e.Error(),
			Hint: e.Hint, Person: true,
		})
	}
	for _, it := range r.refusedItems() {
		err := r.refused[it]
		out = append(out, Trouble{
			Fingerprint: fileTrouble + sha256Hex([]byte(it.ID.String() + err.Error()))[:16], Post: it.ID.Post, Destination: it.Destination.Name,
			Code: "not_scheduled", Message: it.ID.Post + " at " + it.Destination.Name + " cannot be scheduled: " + err.Error(), Person: true,
			Hint: "`broadside status " + it.ID.Post + "` shows where it stands",
		})
	}
	if r.view == nil || r.result.Idle {
		return out // what was read to find the ledger was read without it
	}
	r.result.Diagnostics = append(r.result.Diagnostics, LateDestinations(r.view, s, now)...)
	for _, d := range slices.Concat(r.view.Diagnostics, Conflicts(r.view, s)) {
		if d.Severity != pipeline.Error {
			continue
		}
		r.result.Diagnostics = append(r.result.Diagnostics, d)
		out = append(out, Trouble{
			Fingerprint: fileTrouble + sha256Hex([]byte(d.File + "\x00" + d.Code + "\x00" + d.Destination + "\x00" + d.Message))[:16],
			Post:        d.Post, Destination: d.Destination, Code: d.Code, Message: d.String(), Hint: d.Hint, Invalid: true,
		})
	}
	return out
}

func (r *run) blockedAccounts() []*accountError {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*accountError
	for _, e := range r.blocked {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *accountError) int {
		if a.Dest != b.Dest {
			return map[bool]int{true: -1, false: 1}[a.Dest < b.Dest]
		}
		return 0
	})
	return out
}

// refusedItems are the deliveries that the ledger would not take, in the content's order.
func (r *run) refusedItems() []*compose.Item {
	var out []*compose.Item
	if r.view == nil {
		return nil
	}
	for _, it := range r.view.Items {
		if r.refused[it] != nil {
			out = append(out, it)
		}
	}
	return out
}

// wantedSoon tells whether something waits for a destination.
func (r *run) wantedSoon(dest string) bool {
	if r.view == nil {
		return false
	}
	for _, it := range r.view.Items {
		if it.Destination.Name == dest && !it.Draft() && !it.Skip {
			return true
		}
	}
	return false
}

// describe says a ledger's trouble in words, with what to do.
func describe(t ledger.Trouble) Trouble {
	out := Trouble{Fingerprint: t.Fingerprint, Post: t.Delivery.Post, State: t.State, Code: string(t.Reason), Settled: t.Settled}
	out.Destination = t.Dest
	at := fmt.Sprintf("%s at %s", t.Delivery.Post, out.Destination)
	detail := ""
	if t.Detail != "" {
		detail = ": " + t.Detail
	}
	cmd := func(what string) string {
		return fmt.Sprintf("broadside resolve %s %s %s", t.Delivery.Post, out.Destination, what)
	}
	switch {
	case t.Reason == ledger.TroubleExtraCopy:
		out.Person = true
		out.Message = fmt.Sprintf("%s may be out twice%s", at, detail)
		out.Hint = "look at the network, delete the copy that should not be there, then: `" + cmd("known --id ID") + "`"
	case t.Reason == ledger.TroubleHeld:
		out.Person, out.Message = true, fmt.Sprintf("%s is held back%s", at, detail)
		out.Hint = "if the credential was refused: `broadside auth add " + out.Destination + "`, commit and merge, and it goes on by itself; a person's hold: `broadside release`"
	case t.Reason == ledger.TroubleRefreshLost:
		out.Person, out.Message = true, "a credential's refresh did not come back: "+t.Detail
		out.Hint = "the next run tries again; if the network refuses the credential then, `broadside auth add` makes a new one"
	case t.Reason == ledger.TroubleOverdue:
		out.Failed, out.Message = true, fmt.Sprintf("%s is overdue%s", at, detail)
		out.Hint = "`broadside status " + t.Delivery.Post + "` says what it waits for"
	case t.State == pipeline.Uncertain:
		out.Person = true
		out.Message = fmt.Sprintf("%s may be published or not%s", at, detail)
		out.Hint = "where the network can be asked, the next run does so by itself; if it stays like this, look at the network, then: `" + cmd("published --url URL") + "`, or if it is not there `" + cmd("retry") + "`, or `" + cmd("cancel") + "`"
	case t.Reason == pipeline.ReasonPartial:
		out.Person, out.Failed = true, true
		out.Message = fmt.Sprintf("%s is out in part%s", at, detail)
		out.Hint = "finish it by hand, then: `" + cmd("published --all-parts --url URL") + "`, or delete it and `" + cmd("cancel") + "`"
	case t.Reason == pipeline.ReasonExpired:
		out.Failed = true
		out.Message = fmt.Sprintf("%s did not go out: its publish_by has passed%s", at, detail)
		out.Hint = "give it a new publish_at or publish_by, or `" + cmd("cancel") + "`"
	case t.Reason == pipeline.ReasonLate:
		out.Failed = true
		out.Message = fmt.Sprintf("%s did not go out: it came late%s", at, detail)
		out.Hint = "give it a new publish_at"
	case t.Reason == pipeline.ReasonDuplicate:
		out.Failed = true
		out.Message = fmt.Sprintf("%s did not go out%s", at, detail)
		out.Hint = "change the text, set allow_duplicate: true, or `" + cmd("cancel") + "`"
	default:
		out.Failed = true
		out.Message = fmt.Sprintf("%s did not go out (%s)%s", at, t.Reason, detail)
		out.Hint = "edit the post, or `" + cmd("retry") + "`, or `" + cmd("cancel") + "`"
	}
	return out
}
