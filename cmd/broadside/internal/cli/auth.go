package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/transport"
)

func (a *app) cmdAuth() *cobra.Command {
	c := &cobra.Command{
		Use:     "auth",
		GroupID: "manage",
		Short:   "Give broadside the logins of your accounts, encrypted, and look after them",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.cmdAuthAdd(), a.cmdAuthList(), a.cmdAuthCheck())
	return c
}

func (a *app) cmdAuthAdd() *cobra.Command {
	var o authOptions
	c := &cobra.Command{
		Use:   "add DESTINATION",
		Short: "Encrypt a login for a destination, and check it with the network",
		Long: `auth add asks for what the network wants (an app password, a token), asks the network whose it is, and writes

  credentials/DESTINATION.age   the login, encrypted to the recipients in broadside.yaml; an older one is replaced
  broadside.yaml                target: the very account that posts go to, and the server's own limits where it has some

Commit both. No private key is needed for this. Nothing is published.

Without a terminal the values are read from standard input, one a line, in the order in which the network lists them
(` + "`broadside providers NAME`" + `); those that are optional may be left out. They are never given as arguments.

Where broadside.yaml has no such destination yet, --provider adds it.`,
		Example: `  broadside auth add bluesky
  broadside auth add fosstodon --provider mastodon --server https://fosstodon.org
  pass show fosstodon-token | broadside auth add fosstodon`,
		Args: exactly("a destination"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.authAdd(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.provider, "provider", "", "add the destination to broadside.yaml, at this network")
	f.StringVar(&o.server, "server", "", "with --provider: the server's address")
	f.StringVar(&o.account, "account", "", "with --provider: the account's handle")
	f.BoolVar(&o.private, "allow-private", false, "with --provider: the server may have an address that is not public, and speak http")
	f.BoolVar(&o.newAccount, "new-account", false, "the destination is to post to another account than before")
	f.BoolVar(&o.noCheck, "no-check", false, "do not ask the network; needs a target in broadside.yaml or --target")
	f.StringVar(&o.target, "target", "", "with --no-check: the account's permanent id on the network")
	return c
}

type authOptions struct {
	provider, server, account, target string
	private, newAccount, noCheck      bool
}

// login is one login on its way into a file.
type login struct {
	*workspace
	o       authOptions
	config  []byte // broadside.yaml as it is to be, nil where it is as it lies
	dest    pipeline.Destination
	info    providers.Info
	server  string
	cred    providers.Credential
	account providers.Account // what the network says
	asked   bool              // it was asked
	adapter providers.Able
}

// authResult is what `auth add --json` prints.
type authResult struct {
	Destination string          `json:"destination"`
	Account     string          `json:"account"`
	Target      pipeline.Target `json:"target"`
	Checked     bool            `json:"checked"`
	Scopes      []string        `json:"scopes"`
	Expires     time.Time       `json:"expires,omitzero"`
	Missing     []string        `json:"missing"`
	Written     []string        `json:"written"`
}

func (a *app) authAdd(ctx context.Context, name string, o authOptions) error {
	w, err := a.open(true)
	if err != nil {
		return err
	}
	l := &login{workspace: w, o: o}
	if err := l.destination(name); err != nil {
		return err
	}
	if w.cfg.Ledger.ID == "" || len(w.cfg.Recipients) == 0 {
		return hinted{errors.New("broadside.yaml names no ledger or no age recipients: a login is encrypted to those and bound to that"), "`broadside init` writes them"}
	}
	rcpts, err := a.recipients(w.cfg.Recipients)
	if err != nil {
		return err
	}
	path, err := vault.Path(name)
	if err != nil {
		return usageError{err, ""}
	}
	secrets, err := a.askSecrets(l.info)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{l.credential(secrets), l.check, l.target} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return l.save(path, rcpts)
}

// recipients are those of broadside.yaml; a passphrase is asked for.
func (a *app) recipients(names []string) (vault.Recipients, error) {
	if slices.Contains(names, vault.Passphrase) {
		keys, err := a.keys()
		if err != nil {
			return vault.Recipients{}, err
		}
		return keys.Recipients(names)
	}
	return vault.ParseRecipients(names)
}

// destination finds the destination, or adds it to the configuration in memory.
func (l *login) destination(name string) error {
	d, ok := l.cfg.Destination(name)
	added := l.o.provider != ""
	switch {
	case ok && (added || l.o.server != "" || l.o.account != "" || l.o.private):
		return usageError{fmt.Errorf("broadside.yaml has the destination %s already", name), "change it there; --provider, --server and --account are for a new one"}
	case !ok && added:
		data, err := l.files.Read(compose.ConfigPath)
		if err != nil {
			return err
		}
		if data, err = l.withDestination(data, name); err != nil {
			return err
		}
		if err := l.useConfig(data); err != nil {
			return err
		}
		d, _ = l.cfg.Destination(name)
	case !ok:
		return l.noDestination(name)
	}
	l.dest, l.info = *d, l.infos[d.Provider]
	if l.server = d.Server; l.server == "" {
		l.server = l.info.DefaultServer
	}
	return nil
}

func (l *login) noDestination(name string) error {
	if _, group := l.cfg.Groups[name]; group {
		return usageError{fmt.Errorf("%s is a group of destinations", name), "give each its own login: " + strings.Join(l.cfg.Groups[name], ", ")}
	}
	hint := ""
	if n := nearest(name, l.destinationNames()); n != "" {
		hint = "did you mean " + n + "? "
	}
	provider := "PROVIDER"
	if _, is := l.infos[name]; is {
		provider = name
	}
	return usageError{fmt.Errorf("broadside.yaml has no destination %q", name), hint + "to add it: `broadside auth add " + name + " --provider " + provider + "`"}
}

// withDestination writes a new destination into broadside.yaml's text.
func (l *login) withDestination(data []byte, name string) ([]byte, error) {
	if _, ok := l.infos[l.o.provider]; !ok {
		names := make([]string, 0, len(l.infos))
		for n := range l.infos {
			names = append(names, n)
		}
		slices.Sort(names)
		hint := "known: " + strings.Join(names, ", ")
		if n := nearest(l.o.provider, names); n != "" {
			hint = "did you mean " + n + "?"
		}
		return nil, usageError{fmt.Errorf("there is no provider %q", l.o.provider), hint}
	}
	if info := l.infos[l.o.provider]; info.Server == providers.ServerRequired && l.o.server == "" {
		return nil, usageError{fmt.Errorf("--provider %s needs --server", info.Name), "add the address of the account's server: --server https://..."}
	}
	lines := []string{"provider: " + l.o.provider}
	if l.o.server != "" {
		lines = append(lines, "server: "+quoteYAML(l.o.server))
	}
	if l.o.private {
		lines = append(lines, "allow_private: true")
	}
	if l.o.account != "" {
		lines = append(lines, "account: "+quoteYAML(strings.TrimPrefix(l.o.account, "@")))
	}
	v := yamlValue{Value: "{" + strings.Join(lines, ", ") + "}", Lines: lines}
	next, err := setYAML(data, []string{"destinations"}, name, v)
	if err != nil {
		if next, err = setYAML(data, nil, "destinations", yamlValue{Value: "{" + name + ": " + v.Value + "}"}, "version", "timezone", "posts", "ledger", "age", "publish_within"); err != nil {
			return nil, hinted{fmt.Errorf("broadside.yaml could not be changed: %w", err), "write the destination into it by hand"}
		}
	}
	return next, nil
}

// useConfig takes data for broadside.yaml from here on. What is not valid is told, and nothing is written.
func (l *login) useConfig(data []byte) error {
	cfg, diags, err := compose.ReadConfig(oneFile{l.files, compose.ConfigPath, data}, l.infos)
	if err != nil {
		return err
	}
	if pipeline.HasErrors(diags) {
		for _, d := range diags {
			l.a.printDiagnostic(l.a.err, d)
		}
		return errInvalidContent
	}
	l.cfg, l.config = cfg, data
	return nil
}

// askSecrets asks for what the network wants.
func (a *app) askSecrets(info providers.Info) (map[string]string, error) {
	if !a.askable {
		return a.readSecrets(info)
	}
	out := map[string]string{}
	for _, s := range info.Secrets {
		fmt.Fprintf(a.err, "%s\n", report.Line(s.Help))
		prompt := s.Title + ": "
		if s.Optional {
			prompt = s.Title + " (may be empty): "
		}
		v, err := a.askSecret(prompt)
		if err != nil {
			return nil, err
		}
		if v = strings.TrimSpace(v); v == "" && !s.Optional {
			return nil, usageError{fmt.Errorf("the %s is empty", strings.ToLower(s.Title)), s.Help}
		}
		if v != "" {
			a.hide(v)
			out[s.Name] = v
		}
	}
	return out, nil
}

// readSecrets reads them from standard input: all of them in order, or only those that are needed.
func (a *app) readSecrets(info providers.Info) (map[string]string, error) {
	lines, err := a.inputLines(len(info.Secrets) + 1)
	if err != nil {
		return nil, err
	}
	var needed []providers.Setting
	for _, s := range info.Secrets {
		if !s.Optional {
			needed = append(needed, s)
		}
	}
	list := info.Secrets
	if len(lines) <= len(needed) {
		list = needed
	}
	titles := make([]string, len(info.Secrets))
	for i, s := range info.Secrets {
		if titles[i] = s.Name; s.Optional {
			titles[i] += " (optional)"
		}
	}
	hint := "standard input takes, one a line: " + strings.Join(titles, ", ")
	if len(lines) > len(list) {
		return nil, usageError{fmt.Errorf("standard input has more lines than %s has secrets", info.Title), hint}
	}
	out := map[string]string{}
	for i, s := range list {
		v := ""
		if i < len(lines) {
			v = strings.TrimSpace(lines[i])
		}
		if v == "" && !s.Optional {
			return nil, usageError{fmt.Errorf("the %s is missing", strings.ToLower(s.Title)), hint}
		}
		if v != "" {
			a.hide(v)
			out[s.Name] = v
		}
	}
	return out, nil
}

// credential makes the login of what was given. It belongs to one host, one account and one ledger.
func (l *login) credential(secrets map[string]string) func(context.Context) error {
	return func(context.Context) error {
		server := l.server
		if server == "" {
			server = serverIn(l.info, secrets)
		}
		if server == "" {
			return fmt.Errorf("destination %s: it is not known which host its secrets may be sent to", l.dest.Name)
		}
		host, err := vault.Host(server)
		if err != nil {
			return usageError{err, "give an https address"}
		}
		name, err := nonce()
		if err != nil {
			return err
		}
		l.cred = providers.Credential{
			Provider: l.info.Name, Host: host, Account: l.dest.Account, Ledger: l.cfg.Ledger.ID,
			Login: name, Obtained: l.a.now().UTC().Truncate(time.Second), Recipients: l.cfg.Recipients, Secrets: secrets,
		}
		return nil
	}
}

// serverIn finds the server in a secret that is an address: that of a webhook.
func serverIn(info providers.Info, secrets map[string]string) string {
	for _, s := range info.Secrets {
		if u, err := url.Parse(secrets[s.Name]); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
			return u.Scheme + "://" + u.Host
		}
	}
	return ""
}

// adapt makes the adapter for the credential at hand. Whose account it opens is what is to be found out: no target is
// given.
func (l *login) adapt() error {
	pub, err := l.info.New(providers.Config{
		Server: l.server, Account: l.dest.Account, Settings: l.dest.Settings, Credential: l.cred,
		Transport: l.a.transport(l.dest), Now: l.a.now, Private: l.dest.Private,
	})
	if err != nil {
		return usageError{fmt.Errorf("destination %s: %w", l.dest.Name, err), ""}
	}
	l.adapter = providers.Abilities(pub, l.dest.Disable...)
	return nil
}

// check obtains a session where the network has such, and asks whose account it is.
func (l *login) check(ctx context.Context) error {
	if err := l.adapt(); err != nil {
		return err
	}
	if l.o.noCheck {
		return nil
	}
	ctx, cancel := l.a.stopContext(ctx)
	defer cancel()
	if r := l.adapter.Refresh; r != nil && r.NeedsRefresh(l.cred, l.a.now()) {
		next, err := r.Refresh(ctx, l.cred)
		if err != nil {
			return l.explain("no session could be begun", err)
		}
		l.a.hide(vault.SecretStrings(next)...)
		next.Seq = 0 // the login begins with it
		l.cred = next
		if err := l.adapt(); err != nil {
			return err
		}
	}
	if l.adapter.Check == nil {
		return nil
	}
	acct, err := l.adapter.Check.Check(ctx)
	if err != nil {
		return l.explain("the network was asked whose login it is", err)
	}
	l.account, l.asked = acct, true
	l.cred.Scopes, l.cred.Expires = acct.Scopes, acct.Expires
	return nil
}

// explain says what a network's error means for somebody who adds a login.
func (l *login) explain(what string, err error) error {
	return networkError(fmt.Errorf("%s: %s: %w", l.dest.Name, what, err), l.info, l.server)
}

// networkError adds to a network's error what to do about it.
func networkError(err error, info providers.Info, server string) error {
	e := providers.AsError(err)
	hint := ""
	switch e.Kind {
	case providers.Unauthorized:
		hint = "the login is not right, or not valid any more"
		for _, s := range info.Secrets {
			if !s.Optional {
				hint += "; " + strings.ToLower(s.Title) + ": " + strings.TrimSuffix(s.Help, ".")
			}
		}
	case providers.Forbidden:
		hint = "the login is right and may not do this: give it the permissions that posting needs"
	case providers.Throttled:
		hint = "the network takes no more requests for now"
		if !e.RetryAt.IsZero() {
			hint += ": try again after " + e.RetryAt.UTC().Format(time.RFC3339)
		}
	case providers.NotFound, providers.Invalid:
		hint = "check server: in broadside.yaml: it may not be a " + info.Title + " server"
	case providers.Unavailable, providers.Ambiguous, providers.Unknown:
		switch {
		case errors.Is(err, transport.ErrNotPublic), errors.Is(err, transport.ErrPlain):
			hint = "a server of your own network needs allow_private: true in broadside.yaml"
		case e.Reach == providers.NotSent:
			hint = "check the network and server: in broadside.yaml"
			if u, perr := url.Parse(server); perr == nil && u.Hostname() != "" {
				hint += " (" + u.Hostname() + ")"
			}
			hint += "; --no-check writes the login without asking"
		default:
			hint = "try again later; --no-check writes the login without asking"
		}
	case providers.Duplicate, providers.Unsupported:
	}
	return hinted{err, hint}
}
