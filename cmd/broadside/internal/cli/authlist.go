package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

func (a *app) cmdAuthList() *cobra.Command {
	var offline bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the logins: whose, for which host, since when, who can open them",
		Long: `auth list shows every destination and its login, never a secret. Without the private key it shows what can be known
without: that there is a login, and to whom it is encrypted.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.authList(c.Context(), offline)
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "do not look at the ledger on the remote")
	return c
}

// loginView is one destination and its login, without a secret.
type loginView struct {
	Destination string          `json:"destination"`
	Provider    string          `json:"provider"`
	Account     string          `json:"account,omitempty"`
	Target      pipeline.Target `json:"target,omitempty"`
	File        string          `json:"file"`
	// State: open, sealed (no key at hand), missing, wrong_key, damaged, elsewhere (bound to another place).
	State      string    `json:"state"`
	Problem    string    `json:"problem,omitempty"`
	Host       string    `json:"host,omitempty"`
	Login      string    `json:"login,omitempty"`
	Obtained   time.Time `json:"obtained,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	Scopes     []string  `json:"scopes,omitempty"`
	Recipients []string  `json:"recipients,omitempty"` // sealed inside; else what the file tells
	// Refreshed counts the refreshes that the ledger holds of this login; -1 where it could not be looked at.
	Refreshed int `json:"refreshed"`

	cred *providers.Credential
}

func (a *app) authList(ctx context.Context, offline bool) error {
	w, err := a.open(true)
	if err != nil {
		return err
	}
	keys, err := a.keys()
	if err != nil && !errors.Is(err, vault.ErrNoKey) {
		return err
	}
	if err != nil {
		a.note("There is no age key at hand: what is inside the files is not shown.")
	}
	var j *journal.Journal
	if !offline {
		var done func()
		if j, done, err = w.peek(ctx); err != nil {
			a.note("The ledger could not be looked at: " + report.Line(err.Error()))
		} else {
			defer done()
		}
	}
	views := []loginView{}
	for _, d := range w.cfg.Destinations {
		views = append(views, w.viewLogin(d, keys, j))
	}
	if a.flags.json {
		return a.printJSON(views)
	}
	if len(views) == 0 {
		fmt.Fprintln(a.out, "broadside.yaml has no destinations yet.")
		return nil
	}
	return a.printLogins(views)
}

// peek opens the ledger for looking.
func (w *workspace) peek(ctx context.Context) (*journal.Journal, func(), error) {
	remote, err := w.remote(ctx)
	if err != nil {
		return nil, nil, err
	}
	j, err := w.journal(ctx, remote, false)
	if err != nil {
		_ = remote.Close()
		return nil, nil, err
	}
	return j, func() { _ = remote.Close() }, nil
}

// viewLogin opens what can be opened. The newest credential is the one that a run would use.
func (w *workspace) viewLogin(d pipeline.Destination, keys vault.Keys, j *journal.Journal) loginView {
	v := loginView{Destination: d.Name, Provider: d.Provider, Account: d.Account, Target: d.Target, Refreshed: -1}
	fail := func(state string, err error) loginView {
		v.State, v.Problem = state, err.Error()
		return v
	}
	path, err := vault.Path(d.Name)
	if err != nil {
		return fail("damaged", err)
	}
	v.File = path
	data, err := w.files.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fail("missing", fmt.Errorf("there is no login: `broadside auth add %s`", d.Name))
	}
	if err != nil {
		return fail("damaged", err)
	}
	if v.Recipients, err = vault.EncryptedTo(data, path, w.cfg.Recipients); err != nil {
		return fail("damaged", err)
	}
	if keys.Empty() {
		v.State = "sealed"
		return v
	}
	cred, err := vault.Open(data, path, keys)
	switch {
	case errors.Is(err, vault.ErrWrongKey):
		return fail("wrong_key", err)
	case err != nil:
		return fail("damaged", err)
	}
	w.a.hide(vault.SecretStrings(cred)...)
	best := &cred
	if j != nil {
		v.Refreshed = j.State().Credentials[cred.Login].Seq
		if data, ok, err := j.Read(path); err == nil && ok {
			if newer, err := vault.Open(data, path+" (ledger)", keys); err == nil {
				w.a.hide(vault.SecretStrings(newer)...)
				best = vault.Newest(&cred, &newer)
			}
		}
	}
	v.cred, v.State = best, "open"
	v.Host, v.Login, v.Obtained, v.Expires, v.Scopes, v.Recipients = best.Host, best.Login, best.Obtained, best.Expires, best.Scopes, best.Recipients
	if best.Account != "" {
		v.Account = best.Account
	}
	if err := w.bound(*best, d); err != nil {
		return fail("elsewhere", err)
	}
	return v
}

// bound checks that a login belongs to its destination.
func (w *workspace) bound(cred providers.Credential, d pipeline.Destination) error {
	server := d.Server
	if server == "" {
		server = w.infos[d.Provider].DefaultServer
	}
	if server == "" {
		server = "https://" + cred.Host // a webhook's address is in the login itself
	}
	host, err := vault.Host(server)
	if err != nil {
		return err
	}
	return vault.Bound(cred, d, host, w.cfg.Ledger.ID)
}

func (a *app) printLogins(views []loginView) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DESTINATION\tACCOUNT\tTARGET\tLOGIN\tSINCE\tREFRESHED\tENDS\tCAN OPEN IT")
	for _, v := range views {
		login, since, refreshed, ends := v.State, "-", "-", "-"
		switch v.State {
		case "open", "elsewhere":
			login, since = v.Login[:min(len(v.Login), 8)], v.Obtained.UTC().Format("2006-01-02")
			if v.Refreshed > 0 {
				refreshed = fmt.Sprintf("%d times", v.Refreshed)
			}
			if !v.Expires.IsZero() {
				ends = v.Expires.UTC().Format("2006-01-02")
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.Destination, orDash(report.Line(v.Account)), orDash(string(v.Target)), login, since, refreshed,
			ends, orDash(strings.Join(shortKeys(v.Recipients), ", ")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, v := range views {
		if v.Problem != "" {
			fmt.Fprintln(a.out, "\n"+report.Line(v.Destination+": "+v.Problem))
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shortKeys cuts public keys to what a person compares.
func shortKeys(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		if out[i] = s; len(s) > 24 && !strings.Contains(s, " key") {
			out[i] = s[:min(len(s), 12)] + "..." + s[len(s)-6:]
		}
	}
	return out
}
