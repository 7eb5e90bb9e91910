package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
)

var errKilled = errors.New("killed")

// proc is one process of a runner: all that it does to the world goes through it, one operation after the other in each
// lane. Each operation takes a time of its own, that depends on nothing but the seed, the lane and how many came before,
// so that two goroutines are never ready at the same instant and a seed always goes the same way.
type proc struct {
	w    *world
	name string
	run  runner
	step step
	ctx  context.Context //nolint:containedctx // the life of the process
	kill context.CancelFunc
	stop chan struct{}

	mu    sync.Mutex
	dead  bool
	thaw  time.Time
	count map[string]int // operations by class
	lanes map[string]int
	rng   *rand.ChaCha8
}

func (w *world) newProc(name string, s step) *proc {
	ctx, cancel := context.WithCancel(w.t.Context())
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], w.plan.Seed)
	binary.LittleEndian.PutUint64(key[8:], hash(name))
	p := &proc{w: w, name: name, step: s, ctx: ctx, kill: cancel, stop: make(chan struct{}), count: map[string]int{}, lanes: map[string]int{}, rng: rand.NewChaCha8(key)}
	if s.Who < len(w.plan.Runners) {
		p.run = w.plan.Runners[s.Who]
	}
	return p
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s)
	return h.Sum64()
}

// Read gives the process its random bytes.
func (p *proc) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rng.Read(b)
}

// Wall and Mono are the clock of the process.
func (p *proc) Wall() time.Time { return time.Now().Round(0).Add(p.run.Offset) }

// Mono takes a moment: before it looks at the next batch, the leader of a group commit lets those go on whom it has just
// answered, and not now the one, now the other.
func (p *proc) Mono() time.Duration {
	time.Sleep(time.Microsecond)
	return time.Since(epoch)
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// latency is how long an operation takes, in nanoseconds that no other operation has.
func (w *world) latency(lane string, n int, most time.Duration) time.Duration {
	x := hash(fmt.Sprint(w.plan.Seed, lane, n))
	return time.Millisecond + time.Duration(x%uint64(most))
}

// pause lets an operation's time pass.
func (p *proc) pause(lane string, most time.Duration) {
	p.mu.Lock()
	p.lanes[lane]++
	n := p.lanes[lane]
	p.mu.Unlock()
	time.Sleep(p.w.latency(p.name+"/"+lane, n, most))
	p.awake(lane)
}

// awake waits for as long as the process is frozen. Its lanes wake one after the other.
func (p *proc) awake(lane string) {
	for {
		p.mu.Lock()
		left := time.Until(p.thaw)
		p.mu.Unlock()
		if left <= 0 {
			return
		}
		time.Sleep(left + p.w.latency(p.name+"/"+lane, int(left), 10*time.Millisecond))
	}
}

func (p *proc) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// op is one operation under way.
type op struct {
	class  string
	lane   string
	nth    map[string]int
	frozen bool // the process was frozen after it had decided to do this
}

// enter begins an operation: it may be the process's last, or freeze it. An error means that it does not happen.
func (p *proc) enter(class, lane string) (op, error) {
	most := 700 * time.Millisecond
	if class != "push" && class != "fetch" {
		most = 300 * time.Millisecond
	}
	p.pause(lane, most)
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return op{}, errKilled
	}
	p.count[class]++
	p.count["any"]++
	o := op{class: class, lane: lane, nth: map[string]int{class: p.count[class], "any": p.count["any"]}}
	if o.is(p.step.Kill, false) {
		p.die()
		p.mu.Unlock()
		return o, errKilled
	}
	if o.is(p.step.Freeze, false) {
		o.frozen = true
		p.freeze(class)
	}
	p.mu.Unlock()
	p.awake(lane)
	if p.gone() {
		return o, errKilled
	}
	return o, nil
}

// leave ends an operation: an error means that the process never hears of it.
func (p *proc) leave(o op) error {
	p.mu.Lock()
	if !p.dead && o.is(p.step.Kill, true) {
		p.die()
	}
	if !p.dead && o.is(p.step.Freeze, true) {
		p.freeze(o.class)
	}
	p.mu.Unlock()
	p.awake(o.lane)
	if p.gone() {
		return errKilled
	}
	return nil
}

// die and freeze are called with mu held.
func (p *proc) die() {
	p.dead = true
	p.kill()
	p.w.happened("killed")
	p.w.logf("%s is killed", p.name)
}

func (p *proc) freeze(class string) {
	p.thaw = time.Now().Add(p.step.Freeze.Dur)
	p.w.happened("frozen")
	p.w.logf("%s is frozen at %s for %s", p.name, class, p.step.Freeze.Dur)
}

func (o op) is(h hit, after bool) bool {
	return h.Class != "" && h.After == after && o.nth[h.Class] == h.N && (h.Class == "any" || h.Class == o.class)
}

// sleep is the process's way to wait.
func (p *proc) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.awake(fmt.Sprint("sleep", d))
	return ctx.Err()
}

// remote is the git remote as the process sees it.
type remote struct {
	gitstore.Remote
	p *proc
}

