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
	"fmt"
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
	_ providers.Disabler  = (*Provider)(nil)
)

// Provider publishes to one account of a sandbox.
type Provider struct {
	client *api.Client
	token  string
	now    func() time.Time
	off    []providers.Ability
}

// New makes a Provider; it reaches no network.
func New(cfg providers.Config) (providers.Publisher, error) {
	if cfg.Transport == nil || cfg.Now == nil {
		return nil, errors.New("sandbox: a transport and a clock are needed")
	}
	p := &Provider{token: cfg.Credential.Secrets[secretToken], now: cfg.Now}
	for _, name := range list(cfg.Settings, "disable") {
		p.off = append(p.off, providers.Ability(name))
	}
	p.client = api.New(cfg, api.Options{Name: Name, Timeout: requestTimeout, Classify: classify})
	return p, nil
}

// Disabled implements providers.Disabler.
func (p *Provider) Disabled() []providers.Ability { return p.off }

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

// mostPages bounds how far back Find looks.
const mostPages = 100

// Find implements providers.Finder: it reads the account's own posts, the newest first, back to q.Since.
func (p *Provider) Find(ctx context.Context, q providers.Query) (providers.Receipt, error) {
	want, err := parsePayload(q.Message.Payload)
	if err != nil {
		return providers.Receipt{}, err
	}
	if q.Thread != nil {
		want.InReplyTo = q.Thread.Parent.ID
	}
	var found *post
	before := ""
	for range mostPages {
		var page postPage
		if err := p.do(ctx, listRequest(before), &page); err != nil {
			return providers.Receipt{}, err
		}
		if page.Posts == nil {
			return providers.Receipt{}, p.unsure("the list of posts is not one")
		}
		for _, got := range page.Posts {
			if !api.ValidID(got.ID) || got.PublishedAt.IsZero() {
				return providers.Receipt{}, p.unsure("the list holds a post without id or time")
			}
			if got.PublishedAt.Before(q.Since) {
				return receiptOf(found)
			}
			if got.equal(want) && !q.Taken(got.ID) {
				found = &got // the oldest of several is the one that was claimed
			}
		}
		if page.Next == "" {
			return receiptOf(found)
		}
		before = page.Next
	}
	return providers.Receipt{}, p.unsure(fmt.Sprintf("more than %d pages of posts since the claim", mostPages))
}

func receiptOf(found *post) (providers.Receipt, error) {
	if found == nil {
		return providers.Receipt{}, providers.ErrNotFound
	}
	return found.receipt(found.PublishedAt), nil
}

func (p *Provider) unsure(why string) error {
	return p.client.Fail(api.Request{Op: "find"}, nil, providers.Unknown, "", why)
}

// KeyRule implements providers.Keyer. An instance may have keys switched off.
func (p *Provider) KeyRule(ctx context.Context) (providers.KeyRule, bool, error) {
	i, err := p.instance(ctx)
	if err != nil {
		return providers.KeyRule{}, false, err
	}
	window := time.Duration(i.KeySeconds) * time.Second
	return providers.KeyRule{Window: window, Exact: true}, window > 0, nil
}

// Limits implements providers.Limiter.
func (p *Provider) Limits(ctx context.Context) (providers.Limits, error) {
	i, err := p.instance(ctx)
	if err != nil {
		return providers.Limits{}, err
	}
	return i.limits(p.now()), nil
}

// Check implements providers.Checker.
func (p *Provider) Check(ctx context.Context) (providers.Account, error) {
	var a account
	if err := p.do(ctx, api.Request{Op: "account", Path: "/api/v1/account"}, &a); err != nil {
		return providers.Account{}, err
	}
	if !api.ValidID(a.ID) {
		return providers.Account{}, p.client.Fail(api.Request{Op: "account"}, nil, providers.Unknown, "", "the account has no valid id")
	}
	l, err := p.Limits(ctx)
	if err != nil {
		return providers.Account{}, err
	}
	return providers.Account{
		ID: a.ID, Handle: a.Handle, URL: api.ValidURL(a.URL), Scopes: a.Scopes, Limits: &l,
	}, nil
}

// Resolve implements providers.Resolver.
func (p *Provider) Resolve(ctx context.Context, name string) (providers.Handle, error) {
	var a account
	err := p.do(ctx, api.Request{Op: "resolve", Path: "/api/v1/accounts/" + api.PathEscape(name)}, &a)
	if err != nil {
		return providers.Handle{}, err
	}
	if !api.ValidID(a.ID) {
		return providers.Handle{}, p.client.Fail(api.Request{Op: "resolve"}, nil, providers.Unknown, "", "the account has no valid id")
	}
	return providers.Handle{ID: a.ID}, nil
}

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

// refreshEarly is how long before its end a token is replaced.
const refreshEarly = 5 * time.Minute

// NeedsRefresh implements providers.Refresher. A login without a refresh token has a token that does not expire.
func (p *Provider) NeedsRefresh(c providers.Credential, now time.Time) bool {
	if c.Secrets[secretRefresh] == "" {
		return false
	}
	expires, err := time.Parse(time.RFC3339, c.Secrets[secretExpires])
	return err == nil && !now.Before(expires.Add(-refreshEarly))
}

// Refresh implements providers.Refresher. The refresh token is good for one use: its successor is in the answer.
func (p *Provider) Refresh(ctx context.Context, c providers.Credential) (providers.Credential, error) {
	if c.Secrets[secretRefresh] == "" {
		return providers.Credential{}, p.client.Fail(api.Request{Op: "refresh"}, nil, providers.Unauthorized, "",
			"the credential has no refresh token; log in again")
	}
	r := api.Request{
		Op: "refresh", Method: "POST", Path: "/api/v1/token",
		JSON: map[string]string{"refresh_token": c.Secrets[secretRefresh]},
	}
	var got tokens
	resp, err := p.client.JSON(ctx, r, &got)
	if err != nil {
		return providers.Credential{}, err
	}
	if got.Token == "" || got.RefreshToken == "" || got.ExpiresAt.IsZero() {
		return providers.Credential{}, p.client.Unusable(r, resp, "the answer holds no tokens")
	}
	next := c.Clone()
	next.Seq++
	next.Obtained = p.now()
	next.Secrets[secretToken] = got.Token
	next.Secrets[secretRefresh] = got.RefreshToken
	next.Secrets[secretExpires] = got.ExpiresAt.UTC().Format(time.RFC3339)
	return next, nil
}

func (p *Provider) instance(ctx context.Context) (instance, error) {
	var i instance
	r := api.Request{Op: "instance", Path: "/api/v1/instance"}
	if err := p.do(ctx, r, &i); err != nil {
		return instance{}, err
	}
	if i.Text <= 0 {
		return instance{}, p.client.Fail(r, nil, providers.Unknown, "", "the instance tells no limit of text")
	}
	return i, nil
}

// do sends r as the account.
func (p *Provider) do(ctx context.Context, r api.Request, out any) error {
	r.Bearer = p.token
	_, err := p.client.JSON(ctx, r, out)
	return err
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
