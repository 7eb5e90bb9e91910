package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

func (a *app) cmdSandbox() *cobra.Command {
	var o sandboxOptions
	c := &cobra.Command{
		Use:     "sandbox",
		GroupID: "manage",
		Short:   "Run the sandbox: an invented network with a page, accounts, and faults on demand",
		Long: `sandbox runs an invented network on this machine until Ctrl-C. It has a page that shows what arrived, an API that the
provider "sandbox" speaks, and faults by rule. It keeps everything in memory, and whoever reaches its address may
administer it.

A fault is written as key=value pairs: fault (needed), op (default publish), account, post, part, text, skip, times
(default 1, negative for all), seconds, status, form. The faults:

  rate_limit       429; seconds until the reset, told in form
  server_error     5xx and nothing done          error_after     done, and 5xx all the same
  timeout_before   nothing done, no answer       timeout_after   done, no answer
  drop_before      nothing done, cut off         drop_after      done, cut off
  maintenance      503, surely nothing done      cut_answer      done, cut off in the answer
  malformed        done, HTML for an answer      empty           done, an empty answer
  revoked          401                           denied          403
  rejected         422                           slow            done after seconds
  lag              shown in lists only later     half_thread     later parts are rejected

More rules can be given while it runs: POST a rule as JSON to /admin/faults.`,
		Example: `  broadside sandbox --account alice --account bob
  broadside sandbox --fault fault=drop_after,account=bob,times=2
  curl -H 'Content-Type: application/json' -d '{"fault":"rate_limit","seconds":90}' http://127.0.0.1:8090/admin/faults`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.sandbox(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8090", "address and port to listen on; port 0 takes a free one")
	f.StringArrayVar(&o.accounts, "account", nil, "an account to make (default alice); may be given several times")
	f.StringArrayVar(&o.expiring, "expiring", nil, "an account whose token expires and is refreshed; may be given several times")
	f.StringArrayVar(&o.faults, "fault", nil, "a fault as key=value,...; may be given several times")
	return c
}

type sandboxOptions struct {
	listen                     string
	accounts, expiring, faults []string
}

// listening is what is printed when the sandbox runs.
type listening struct {
	URL      string         `json:"url"`
	Accounts []server.Login `json:"accounts"`
	Faults   []server.Rule  `json:"faults"`
}

func (a *app) sandbox(ctx context.Context, o sandboxOptions) error {
	rules := make([]server.Rule, len(o.faults))
	for i, text := range o.faults {
		r, err := parseFault(text)
		if err != nil {
			return err
		}
		rules[i] = r
	}
	if len(o.accounts)+len(o.expiring) == 0 {
		o.accounts = []string{"alice"}
	}
	ctx, cancel := a.stopContext(ctx)
	defer cancel()
	var conf net.ListenConfig
	l, err := conf.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return hinted{fmt.Errorf("cannot listen on %s: %w", o.listen, err), "name another port, or let one be chosen with --listen 127.0.0.1:0"}
	}
	net, err := newSandbox(a.now, l, o.accounts, o.expiring, rules)
	if err != nil {
		_ = l.Close()
		return usageError{err, "`broadside sandbox --help` lists what there is"}
	}
	if a.flags.json {
		err = a.printJSON(listening{URL: net.url, Accounts: net.server.Logins(), Faults: net.server.Rules()})
	} else {
		a.sayListening(net)
	}
	if err != nil {
		_ = l.Close()
		return err
	}
	return net.serve(ctx)
}

func (a *app) sayListening(n *sandboxNet) {
	st := a.style()
	fmt.Fprintf(a.out, "The sandbox runs at %s - what arrives shows there. Ctrl-C ends it.\n\n", st.Bold(n.url))
	fmt.Fprintln(a.out, "For broadside.yaml, below destinations:")
	for _, l := range n.server.Logins() {
		fmt.Fprintf(a.out, "  %s: {provider: sandbox, server: %q, allow_private: true}\n", strings.NewReplacer(".", "-", "_", "-").Replace(l.Handle), n.url)
	}
	fmt.Fprintln(a.out, "\nFor `broadside auth add`, which asks for it:")
	for _, l := range n.server.Logins() {
		fmt.Fprintf(a.out, "  @%s  token %s\n", l.Handle, l.Token)
		if l.RefreshToken != "" {
			fmt.Fprintf(a.out, "  %s  refresh token %s, expires %s\n", strings.Repeat(" ", len(l.Handle)+1), l.RefreshToken, l.Expires.UTC().Format(time.RFC3339))
		}
	}
	for _, r := range n.server.Rules() {
		fmt.Fprintf(a.out, "\nfault %s: %s on %s", r.ID, r.Fault, r.Op)
		if r.Account != "" {
			fmt.Fprintf(a.out, " of @%s", r.Account)
		}
	}
	if len(n.server.Rules()) > 0 {
		fmt.Fprintln(a.out)
	}
}

// sandboxNet is a sandbox with its socket.
type sandboxNet struct {
	server *server.Server
	http   *http.Server
	listen net.Listener
	url    string
}

func newSandbox(now func() time.Time, l net.Listener, accounts, expiring []string, rules []server.Rule) (*sandboxNet, error) {
	n := &sandboxNet{listen: l, url: "http://" + l.Addr().String(), server: server.New(server.Options{Now: now})}
	for _, h := range accounts {
		if _, err := n.server.AddAccount(h); err != nil {
			return nil, fmt.Errorf("account %q: %w", h, err)
		}
	}
	for _, h := range expiring {
		if _, err := n.server.AddExpiring(h); err != nil {
			return nil, fmt.Errorf("account %q: %w", h, err)
		}
	}
	for _, r := range rules {
		if _, err := n.server.AddRule(r); err != nil {
			return nil, err
		}
	}
	n.http = &http.Server{Handler: n.server, ReadHeaderTimeout: 10 * time.Second}
	return n, nil
}

// serve answers until ctx ends; then it lets what is under way finish for a moment.
func (n *sandboxNet) serve(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- n.http.Serve(n.listen) }()
	select {
	case err := <-done:
		return fmt.Errorf("the sandbox has stopped: %w", err)
	case <-ctx.Done():
	}
	return n.close()
}

