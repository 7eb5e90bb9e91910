package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

// workflowPath is where GitHub looks for workflows.
const workflowPath = ".github/workflows/broadside.yml"

type fileOf = content.File

// config writes broadside.yaml, or adds to it what is missing, and reads it back.
func (s *setup) config(context.Context) error {
	if s.cfg == nil {
		zone := s.o.zone
		if zone == "" {
			var from string
			if zone, from = s.a.systemZone(); from == "" {
				s.a.note("This machine's time zone could not be found out: broadside.yaml says UTC; change it there.")
			}
		}
		text := configText(zone, s.ledger.Branch, s.ledger.ID, s.ledger.Signer, s.recipient)
		if err := s.create(compose.ConfigPath, []byte(text)); err != nil {
			return err
		}
		s.made(compose.ConfigPath)
		return s.reread()
	}
	data, err := s.files.Read(compose.ConfigPath)
	if err != nil {
		return err
	}
	next, err := s.complete(data)
	if err != nil {
		return hinted{
			fmt.Errorf("broadside.yaml could not be changed: %w", err),
			fmt.Sprintf("write into it by hand: ledger: {id: %s, signer: %q} and age: {recipients: [%q]}, then run this again", s.ledger.ID, s.ledger.Signer, strings.Join(s.recipient, `", "`)),
		}
	}
	if string(next) == string(data) {
		s.kept(compose.ConfigPath)
		return nil
	}
	if err := s.overwrite(compose.ConfigPath, next); err != nil {
		return err
	}
	s.changed(compose.ConfigPath)
	return s.reread()
}

// complete adds to a broadside.yaml what the ledger and the vault need.
func (s *setup) complete(data []byte) ([]byte, error) {
	var err error
	set := func(path []string, key, value string, after ...string) {
		if err == nil {
			data, err = setYAML(data, path, key, yamlValue{Value: value}, after...)
		}
	}
	ledger := func(key, value string) {
		if err != nil {
			return
		}
		next, e := setYAML(data, []string{"ledger"}, key, yamlValue{Value: value}, "branch", "id")
		if e != nil { // there is no map ledger yet
			set(nil, "ledger", fmt.Sprintf("{%s: %s}", key, value), "version", "timezone", "posts", "publish_within")
			return
		}
		data = next
	}
	if s.cfg.Ledger.ID != s.ledger.ID {
		ledger("id", s.ledger.ID)
	}
	if s.cfg.Ledger.Signer != s.ledger.Signer {
		ledger("signer", s.ledger.Signer)
	}
	if len(s.cfg.Recipients) == 0 {
		quoted := make([]string, len(s.recipient))
		for i, r := range s.recipient {
			quoted[i] = quoteYAML(r)
		}
		list := "[" + strings.Join(quoted, ", ") + "]"
		if next, e := setYAML(data, []string{"age"}, "recipients", yamlValue{Value: list}); e == nil && err == nil {
			data = next
		} else {
			set(nil, "age", "{recipients: "+list+"}", "version", "timezone", "posts", "publish_within", "ledger")
		}
	}
	return data, err
}

// reread reads the configuration back: what init has written must be valid.
func (s *setup) reread() error {
	cfg, diags, err := compose.ReadConfig(s.files, s.infos)
	if err != nil {
		return err
	}
	if pipeline.HasErrors(diags) {
		for _, d := range diags {
			s.a.printDiagnostic(s.a.err, d)
		}
		return errInvalidContent
	}
	s.cfg, s.diags = cfg, diags
	return nil
}

// starters writes the first post and the workflow.
func (s *setup) starters(context.Context) error {
	folder := s.cfg.Posts[0]
	welcome := folder + "/welcome.md"
	if s.hasPosts(folder) {
		s.kept(folder + "/")
	} else if err := s.create(welcome, []byte(welcomeText(folder))); err != nil {
		return err
	} else {
		s.made(welcome)
	}
	if !s.o.workflow {
		return nil
	}
	version := buildInfo().Version
	if version == "(devel)" || strings.Contains(version, "+") {
		version = "latest"
	}
	err := s.create(workflowPath, []byte(workflowText(s.branch, s.ledger.Branch, version)))
	switch {
	case errors.Is(err, fs.ErrExist):
		s.kept(workflowPath)
	case err != nil:
		return err
	default:
		s.made(workflowPath)
	}
	return nil
}

