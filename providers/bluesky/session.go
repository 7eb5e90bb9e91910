package bluesky

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// The secrets of a credential. The first two come from a person, the others from the server.
const (
	secretIdentifier = "identifier"
	secretPassword   = "app_password"
	secretAccess     = "access_jwt"
	secretRefresh    = "refresh_jwt"
)

// refreshMargin is how long an access token must still hold when a run begins to use it. It lives 120 minutes (PDS,
// auth.ts, read 2026-11-30).
const refreshMargin = 5 * time.Minute

// session is who a call is made as.
type session struct {
	did   string
	token string
}

// session returns the account and its access token, without asking the network. Whether the token still holds is the
// server's to say: its clock counts.
func (p *Provider) session(op string) (session, error) {
	token := p.cfg.Credential.Secrets[secretAccess]
	if token == "" {
		return session{}, refused(op, providers.Unauthorized, "there is no session yet: refresh the credential first")
	}
	c, _ := readClaims(token)
	did := p.cfg.TargetID
	switch {
	case did == "":
		did = c.Sub
	case validDID(c.Sub) && c.Sub != did:
		return session{}, refused(op, providers.Forbidden, wrongAccount(did, c.Sub))
	}
	if !validDID(did) {
		return session{}, refused(op, providers.Unauthorized, "the session does not say whose it is: log in again, so that the target is known")
	}
	return session{did: did, token: token}, nil
}

func wrongAccount(want, got string) string {
	return fmt.Sprintf("the credential opens %s, but the destination's target is %s: log in with the right account, or correct the target", got, want)
}

// NeedsRefresh tells whether the access token is missing, unreadable, or ends within five minutes.
func (p *Provider) NeedsRefresh(c providers.Credential, now time.Time) bool {
	return expiresBy(c.Secrets[secretAccess], now.Add(refreshMargin))
}

// Refresh continues the session of c, or begins one with the app password where there is none that can be continued:
// logins are limited to 300 a day. The refresh token given stays valid for a grace of two hours (PDS,
// account-manager.ts, read 2026-11-30), so an answer that is lost loses no login.
func (p *Provider) Refresh(ctx context.Context, c providers.Credential) (providers.Credential, error) {
	cfg := p.cfg
	cfg.Credential = c
	s, err := p.renew(ctx, client(cfg), c)
	if err != nil {
		return c, err
	}
	next := c.Clone()
	next.Seq++
	next.Secrets[secretAccess] = s.AccessJWT
	if s.RefreshJWT != "" {
		next.Secrets[secretRefresh] = s.RefreshJWT
	}
	next.Expires = loginEnd(next)
	return next, nil
}

// loginEnd is when a login ends for good: never with an app password, else with the refresh token.
func loginEnd(c providers.Credential) time.Time {
	if c.Secrets[secretPassword] != "" {
		return time.Time{}
	}
	t, _ := readClaims(c.Secrets[secretRefresh])
	return t.Exp
}

func (p *Provider) renew(ctx context.Context, a *api.Client, c providers.Credential) (sessionAnswer, error) {
	token, password := c.Secrets[secretRefresh], c.Secrets[secretPassword]
	t, readable := readClaims(token)
	over := readable && !t.Exp.IsZero() && !p.cfg.Now().Before(t.Exp)
	if token != "" && (!over || password == "") {
		s, err := p.open(ctx, a, api.Request{
			Op: "refreshSession", Method: http.MethodPost, Path: method("com.atproto.server.refreshSession"), Bearer: token,
		})
		if err == nil || password == "" || providers.AsError(err).Kind != providers.Unauthorized {
			return s, err
		}
	}
	return p.login(ctx, a, c)
}

// login begins a session with the app password.
func (p *Provider) login(ctx context.Context, a *api.Client, c providers.Credential) (sessionAnswer, error) {
	const op = "createSession"
	who := p.identifier(c)
	if who == "" || c.Secrets[secretPassword] == "" {
		return sessionAnswer{}, refused(op, providers.Unauthorized, "the credential holds no app password, or nothing says whose: log in again")
	}
	return p.open(ctx, a, api.Request{
		Op: op, Method: http.MethodPost, Path: method("com.atproto.server.createSession"),
		JSON: loginInput{Identifier: who, Password: c.Secrets[secretPassword]},
	})
}

