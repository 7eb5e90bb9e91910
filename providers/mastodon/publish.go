package mastodon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Publish implements providers.Publisher.
func (p *Provider) Publish(ctx context.Context, m providers.Message) (providers.Receipt, error) {
	return p.post(ctx, "publish", m, "")
}

// Reply implements providers.Replier: the part answers the one before it.
func (p *Provider) Reply(ctx context.Context, m providers.Message, t providers.Thread) (providers.Receipt, error) {
	if !api.ValidID(t.Parent.ID) {
		return providers.Receipt{}, invalid("reply", errors.New("the part before this one has no usable id"))
	}
	return p.post(ctx, "reply", m, t.Parent.ID)
}

// post makes a status public. The key goes along wherever it leads: a server that does not know it ignores it.
func (p *Provider) post(ctx context.Context, op string, m providers.Message, parent string) (providers.Receipt, error) {
	pay, err := parsePayload(m.Payload)
	if err != nil {
		return providers.Receipt{}, invalid(op, err)
	}
	r := api.Request{
		Op: op, Method: http.MethodPost, Path: "/api/v1/statuses", Write: true,
		JSON: pay.request(parent), Header: http.Header{},
	}
	if m.Key != "" {
		r.Header.Set("Idempotency-Key", m.Key)
	}
	var s status
	resp, err := p.call(ctx, r, &s)
	if err != nil {
		return providers.Receipt{}, err
	}
	if !api.ValidID(s.ID) {
		return providers.Receipt{}, p.client.Unusable(r, resp, "the answer names no status")
	}
	return p.receipt(s), nil
}

// request is the body that publishes p.
func (p payload) request(parent string) statusRequest {
	r := statusRequest{
		InReplyToID: parent, Language: p.Language, Poll: p.Poll, Sensitive: p.Sensitive,
		Status: p.Status, Visibility: p.Visibility,
	}
	if p.SpoilerText != "" {
		r.SpoilerText = &p.SpoilerText
	}
	for _, m := range p.Media {
		r.MediaIDs = append(r.MediaIDs, m.ID)
	}
	return r
}

// receipt is made of a status with a valid id.
func (p *Provider) receipt(s status) providers.Receipt {
	r := providers.Receipt{ID: s.ID, URL: api.ValidURL(s.URL), SentAt: s.CreatedAt.Time}
	if r.URL == "" {
		r.URL = api.ValidURL(s.URI)
	}
	if r.SentAt.IsZero() {
		r.SentAt = p.now().UTC()
	}
	return r
}

// Edit implements providers.Editor. Visibility cannot be changed on a published status, and a poll that has ended cannot
// be kept, so both are refused. An open poll keeps its end, and its votes where the options are the same.
func (p *Provider) Edit(ctx context.Context, r providers.Receipt, m providers.Message) error {
	pay, err := parsePayload(m.Payload)
	if err != nil {
		return invalid("edit", err)
	}
	have, err := p.published(ctx, "edit", r)
	if err != nil {
		return err
	}
	if !sameVisibility(pay.Visibility, have.Visibility, false) {
		return p.refuse("edit", fmt.Sprintf("the status %s is %s and cannot become %s; delete it and post it anew",
			r.ID, have.Visibility, pay.Visibility))
	}
	req := pay.request("")
	req.Visibility = ""
	req.SpoilerText = &pay.SpoilerText // "" takes an earlier one away
	req.MediaAttributes = pay.Media
	if req.Poll != nil && have.Poll != nil {
		if have.Poll.Expired {
			return p.refuse("edit", fmt.Sprintf("the poll of the status %s has ended; an edit would open it again", r.ID))
		}
		same := *req.Poll
		if left := have.Poll.ExpiresAt.Sub(p.now()); !have.Poll.ExpiresAt.IsZero() && pollUnchanged(pay.Poll, have) {
			same.ExpiresIn = max(int64(left.Seconds()), int64(shortestPoll.Seconds()))
		}
		req.Poll = &same
	}
	_, err = p.call(ctx, api.Request{
		Op: "edit", Method: http.MethodPut, Path: "/api/v1/statuses/" + api.PathEscape(r.ID), Write: true, JSON: req,
	}, nil)
	if !absent(err) {
		return err
	}
	// The status was there a moment ago: it is another account's, or the server knows no edit.
	if _, err := p.me(ctx, "edit"); err != nil {
		return err
	}
	return p.refuse("edit", "this server cannot edit a status")
}

func pollUnchanged(want *poll, have status) bool {
	return want.Multiple == have.Poll.Multiple && slices.Equal(want.Options, titles(have))
}

func titles(s status) []string {
	var out []string
	if s.Poll != nil {
		for _, o := range s.Poll.Options {
			out = append(out, o.Title)
		}
	}
	return out
}

// Delete implements providers.Deleter.
func (p *Provider) Delete(ctx context.Context, r providers.Receipt) error {
	if !api.ValidID(r.ID) {
		return invalid("delete", errors.New("the receipt has no usable id"))
	}
	_, err := p.call(ctx, api.Request{
		Op: "delete", Method: http.MethodDelete, Path: "/api/v1/statuses/" + api.PathEscape(r.ID), Write: true,
		Query: url.Values{"delete_media": {"true"}}, // else the files stay reachable for a day
	}, nil)
	if !absent(err) {
		return err
	}
	// The status is gone, or is another account's, or the server knows no deletion: only the first is success.
	if _, err := p.me(ctx, "delete"); err != nil {
		return err
	}
	switch _, err := p.published(ctx, "delete", r); {
	case err == nil:
		return p.refuse("delete", fmt.Sprintf("this server deletes no statuses; take %s down by hand", r.ID))
	case providers.AsError(err).Kind == providers.NotFound:
		return nil
	default:
		return err
	}
}

// published reads the status of a receipt.
func (p *Provider) published(ctx context.Context, op string, r providers.Receipt) (status, error) {
	var s status
	if !api.ValidID(r.ID) {
		return s, invalid(op, errors.New("the receipt has no usable id"))
	}
	_, err := p.call(ctx, api.Request{Op: op, Path: "/api/v1/statuses/" + api.PathEscape(r.ID)}, &s)
	return s, err
}

// refuse is the error of something that this server or network cannot do; nothing has been changed.
func (p *Provider) refuse(op, message string) *providers.Error {
	return p.client.Fail(api.Request{Op: op}, nil, providers.Unsupported, "", message)
}
