package gitstore_test

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

// serveAgent is an ssh agent that holds one key.
func serveAgent(t *testing.T, pem []byte) (socket string) {
	t.Helper()
	priv, err := ssh.ParseRawPrivateKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: priv}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ln.Close()
		_ = os.RemoveAll(dir)
	})
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c)
				c.Close()
			}()
		}
	}()
	return socket
}

func TestSSHFindsItsKey(t *testing.T) {
	t.Parallel()
	dir := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha1")
	srv := gittest.NewSSH(t, filepath.Dir(dir))
	key, err := os.ReadFile(srv.Key)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := os.ReadFile(srv.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(srv.URL("repo.git"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		put  func(t *testing.T, home string, o *gitstore.Options) (env []string)
		fail string
	}{
		{name: "default key", put: func(t *testing.T, home string, _ *gitstore.Options) []string {
			write(t, filepath.Join(home, ".ssh", "known_hosts"), string(hosts))
			write(t, filepath.Join(home, ".ssh", "id_ed25519"), string(key))
			return nil
		}},
		{name: "ssh config", put: func(t *testing.T, home string, o *gitstore.Options) []string {
			write(t, filepath.Join(home, ".ssh", "known_hosts"), string(hosts))
			write(t, filepath.Join(home, ".ssh", "deploy"), string(key))
			write(t, filepath.Join(home, ".ssh", "config"), "Host forge\n  HostName "+u.Hostname()+"\n  Port "+u.Port()+"\n  User git\n  IdentityFile ~/.ssh/deploy\n")
			o.URL = "forge:/repo.git"
			return nil
		}},
		{name: "command of actions/checkout", put: func(_ *testing.T, _ string, _ *gitstore.Options) []string {
			return []string{"GIT_SSH_COMMAND=\"/usr/bin/ssh\" -i \"" + srv.Key + "\" -o StrictHostKeyChecking=yes -o CheckHostIP=no -o \"UserKnownHostsFile=" + srv.KnownHosts + "\""}
		}},
		{name: "agent", put: func(t *testing.T, home string, _ *gitstore.Options) []string {
			write(t, filepath.Join(home, ".ssh", "known_hosts"), string(hosts))
			return []string{"SSH_AUTH_SOCK=" + serveAgent(t, key)}
		}},
		{name: "no key", fail: "no ssh key", put: func(t *testing.T, home string, _ *gitstore.Options) []string {
			write(t, filepath.Join(home, ".ssh", "known_hosts"), string(hosts))
			return nil
		}},
		{name: "unknown host", fail: "host key", put: func(t *testing.T, home string, o *gitstore.Options) []string {
			write(t, filepath.Join(home, ".ssh", "known_hosts"), "")
			o.SSHKey = srv.Key
			return nil
		}},
		{name: "proxy jump", fail: "git transport", put: func(t *testing.T, home string, _ *gitstore.Options) []string {
			write(t, filepath.Join(home, ".ssh", "config"), "Host *\n  ProxyJump bastion\n")
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			opt := gitstore.Options{URL: srv.URL("repo.git")}
			opt.Env = clean(home, c.put(t, home, &opt)...)
			r, err := gitstore.Open(t.Context(), opt)
			if err == nil {
				defer closing(t, r)
				_, err = r.Refs(t.Context())
			}
			switch {
			case c.fail == "" && err != nil:
				t.Error(err)
			case c.fail != "" && (!errors.Is(err, gitstore.ErrAuth) || !strings.Contains(err.Error(), c.fail)):
				t.Errorf("error %v", err)
			}
		})
	}
}
