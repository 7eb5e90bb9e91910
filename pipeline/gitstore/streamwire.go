package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// process is one of git's programs, here or at the far end of ssh.
type process struct {
	stdin  io.WriteCloser
	stdout io.Reader
	// wait returns when the program has ended; kill makes it end.
	wait func() error
	kill func()
	// stderr holds what it wrote there; read it only after wait.
	stderr *tail
}

// tail keeps the start of a program's messages. It is safe for concurrent use.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const (
	maxStderr  = 64 << 10
	closeGrace = 10 * time.Second
)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, maxStderr-t.b.Len()))])
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.b.String())
}

// streamWire talks to a program through pipes.
type streamWire struct {
	start func(ctx context.Context, svc service) (*process, error)
	// explain turns a refusal into one that says what to do.
	explain func(error) error
}

var _ wire = (*streamWire)(nil)

func (w *streamWire) open(ctx context.Context, svc service) (conversation, error) {
	p, err := w.start(ctx, svc)
	if err != nil {
		if errors.Is(err, ErrAuth) {
			err = w.explain(err)
		}
		return nil, err
	}
	c := &streamConversation{p: p, stop: context.AfterFunc(ctx, p.kill)}
	c.a, err = readAdvert(p.stdout)
	if err == nil {
		return c, nil
	}
	c.used = true
	c.close()
	text := p.stderr.String()
	if line, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		text = strings.TrimSpace(line.Text + " " + text)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case isDenied(text):
		return nil, w.explain(fmt.Errorf("%w: %s", ErrAuth, clip(text, 400)))
	case text != "":
		return nil, fmt.Errorf("the remote gave no list of refs: %s", clip(text, 400))
	}
	return nil, fmt.Errorf("the remote gave no list of refs: %w", err)
}

// isDenied recognises what the forges say over ssh, and git itself, where HTTP has 401, 403 and 404.
func isDenied(text string) bool {
	return containsAny(strings.ToLower(text), "permission denied", "access denied", "repository not found", "no such repository",
		"' not found", "does not exist", "does not appear to be a git repository", "could not be found", "read only", "read-only",
		"not allowed to", "unauthorized", "forbidden", "dubious ownership")
}

type streamConversation struct {
	p    *process
	a    *advert
	stop func() bool
	used bool
	once sync.Once
}

func (c *streamConversation) advert() *advert { return c.a }
func (c *streamConversation) said() string    { return c.p.stderr.String() }

// close ends the program: politely, with a flush, if it waits for a request.
func (c *streamConversation) close() {
	c.once.Do(func() {
		if !c.used {
			_, _ = io.WriteString(c.p.stdin, "0000")
		}
		_ = c.p.stdin.Close()
		// what it does after its answer (such as tidying up) is not worth waiting for
		limit := time.AfterFunc(closeGrace, c.p.kill)
		defer limit.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(c.p.stdout, 1<<20))
		_ = c.p.wait()
		c.stop()
	})
}

func (c *streamConversation) exchange(ctx context.Context, body []byte) (io.ReadCloser, error) {
	c.used = true
	if err := ctx.Err(); err != nil {
		return nil, &errNotSent{err}
	}
	// the far end may talk while it still reads, so both directions run at once; a failure to write shows as an answer
	// that ends early
	go func() {
		_, _ = c.p.stdin.Write(body)
		_ = c.p.stdin.Close()
	}()
	return io.NopCloser(c.p.stdout), nil
}