func (r remote) Refs(ctx context.Context) (gitstore.Refs, error) {
	o, err := r.p.enter("fetch", "git")
	if err != nil {
		return gitstore.Refs{}, err
	}
	refs, err := r.Remote.Refs(ctx)
	return refs, errors.Join(err, r.p.leave(o))
}

func (r remote) Fetch(ctx context.Context, ref string, opt gitstore.FetchOptions) (gitstore.Snapshot, error) {
	o, err := r.p.enter("fetch", "git")
	if err != nil {
		return nil, err
	}
	s, err := r.Remote.Fetch(ctx, ref, opt)
	return s, errors.Join(err, r.p.leave(o))
}

// FetchBlobs takes no time and cannot be frozen: media are read by several goroutines that wait for one of them in a way
// that does not let the bubble's time go on.
func (r remote) FetchBlobs(ctx context.Context, s gitstore.Snapshot, blobs []gitstore.Hash) error {
	if r.p.gone() {
		return errKilled
	}
	return r.Remote.FetchBlobs(ctx, s, blobs)
}

func (r remote) History(ctx context.Context, ref, path string, limit int) ([]gitstore.FileChange, error) {
	o, err := r.p.enter("fetch", "git")
	if err != nil {
		return nil, err
	}
	h, err := r.Remote.History(ctx, ref, path, limit)
	return h, errors.Join(err, r.p.leave(o))
}

func (r remote) Push(ctx context.Context, p gitstore.Push) gitstore.Result {
	o, err := r.p.enter("push", "git")
	if err != nil {
		return gitstore.Result{Outcome: gitstore.NotSent, Err: err}
	}
	if ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx) // what is on its way arrives
	}
	r.p.w.logf("%s pushes %s", r.p.name, subject(p.Updates[0].New.Raw()))
	res := r.Remote.Push(ctx, p)
	if err := r.p.leave(o); err != nil {
		return gitstore.Result{Outcome: gitstore.Unknown, Err: err}
	}
	return res
}

// lagging wraps the adapter: whatever a lane does begins at an instant of its own.
type lagging struct {
	*sandbox.Provider
	p    *proc
	lane string
}

// NeedsRefresh implements providers.Refresher. It is the first that a run asks of an adapter.
func (l lagging) NeedsRefresh(c providers.Credential, now time.Time) bool {
	l.p.pause(l.lane, 10*time.Millisecond)
	return l.Provider.NeedsRefresh(c, now)
}

func (p *proc) providers() map[string]providers.Info {
	info := sandbox.Info()
	info.New = func(cfg providers.Config) (providers.Publisher, error) {
		pub, err := sandbox.New(cfg)
		if err != nil {
			return nil, err
		}
		return lagging{pub.(*sandbox.Provider), p, "net/" + cfg.Account}, nil
	}
	return map[string]providers.Info{sandbox.Name: info}
}

// options are those of one run.
func (p *proc) options() publish.Options {
	w := p.w
	opt := publish.Options{
		Remote: remote{w.git.Remote(memgit.RemoteOptions{Name: p.name, Now: p.Wall}), p}, Branch: "main",
		Home: journal.Home{URL: homeURL, ContentBranch: "main"}, Providers: p.providers(),
		Keys:      func(context.Context) (vault.Keys, error) { return secrets().keys, nil },
		Transport: func(d pipeline.Destination) http.RoundTripper { return wire{p, d} },
		Clock:     p, Sleep: p.sleep, Rand: p, Nonce: p.name, Fence: publish.DefaultFence(), CompactAfter: w.plan.CompactAfter,
		Grace: 5 * time.Second, Mask: func(...string) {}, Log: slog.New(slog.DiscardHandler),
		SaveResults: func(data []byte) (string, error) {
			if p.gone() {
				return "", errKilled
			}
			return "results", w.save(data)
		},
	}
	opt.Tell = func(ts []publish.Trouble) {
		if !p.gone() {
			w.tell(ts)
		}
	}
	if w.verbose {
		opt.Log = slog.New(slog.NewTextHandler(logWriter{w, p.name}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		opt.Progress = func(e publish.Progress) { w.logf("%s %s %s %s %s", p.name, e.What, e.Post, e.Dest, e.Text) }
	}
	if p.run.Hint {
		opt.Hint = &pipeline.Config{Ledger: w.ledgerConfig()}
	}
	if p.run.Checkout {
		opt.Local = w.checkout(p.step.Who)
	}
	return opt
}

// begin starts a run; it goes on by itself.
func (w *world) begin(s step) *proc {
	w.runs++
	p := w.newProc(fmt.Sprintf("run%04d", w.runs), s)
	w.happened("run")
	opt := p.options() // what it reads of the world is the world's at this step
	w.wg.Go(func() { p.work(opt) })
	if s.Stop > 0 {
		time.AfterFunc(s.Stop+time.Duration(w.runs), func() { close(p.stop) })
	}
	return p
}

// work runs, and takes in what the run tells, unless nobody can hear it any more.
func (p *proc) work(opt publish.Options) {
	defer p.kill()
	res, err := publish.Run(p.ctx, p.stop, opt)
	if p.gone() {
		return
	}
	p.w.heard(p, res, err)
}
