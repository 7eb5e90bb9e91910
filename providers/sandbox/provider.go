// Package sandbox publishes to the sandbox: an invented network with every ability, for trying things out, for tests,
// and as the example to copy when a network is added.
//
// One call makes a post public: POST /api/v1/posts, or, for a part with media, POST /api/v1/containers/{id}/publish after
// its container has been staged. The Idempotency-Key of either makes repetition harmless for an hour.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Name is the provider's name.
const Name = "sandbox"

// The abilities; each absent one would be explained in Info.About.
var (
	_ providers.Publisher = (*Provider)(nil)
	_ providers.Finder    = (*Provider)(nil)
	_ providers.Keyer     = (*Provider)(nil)
	_ providers.Replier   = (*Provider)(nil)
	_ providers.Uploader  = (*Provider)(nil)
	_ providers.Resolver  = (*Provider)(nil)
	_ providers.Stager    = (*Provider)(nil)
	_ providers.Editor    = (*Provider)(nil)
	_ providers.Deleter   = (*Provider)(nil)
	_ providers.Checker   = (*Provider)(nil)
	_ providers.Refresher = (*Provider)(nil)
	_ providers.Limiter   = (*Provider)(nil)
)

// Provider publishes to one account of a sandbox.
type Provider struct {
	client *api.Client
	token  string
	now    func() time.Time
}

// New makes a Provider; it reaches no network.
func New(cfg providers.Config) (providers.Publisher, error) {
	if cfg.Transport == nil || cfg.Now == nil {
		return nil, errors.New("sandbox: a transport and a clock are needed")
	}
	p := &Provider{token: cfg.Credential.Secrets[secretToken], now: cfg.Now}
	p.client = api.New(cfg, api.Options{Name: Name, Timeout: requestTimeout, Classify: classify})
	return p, nil
}

// Publish implements providers.Publisher.
func (p *Provider) Publish(ctx context.Context, m providers.Message) (providers.Receipt, error) {
	return p.create(ctx, m, "")
}

// Reply implements providers.Replier.
func (p *Provider) Reply(ctx context.Context, m providers.Message, t providers.Thread) (providers.Receipt, error) {
	return p.create(ctx, m, t.Parent.ID)
}

// create makes the one call that publishes.
func (p *Provider) create(ctx context.Context, m providers.Message, parent string) (providers.Receipt, error) {
	r := p.publishRequest(m, parent)
	var got post
	resp, err := p.client.JSON(ctx, r, &got)
	if err != nil {
		return providers.Receipt{}, err
	}
	// The post is out: without its id that is all that is known.
	if !api.ValidID(got.ID) {
		return providers.Receipt{}, p.client.Unusable(r, resp, "the answer names no valid id")
	}
	return got.receipt(resp.At), nil
}

// Edit implements providers.Editor.
func (p *Provider) Edit(ctx context.Context, r providers.Receipt, m providers.Message) error {
	return p.do(ctx, api.Request{
		Op: "edit", Method: "PUT", Path: postPath(r.ID), JSON: m.Payload, Write: true,
	}, nil)
}

// Delete implements providers.Deleter.
func (p *Provider) Delete(ctx context.Context, r providers.Receipt) error {
	err := p.do(ctx, api.Request{Op: "delete", Method: "DELETE", Path: postPath(r.ID), Write: true}, nil)
	if e := providers.AsError(err); e != nil && e.Kind == providers.NotFound {
		return nil
	}
	return err
}

// do sends r as the account.
func (p *Provider) do(ctx context.Context, r api.Request, out any) error {
	r.Bearer = p.token
	_, err := p.client.JSON(ctx, r, out)
	return err
}

// classify reads the sandbox's error body; the status says the rest.
func classify(resp *api.Response) *providers.Error {
	var body struct {
		Error struct {
			Code       string  `json:"code"`
			Message    string  `json:"message"`
			ID         string  `json:"id"`
			RetryAfter float64 `json:"retry_after"`
		} `json:"error"`
	}
	if json.Unmarshal(resp.Body, &body) != nil || body.Error.Code == "" {
		return nil
	}
	e := &providers.Error{
		Kind: resp.Kind, Code: body.Error.Code, Message: body.Error.Message, ID: body.Error.ID,
	}
	switch body.Error.Code {
	case codeDuplicate:
		e.Kind = providers.Duplicate
	case codeKeyReused: // what the key has led to may be this very post, staged once more
		e.Kind = providers.Ambiguous
	case codeInvalidGrant:
		e.Kind = providers.Unauthorized
	case codeContainerGone: // nothing was public; a container made anew will do
		e.Kind = providers.Unavailable
	case codeMaintenance: // documented as not processed
		e.Kind = providers.Unavailable
	}
	if s := body.Error.RetryAfter; s > 0 && s < 1e8 {
		e.RetryAt = resp.At.Add(time.Duration(s * float64(time.Second)))
	}
	return e
}
