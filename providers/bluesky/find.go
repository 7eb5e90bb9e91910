package bluesky

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Find reads the record key of the message: the post is there or nowhere.
func (p *Provider) Find(ctx context.Context, q providers.Query) (providers.Receipt, error) {
	const op = "getRecord"
	me, err := p.session(op)
	if err != nil {
		return providers.Receipt{}, err
	}
	s, err := complete(op, q.Message.Payload, q.Thread)
	if err != nil {
		return providers.Receipt{}, err
	}
	got, err := p.get(ctx, me, s.RKey)
	if e := providers.AsError(err); e != nil {
		if e.Kind == providers.NotFound && e.Code == codeNoRecord {
			return providers.Receipt{}, providers.ErrNotFound
		}
		return providers.Receipt{}, e
	}
	if !sameJSON(got.Value, s.Record) {
		return providers.Receipt{}, otherRecord(name+": "+op, me.did, s.RKey)
	}
	at := createdAt(s.Record)
	// A record holds milliseconds.
	if at.Before(q.Since.Truncate(time.Millisecond)) || (q.Taken != nil && q.Taken(atURI(me.did, s.RKey))) {
		return providers.Receipt{}, providers.ErrNotFound
	}
	return receipt(me.did, s.RKey, got.CID, at), nil
}

// get reads one of the account's posts.
func (p *Provider) get(ctx context.Context, me session, rkey string) (recordAnswer, error) {
	req := api.Request{
		Op: "getRecord", Method: http.MethodGet, Path: method("com.atproto.repo.getRecord"), Bearer: me.token,
		Query: url.Values{"repo": {me.did}, "collection": {collection}, "rkey": {rkey}},
	}
	var out recordAnswer
	resp, err := p.api.JSON(ctx, req, &out)
	if err != nil {
		return recordAnswer{}, err
	}
	if out.URI != atURI(me.did, rkey) || !validCID(out.CID) || len(out.Value) == 0 {
		return recordAnswer{}, p.api.Unusable(req, resp, "the answer holds another record than was asked for")
	}
	return out, nil
}

// Delete takes a post down. What is already gone is no error to the network either.
func (p *Provider) Delete(ctx context.Context, r providers.Receipt) error {
	const op = "deleteRecord"
	me, err := p.session(op)
	if err != nil {
		return err
	}
	did, rkey, ok := splitURI(r.ID)
	if !ok {
		return refused(op, providers.Invalid, fmt.Sprintf("the receipt's id %q is no post's URI", r.ID))
	}
	if did != me.did {
		return refused(op, providers.Forbidden, fmt.Sprintf("the post belongs to %s, the session to %s", did, me.did))
	}
	_, err = p.api.Do(ctx, api.Request{
		Op: op, Method: http.MethodPost, Path: method("com.atproto.repo.deleteRecord"), Bearer: me.token, Write: true,
		JSON: deleteInput{Collection: collection, Repo: did, RKey: rkey},
	})
	return err
}

func receipt(did, rkey, cid string, at time.Time) providers.Receipt {
	return providers.Receipt{ID: atURI(did, rkey), URL: postURL(did, rkey), SentAt: at.UTC(), Ref: cid}
}

// createdAt reads a record's own time, zero where it has none.
func createdAt(rec json.RawMessage) time.Time {
	var r struct {
		CreatedAt time.Time `json:"createdAt"`
	}
	if err := json.Unmarshal(rec, &r); err != nil {
		return time.Time{}
	}
	return r.CreatedAt
}
