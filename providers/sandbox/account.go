package sandbox

import (
	"context"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

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
