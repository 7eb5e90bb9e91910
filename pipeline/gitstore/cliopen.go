package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// openGit needs a git of 2.31 (2021) or newer.
func (o *opener) openGit(ctx context.Context) (Remote, error) {
	g, err := o.git()
	if err != nil {
		return nil, fmt.Errorf("the git transport: %w", err)
	}
	r := &cliRemote{
		addr: o.addr, now: o.now, timeout: o.opt.Timeout, secrets: o.secrets, git: g, source: "the git command",
		turn: make(chan struct{}, 1), complete: map[Hash]bool{}, partial: map[Hash]bool{},
	}
	if err := o.forward(ctx, r); err != nil {
		return nil, err
	}
	var format ObjectFormat
	if o.opt.Repo != nil {
		format = o.opt.Repo.ObjectFormat
	} else if format, err = r.remoteFormat(ctx); err != nil {
		return nil, r.failed("list the refs of", err)
	}
	if format != SHA1 && format != SHA256 {
		return nil, fmt.Errorf("%w: %s", ErrObjectFormat, quoteRef(string(format)))
	}
	if r.dir, err = os.MkdirTemp(o.env("TMPDIR"), "broadside-git-"); err != nil {
		return nil, err
	}
	r.objects = NewObjects(format)
	r.whole = &cliRepo{git: g, dir: filepath.Join(r.dir, "whole.git"), format: format}
	r.trees = &cliRepo{git: g, dir: filepath.Join(r.dir, "trees.git"), format: format}
	return r, nil
}

// forward hands the child git what it cannot find by itself in a temporary repository: the checkout's own settings and the
// credentials of this process. All of it travels in the environment, never in arguments.
func (o *opener) forward(ctx context.Context, r *cliRemote) error {
	var items []configItem
	if o.opt.Repo != nil && o.trusted {
		local, err := o.opt.Repo.config(nil)
		if err != nil {
			return err
		}
		for _, s := range local.settings {
			switch s.section {
			case "http", "credential", "ssh":
			case "core":
				if s.key != "sshcommand" && s.key != "askpass" {
					continue
				}
			default:
				continue
			}
			if s.section == "http" && s.key == "extraheader" {
				continue // see below
			}
			key := s.section + "." + s.key
			if s.sub != "" {
				key = s.section + "." + s.sub + "." + s.key
			}
			items = append(items, configItem{key, s.value})
		}
	}
	switch o.addr.scheme {
	case "http", "https":
		creds, err := o.httpCredentials(ctx)
		if err != nil {
			return err
		}
		if len(creds.headers) > 0 {
			r.source = creds.source
			key := "http." + o.addr.clean + ".extraheader"
			items = append(items, configItem{key, ""}) // takes back a persisted one: two would be refused
			for _, h := range creds.headers {
				items = append(items, configItem{key, h.key + ": " + h.value})
			}
		}
	case "ssh":
		r.git.env = append(r.git.env, o.sshCommand()...)
	}
	// the user's settings come first, since the last one wins
	r.git.config = append(r.git.config, items...)
	return nil
}

// sshCommand keeps ssh from prompting, and names the key and host keys that were asked for.
func (o *opener) sshCommand() []string {
	_, configured := o.own.get("core", "", "sshcommand")
	if o.opt.SSHKey == "" && len(o.opt.KnownHosts) == 0 {
		if configured || o.env("GIT_SSH_COMMAND") != "" || o.env("GIT_SSH") != "" {
			return nil
		}
	}
	words := []string{"ssh", "-o", "BatchMode=yes"}
	if o.opt.SSHKey != "" {
		words = append(words, "-i", shellQuote(o.opt.SSHKey), "-o", "IdentitiesOnly=yes")
	}
	if len(o.opt.KnownHosts) > 0 {
		words = append(words, "-o", shellQuote("UserKnownHostsFile="+strings.Join(o.opt.KnownHosts, " ")))
	}
	return []string{"GIT_SSH_COMMAND=" + strings.Join(words, " ")}
}
