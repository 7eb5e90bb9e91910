package sandbox

import (
	"context"
	"errors"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Upload implements providers.Uploader.
func (p *Provider) Upload(ctx context.Context, m providers.Media) (providers.Handle, error) {
	if m.Open == nil {
		return providers.Handle{}, unreadable(m, errors.New("its bytes are not at hand"))
	}
	data, err := m.Open()
	if err != nil {
		return providers.Handle{}, unreadable(m, err)
	}
	return p.handle(ctx, uploadRequest(m, data))
}

func unreadable(m providers.Media, err error) error {
	return &providers.Error{
		Kind: providers.Invalid, Reach: providers.NotSent, Op: Name + ": upload", Message: m.Path + " cannot be read", Err: err,
	}
}

// Stage implements providers.Stager. A part without media needs no container. One with media takes two steps: the
// container is made, and its media are processed.
func (p *Provider) Stage(ctx context.Context, m providers.Message, prev providers.Handle) (providers.Handle, bool, error) {
	body, err := parsePayload(m.Payload)
	if err != nil {
		return providers.Handle{}, false, err
	}
	if len(body.Media) == 0 {
		return providers.Handle{}, true, nil
	}
	if prev.ID == "" {
		h, err := p.handle(ctx, api.Request{
			Op: "container", Method: "POST", Path: "/api/v1/containers", JSON: m.Payload,
		})
		return h, false, err
	}
	h, err := p.handle(ctx, api.Request{
		Op: "process", Method: "POST", Path: "/api/v1/containers/" + api.PathEscape(prev.ID) + "/process",
	})
	return h, err == nil, err
}

// handle sends r, whose answer is something that is not public yet.
func (p *Provider) handle(ctx context.Context, r api.Request) (providers.Handle, error) {
	var got prepared
	if err := p.do(ctx, r, &got); err != nil {
		return providers.Handle{}, err
	}
	if !api.ValidID(got.ID) {
		return providers.Handle{}, p.client.Fail(r, nil, providers.Unknown, "", "the answer names no valid id")
	}
	return providers.Handle{ID: got.ID, Expires: got.ExpiresAt}, nil
}