// rebind gives the credentials to the new ledger that --new-ledger makes: each belongs to one.
func (s *setup) rebind() error {
	if s.oldID == "" {
		return nil
	}
	if old, home := s.a.keyHome(s.oldID), s.a.keyHome(s.ledger.ID); old != "" && home != "" {
		if data, err := os.ReadFile(old); err == nil { // the key is found under the new ledger's name too
			if err := writePrivate(home, data); err == nil {
				s.made(home)
			}
		}
	}
	keys, err := s.a.keys()
	if err != nil {
		return err
	}
	for _, d := range s.cfg.Destinations {
		path, err := vault.Path(d.Name)
		if err != nil {
			return err
		}
		data, err := s.files.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		cred, err := vault.Open(data, path, keys)
		if err != nil {
			return err
		}
		s.a.hide(vault.SecretStrings(cred)...)
		if cred.Ledger != s.oldID {
			continue
		}
		cred.Ledger = s.ledger.ID
		if data, err = vault.Seal(cred, s.rcpts); err != nil {
			return err
		}
		if err := s.overwrite(path, data); err != nil {
			return err
		}
		s.changed(path)
	}
	return nil
}

// createLedger makes the ledger branch and its mark on the remote.
func (s *setup) createLedger(ctx context.Context) error {
	if s.there {
		return nil
	}
	opt := s.journalOptions(s.remote)
	opt.Config, opt.Home.ContentBranch = s.ledger, s.branch
	opt.Signer = func(context.Context) (ssh.Signer, error) { return s.key.Signer, nil }
	var adopt func(*journal.Tx) error
	if s.o.newLedger {
		view, err := compose.Build(ctx, compose.Input{Files: s.files, Config: s.cfg, Providers: s.infos})
		if err != nil {
			return err
		}
		adopt = func(tx *journal.Tx) error {
			var err error
			s.res.Adopted, err = adoptDue(tx, view)
			return err
		}
	}
	err := journal.Create(ctx, opt, s.key.Line, adopt)
	if errors.Is(err, journal.ErrExists) {
		return hinted{fmt.Errorf("somebody else has just made %s on %s", s.ledger.Branch, s.remote.URL()), "pull their broadside.yaml"}
	}
	if err != nil {
		return err
	}
	opt.Signer = nil
	if _, err := journal.Open(ctx, opt); err != nil {
		return fmt.Errorf("the new ledger cannot be read back: %w", err)
	}
	s.made("branches " + s.ledger.Branch + " and " + s.ledger.Branch + "-mark on the remote")
	return nil
}

