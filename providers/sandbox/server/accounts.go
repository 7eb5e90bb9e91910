package server

import (
	"crypto/rand"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// account is one account of the network.
type account struct {
	id, handle string
	login      Login
	revoked    bool
	keys       map[string]remembered // by idempotency key
}

// remembered is what an idempotency key has led to.
type remembered struct {
	sent  string // the request: its address and body
	post  *post
	until time.Time
}

// Login is what an account is opened with.
type Login struct {
	ID     string `json:"id"`
	Handle string `json:"handle"`
	Token  string `json:"token"`
	// RefreshToken and Expires are empty for a login whose token does not expire.
	RefreshToken string    `json:"refresh_token,omitempty"`
	Expires      time.Time `json:"expires_at,omitzero"`
}

var handleForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// AddAccount makes an account whose token does not expire, or returns the one that has this handle already.
func (s *Server) AddAccount(handle string) (Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(handle)
	if err != nil {
		return Login{}, err
	}
	return a.login, nil
}

// AddExpiring is AddAccount for a login whose token expires and is refreshed with a token good for one use. An account
// that is there already gets new tokens.
func (s *Server) AddExpiring(handle string) (Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.account(handle)
	if err != nil {
		return Login{}, err
	}
	s.rotate(a)
	return a.login, nil
}

func (s *Server) account(handle string) (*account, error) {
	handle = strings.TrimPrefix(handle, "@")
	if !handleForm.MatchString(handle) {
		return nil, errors.New("a handle has 1 to 63 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit")
	}
	if i := s.byHandle(handle); i >= 0 {
		return s.accounts[i], nil
	}
	s.serial++
	a := &account{id: "a" + strconv.Itoa(1000+s.serial), handle: handle, keys: map[string]remembered{}}
	a.login = Login{ID: a.id, Handle: handle, Token: "sbx_" + rand.Text()}
	s.accounts = append(s.accounts, a)
	slices.SortFunc(s.accounts, func(a, b *account) int { return strings.Compare(a.handle, b.handle) })
	return a, nil
}

func (s *Server) byHandle(handle string) int {
	return slices.IndexFunc(s.accounts, func(a *account) bool { return a.handle == handle })
}

// rotate gives a new tokens.
func (s *Server) rotate(a *account) {
	a.login.Token = "sbx_" + rand.Text()
	a.login.RefreshToken = "sbr_" + rand.Text()
	a.login.Expires = stamp(s.o.Now().Add(s.o.TokenLife))
	a.revoked = false
}

// Logins returns every account's login, by handle.
func (s *Server) Logins() []Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Login
	for _, a := range s.accounts {
		out = append(out, a.login)
	}
	return out
}

// Revoke makes an account's tokens invalid; Renew gives it new ones.
func (s *Server) Revoke(handle string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.byHandle(handle)
	if i < 0 {
		return errors.New("there is no account " + strconv.Quote(handle))
	}
	s.accounts[i].revoked = true
	return nil
}

// Renew gives an account a new token of the same kind as before.
func (s *Server) Renew(handle string) (Login, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.byHandle(handle)
	if i < 0 {
		return Login{}, errors.New("there is no account " + strconv.Quote(handle))
	}
	a := s.accounts[i]
	if a.login.RefreshToken != "" {
		s.rotate(a)
	} else {
		a.login.Token = "sbx_" + rand.Text()
		a.revoked = false
	}
	return a.login, nil
}

// identify finds out who asks.
func (s *Server) identify(c *call) {
	token, found := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.accounts {
		if a.login.Token != token || a.revoked {
			continue
		}
		if !a.login.Expires.IsZero() && !s.o.Now().Before(a.login.Expires) {
			continue
		}
		c.who = a
	}
}

// accountView is an account as the API shows it.
type accountView struct {
	ID     string   `json:"id"`
	Handle string   `json:"handle"`
	URL    string   `json:"url"`
	Scopes []string `json:"scopes,omitempty"`
}

func (s *Server) viewAccount(c *call, a *account) accountView {
	return accountView{ID: a.id, Handle: a.handle, URL: s.base(c.r) + "/@" + a.handle}
}

func (s *Server) ownAccount(c *call) *reply {
	v := s.viewAccount(c, c.who)
	v.Scopes = []string{"read", "write"}
	return ok(v)
}

func (s *Server) otherAccount(c *call) *reply {
	i := s.byHandle(strings.TrimPrefix(c.r.PathValue("handle"), "@"))
	if i < 0 {
		return refuse(http.StatusNotFound, "not_found", "there is no such account")
	}
	return ok(s.viewAccount(c, s.accounts[i]))
}

func (s *Server) instance(*call) *reply {
	return ok(struct {
		Limits
		KeySeconds int `json:"idempotency_seconds"`
	}{s.o.Limits, max(0, int(s.o.KeyWindow/time.Second))})
}

// refresh trades a refresh token for new tokens. A refresh token that was used before is refused like an unknown one.
func (s *Server) refresh(c *call) *reply {
	var in struct {
		RefreshToken string `json:"refresh_token"`
	}
	if bad := c.decode(&in); bad != nil {
		return bad
	}
	for _, a := range s.accounts {
		if in.RefreshToken == "" || a.login.RefreshToken != in.RefreshToken || a.revoked {
			continue
		}
		s.rotate(a)
		c.who = a
		return ok(a.login)
	}
	return refuse(http.StatusBadRequest, "invalid_grant", "the refresh token is unknown, used or revoked")
}