// identifier is whom to log in as: what the credential says, the permanent id, or the handle.
func (p *Provider) identifier(c providers.Credential) string {
	for _, who := range []string{c.Secrets[secretIdentifier], p.cfg.TargetID, c.Account, p.cfg.Account} {
		if who != "" {
			return handleOf(who)
		}
	}
	return ""
}

// open makes a call that answers with a session, and checks whose it is before its tokens are used anywhere.
func (p *Provider) open(ctx context.Context, a *api.Client, req api.Request) (sessionAnswer, error) {
	var s sessionAnswer
	resp, err := a.JSON(ctx, req, &s)
	if err != nil {
		return sessionAnswer{}, err
	}
	if !validToken(s.AccessJWT) || (s.RefreshJWT != "" && !validToken(s.RefreshJWT)) {
		return sessionAnswer{}, a.Unusable(req, resp, "the answer holds no usable session")
	}
	if err := p.accept(a, req, resp, s); err != nil {
		return sessionAnswer{}, err
	}
	return s, nil
}

// accept checks that a session is the destination's and that its account is active.
func (p *Provider) accept(a *api.Client, req api.Request, resp *api.Response, s sessionAnswer) error {
	switch {
	case !validDID(s.DID):
		return a.Unusable(req, resp, "the answer does not say whose session it is")
	case p.cfg.TargetID != "" && s.DID != p.cfg.TargetID:
		return a.Fail(req, resp, providers.Forbidden, "", wrongAccount(p.cfg.TargetID, s.DID))
	case s.Active != nil && !*s.Active:
		return a.Fail(req, resp, providers.Forbidden, "", fmt.Sprintf("the account %s is not active: %s", s.DID, s.Status))
	}
	return nil
}

// validToken tells whether a token can stand in a header.
func validToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Check asks who the session belongs to. Where no session is alive it begins one with the app password, which is what
// has to be checked then, and ends it again; the credential stays as it is.
func (p *Provider) Check(ctx context.Context) (providers.Account, error) {
	c := p.cfg.Credential
	if c.Secrets[secretPassword] != "" && expiresBy(c.Secrets[secretAccess], p.cfg.Now()) {
		s, err := p.login(ctx, p.api, c)
		if err != nil {
			return providers.Account{}, err
		}
		p.logout(ctx, s.RefreshJWT)
		return p.account(s, s.AccessJWT), nil
	}
	token := c.Secrets[secretAccess]
	if token == "" {
		return providers.Account{}, refused("getSession", providers.Unauthorized, "there is no session and no app password: log in")
	}
	req := api.Request{
		Op: "getSession", Method: http.MethodGet, Path: method("com.atproto.server.getSession"), Bearer: token,
	}
	var s sessionAnswer
	resp, err := p.api.JSON(ctx, req, &s)
	if err != nil {
		return providers.Account{}, err
	}
	if err := p.accept(p.api, req, resp, s); err != nil {
		return providers.Account{}, err
	}
	return p.account(s, token), nil
}

// logout ends a session that nobody will use. Failing leaves one that ends by itself.
func (p *Provider) logout(ctx context.Context, token string) {
	if token == "" {
		return
	}
	_, _ = p.api.Do(ctx, api.Request{
		Op: "deleteSession", Method: http.MethodPost, Path: method("com.atproto.server.deleteSession"), Bearer: token,
	})
}

func (p *Provider) account(s sessionAnswer, token string) providers.Account {
	a := providers.Account{
		ID: s.DID, URL: "https://bsky.app/profile/" + s.DID, Expires: loginEnd(p.cfg.Credential),
	}
	if validHandle(s.Handle) {
		a.Handle = s.Handle
	}
	if c, ok := readClaims(token); ok && c.Scope != "" {
		a.Scopes = []string{c.Scope}
	}
	return a
}
