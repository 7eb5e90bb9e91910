package mastodon

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Check implements providers.Checker. A token of another account than the target's is Forbidden.
func (p *Provider) Check(ctx context.Context) (providers.Account, error) {
	a, err := p.me(ctx, "check")
	if err != nil {
		return providers.Account{}, err
	}
	limits, err := p.Limits(ctx)
	if err != nil {
		return providers.Account{}, err
	}
	s, err := p.serverSoftware(ctx)
	if err != nil {
		return providers.Account{}, err
	}
	out := providers.Account{ID: a.ID, Handle: p.handle(a), URL: api.ValidURL(a.URL), Limits: &limits}
	if !s.genuine {
		out.Missing = append([]string{"idempotency keys"}, lacking[s.name]...)
	}
	return out, nil
}

// me asks once whom the token belongs to, and refuses it where that is not the target's account.
func (p *Provider) me(ctx context.Context, op string) (*account, error) {
	p.mu.Lock()
	have := p.own
	p.mu.Unlock()
	if have == nil {
		a := &account{}
		r := api.Request{Op: op, Path: "/api/v1/accounts/verify_credentials"}
		resp, err := p.call(ctx, r, a)
		if e := providers.AsError(err); e != nil {
			// A token that stands for no user: Mastodon's answer to an application's own, snac's to any it does not know.
			if e.Status == http.StatusUnprocessableEntity {
				e.Kind = providers.Unauthorized
			}
			return nil, e
		}
		if !api.ValidID(a.ID) {
			return nil, p.client.Unusable(r, resp, "the answer names no account")
		}
		p.mu.Lock()
		p.own = a
		p.mu.Unlock()
		have = a
	}
	if p.target != "" && have.ID != p.target {
		return nil, p.client.Fail(api.Request{Op: op}, nil, providers.Forbidden, "", fmt.Sprintf(
			"the access token belongs to %s (account %s), the target is account %s of %s; add the credential of that account",
			p.handle(have), have.ID, p.target, p.account))
	}
	return have, nil
}

// handle is user@host as people write it; a server's own accounts have no host in acct.
func (p *Provider) handle(a *account) string {
	name := a.Acct
	if name == "" {
		name = a.Username
	}
	if !strings.Contains(name, "@") {
		if u, err := url.Parse(p.server); err == nil {
			name += "@" + api.Host(u)
		}
	}
	return api.Sanitize(name, 320)
}
