package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

// oneFile is an FS in which one file has other bytes.
type oneFile struct {
	content.FS
	name string
	data []byte
}

// Read implements content.FS.
func (f oneFile) Read(name string) ([]byte, error) {
	if name == f.name {
		return f.data, nil
	}
	return f.FS.Read(name)
}

// inputLines reads at most n lines of standard input, without those that are empty at the end.
func (a *app) inputLines(n int) ([]string, error) {
	b, err := io.ReadAll(io.LimitReader(a.in, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("cannot read standard input: %w", err)
	}
	text := strings.TrimRight(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	return lines[:min(len(lines), n)], nil
}

// target settles the very place that posts go to, and refuses another one than before.
func (l *login) target(context.Context) error {
	had := l.dest.Target
	provider, host, hadID, _ := had.Split()
	id := hadID
	switch {
	case l.asked:
		id = l.account.ID
	case l.o.target != "":
		id = l.o.target
	case l.info.RandomTarget && (had == "" || l.o.newAccount):
		n, err := nonce()
		if err != nil {
			return err
		}
		id = n
	case had == "":
		return usageError{fmt.Errorf("it is not known which account %s posts to", l.dest.Name), "let the network be asked (without --no-check), or give the account's permanent id with --target"}
	}
	t := pipeline.MakeTarget(l.info.Name, l.cred.Host, id)
	if !t.Valid() {
		return usageError{fmt.Errorf("%q cannot be the id of an account", id), ""}
	}
	if had != "" && had != t && !l.o.newAccount {
		what := fmt.Sprintf("this login opens %s, and %s posts to %s", t, l.dest.Name, had)
		if provider == l.info.Name && host != l.cred.Host {
			what = fmt.Sprintf("%s posted to %s so far, this login is for %s", l.dest.Name, host, l.cred.Host)
		}
		return hinted{
			errors.New(what + ": nothing was written"),
			"log in as the other account; if the destination is to change accounts, add --new-account: what went out to the old one is then not known at the new one",
		}
	}
	for _, d := range l.cfg.Destinations {
		if d.Name != l.dest.Name && d.Target == t {
			return usageError{fmt.Errorf("%s posts to this account already (%s)", d.Name, t), "give each destination an account of its own"}
		}
	}
	l.dest.Target, l.cred.Target = t, string(t)
	if l.account.Handle != "" {
		l.cred.Account = l.account.Handle
	}
	return nil
}

// save writes the login and the configuration.
func (l *login) save(path string, rcpts vault.Recipients) error {
	data, err := vault.Seal(l.cred, rcpts)
	if err != nil {
		return err
	}
	before := l.config
	if before == nil {
		if before, err = l.files.Read(compose.ConfigPath); err != nil {
			return err
		}
	}
	next, err := l.describe(before)
	if err != nil {
		return hinted{fmt.Errorf("broadside.yaml could not be changed: %w: nothing was written", err), l.byHand()}
	}
	changed := l.config != nil || string(next) != string(before)
	if err := l.useConfig(next); err != nil {
		return err
	}
	if d, ok := l.cfg.Destination(l.dest.Name); !ok || d.Target != l.dest.Target {
		return hinted{errors.New("broadside.yaml could not be changed: its form is unusual: nothing was written"), l.byHand()}
	}
	// The login first: a target without one is only held, and told.
	if err := l.overwrite(path, data); err != nil {
		return err
	}
	written := []string{path}
	if changed {
		if err := l.overwrite(compose.ConfigPath, next); err != nil {
			return err
		}
		written = append(written, compose.ConfigPath)
	}
	return l.say(written, len(rcpts.Names()))
}

func (l *login) byHand() string {
	return fmt.Sprintf("write `target: %s` under %s in broadside.yaml, then run this again", l.dest.Target, l.dest.Name)
}

// describe writes what was found out into broadside.yaml's text.
func (l *login) describe(data []byte) ([]byte, error) {
	at := []string{"destinations", l.dest.Name}
	after := []string{"provider", "server", "allow_private", "account", "target"}
	set := func(key string, v yamlValue) error {
		next, err := setYAML(data, at, key, v, after...)
		if err == nil {
			data = next
		}
		return err
	}
	if l.dest.Account == "" && l.account.Handle != "" {
		if err := set("account", yamlValue{Value: quoteYAML(l.account.Handle)}); err != nil {
			return nil, err
		}
	}
	if d, _ := l.cfg.Destination(l.dest.Name); d == nil || d.Target != l.dest.Target {
		if err := set("target", yamlValue{Value: string(l.dest.Target)}); err != nil {
			return nil, err
		}
	}
	if lim := l.account.Limits; lim != nil && !sameFigures(*lim, l.info.Limits) && (l.dest.Limits == nil || !sameFigures(*lim, *l.dest.Limits)) {
		if err := set("limits", limitsYAML(*lim)); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// sameFigures compares limits without where and when they were read.
func sameFigures(a, b providers.Limits) bool {
	a.Source, a.Date, b.Source, b.Date = "", "", "", ""
	return reflect.DeepEqual(a, b)
}

// limitsYAML writes limits, those that are none left out.
func limitsYAML(l providers.Limits) yamlValue {
	var lines []string
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch f := v.Field(i); {
		case f.IsZero():
		case f.Kind() == reflect.String:
			lines = append(lines, name+": "+quoteYAML(f.String()))
		case f.Kind() == reflect.Slice:
			items := make([]string, f.Len())
			for j := range items {
				items[j] = quoteYAML(f.Index(j).String())
			}
			lines = append(lines, name+": ["+strings.Join(items, ", ")+"]")
		default:
			lines = append(lines, name+": "+strconv.FormatInt(f.Int(), 10))
		}
	}
	return yamlValue{Value: "{" + strings.Join(lines, ", ") + "}", Lines: lines}
}

func (l *login) say(written []string, recipients int) error {
	r := authResult{
		Destination: l.dest.Name, Account: l.cred.Account, Target: l.dest.Target, Checked: l.asked, Expires: l.cred.Expires,
		Scopes: append([]string{}, l.account.Scopes...), Missing: append([]string{}, l.account.Missing...), Written: written,
	}
	a := l.a
	if a.flags.json {
		return a.printJSON(r)
	}
	st := a.style()
	who := r.Account
	if who == "" {
		who = string(r.Target)
	}
	switch {
	case l.asked:
		fmt.Fprintf(a.out, "%s  %s posts as %s\n", st.Good("checked"), l.dest.Name, report.Line(who))
	case l.o.noCheck:
		fmt.Fprintf(a.out, "%s  the network was not asked; `broadside auth check %s` does\n", st.Warn("not checked"), l.dest.Name)
	default:
		fmt.Fprintf(a.out, "%s  %s cannot be asked whose login it is: the first post will show\n", st.Warn("not checked"), l.info.Title)
	}
	if l.account.URL != "" {
		fmt.Fprintln(a.out, "         "+report.Line(l.account.URL))
	}
	if !r.Expires.IsZero() {
		fmt.Fprintln(a.out, "         the login ends "+r.Expires.UTC().Format("2006-01-02 15:04")+" UTC; add it again before then")
	}
	for _, m := range r.Missing {
		fmt.Fprintln(a.out, "         this server has no "+report.Line(m))
	}
	fmt.Fprintf(a.out, "%s  %s (encrypted to %s)\n", st.Good("written"), written[0], counted(recipients, "recipient", "recipients"))
	if len(written) > 1 {
		fmt.Fprintf(a.out, "%s  broadside.yaml: target: %s\n", st.Good("written"), r.Target)
	}
	fmt.Fprintf(a.out, "\nCommit and push it: `git add %s && git commit -m \"Log in to %s\" && git push`.\n", strings.Join(written, " "), l.dest.Name)
	return nil
}
