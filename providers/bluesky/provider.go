// Package bluesky publishes to Bluesky, by the AT Protocol, with an app password.
//
// Exactly one call makes a part public: com.atproto.repo.putRecord with swapRecord null, at a record key that the claim
// has fixed. It creates and never replaces, so repeating it is harmless at any later time. Sessions, uploaded blobs and
// reads make nothing public.
//
// Absent on purpose: editing. The network would take it, but replies and quotes keep pointing at the old version and no
// app shows that something was changed.
package bluesky

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Provider is one account.
type Provider struct {
	cfg providers.Config
	api *api.Client
}

var (
	_ providers.Publisher = (*Provider)(nil)
	_ providers.Finder    = (*Provider)(nil)
	_ providers.Keyer     = (*Provider)(nil)
	_ providers.Replier   = (*Provider)(nil)
	_ providers.Uploader  = (*Provider)(nil)
	_ providers.Resolver  = (*Provider)(nil)
	_ providers.Deleter   = (*Provider)(nil)
	_ providers.Checker   = (*Provider)(nil)
	_ providers.Refresher = (*Provider)(nil)
)

// The bounds of one request. A publication makes two at most: the write, and a read where the key is taken.
const (
	requestTimeout = 30 * time.Second
	uploadTimeout  = 60 * time.Second
)

// New makes an adapter for one account; it reaches no network.
func New(cfg providers.Config) (*Provider, error) {
	if cfg.Server == "" {
		cfg.Server = defaultServer
	}
	cfg.Server = strings.TrimSuffix(cfg.Server, "/")
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("bluesky: the server %q is not a URL", cfg.Server)
	}
	if h := cfg.Credential.Host; h != "" && !strings.EqualFold(h, u.Host) {
		return nil, fmt.Errorf("bluesky: the credential belongs to %s and is not sent to %s: log in there, or restore the server", h, u.Host)
	}
	if cfg.TargetID != "" && !validDID(cfg.TargetID) {
		return nil, fmt.Errorf("bluesky: the target's id %q is no DID", cfg.TargetID)
	}
	return &Provider{cfg: cfg, api: client(cfg)}, nil
}

func client(cfg providers.Config) *api.Client {
	return api.New(cfg, api.Options{Name: name, Timeout: requestTimeout, Classify: classify})
}

// method is the path of an XRPC method.
func method(nsid string) string { return "/xrpc/" + nsid }

// Publish creates the record that m holds.
func (p *Provider) Publish(ctx context.Context, m providers.Message) (providers.Receipt, error) {
	return p.write(ctx, m, nil)
}

// Reply is Publish with the record's place in the thread.
func (p *Provider) Reply(ctx context.Context, m providers.Message, t providers.Thread) (providers.Receipt, error) {
	return p.write(ctx, m, &t)
}

// KeyRule says that the record key makes repetition harmless for ever: the repository itself compares and swaps.
func (p *Provider) KeyRule(context.Context) (providers.KeyRule, bool, error) {
	return providers.KeyRule{Exact: true}, true, nil
}

func (p *Provider) write(ctx context.Context, m providers.Message, t *providers.Thread) (providers.Receipt, error) {
	const op = "putRecord"
	me, err := p.session(op)
	if err != nil {
		return providers.Receipt{}, err
	}
	s, err := complete(op, m.Payload, t)
	if err != nil {
		return providers.Receipt{}, err
	}
	req := api.Request{
		Op: op, Method: http.MethodPost, Path: method("com.atproto.repo.putRecord"), Bearer: me.token, Write: true,
		JSON: putInput{Collection: collection, Record: s.Record, Repo: me.did, RKey: s.RKey},
	}
	var out writtenAnswer
	resp, err := p.api.JSON(ctx, req, &out)
	if e := providers.AsError(err); e != nil {
		if e.Kind == providers.Duplicate && e.Code == codeSwap {
			return p.earlier(ctx, me, s, e)
		}
		return providers.Receipt{}, e
	}
	if out.URI != atURI(me.did, s.RKey) || !validCID(out.CID) {
		return providers.Receipt{}, p.api.Unusable(req, resp, "the answer names another record than was written")
	}
	return receipt(me.did, s.RKey, out.CID, resp.At), nil
}

// earlier answers for a record key that is taken: by an earlier write of ours, if the record is the same.
func (p *Provider) earlier(ctx context.Context, me session, s sealed, swap *providers.Error) (providers.Receipt, error) {
	got, err := p.get(ctx, me, s.RKey)
	if err != nil {
		return providers.Receipt{}, &providers.Error{
			Kind: providers.Ambiguous, Reach: providers.Answered, Op: swap.Op, Status: swap.Status, Code: swap.Code,
			Message: "the record key is taken and what stands there could not be read", Err: err,
		}
	}
	if !sameJSON(got.Value, s.Record) {
		return providers.Receipt{}, otherRecord(swap.Op, me.did, s.RKey)
	}
	return receipt(me.did, s.RKey, got.CID, createdAt(s.Record)), nil
}
