package publish

import (
	"context"
	"encoding/json"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/providers"
)

// dry does everything but write: what the ledger would be brought up to, and the requests for what is due. The
// transport underneath keeps the requests from leaving.
func (r *run) dry(ctx context.Context, facts Facts) error {
	s := r.j.State().Fork()
	events, err := journal.Dry(s, r.j.Stamp(), func(tx *journal.Tx) error { return Housekeep(r.view, facts, tx) })
	if err != nil {
		return err
	}
	for _, e := range events {
		r.progress("note", e.Post, e.Dest, "would record: "+string(e.Kind)+" "+e.State)
	}
	now := r.clock.Wall()
	for _, it := range r.view.Items {
		ok, why := dueNow(s, s.Deliveries[it.ID], it, now)
		if !ok {
			if why != "" && s.Deliveries[it.ID] != nil {
				r.opt.Log.Debug("not due", "post", it.ID.Post, "dest", it.Destination.Name, "why", why)
			}
			continue
		}
		if _, held := s.Blocked(it.ID, ""); held {
			continue
		}
		r.mu.Lock()
		o := r.outcomeOf(it)
		o.State, o.Due = pipeline.Scheduled, s.Deliveries[it.ID].Due
		r.mu.Unlock()
		if err := r.dryItem(ctx, it, now); err != nil {
			return err
		}
	}
	return nil
}

// dryItem shows the requests of one delivery.
func (r *run) dryItem(ctx context.Context, it *compose.Item, now time.Time) error {
	a, err := r.open(ctx, it.Destination)
	if acct := new(accountError); asAccount(err, &acct) {
		r.blockAccount(acct)
		return nil
	}
	if err != nil {
		return err
	}
	p := prepared{media: map[string]providers.Handle{}, names: map[string]providers.Handle{}}
	for _, part := range it.Encoded.Parts {
		for _, m := range part.Media {
			if a.able.Upload != nil {
				_, _ = a.able.Upload.Upload(ctx, m) // recorded, not sent: its answer is not to be had
			}
			p.media[providers.MediaKey(m)] = providers.Handle{ID: "dry-run", Ref: json.RawMessage(`{"dry_run":true}`)}
		}
		for _, n := range part.Resolve {
			p.names[n] = providers.Handle{ID: "dry-run"}
		}
	}
	parts, err := r.seal(it, p, 0, now)
	if err != nil {
		r.progress("note", it.ID.Post, it.Destination.Name, "its requests cannot be shown: "+err.Error())
		return nil
	}
	thread := providers.Thread{}
	c := &claim{it: it, acct: a, parts: parts}
	for i := range parts {
		m := c.message(i)
		if i == 0 {
			_, _ = a.able.Publish.Publish(ctx, m)
			thread.Root = providers.Receipt{ID: "dry-run", Ref: "dry-run"}
		} else if a.able.Reply != nil {
			_, _ = a.able.Reply.Reply(ctx, m, thread)
		}
		thread.Parent = providers.Receipt{ID: "dry-run", Ref: "dry-run"}
	}
	return nil
}
