package server

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// adminRoutes are the controls: JSON in and out, no token. A page in a browser cannot use them across origins.
func (s *Server) adminRoutes() {
	guard := http.NewCrossOriginProtection()
	for pattern, run := range map[string]func(*http.Request) *reply{
		"GET /admin/accounts":                  s.adminLogins,
		"POST /admin/accounts":                 s.adminAddAccount,
		"POST /admin/accounts/{handle}/revoke": s.adminRevoke,
		"POST /admin/accounts/{handle}/renew":  s.adminRenew,
		"GET /admin/faults":                    func(*http.Request) *reply { return ok(s.Rules()) },
		"POST /admin/faults":                   s.adminAddRule,
		"DELETE /admin/faults":                 func(*http.Request) *reply { s.DeleteRule(""); return &reply{status: http.StatusNoContent} },
		"DELETE /admin/faults/{id}":            s.adminDeleteRule,
		"GET /admin/posts":                     s.adminPosts,
		"GET /admin/requests":                  func(*http.Request) *reply { return ok(append([]Request{}, s.Requests()...)) },
		"POST /admin/reset":                    func(*http.Request) *reply { s.Reset(); return &reply{status: http.StatusNoContent} },
	} {
		s.mux.Handle(pattern, guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			run(r).settle().write(w)
		})))
	}
}

func invalid(err error) *reply { return refuse(http.StatusUnprocessableEntity, "invalid", err.Error()) }

func decodeAdmin(r *http.Request, into any) *reply {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "bad_request", "the body cannot be read: "+err.Error())
	}
	return nil
}

func (s *Server) adminLogins(*http.Request) *reply { return ok(append([]Login{}, s.Logins()...)) }

// adminAddAccount takes {"handle": "demo", "expiring": false}.
func (s *Server) adminAddAccount(r *http.Request) *reply {
	var in struct {
		Handle   string `json:"handle"`
		Expiring bool   `json:"expiring"`
	}
	if bad := decodeAdmin(r, &in); bad != nil {
		return bad
	}
	add := s.AddAccount
	if in.Expiring {
		add = s.AddExpiring
	}
	login, err := add(in.Handle)
	if err != nil {
		return invalid(err)
	}
	return &reply{status: http.StatusCreated, body: login}
}

func (s *Server) adminRevoke(r *http.Request) *reply {
	if err := s.Revoke(r.PathValue("handle")); err != nil {
		return refuse(http.StatusNotFound, "not_found", err.Error())
	}
	return &reply{status: http.StatusNoContent}
}

func (s *Server) adminRenew(r *http.Request) *reply {
	login, err := s.Renew(r.PathValue("handle"))
	if err != nil {
		return refuse(http.StatusNotFound, "not_found", err.Error())
	}
	return ok(login)
}

func (s *Server) adminAddRule(r *http.Request) *reply {
	var in Rule
	if bad := decodeAdmin(r, &in); bad != nil {
		return bad
	}
	out, err := s.AddRule(in)
	if err != nil {
		return invalid(err)
	}
	return &reply{status: http.StatusCreated, body: out}
}

func (s *Server) adminDeleteRule(r *http.Request) *reply {
	if !s.DeleteRule(r.PathValue("id")) {
		return refuse(http.StatusNotFound, "not_found", "there is no rule "+strconv.Quote(r.PathValue("id")))
	}
	return &reply{status: http.StatusNoContent}
}

// adminPost is a post for programs that only look.
type adminPost struct {
	ID      string   `json:"id"`
	URL     string   `json:"url"`
	Account string   `json:"account"`
	Parent  string   `json:"in_reply_to,omitempty"`
	Post    string   `json:"post,omitempty"`
	Text    string   `json:"text"`
	Lang    string   `json:"lang,omitempty"`
	Alt     []string `json:"alt,omitempty"`
}

// adminPosts shows every post, or those of ?account=, the oldest first.
func (s *Server) adminPosts(r *http.Request) *reply {
	out := []adminPost{}
	for _, p := range s.Posts(r.URL.Query().Get("account")) {
		v := adminPost{ID: p.ID, URL: p.URL, Account: p.Handle, Parent: p.Parent, Post: p.Label, Text: p.Text, Lang: p.Lang}
		for _, m := range p.Media {
			v.Alt = append(v.Alt, m.Alt)
		}
		out = append(out, v)
	}
	return ok(out)
}
