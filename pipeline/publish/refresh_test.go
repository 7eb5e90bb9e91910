package publish_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
)

// loginExpiring gives an account a token that expires and a refresh token that is good for one use.
func (g *rig) loginExpiring(dest string) {
	g.t.Helper()
	l, err := g.net.AddExpiring(dest)
	check(g.t, err)
	host, err := vault.Host(network)
	check(g.t, err)
	data, err := vault.Seal(providers.Credential{
		Provider: sandbox.Name, Host: host, Target: string(g.target(dest, l.ID)), Account: dest, Ledger: ledgerID,
		Login: "login-" + dest + "-" + strconv.FormatInt(time.Now().UnixNano(), 10), Obtained: time.Now(), Expires: l.Expires,
		Secrets: map[string]string{"token": l.Token, "refresh_token": l.RefreshToken, "token_expires": l.Expires.UTC().Format(time.RFC3339)},
	}, g.rcpts)
	check(g.t, err)
	g.files["credentials/"+dest+".age"] = string(data)
	g.push("an expiring login")
}

func TestTokenIsRefreshedWhenNeededAndKept(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.loginExpiring("alpha")
		for i := range 4 {
			g.post(fmt.Sprintf("p%d", i), time.Now(), fmt.Sprintf("Text %d.", i), "alpha")
			g.run()
			time.Sleep(3 * time.Hour)
		}
		g.wantTexts("alpha", "Text 0.", "Text 1.", "Text 2.", "Text 3.")
		for _, c := range g.state().Credentials {
			if c.Seq != 3 || c.Pending {
				t.Errorf("credential %+v, want three refreshes", c)
			}
		}
	})
}

func TestRunsAtOnceRefreshOnce(t *testing.T) {
	bubbleTest(t, []string{"alpha"}, func(t *testing.T, g *rig) {
		g.loginExpiring("alpha")
		for i := range 6 {
			g.files[fmt.Sprintf("posts/p%d.md", i)] = fmt.Sprintf("---\nid: p%d\npublish_at: %s\ndestinations: [alpha]\n---\n\nText %d.\n", i, time.Now().Add(3*time.Hour).UTC().Format(time.RFC3339), i)
		}
		g.push("six posts")
		time.Sleep(4 * time.Hour)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if _, err := publish.Run(t.Context(), nil, g.options()); err != nil {
					t.Errorf("run: %v", err)
				}
			})
		}
		wg.Wait()
		g.run()
		if n := len(g.texts("alpha")); n != 6 {
			t.Errorf("%d posts", n)
		}
		for _, c := range g.state().Credentials {
			if c.Seq != 1 {
				t.Errorf("refreshed %d times", c.Seq)
			}
		}
	})
}

// TestKilledWhileRefreshingNeverUsesATokenTwice kills a run at each step around a refresh of a token that is good for one
// use. Where the network's own answer was lost with the process a person must log in again; everywhere else it goes on.
func TestKilledWhileRefreshingNeverUsesATokenTwice(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; at <= 6; at++ {
			t.Run(fmt.Sprintf("after=%t/%d", after, at), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, "alpha")
					g.loginExpiring("alpha")
					time.Sleep(3 * time.Hour)
					g.post("one", time.Now(), "Once.", "alpha")
					g.runKilled(at, after)
					for range 5 {
						time.Sleep(20 * time.Minute)
						g.run()
					}
					d := g.delivery("one", "alpha")
					if d.State == pipeline.Published {
						g.wantTexts("alpha", "Once.")
						return
					}
					if d.State != pipeline.Queued || len(g.state().Holds) != 1 {
						t.Fatalf("%s %s, holds %v: want published, or held for a new login", d.State, d.Reason, g.state().Holds)
					}
					g.loginExpiring("alpha")
					g.run()
					g.wantTexts("alpha", "Once.")
				})
			})
		}
	}
}
