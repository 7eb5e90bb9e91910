package blueskytest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// How long refresh tokens live: PDS, auth.ts and account-manager.ts.
const (
	RefreshLife = 90 * 24 * time.Hour
	// Grace is how long a refresh token still works after its first use; each use gives the same next one.
	Grace = 2 * time.Hour
)

const (
	accessScope  = "com.atproto.appPass"
	refreshScope = "com.atproto.refresh"
)

type refreshToken struct {
	did     string
	session string
	next    string // the id of the token that follows
	expires time.Time
}

type tokenClaims struct {
	Scope string `json:"scope"`
	Sub   string `json:"sub"`
	Aud   string `json:"aud"`
	Iat   int64  `json:"iat"`
	Exp   int64  `json:"exp"`
	JTI   string `json:"jti"`
	SID   string `json:"sid"` // which session, so that ending it ends its access tokens too
}

func (s *Server) sign(c tokenClaims) string {
	c.Aud = "did:web:pds.test"
	enc := base64.RawURLEncoding
	body, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	head := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString(body)
	return head + "." + enc.EncodeToString(s.mac(head))
}

func (s *Server) mac(head string) []byte {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(head))
	return m.Sum(nil)
}

// verify reads the bearer token of a call.
func (s *Server) verify(c *call, scope string) (tokenClaims, *failure) {
	raw, ok := strings.CutPrefix(c.header.Get("Authorization"), "Bearer ")
	if !ok {
		return tokenClaims{}, &failure{status: http.StatusUnauthorized, code: "AuthMissing", message: "Authentication Required"}
	}
	var t tokenClaims
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return t, bad("InvalidToken", "Token could not be verified")
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(sig, s.mac(parts[0]+"."+parts[1])) {
		return t, bad("InvalidToken", "Token could not be verified")
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &t) != nil {
		return t, bad("InvalidToken", "Token could not be verified")
	}
	if s.Now().Unix() >= t.Exp {
		return t, bad("ExpiredToken", "Token has expired")
	}
	if t.Scope != scope {
		return t, bad("InvalidToken", "Bad token scope")
	}
	if s.gone[t.SID] {
		return t, bad("ExpiredToken", "Token has been revoked")
	}
	return t, nil
}

// auth returns the account that a call is made as.
func (s *Server) auth(c *call) (*account, *failure) {
	t, f := s.verify(c, accessScope)
	if f != nil {
		return nil, f
	}
	a := s.accounts[t.Sub]
	if a == nil {
		return nil, &failure{status: http.StatusForbidden, code: "AccountNotFound", message: "Account not found"}
	}
	switch a.status {
	case "takendown":
		return nil, &failure{status: http.StatusUnauthorized, code: "AccountTakedown", message: "Account has been taken down"}
	case "deactivated":
		return nil, &failure{status: http.StatusUnauthorized, code: "AccountDeactivated", message: "Account is deactivated"}
	}
	return a, nil
}

func (s *Server) createSession(c *call) (any, *failure) {
	var in struct {
		Identifier string `json:"identifier"`
		Password   string `json:"password"`
	}
	if f := c.decode(&in); f != nil {
		return nil, f
	}
	a := s.accounts[in.Identifier]
	if a == nil {
		a = s.accounts[s.handles[strings.ToLower(in.Identifier)]]
	}
	if f := s.limit(c, "login "+in.Identifier, 1, s.Logins, 5*time.Minute); f != nil {
		return nil, f
	}
	if a == nil || in.Password != a.AppPassword {
		return nil, &failure{status: http.StatusUnauthorized, code: "AuthenticationRequired", message: "Invalid identifier or password"}
	}
	if a.status == "takendown" {
		return nil, &failure{status: http.StatusUnauthorized, code: "AccountTakedown", message: "Account has been taken down"}
	}
	return s.begin(a, token(16), token(16)), nil
}

// begin returns a session whose refresh token has the given id.
func (s *Server) begin(a *account, session, id string) map[string]any {
	now := s.Now()
	if s.refresh[id] == nil {
		s.refresh[id] = &refreshToken{did: a.DID, session: session, next: token(16), expires: now.Add(RefreshLife)}
	}
	answer := s.describe(a)
	answer["accessJwt"] = s.sign(tokenClaims{
		Scope: accessScope, Sub: a.DID, Iat: now.Unix(), Exp: now.Add(s.AccessLife).Unix(), JTI: token(16), SID: session,
	})
	answer["refreshJwt"] = s.sign(tokenClaims{
		Scope: refreshScope, Sub: a.DID, Iat: now.Unix(), Exp: s.refresh[id].expires.Unix(), JTI: id, SID: session,
	})
	return answer
}

func (s *Server) describe(a *account) map[string]any {
	answer := map[string]any{
		"did": a.DID, "handle": a.Handle, "email": "someone@example.com", "emailConfirmed": true, "active": a.status == "",
		"didDoc": map[string]any{"id": a.DID, "service": []any{map[string]any{
			"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": "https://elsewhere.test",
		}}},
	}
	if a.status != "" {
		answer["status"] = a.status
	}
	return answer
}

func (s *Server) refreshSession(c *call) (any, *failure) {
	t, f := s.verify(c, refreshScope)
	if f != nil {
		return nil, f
	}
	if len(c.body) > 0 {
		return nil, invalid("A request body was provided when none was expected")
	}
	have := s.refresh[t.JTI]
	if have == nil || !s.Now().Before(have.expires) {
		return nil, bad("ExpiredToken", "Token has been revoked")
	}
	a := s.accounts[have.did]
	if a.status == "takendown" {
		return nil, &failure{status: http.StatusUnauthorized, code: "AccountTakedown", message: "Account has been taken down"}
	}
	if until := s.Now().Add(Grace); until.Before(have.expires) {
		have.expires = until
	}
	return s.begin(a, have.session, have.next), nil
}

func (s *Server) getSession(c *call) (any, *failure) {
	t, f := s.verify(c, accessScope)
	if f != nil {
		return nil, f
	}
	return s.describe(s.accounts[t.Sub]), nil
}

func (s *Server) deleteSession(c *call) (any, *failure) {
	t, f := s.verify(c, refreshScope)
	if f != nil {
		return nil, f
	}
	s.gone[t.SID] = true
	delete(s.refresh, t.JTI)
	return nil, nil
}

// window counts what was spent of one limit since its start.
type window struct {
	start time.Time
	spent int
}

// limit spends points of a limit, sets the headers that show it, and fails where none are left.
func (s *Server) limit(c *call, what string, points, most int, per time.Duration) *failure {
	now := s.Now()
	w := s.spent[what]
	if w == nil || !now.Before(w.start.Add(per)) {
		w = &window{start: now}
		s.spent[what] = w
	}
	over := w.spent+points > most
	if !over {
		w.spent += points
	}
	reset := w.start.Add(per)
	h := http.Header{}
	h.Set("RateLimit-Limit", fmt.Sprint(most))
	h.Set("RateLimit-Remaining", fmt.Sprint(most-w.spent))
	h.Set("RateLimit-Reset", fmt.Sprint(reset.Unix()))
	h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%d", most, int(per.Seconds())))
	maps.Copy(c.out, h)
	if !over {
		return nil
	}
	return &failure{status: http.StatusTooManyRequests, code: "RateLimitExceeded", message: "Rate Limit Exceeded", header: h}
}
