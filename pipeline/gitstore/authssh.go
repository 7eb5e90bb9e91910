package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/kevinburke/ssh_config"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshSettings are what ssh's own configuration, and the command that git is told to run, say about a host.
type sshSettings struct {
	host, port, user string
	keys             []string
	knownHosts       []string
	// unsupported names a setting that only ssh itself can honour.
	unsupported string
}

func (o *opener) sshWire() (*streamWire, string, error) {
	set := o.sshSettings()
	t := &sshTarget{user: set.user, host: set.host, port: set.port, path: o.addr.path}
	if t.host == "" {
		t.host = o.addr.host
	}
	if o.addr.port != "" {
		t.port = o.addr.port
	}
	if t.port == "" {
		t.port = "22"
	}
	if o.addr.user != nil {
		t.user = o.addr.user.Username()
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if t.user == "" {
			t.user = o.env(name)
		}
	}
	deny := func(err error) error {
		return &AuthFailure{
			URL: o.addr.clean, Source: "ssh", Cause: err,
			Hint: "the git transport (the git command with your own ssh) may be able to connect",
		}
	}
	if set.unsupported != "" {
		return nil, "", deny(fmt.Errorf("ssh is configured with %s, which only ssh itself can do", set.unsupported))
	}
	var err error
	if t.hosts, err = o.hostKeys(set.knownHosts); err != nil {
		return nil, "", deny(err)
	}
	source := o.sshAuth(t, set.keys)
	return &streamWire{start: t.start, explain: deny}, source, nil
}

// hostKeys reads the known_hosts files that exist.
func (o *opener) hostKeys(configured []string) (*knownhosts.HostKeyDB, error) {
	files := o.opt.KnownHosts
	if len(files) == 0 && o.env("SSH_KNOWN_HOSTS") != "" {
		files = filepath.SplitList(o.env("SSH_KNOWN_HOSTS"))
	}
	if len(files) == 0 {
		files = configured
	}
	if len(files) == 0 {
		if home := (configScope{env: o.env}).home(); home != "" {
			files = append(files, filepath.Join(home, ".ssh", "known_hosts"), filepath.Join(home, ".ssh", "known_hosts2"))
		}
		files = append(files, "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
	}
	var have []string
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() {
			have = append(have, f)
		}
	}
	if len(have) == 0 {
		return nil, fmt.Errorf("no known_hosts file, so the server cannot be told from another; looked for %s", strings.Join(files, ", "))
	}
	db, err := knownhosts.NewDB(have...)
	if err != nil {
		return nil, fmt.Errorf("read known_hosts: %w", err)
	}
	return db, nil
}

// sshAuth sets how to log in: a key that was asked for, else the agent, the configured keys and ssh's default keys.
func (o *opener) sshAuth(t *sshTarget, configured []string) string {
	if o.opt.SSHKey != "" {
		key := o.opt.SSHKey
		t.auth = func(context.Context) ([]ssh.AuthMethod, func(), error) {
			signer, err := readKey(key)
			if err != nil {
				return nil, nil, fmt.Errorf("%w: %w", ErrAuth, err)
			}
			return []ssh.AuthMethod{ssh.PublicKeys(signer)}, func() {}, nil
		}
		return "ssh key file"
	}
	files := configured
	if home := (configScope{env: o.env}).home(); len(files) == 0 && home != "" {
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			files = append(files, filepath.Join(home, ".ssh", name))
		}
	}
	sock := o.env("SSH_AUTH_SOCK")
	t.auth = func(ctx context.Context) ([]ssh.AuthMethod, func(), error) { return agentAndFiles(ctx, sock, files) }
	if sock != "" {
		return "ssh agent"
	}
	return "ssh key file"
}

