package gittest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// SSH is an ssh server in this process that runs git's programs for all repositories below a directory.
type SSH struct {
	// Key is the file of the one private key that may log in, KnownHosts a file that names the server.
	Key        string
	KnownHosts string

	root string
	ln   net.Listener
	cfg  *ssh.ServerConfig
	wg   sync.WaitGroup

	mu     sync.Mutex
	cut    int
	denied string
	conns  map[net.Conn]bool
}

// NewSSH starts a server for a test.
func NewSSH(tb testing.TB, root string) *SSH {
	tb.Helper()
	dir := tb.TempDir()
	s := &SSH{root: root, Key: filepath.Join(dir, "id"), KnownHosts: filepath.Join(dir, "known_hosts"), conns: map[net.Conn]bool{}}
	allowed := newKey(tb, s.Key)
	host := newKey(tb, "")
	s.cfg = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) == string(allowed.PublicKey().Marshal()) {
			return nil, nil
		}
		return nil, fmt.Errorf("unknown key")
	}}
	s.cfg.AddHostKey(host)
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.ln = ln
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	line := fmt.Sprintf("[127.0.0.1]:%s %s", port, ssh.MarshalAuthorizedKey(host.PublicKey()))
	if err := os.WriteFile(s.KnownHosts, []byte(line), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.wg.Go(s.accept)
	tb.Cleanup(s.close)
	return s
}

// newKey makes a key and writes it to file, unless that is empty.
func newKey(tb testing.TB, file string) ssh.Signer {
	tb.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	if file != "" {
		block, err := ssh.MarshalPrivateKey(priv, "")
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	signer, err := ssh.NewSignerFromKey(priv)
	if err != nil {
		tb.Fatal(err)
	}
	return signer
}

// URL is the address of a repository, given by its path below the root.
func (s *SSH) URL(repo string) string {
	return "ssh://git@" + s.ln.Addr().String() + "/" + strings.TrimPrefix(filepath.ToSlash(repo), "/")
}

// CutPushes makes the next n pushes lose their answer: git runs, and the connection is cut.
func (s *SSH) CutPushes(n int) { s.mu.Lock(); defer s.mu.Unlock(); s.cut = n }

// Deny makes the server refuse all repositories with these words; "" takes that back.
func (s *SSH) Deny(words string) { s.mu.Lock(); defer s.mu.Unlock(); s.denied = words }

func (s *SSH) close() {
	_ = s.ln.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *SSH) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			s.handle(c)
			_ = c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

func (s *SSH) handle(c net.Conn) {
	conn, chans, reqs, err := ssh.NewServerConn(c, s.cfg)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	for nc := range chans {
		if nc.ChannelType() != "session" {
			_ = nc.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		ch, requests, err := nc.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.session(conn, ch, requests) })
	}
}

func (s *SSH) session(conn *ssh.ServerConn, ch ssh.Channel, requests <-chan *ssh.Request) {
	defer func() { _ = ch.Close() }()
	env := Env(s.root)
	for req := range requests {
		switch req.Type {
		case "env":
			var kv struct{ Name, Value string }
			if ssh.Unmarshal(req.Payload, &kv) == nil && kv.Name == "GIT_PROTOCOL" {
				env = append(env, "GIT_PROTOCOL="+kv.Value)
			}
			_ = req.Reply(true, nil)
		case "exec":
			var cmd struct{ Line string }
			_ = ssh.Unmarshal(req.Payload, &cmd)
			_ = req.Reply(true, nil)
			status, cut := s.exec(cmd.Line, env, ch)
			if cut {
				_ = conn.Close()
				return
			}
			_, _ = ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, status))
			return
		default:
			if req.WantReply {
				_ = req.Reply(false, nil)
			}
		}
	}
}

// exec runs one of git's programs; cut tells to lose its answer.
func (s *SSH) exec(line string, env []string, ch ssh.Channel) (status uint32, cut bool) {
	program, quoted, _ := strings.Cut(line, " ")
	path := filepath.Join(s.root, filepath.FromSlash(strings.Trim(quoted, "'")))
	s.mu.Lock()
	denied := s.denied
	if program == "git-receive-pack" && s.cut > 0 {
		s.cut--
		cut = true
	}
	s.mu.Unlock()
	if denied != "" {
		_, _ = io.WriteString(ch.Stderr(), denied+"\n")
		return 1, false
	}
	if program != "git-receive-pack" && program != "git-upload-pack" {
		_, _ = io.WriteString(ch.Stderr(), "not a git command\n")
		return 127, false
	}
	cmd := exec.CommandContext(context.Background(), "git", strings.TrimPrefix(program, "git-"), path)
	cmd.Env = env
	cmd.Stderr = ch.Stderr()
	var out io.Writer = ch
	if cut {
		out = &refsOnly{w: ch}
	}
	cmd.Stdout = out
	stdin, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 126, false
	}
	go func() {
		_, _ = io.Copy(stdin, ch)
		_ = stdin.Close()
	}()
	if cmd.Wait() != nil {
		return 1, cut
	}
	return 0, cut
}

// refsOnly lets the advertisement through, up to its flush, and swallows the rest.
type refsOnly struct {
	w    io.Writer
	tail string
	done bool
}

func (r *refsOnly) Write(p []byte) (int, error) {
	if r.done {
		return len(p), nil
	}
	r.tail += string(p)
	if len(r.tail) > 8 {
		r.tail = r.tail[len(r.tail)-8:]
	}
	r.done = strings.HasSuffix(r.tail, "0000")
	return r.w.Write(p)
}
