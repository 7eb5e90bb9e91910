package publish

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// maxStages bounds the steps of one part.
const maxStages = 50

// stage takes a part through the steps that come before the call that publishes it. Each step's handle is on the ledger
// before the next begins, so that a crash resumes from the last one.
func (r *run) stage(ctx context.Context, c *claim, i int, m providers.Message) (providers.Handle, error) {
	if c.acct.able.Stage == nil {
		return providers.Handle{}, nil
	}
	// A step belongs to its bytes: others are staged anew.
	step := fmt.Sprintf("stage:%d:%.16s", i, sha256Hex(m.Payload))
	var h providers.Handle
	if d := r.j.State().Deliveries[c.it.ID]; d != nil {
		if p, ok := d.Prepared[step]; ok && p.State == "done" && (p.Expires.IsZero() || p.Expires.After(r.clock.Wall().Add(r.opt.Fence.CutBefore))) {
			_ = json.Unmarshal(p.Handle, &h)
		}
	}
	for range maxStages {
		if err := r.renew(ctx, c); err != nil {
			return h, err
		}
		sctx, cancel := c.lease.context(withLease(ctx, c.lease))
		next, done, err := c.acct.able.Stage.Stage(sctx, m, h)
		cancel()
		if err != nil {
			return h, err
		}
		if next.ID != h.ID || !done {
			if err := r.staged(ctx, c, step, next); err != nil {
				return h, err
			}
		}
		if h = next; done {
			return h, nil
		}
	}
	return h, &providers.Error{Kind: providers.Unavailable, Reach: providers.Answered, Op: c.acct.info.Name + ": stage", Message: "it is not ready after many steps"}
}

func (r *run) staged(ctx context.Context, c *claim, step string, h providers.Handle) error {
	data, err := canon.Marshal(h)
	if err != nil {
		return err
	}
	return r.record(ctx, func(tx *journal.Tx) error {
		return tx.Add(tx.State.Prepare(tx.Stamp, ledger.PrepareInput{ID: c.it.ID, Step: step, Handle: data, Expires: h.Expires}))
	})
}
