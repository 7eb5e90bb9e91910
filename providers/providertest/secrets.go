package providertest

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// keepingSecrets holds that no secret leaves through an error or an address.
func keepingSecrets() []subtest {
	return []subtest{
		{name: "no secret in an error", run: func(s *session) {
			n := s.publishingRequest(s.draft(plain(hello)))
			for i, body := range s.echoes() {
				for _, status := range []int{200, 400, 401, 403, 500} {
					c := s.claim(s.draft(plain(hello)), 100+i*1000+status)
					s.wire.arm(n, answer(false, status, jsonHeader, text(body)))
					if _, err := s.send(c, 0, nil); err != nil {
						s.noSecret("an error", err.Error())
						for ; err != nil; err = unwrap(err) {
							s.noSecret("the cause of an error", err.Error())
						}
					}
				}
			}
		}},
		{name: "errors are one short line", run: func(s *session) {
			long := strings.Repeat("long ", 5000)
			for _, body := range []string{
				`{"error":"bad","message":"line\nline\u001b[31m\u0007\u202e` + long + `"}`,
				"bad\r\n::error::injected\x1b]0;x\x07" + long,
			} {
				t := newSession(s.t, s.h)
				_, _, e := t.hit(t.draft(plain(hello)), answer(false, 422, jsonHeader, text(body)))
				t.finish()
				if e == nil {
					s.t.Fatal("no error for HTTP 422")
				}
				if len(e.Message) > 300 || len(e.Code) > 300 {
					s.t.Errorf("the network's text has %d and %d bytes", len(e.Message), len(e.Code))
				}
				if strings.ContainsAny(e.Error(), "\n\r\x1b\x07\u202e") {
					s.t.Errorf("control characters: %q", e.Error())
				}
			}
		}},
		{name: "no secret in an address", run: func(s *session) {
			s.mustSend(s.claim(s.draft(plain(hello)), 0), 0, nil)
			if s.able.Check != nil {
				if _, err := s.able.Check.Check(s.ctx); err != nil {
					s.t.Errorf("Check: %v", err)
				}
			}
			for _, x := range s.wire.since(0) {
				s.noSecret("an address", x.URL)
			}
		}},
		{name: "no secret in a payload", run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			r := s.mustSend(c, 0, nil)
			for _, m := range c.messages {
				s.noSecret("a payload", string(m.Payload))
			}
			s.noSecret("a receipt", r.ID+" "+r.URL+" "+r.Ref)
		}},
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

// secrets are the values that must not be seen; what is short or an account's own name is none.
func (s *session) secrets() []string {
	var out []string
	for _, v := range s.net.Config.Credential.Secrets {
		if len(v) >= 8 && v != s.net.Config.Account {
			out = append(out, v)
		}
	}
	return out
}

// echoes are answers that give the secrets back, in the forms in which they travel.
func (s *session) echoes() []string {
	var out []string
	for _, v := range s.secrets() {
		for _, form := range forms(v) {
			b, err := json.Marshal(map[string]string{"error": form, "message": "bad token " + form, "error_description": form})
			if err != nil {
				s.t.Fatal(err)
			}
			out = append(out, string(b), "cannot use "+form)
		}
	}
	return out
}

func forms(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("user:" + secret)),
	}
}

// noSecret fails where said holds a secret in any form.
func (s *session) noSecret(where, said string) {
	s.t.Helper()
	for _, v := range s.secrets() {
		for _, form := range forms(v) {
			if strings.Contains(said, form) {
				s.t.Errorf("%s holds a secret: %s", where, strings.ReplaceAll(said, form, "<SECRET>"))
			}
		}
	}
}
