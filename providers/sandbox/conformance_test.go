package sandbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/providertest"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// harness is the sandbox without some of its abilities.
func harness(without ...providers.Ability) providertest.Harness {
	return providertest.Harness{
		Info:    sandbox.Info(),
		Name:    "bob",
		Disable: without,
		Samples: samples,
		Start: func(t testing.TB, now func() time.Time) providertest.Network {
			s := server.New(server.Options{Now: now, BaseURL: "https://sandbox.test"})
			add := s.AddExpiring
			if slices.Contains(without, providers.CanRefresh) {
				add = s.AddAccount
			}
			login, err := add("demo")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.AddAccount("bob"); err != nil {
				t.Fatal(err)
			}
			return providertest.Network{Handler: s, Config: config(login), Posts: func() []providertest.Post { return posts(s) }}
		},
	}
}

func config(login server.Login) providers.Config {
	return providers.Config{
		Server: "https://sandbox.test", Account: login.Handle, TargetID: login.ID,
		Credential: providers.Credential{
			Version: 1, Provider: sandbox.Name, Host: "sandbox.test", Target: "sandbox:sandbox.test:" + login.ID,
			Account: login.Handle, Login: "login-1",
			Secrets: secrets(login),
		},
	}
}

func secrets(login server.Login) map[string]string {
	out := map[string]string{"token": login.Token}
	if login.RefreshToken != "" {
		out["refresh_token"], out["token_expires"] = login.RefreshToken, login.Expires.Format(time.RFC3339)
	}
	return out
}

func posts(s *server.Server) []providertest.Post {
	var out []providertest.Post
	for _, p := range s.Posts("demo") {
		v := providertest.Post{ID: p.ID, Parent: p.Parent, Text: p.Text, Lang: p.Lang}
		for _, m := range p.Media {
			v.Media = append(v.Media, providertest.Media{SHA256: m.SHA256, Alt: m.Alt})
		}
		out = append(out, v)
	}
	return out
}

func samples() []providers.Draft {
	return []providers.Draft{
		{
			Lang: "en",
			Settings: map[string]any{
				"visibility": "unlisted", "content_warning": "release notes", "sensitive": true,
				"language": "en-GB", "tags": []any{"go", "release"}, "keep_days": uint64(30),
				"poll": map[string]any{"options": []any{"yes", "no"}, "hours": uint64(48), "multiple": true},
			},
			Parts: []providers.DraftPart{{Doc: providers.Doc{Blocks: []providers.Block{
				{Kind: providers.Heading, Level: 2, Spans: []providers.Span{{Text: "Größer"}}},
				{Kind: providers.Paragraph, Spans: []providers.Span{
					{Text: "Thanks to "},
					{Kind: providers.Mention, Text: "@bob", Handle: "bob"},
					{Text: " and "},
					{Kind: providers.Mention, Text: "@nobody", Handle: "nobody"},
					{Text: ": "},
					{Text: "the notes", URL: "https://example.com/1.0", Style: providers.Bold},
					{Kind: providers.LineBreak},
					{Kind: providers.Hashtag, Text: "#golang", Handle: "golang"},
				}},
				{Kind: providers.Quote, Blocks: []providers.Block{{Spans: []providers.Span{{Text: "well said"}}}}},
				{Kind: providers.CodeBlock, Lang: "go", Text: "x := 1\n"},
			}}}},
		},
	}
}

func TestSandboxKeepsTheContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness())
}

func TestSandboxKeepsTheContractWithoutAnyOneAbility(t *testing.T) {
	t.Parallel()
	for _, a := range sandbox.Info().Abilities {
		t.Run("without "+string(a), func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, harness(a))
		})
	}
}

func TestSandboxKeepsTheContractWithoutAllAbilities(t *testing.T) {
	t.Parallel()
	providertest.Run(t, harness(sandbox.Info().Abilities...))
}
