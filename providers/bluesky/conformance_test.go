package bluesky

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/bluesky/blueskytest"
	"github.com/broadside-pub/broadside/providers/providertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	h := providertest.Harness{Info: Info(), Start: startFake, Samples: samples, Name: "bob.example.com"}
	h.Deviations = map[string]string{
		"refresh that is refused is unauthorized": "a refresh token that is refused is answered with a login by app password; " +
			"TestRefreshWithoutAPasswordLivesOnTheToken and TestRefreshSaysThatThePasswordIsWrong hold the rest",
	}
	if os.Getenv(blueskytest.SpecsEnv) != "" || os.Getenv(blueskytest.RequireSpecsEnv) == "1" {
		lex := blueskytest.OfficialLexicons(t)
		h.CheckRequest = func(req *http.Request, body []byte) error {
			return lex.CheckRequest(blueskytest.Request{
				Method: req.Method, NSID: strings.TrimPrefix(req.URL.Path, "/xrpc/"), Query: req.URL.Query(), Header: req.Header, Body: body,
			})
		}
	}
	providertest.Run(t, h)
}

func startFake(_ testing.TB, now func() time.Time) providertest.Network {
	s := blueskytest.New(now)
	s.AccessLife = 1000 * time.Hour // the suite waits for days and refreshes only where it asks for that
	a := s.AddAccount("alice.test")
	s.AddHandle("bob.example.com", "did:plc:bobbobbobbobbobbobbobbob")
	access, refresh := s.Session(a.DID)
	return providertest.Network{
		Handler: s,
		Config: providers.Config{
			Server: "https://pds.test", Account: a.Handle, TargetID: a.DID,
			Credential: providers.Credential{
				Version: 1, Provider: name, Host: "pds.test", Target: "bluesky:pds.test:" + a.DID, Account: a.Handle, Login: "login-1",
				Secrets: map[string]string{
					secretIdentifier: a.Handle, secretPassword: a.AppPassword, secretAccess: access, secretRefresh: refresh,
				},
			},
		},
		Posts: func() []providertest.Post {
			var out []providertest.Post
			for _, p := range s.Posts(a.DID) {
				post := providertest.Post{ID: p.URI, Parent: p.Parent, Text: p.Text, Lang: strings.Join(p.Langs, ",")}
				for _, i := range p.Images {
					post.Media = append(post.Media, providertest.Media{SHA256: i.SHA256, Alt: i.Alt})
				}
				out = append(out, post)
			}
			return out
		},
	}
}

func samples() []providers.Draft {
	card := draft("A card, not an image")
	card.Settings = map[string]any{setCard: map[string]any{"url": "https://example.com/1.0", "title": "Version 1.0", "description": "What is new"}}
	labels := draft("one", "two")
	labels.Settings = map[string]any{
		setLabels: []any{"nudity"}, setTags: []any{"go", "release"}, setLanguages: []any{"de", "en"},
	}
	return []providers.Draft{card, labels}
}
