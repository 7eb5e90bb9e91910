package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

func (a *app) cmdAuthCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [DESTINATION...]",
		Short: "Ask each network whether its login is still good, without changing anything",
		Long: `auth check asks each network, read-only, whose its login is. It needs the private key.

Exit codes: 0 all are good, 3 one needs a person, 4 a network could not be asked now.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.authCheck(c.Context(), args)
		},
	}
}

// checkView is what came of asking one network.
type checkView struct {
	Destination string `json:"destination"`
	// State: good, refresh_due (the next run does it), unasked (the network cannot be asked), refused, unreachable, or one of
	// loginView.
	State   string    `json:"state"`
	Account string    `json:"account,omitempty"`
	URL     string    `json:"url,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Missing []string  `json:"missing,omitempty"`
	Problem string    `json:"problem,omitempty"`
	Hint    string    `json:"hint,omitempty"`
}

func (a *app) authCheck(ctx context.Context, names []string) error {
	w, err := a.open(true)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = w.destinationNames()
	}
	dests, unknown := w.cfg.Expand(names)
	if len(unknown) > 0 {
		return w.unknownDestination(unknown[0])
	}
	keys, err := a.keys()
	if err != nil {
		return err
	}
	j, done, err := w.peek(ctx)
	if err != nil {
		a.note("The ledger could not be looked at, so that refreshed logins are not known: " + report.Line(err.Error()))
	} else {
		defer done()
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	views := []checkView{}
	for _, name := range dests {
		d, _ := w.cfg.Destination(name)
		v := w.checkLogin(ctx, *d, keys, j)
		views = append(views, v)
		if !a.flags.json {
			a.printCheck(v)
		}
	}
	if a.flags.json {
		if err := a.printJSON(views); err != nil {
			return err
		}
	}
	if len(views) == 0 && !a.flags.json {
		fmt.Fprintln(a.out, "broadside.yaml has no destinations yet.")
	}
	return checkExit(views)
}

func checkExit(views []checkView) error {
	code := exitDone
	for _, v := range views {
		switch v.State {
		case "good", "refresh_due", "unasked":
		case "unreachable":
			if code == exitDone {
				code = exitWaiting
			}
		default:
			code = exitPerson
		}
	}
	if code == exitDone {
		return nil
	}
	return exitWith{code}
}

func (w *workspace) checkLogin(ctx context.Context, d pipeline.Destination, keys vault.Keys, j *journal.Journal) checkView {
	l := w.viewLogin(d, keys, j)
	v := checkView{Destination: d.Name, State: l.State, Account: l.Account, Problem: l.Problem}
	if l.State != "open" {
		return v
	}
	server := d.Server
	info := w.infos[d.Provider]
	if server == "" {
		server = info.DefaultServer
	}
	_, _, id, _ := d.Target.Split()
	pub, err := info.New(providers.Config{
		Server: server, Account: d.Account, TargetID: id, Settings: d.Settings, Credential: *l.cred,
		Transport: w.a.transport(d), Now: w.a.now, Private: d.Private,
	})
	if err != nil {
		v.State, v.Problem = "damaged", err.Error()
		return v
	}
	able := providers.Abilities(pub, d.Disable...)
	if able.Check == nil {
		v.State, v.Problem = "unasked", info.Title+" cannot be asked whose login it is"
		return v
	}
	acct, err := able.Check.Check(ctx)
	if err != nil {
		return v.failed(err, info, server, able.Refresh != nil && able.Refresh.NeedsRefresh(*l.cred, w.a.now()))
	}
	v.State, v.URL, v.Scopes, v.Expires, v.Missing = "good", acct.URL, acct.Scopes, acct.Expires, acct.Missing
	if acct.Handle != "" {
		v.Account = acct.Handle
	}
	if acct.ID != "" && acct.ID != id {
		v.State = "refused"
		v.Problem = fmt.Sprintf("the login opens account %s, the destination posts to %s", acct.ID, d.Target)
		v.Hint = "`broadside auth add " + d.Name + "` with the right account"
	}
	return v
}

func (v checkView) failed(err error, info providers.Info, server string, refresh bool) checkView {
	e := providers.AsError(err)
	v.Problem = err.Error()
	if h, ok := errors.AsType[hinted](networkError(err, info, server)); ok {
		v.Hint, _, _ = strings.Cut(h.hint, "; --no-check")
	}
	switch {
	case e.Kind == providers.Unauthorized && refresh:
		v.State, v.Problem, v.Hint = "refresh_due", "its session has ended; the next run begins a new one", ""
	case e.Kind == providers.Unauthorized, e.Kind == providers.Forbidden, e.Kind == providers.Invalid, e.Kind == providers.NotFound,
		e.Kind == providers.Unsupported:
		v.State = "refused"
		v.Hint = strings.TrimSpace(v.Hint + "; `broadside auth add " + v.Destination + "` gives a new login")
	default:
		v.State = "unreachable"
	}
	return v
}

func (a *app) printCheck(v checkView) {
	st := a.style()
	mark := st.Bad(v.State)
	switch v.State {
	case "good":
		mark = st.Good(v.State)
	case "refresh_due", "unasked", "unreachable":
		mark = st.Warn(v.State)
	}
	line := v.Destination
	if v.Account != "" {
		line += " as " + v.Account
	}
	if v.Problem != "" {
		line += ": " + v.Problem
	}
	if len(v.Scopes) > 0 {
		line += "  (" + strings.Join(v.Scopes, ", ") + ")"
	}
	if !v.Expires.IsZero() {
		line += "  ends " + v.Expires.UTC().Format("2006-01-02")
	}
	fmt.Fprintf(a.out, "%s  %s\n", mark, report.Line(line))
	for _, m := range v.Missing {
		fmt.Fprintln(a.out, "  this server has no "+report.Line(m))
	}
	if v.Hint != "" {
		fmt.Fprintln(a.out, "  hint: "+report.Line(v.Hint))
	}
}
