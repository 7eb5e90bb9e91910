package vault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

func TestBoundSaysExactlyWhatDiffers(t *testing.T) {
	t.Parallel()
	cred := credential()
	dest := pipeline.Destination{Name: "bluesky", Provider: "bluesky", Target: "bluesky:bsky.social:did:plc:abc"}
	for name, c := range map[string]struct {
		change func(c *providers.Credential, d *pipeline.Destination, host, ledger *string)
		field  string
		says   string
	}{
		"equal": {func(*providers.Credential, *pipeline.Destination, *string, *string) {}, "", ""},
		"case":  {func(_ *providers.Credential, _ *pipeline.Destination, h, _ *string) { *h = "BSKY.social" }, "", ""},
		"provider": {
			func(_ *providers.Credential, d *pipeline.Destination, _, _ *string) { d.Provider = "mastodon" },
			"provider", "mastodon account and its credential is for bluesky",
		},
		"host": {
			func(_ *providers.Credential, _ *pipeline.Destination, h, _ *string) { *h = "evil.example" },
			"host", "may be sent to bsky.social only, broadside.yaml now says evil.example",
		},
		"port": {func(_ *providers.Credential, _ *pipeline.Destination, h, _ *string) { *h = "bsky.social:8443" }, "host", "8443"},
		"no host": {
			func(c *providers.Credential, _ *pipeline.Destination, h, _ *string) { c.Host, *h = "", "" },
			"host", "log in",
		},
		"target": {
			func(_ *providers.Credential, d *pipeline.Destination, _, _ *string) {
				d.Target = "bluesky:bsky.social:did:plc:xyz"
			},
			"target", "did:plc:xyz",
		},
		"no target": {
			func(_ *providers.Credential, d *pipeline.Destination, _, _ *string) { d.Target = "" },
			"target", "write `target: bluesky:bsky.social:did:plc:abc`",
		},
		"ledger": {func(_ *providers.Credential, _ *pipeline.Destination, _, l *string) { *l = "0000" }, "ledger", "copied from another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cc, d, host, ledger := cred.Clone(), dest, "bsky.social", cred.Ledger
			c.change(&cc, &d, &host, &ledger)
			err := vault.Bound(cc, d, host, ledger)
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var b *vault.BindingError
			if !errors.Is(err, vault.ErrBinding) || !errors.As(err, &b) || b.Field != c.field || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want field %s saying %q", err, c.field, c.says)
			}
			noSecret(t, err)
		})
	}
}

func TestHostIsTheSameForEverySpelling(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://bsky.social": "bsky.social", "https://BSKY.social:443/": "bsky.social", "https://a.example:8443/x": "a.example:8443",
		"http://127.0.0.1:80": "127.0.0.1", "http://127.0.0.1:3000": "127.0.0.1:3000", "https://[::1]:8443": "[::1]:8443",
		"https://[::1]/": "[::1]", "https://a.example./": "a.example", "https://user:pw@a.example/": "a.example",
	} {
		if got, err := vault.Host(in); err != nil || got != want {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "bsky.social", "ftp://a.example", "https://", "::"} {
		if got, err := vault.Host(in); err == nil {
			t.Errorf("%s passed as %q", in, got)
		}
	}
}

func TestNewestFollowsTheLogin(t *testing.T) {
	t.Parallel()
	c := func(login string, seq int) *providers.Credential {
		return &providers.Credential{Login: login, Seq: seq}
	}
	for name, x := range map[string]struct{ content, ledger, want *providers.Credential }{
		"only content":    {c("a", 0), nil, c("a", 0)},
		"refreshed":       {c("a", 0), c("a", 3), c("a", 3)},
		"rekeyed since":   {c("a", 4), c("a", 3), c("a", 4)},
		"new login":       {c("b", 0), c("a", 9), c("b", 0)},
		"removed":         {nil, c("a", 9), nil},
		"nothing":         {nil, nil, nil},
		"back to the old": {c("a", 0), c("b", 2), c("a", 0)},
	} {
		if d := cmp.Diff(x.want, vault.Newest(x.content, x.ledger)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestSecretStringsListsEveryLineLongestFirst(t *testing.T) {
	t.Parallel()
	got := vault.SecretStrings(providers.Credential{Secrets: map[string]string{
		"a": "short", "b": "a longer one", "c": "short", "d": "", "e": "-----BEGIN X-----\nline one\nline 2\n-----END X-----\n",
	}})
	want := []string{"-----BEGIN X-----\nline one\nline 2\n-----END X-----\n", "a longer one", "line one", "line 2", "short"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPathNeverMeetsTheLedgersKey(t *testing.T) {
	t.Parallel()
	if got, err := vault.Path("my-site_2"); err != nil || got != "credentials/my-site_2.age" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "ledger", "LEDGER", "../x", "a/b", "a.b", ".hidden", strings.Repeat("a", 65)} {
		if got, err := vault.Path(bad); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}