func (n *sandboxNet) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := n.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return n.http.Close() // calls that suffer a timeout never end by themselves
	}
	return err
}

// parseFault reads "fault=drop_after,account=bob,times=2".
func parseFault(text string) (server.Rule, error) {
	var r server.Rule
	bad := func(why string) (server.Rule, error) {
		return r, usageError{fmt.Errorf("--fault %q: %s", text, why), "write key=value pairs: fault=drop_after,account=bob,times=2"}
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return bad(fmt.Sprintf("%q has no =", pair))
		}
		var err error
		switch key {
		case "fault":
			r.Fault = server.Fault(value)
		case "op":
			if r.Op = server.Op(value); value == "any" {
				r.Op, r.Any = "", true
			}
		case "account":
			r.Account = value
		case "post":
			r.Post = value
		case "text":
			r.Text = value
		case "form":
			r.Form = server.Form(value)
		case "part":
			r.Part, err = strconv.Atoi(value)
		case "skip":
			r.Skip, err = strconv.Atoi(value)
		case "times":
			r.Times, err = strconv.Atoi(value)
		case "status":
			r.Status, err = strconv.Atoi(value)
		case "seconds":
			r.Seconds, err = strconv.ParseFloat(value, 64)
		default:
			return bad(fmt.Sprintf("there is no key %q", key))
		}
		if err != nil {
			return bad(fmt.Sprintf("%s is no number", key))
		}
	}
	if r.Fault == "" {
		return bad("it names no fault")
	}
	return r, nil
}
