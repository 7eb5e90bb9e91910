package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

const sshDialTimeout = 30 * time.Second

// sshTarget is where and as whom to connect.
type sshTarget struct {
	user, host, port string
	path             string // for the program at the far end
	// auth yields the methods to try; close releases what they need (the agent's socket).
	auth  func(ctx context.Context) (methods []ssh.AuthMethod, close func(), err error)
	hosts *knownhosts.HostKeyDB
}

func (t *sshTarget) addr() string { return net.JoinHostPort(t.host, t.port) }

// start connects and starts one of git's programs there.
func (t *sshTarget) start(ctx context.Context, svc service) (*process, error) {
	methods, release, err := t.auth(ctx)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	dctx, cancel := context.WithTimeout(ctx, sshDialTimeout)
	defer cancel()
	conn, err := d.DialContext(dctx, "tcp", t.addr())
	if err != nil {
		release()
		return nil, err
	}
	// the handshake knows no context
	stop := context.AfterFunc(dctx, func() { conn.Close() })
	client, err := t.handshake(conn, methods)
	if !stop() && err == nil {
		err = context.Cause(dctx)
	}
	if err != nil {
		conn.Close()
		release()
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	p, err := runSSH(client, string(svc)+" "+shellQuote(t.path))
	if err != nil {
		client.Close()
		release()
		return nil, err
	}
	kill, wait := p.kill, p.wait
	p.kill = func() { kill(); client.Close() }
	p.wait = func() error {
		err := wait()
		client.Close()
		release()
		return err
	}
	return p, nil
}

func (t *sshTarget) handshake(conn net.Conn, methods []ssh.AuthMethod) (*ssh.Client, error) {
	cfg := &ssh.ClientConfig{
		User: t.user, Auth: methods,
		HostKeyCallback:   t.hosts.HostKeyCallback(),
		HostKeyAlgorithms: t.hosts.HostKeyAlgorithms(t.addr()),
	}
	c, chans, reqs, err := ssh.NewClientConn(conn, t.addr(), cfg)
	if err == nil {
		return ssh.NewClient(c, chans, reqs), nil
	}
	switch {
	case knownhosts.IsHostKeyChanged(err):
		err = fmt.Errorf("%w: the host key of %s is not the known one: %w", ErrAuth, t.host, err)
	case knownhosts.IsHostUnknown(err):
		err = fmt.Errorf("%w: the host key of %s is not known; add it to known_hosts: %w", ErrAuth, t.host, err)
	case strings.Contains(err.Error(), "unable to authenticate"):
		err = fmt.Errorf("%w: %w", ErrAuth, err)
	}
	return nil, err
}

func runSSH(client *ssh.Client, command string) (*process, error) {
	s, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	p := &process{stderr: &tail{}}
	s.Stderr = p.stderr
	if p.stdin, err = s.StdinPipe(); err == nil {
		p.stdout, err = s.StdoutPipe()
	}
	if err == nil {
		err = s.Start(command)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	var once sync.Once
	p.kill = func() { once.Do(func() { s.Close() }) }
	p.wait = func() error {
		err := s.Wait()
		var missing *ssh.ExitMissingError
		if errors.As(err, &missing) || errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	return p, nil
}

// shellQuote quotes as git does, for a login shell or git-shell.
func shellQuote(s string) string {
	s = strings.ReplaceAll(s, "'", `'\''`)
	return "'" + strings.ReplaceAll(s, "!", `'\!'`) + "'"
}
