package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/providers"
)

// prepared is everything that a claim needs and that is not public: uploads and looked-up names.
type prepared struct {
	media map[string]providers.Handle
	names map[string]providers.Handle
	// fresh are the handles made by this run, by step, to be recorded with the claim.
	fresh map[string]providers.Handle
}

// handleMargin is how long a handle must still be good for, to be used in a claim.
const handleMargin = 15 * time.Minute

// prepare uploads the item's media and looks its names up. It may be repeated: nothing of it is public.
func (r *run) prepare(ctx context.Context, a *account, it *compose.Item, d *ledger.Delivery) (prepared, error) {
	p := prepared{media: map[string]providers.Handle{}, names: map[string]providers.Handle{}, fresh: map[string]providers.Handle{}}
	for _, part := range it.Encoded.Parts {
		for _, m := range part.Media {
			key := providers.MediaKey(m)
			if _, done := p.media[key]; done {
				continue
			}
			step := mediaStep(m)
			if h, ok := r.stored(d, step); ok {
				p.media[key] = h
				continue
			}
			if a.able.Upload == nil {
				return p, &providers.Error{Kind: providers.Unsupported, Reach: providers.NotSent, Op: a.info.Name + ": upload", Message: "this network takes no media"}
			}
			r.progress("preparing", it.ID.Post, a.dest.Name, "uploading "+m.Path)
			h, err := a.able.Upload.Upload(ctx, m)
			if err != nil {
				return p, fmt.Errorf("upload of %s: %w", m.Path, err)
			}
			r.note(it, h.Warning)
			p.media[key], p.fresh[step] = h, h
		}
		for _, name := range part.Resolve {
			if _, done := p.names[name]; done || a.able.Resolve == nil {
				continue
			}
			h, err := a.able.Resolve.Resolve(ctx, name)
			if e := new(providers.Error); errors.As(err, &e) && e.Kind == providers.NotFound {
				r.note(it, fmt.Sprintf("%s does not know %s: the name is sent as plain text", a.info.Title, name))
				continue
			}
			if err != nil {
				return p, fmt.Errorf("look-up of %s: %w", name, err)
			}
			p.names[name] = h
		}
	}
	return p, nil
}

// mediaStep names the upload of one file with one alt text.
func mediaStep(m providers.Media) string {
	return "media:" + sha256Hex([]byte(providers.MediaKey(m)))[:32]
}

// stored finds a handle that an earlier run left in the ledger and that is good for long enough.
func (r *run) stored(d *ledger.Delivery, step string) (providers.Handle, bool) {
	if d == nil {
		return providers.Handle{}, false
	}
	s, ok := d.Prepared[step]
	if !ok || s.State != "done" || !s.Expires.IsZero() && s.Expires.Before(r.clock.Wall().Add(handleMargin)) {
		return providers.Handle{}, false
	}
	var h providers.Handle
	if json.Unmarshal(s.Handle, &h) != nil {
		return providers.Handle{}, false
	}
	return h, true
}

// seal completes every part of an item for a claim at the given time.
func (r *run) seal(it *compose.Item, p prepared, gen int, at time.Time) ([]ledger.ClaimPart, error) {
	parts := make([]ledger.ClaimPart, len(it.Encoded.Parts))
	for i, part := range it.Encoded.Parts {
		key := r.partKey(it.ID, i, gen)
		payload, err := it.Info.Seal(providers.SealInput{Part: part, Index: i, Key: key, ClaimedAt: at, Media: p.media, Names: p.names})
		if err != nil {
			return nil, fmt.Errorf("%s at %s: part %d cannot be completed: %w", it.ID.Post, it.Destination.Name, i+1, err)
		}
		parts[i] = ledger.ClaimPart{Key: key, Payload: payload}
	}
	return parts, nil
}

// partKey is the idempotency key of one part: the same on every repetition, another after a person's retry.
func (r *run) partKey(id pipeline.DeliveryID, part, gen int) string {
	return sha256Hex(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00%d", r.view.Config.Ledger.ID, id.Post, id.Target, part, gen))
}

func sha256Hex(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