// adoptDue counts every delivery whose time has come as published: a ledger that knows nothing must not send it again.
func adoptDue(tx *journal.Tx, v *compose.View) (int, error) {
	n := 0
	for _, it := range v.Items {
		if it.Draft() || it.Skip || it.ID.Target == "" || it.ID.Post == "" {
			continue
		}
		w, err := it.Window(v.Config, tx.Now)
		if err != nil || w.Due.After(tx.Now) {
			continue
		}
		if !it.Errors {
			err := tx.Add(tx.State.Schedule(tx.Stamp, ledger.ScheduleInput{
				ID: it.ID, Dest: it.Destination.Name, Due: w.Due, By: w.By,
				Path: it.Post.Path, Blob: it.Post.Sum, Config: v.Config.Hash, Source: it.Rendition.Source,
			}))
			if err != nil {
				return n, err
			}
		}
		if err := tx.Add(tx.State.Adopt(tx.Stamp, it.ID, it.Destination.Name, pipeline.ReasonAdopted)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// say tells what was done and what comes next.
func (s *setup) say() error {
	r := &s.res
	r.Ledger, r.LedgerBranch, r.ContentBranch, r.Remote, r.KeyFile = s.ledger.ID, s.ledger.Branch, s.branch, s.remote.URL(), s.keyFile
	r.Recipients = s.recipient
	r.Next = s.next()
	if s.a.flags.json {
		for _, list := range []*[]string{&r.Created, &r.Kept, &r.Changed} {
			if *list == nil {
				*list = []string{}
			}
		}
		return s.a.printJSON(r)
	}
	st := s.a.style()
	for _, l := range []struct {
		mark string
		list []string
	}{{st.Good("created"), r.Created}, {st.Warn("changed"), r.Changed}, {st.Dim("kept   "), r.Kept}} {
		for _, what := range l.list {
			fmt.Fprintf(s.a.out, "%s  %s\n", l.mark, report.Line(what))
		}
	}
	if r.Adopted > 0 {
		fmt.Fprintf(s.a.out, "%s counted as published: their time had come before this ledger was made.\n", counted(r.Adopted, "delivery is", "deliveries are"))
	}
	fmt.Fprintf(s.a.out, "\nPosts are published from branch %s of %s.\n", s.branch, report.Line(s.remote.URL()))
	if s.keyMade {
		fmt.Fprintf(s.a.out, "\n%s %s\nWhoever has that file can post as you; without it nobody can. Keep a copy in your password manager.\n",
			st.Bold("The private key is in"), s.keyFile)
	}
	fmt.Fprintln(s.a.out, "\n"+st.Bold("Next:"))
	for i, step := range r.Next {
		fmt.Fprintf(s.a.out, "%d. %s\n", i+1, strings.ReplaceAll(step, "\n", "\n   "))
	}
	return nil
}

// next are the steps that are left.
func (s *setup) next() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(s.cfg.Destinations) == 0 {
		add("Say where posts go: take the # away from a destination in broadside.yaml.")
	}
	var missing []string
	for _, d := range s.cfg.Destinations {
		if d.Target == "" {
			missing = append(missing, d.Name)
		}
	}
	switch {
	case len(s.cfg.Destinations) == 0:
		add("Give broadside its login, for each destination: `broadside auth add NAME`.")
	case len(missing) > 0:
		add("Give broadside its login: `broadside auth add %s`.", strings.Join(missing, "`, `broadside auth add "))
	}
	if s.o.workflow {
		add("Let CI open the credentials: in the repository's settings make an environment `broadside`, limit it to branch %s,\n"+
			"and add the secret BROADSIDE_AGE_KEY with the content of %s.\n"+
			"Where environments are not to be had, a secret of the repository does.", s.branch, s.keyName())
		add("Protect %s and %s-mark against deletion and force pushes, nothing else.", s.ledger.Branch, s.ledger.Branch)
	}
	if paths := s.toCommit(); len(paths) > 0 {
		add("Commit and push: `git add %s && git commit -m \"Set up broadside\" && git push`.", strings.Join(paths, " "))
	}
	add("Write a post: `broadside new \"Title\" --at \"tomorrow 9:00\" --to NAME`; look at it: `broadside preview`; see what goes when: `broadside plan`.")
	return out
}

func (s *setup) keyName() string {
	if s.keyFile != "" {
		return s.keyFile
	}
	if home := s.a.keyHome(s.ledger.ID); home != "" {
		if _, err := os.ReadFile(home); err == nil {
			return home
		}
	}
	return "the private key"
}

// toCommit lists what of the repository's files is not on the content branch yet, as far as init knows.
func (s *setup) toCommit() []string {
	var out []string
	files := slices.Concat(s.res.Created, s.res.Changed)
	if !s.known {
		files = slices.Concat(files, s.res.Kept)
	}
	for _, f := range files {
		if filepath.IsAbs(f) || strings.HasPrefix(f, "branches ") {
			continue
		}
		if top, _, found := strings.Cut(f, "/"); found {
			f = top
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}
