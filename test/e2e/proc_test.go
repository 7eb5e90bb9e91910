//go:build unix

package e2e

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/test/faultproxy"
)

// proc is one run of the binary.
type proc struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  buffer // stdout
	err  buffer // stderr
	done chan struct{}
	code int // once it is done; -1 for one that was killed
}

// buffer is a bytes.Buffer that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// place is where, and how, the binary is run.
type place struct {
	dir   string
	flags []string
	env   []string
	stdin string
}

// checkout makes one as CI does: shallow, detached, with the credential in its configuration.
func (w *world) checkout() place {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.dir, "checkout-")
	check(w.t, err)
	w.initCheckout(dir)
	gittest.Git(w.t, dir, "fetch", "-q", "--depth=1", "origin", "main")
	gittest.Git(w.t, dir, "checkout", "-q", "--detach", "FETCH_HEAD")
	return place{dir: dir}
}

// initCheckout makes a checkout with a remote and the credential for it, and fetches nothing.
func (w *world) initCheckout(dir string) {
	w.t.Helper()
	gittest.Git(w.t, dir, "init", "-q", "--object-format="+w.format, ".")
	gittest.Git(w.t, dir, "remote", "add", "origin", w.url)
	gittest.Git(w.t, dir, "config", w.headerKey(), w.header())
}

// headerKey and header are the setting by which actions/checkout hands on its token.
func (w *world) headerKey() string { return "http." + w.proxy.URL + "/.extraheader" }

func (w *world) header() string {
	return "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte(gitUser+":"+w.token))
}

// nowhere is an empty directory: the remote is named by its URL, the token is in the environment.
func (w *world) nowhere() place {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.dir, "nowhere-")
	check(w.t, err)
	return place{dir: dir, flags: []string{"--remote", w.url, "--token-env", "FORGE_TOKEN"}, env: []string{"FORGE_TOKEN=" + w.token}}
}

// start starts the binary at a place.
func (w *world) start(at place, args ...string) *proc {
	w.t.Helper()
	path, err := build()
	check(w.t, err)
	p := &proc{t: w.t, done: make(chan struct{})}
	p.cmd = exec.Command(path, append(args, at.flags...)...) //nolint:noctx // a test ends it by the signal it means
	p.cmd.Dir = at.dir
	p.cmd.Stdin = strings.NewReader(at.stdin)
	p.cmd.Env = append(gittest.Env(w.home), "TMPDIR="+w.dir, "TZ="+os.Getenv("TZ"), "NO_COLOR=1", "USER=tester",
		"BROADSIDE_TEST_FENCE_DIVISOR="+strconv.Itoa(w.divisor))
	if w.age.Secret != "" {
		p.cmd.Env = append(p.cmd.Env, "BROADSIDE_AGE_KEY="+w.age.Secret)
	}
	p.cmd.Env = append(p.cmd.Env, at.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = patience // a child that is left behind may hold the pipes
	check(w.t, p.cmd.Start())
	w.mu.Lock()
	w.outputs = append(w.outputs, p)
	w.mu.Unlock()
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
	}()
	w.t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // its children too
		<-p.done
	})
	return p
}

// wait waits for the end and returns the exit code.
func (p *proc) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // it tells what it waits for
		<-p.done
		p.t.Fatalf("%v in %s does not end; it said\n%s", p.cmd.Args[1:], p.cmd.Dir, p.said())
	}
	return p.code
}

// held waits until an exchange of the process is held. The process must not end before.
func (p *proc) held(proxy *faultproxy.Proxy) {
	p.t.Helper()
	select {
	case <-proxy.Held():
	case <-p.done:
		p.t.Fatalf("the process ended with %d before a request of it was held; it said\n%s", p.code, p.said())
	case <-time.After(patience):
		p.t.Fatalf("no request of the process was held; it said\n%s", p.said())
	}
}

// signal sends one to the process itself. One that has ended already is no error.
func (p *proc) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// stop stops the process, and returns when it is stopped or has ended.
func (p *proc) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	until(p.t, "stopping the process", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat"))
		if errors.Is(err, os.ErrNotExist) {
			return true
		}
		if err != nil {
			p.t.Fatal(err)
		}
		i := bytes.LastIndexByte(stat, ')')
		return i > 0 && len(stat) > i+2 && strings.IndexByte("TZX", stat[i+2]) >= 0
	})
}

// said is everything that the process has printed.
func (p *proc) said() string { return p.out.String() + p.err.String() }

// do runs the binary to its end, and wants one of the exit codes.
func (w *world) do(at place, want []int, args ...string) *proc {
	w.t.Helper()
	p := w.start(at, args...)
	code := p.wait()
	if slices.Contains(want, code) {
		return p
	}
	w.t.Fatalf("%v ended with %d, want %v; it said\n%s", args, code, want, p.said())
	return nil
}
