package publish_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/transport"
)

// killer ends a process at its n-th effect: that one happens or not, and nothing of the process has any effect after.
type killer struct {
	at    int
	after bool // the n-th effect still happens
	kill  context.CancelFunc

	mu   sync.Mutex
	n    int
	dead bool
}

var errKilled = errors.New("killed")

// step counts one effect. do tells whether it happens; answer, whether its result is heard.
func (k *killer) step() (do, answer bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return false, false
	}
	k.n++
	if k.n != k.at {
		return true, true
	}
	k.dead = true
	k.kill()
	return k.after, false
}

type killedRemote struct {
	gitstore.Remote
	k *killer
}

func (r killedRemote) Push(ctx context.Context, p gitstore.Push) gitstore.Result {
	do, answer := r.k.step()
	if !do {
		return gitstore.Result{Outcome: gitstore.NotSent, Err: errKilled}
	}
	res := r.Remote.Push(context.WithoutCancel(ctx), p)
	if !answer {
		return gitstore.Result{Outcome: gitstore.Unknown, Err: errKilled}
	}
	return res
}

func (r killedRemote) Refs(ctx context.Context) (gitstore.Refs, error) {
	if r.k.gone() {
		return gitstore.Refs{}, errKilled
	}
	return r.Remote.Refs(ctx)
}

func (k *killer) gone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dead
}

type killedTransport struct {
	base http.RoundTripper
	k    *killer
}

func (t killedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		if t.k.gone() {
			return nil, errKilled
		}
		return t.base.RoundTrip(r)
	}
	do, answer := t.k.step()
	if !do {
		return nil, errKilled
	}
	resp, err := t.base.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	if !answer {
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, errKilled
	}
	return resp, err
}

// runKilled runs a process that dies at its n-th effect. It returns whether it got that far.
func (g *rig) runKilled(at int, after bool) bool {
	ctx, cancel := context.WithCancel(g.t.Context())
	defer cancel()
	k := &killer{at: at, after: after, kill: cancel}
	opt := g.options()
	opt.Remote = killedRemote{opt.Remote, k}
	opt.Transport = func(pipeline.Destination) http.RoundTripper { return killedTransport{transport.Handler(g.net), k} }
	_, _ = publish.Run(ctx, nil, opt)
	return k.gone()
}

// TestKilledAtAnyStepNeverDoublesAndNeverLoses kills a run before and after each of its effects, on each kind of
// network, and lets later runs go on.
func TestKilledAtAnyStepNeverDoublesAndNeverLoses(t *testing.T) {
	kinds := map[string][]string{"both": nil, "finder": {"key"}, "key": {"find"}, "neither": {"find", "key"}}
	for kind, off := range kinds {
		for _, after := range []bool{false, true} {
			for at := 1; at <= 14; at++ {
				t.Run(fmt.Sprintf("%s/after=%t/%d", kind, after, at), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						g := newRig(t, "alpha", "beta")
						g.disable["alpha"] = off
						g.config("")
						g.post("one", time.Now(), "Plain.", "alpha", "beta")
						g.post("two", time.Now(), "First.\n\n---\n\nSecond.", "alpha")
						g.runKilled(at, after)
						for range 6 {
							time.Sleep(20 * time.Minute)
							g.run()
						}
						seen := map[string]int{}
						for _, x := range g.texts("alpha") {
							if seen[x]++; seen[x] > 1 {
								t.Errorf("%q is there twice", x)
							}
						}
						g.wantTexts("beta", "Plain.")
						for post, want := range map[string][]string{"one": {"Plain."}, "two": {"First.", "Second."}} {
							d := g.delivery(post, "alpha")
							switch {
							case d.State == pipeline.Published:
								for _, w := range want {
									if seen[w] != 1 {
										t.Errorf("%s is published, %q is not there", post, w)
									}
								}
							case kind == "neither" && d.State == pipeline.Uncertain:
							default:
								t.Errorf("%s ended %s (%s %s)", post, d.State, d.Reason, d.Detail)
							}
						}
					})
				})
			}
		}
	}
}