// agentAndFiles offers the configured keys first and then the agent's, in one method, as ssh does.
func agentAndFiles(ctx context.Context, sock string, files []string) ([]ssh.AuthMethod, func(), error) {
	var signers []ssh.Signer
	var problems []error
	for _, f := range files {
		s, err := readKey(f)
		switch {
		case err == nil:
			signers = append(signers, s)
		case !errors.Is(err, os.ErrNotExist):
			problems = append(problems, err)
		}
	}
	release := func() {}
	if sock != "" {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", sock)
		if err != nil {
			problems = append(problems, fmt.Errorf("ssh agent: %w", err))
		} else {
			release = func() { conn.Close() }
			keys, err := agent.NewClient(conn).Signers()
			if err != nil {
				problems = append(problems, fmt.Errorf("ssh agent: %w", err))
			}
			signers = append(signers, keys...)
		}
	}
	if len(signers) == 0 {
		release()
		return nil, nil, fmt.Errorf("%w: no ssh key to offer: no agent (SSH_AUTH_SOCK) holds one, and no key file was readable: %w",
			ErrAuth, errors.Join(problems...))
	}
	return []ssh.AuthMethod{ssh.PublicKeys(signers...)}, release, nil
}

func readKey(file string) (ssh.Signer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := ssh.ParsePrivateKey(data)
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		return nil, fmt.Errorf("%s has a passphrase: add it to an ssh agent", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a private key: %w", file, err)
	}
	return s, nil
}

// sshSettings reads the user's ssh configuration and core.sshCommand, which is how actions/checkout leaves a deploy key.
func (o *opener) sshSettings() sshSettings {
	var set sshSettings
	home := (configScope{env: o.env}).home()
	expand := func(p string) string {
		p = strings.Trim(p, `"'`)
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			return filepath.Join(home, rest)
		}
		return p
	}
	command := o.env("GIT_SSH_COMMAND")
	if c, ok := o.own.get("core", "", "sshcommand"); ok && command == "" {
		command = c
	}
	words := splitWords(command)
	for i := 1; i < len(words); i++ {
		opt, arg := words[i], ""
		if len(opt) == 2 && strings.Contains("iopl", opt[1:]) && i+1 < len(words) {
			i++
			arg = words[i]
		} else if len(opt) > 2 && opt[0] == '-' {
			opt, arg = opt[:2], opt[2:]
		}
		switch opt {
		case "-i":
			set.keys = append(set.keys, expand(arg))
		case "-p":
			set.port = arg
		case "-l":
			set.user = arg
		case "-o":
			key, value, ok := strings.Cut(arg, "=")
			if !ok {
				key, value, _ = strings.Cut(arg, " ")
			}
			set.option(strings.TrimSpace(key), strings.TrimSpace(value), expand)
		case "-J", "-F":
			set.unsupported = "the option " + opt
		}
	}
	if home == "" {
		return set
	}
	data, err := os.ReadFile(filepath.Join(home, ".ssh", "config"))
	if err != nil {
		return set
	}
	cfg, err := ssh_config.Decode(bytes.NewReader(data))
	if err != nil {
		return set // "Match", which the decoder does not know; the rest of the file cannot be used alone
	}
	for _, key := range []string{"HostName", "Port", "User", "IdentityFile", "UserKnownHostsFile", "ProxyJump", "ProxyCommand"} {
		values, err := cfg.GetAll(o.addr.host, key)
		if err != nil {
			continue
		}
		for _, v := range values {
			set.option(key, v, expand)
		}
	}
	return set
}

// option takes over one setting; what was set first stays.
func (s *sshSettings) option(key, value string, expand func(string) string) {
	first := func(field *string) {
		if *field == "" {
			*field = value
		}
	}
	switch strings.ToLower(key) {
	case "hostname":
		first(&s.host)
	case "port":
		first(&s.port)
	case "user":
		first(&s.user)
	case "identityfile":
		s.keys = append(s.keys, expand(value))
	case "userknownhostsfile":
		for f := range strings.FieldsSeq(value) {
			s.knownHosts = append(s.knownHosts, expand(f))
		}
	case "proxyjump", "proxycommand":
		if value != "" && !strings.EqualFold(value, "none") {
			s.unsupported = key
		}
	}
}

// splitWords splits a command as a shell would, as far as quotes go.
func splitWords(s string) []string {
	var out []string
	var b strings.Builder
	var quote rune
	inWord := false
	for _, c := range s {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == ' ' || c == '\t':
			if inWord {
				out = append(out, b.String())
				b.Reset()
				inWord = false
			}
		default:
			b.WriteRune(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, b.String())
	}
	return out
}
