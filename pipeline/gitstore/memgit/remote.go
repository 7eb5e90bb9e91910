package memgit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
)

// RemoteOptions describe one client.
type RemoteOptions struct {
	// Name tells clients apart in Op and Event.
	Name string
	// Now is the clock of Refs.At; nil means time.Now.
	Now func() time.Time
}

// remote is one client, with objects of its own.
type remote struct {
	server  *Server
	opt     RemoteOptions
	objects *gitstore.Objects
	closed  atomic.Bool

	mu sync.Mutex
	// whole are the trees whose blobs are all here.
	whole map[gitstore.Hash]bool
}

var _ gitstore.Remote = (*remote)(nil)

// Remote makes a client of the server.
func (s *Server) Remote(opt RemoteOptions) gitstore.Remote {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &remote{server: s, opt: opt, objects: gitstore.NewObjects(gitstore.SHA1), whole: map[gitstore.Hash]bool{}}
}

func (r *remote) URL() string { return "mem://server" }

func (r *remote) Close() error {
	r.closed.Store(true)
	return nil
}

// begin asks for the fault of an operation and lets it strike.
func (r *remote) begin(ctx context.Context, kind OpKind, refs ...string) (Fault, error) {
	if r.closed.Load() {
		return Fault{}, gitstore.ErrClosed
	}
	if ctx.Err() != nil {
		return Fault{}, context.Cause(ctx)
	}
	f := r.server.fault(Op{Kind: kind, Remote: r.opt.Name, Refs: refs})
	return f, f.begin(ctx)
}

func (r *remote) refs(stale int) gitstore.Refs {
	tips, head, date, atomic := r.server.view(stale)
	return gitstore.Refs{Tips: tips, Head: head, Date: date, At: r.opt.Now(), Atomic: atomic}
}

func (r *remote) Refs(ctx context.Context) (gitstore.Refs, error) {
	f, err := r.begin(ctx, OpRefs)
	if err == nil {
		err = f.fails()
	}
	if err != nil {
		return gitstore.Refs{}, fmt.Errorf("list the refs of %s: %w", r.URL(), err)
	}
	return r.refs(f.Stale), nil
}

func (r *remote) Fetch(ctx context.Context, ref string, opt gitstore.FetchOptions) (gitstore.Snapshot, error) {
	if opt.Have != nil && !r.objects.Has(opt.Have.Commit()) {
		return nil, gitstore.ErrForeignSnapshot
	}
	f, err := r.begin(ctx, OpFetch, ref)
	if err == nil {
		err = f.fails()
	}
	if err != nil {
		return nil, fmt.Errorf("fetch %s of %s: %w", ref, r.URL(), err)
	}
	tip, ok := r.refs(f.Stale).Tips[ref]
	if !ok {
		return nil, nil
	}
	r.server.mu.Lock()
	blobs := !opt.TreesOnly || !r.server.filter
	r.server.mu.Unlock()
	if err := r.copy(tip, blobs); err != nil {
		return nil, err
	}
	return r.objects.Snapshot(tip)
}

// copy brings a commit from the server.
func (r *remote) copy(commit gitstore.Hash, blobs bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.server.objects
	return from.Walk(commit, func(kind gitstore.ObjectKind, id gitstore.Hash) bool {
		have := r.objects.Has(id)
		if kind == gitstore.KindTree {
			if have && (!blobs || r.whole[id]) {
				return false
			}
			if blobs {
				r.whole[id] = true
			}
		}
		if kind == gitstore.KindBlob && !blobs {
			return true
		}
		if !have {
			k, data, _ := from.Get(id)
			r.objects.Put(k, data)
		}
		return true
	})
}

func (r *remote) FetchBlobs(ctx context.Context, s gitstore.Snapshot, blobs []gitstore.Hash) error {
	if !r.objects.Has(s.Commit()) {
		return gitstore.ErrForeignSnapshot
	}
	if !slices.ContainsFunc(blobs, func(b gitstore.Hash) bool { return !r.objects.Has(b) }) {
		return nil
	}
	f, err := r.begin(ctx, OpFetch)
	if err == nil {
		err = f.fails()
	}
	if err != nil {
		return fmt.Errorf("fetch blobs of %s: %w", r.URL(), err)
	}
	for _, b := range blobs {
		kind, data, ok := r.server.objects.Get(b)
		if !ok || kind != gitstore.KindBlob {
			return fmt.Errorf("fetch blobs of %s: %w: %s", r.URL(), gitstore.ErrBlobAbsent, b)
		}
		r.objects.Put(kind, data)
	}
	return nil
}

func (r *remote) History(ctx context.Context, ref, path string, limit int) ([]gitstore.FileChange, error) {
	f, err := r.begin(ctx, OpFetch, ref)
	if err == nil {
		err = f.fails()
	}
	if err != nil {
		return nil, fmt.Errorf("read the history of %s on %s: %w", path, ref, err)
	}
	tip, ok := r.refs(f.Stale).Tips[ref]
	if !ok {
		return nil, nil
	}
	changes, _, err := r.server.objects.FileHistory(tip, path, limit)
	return changes, err
}

func (r *remote) Build(ctx context.Context, c gitstore.Commit) (gitstore.Snapshot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r.objects.Build(c)
}

func (r *remote) Push(ctx context.Context, p gitstore.Push) gitstore.Result {
	if len(p.Updates) == 0 {
		return gitstore.Result{Outcome: gitstore.NotSent, Err: errors.New("push: no updates")}
	}
	for _, u := range p.Updates {
		if u.New == nil || !r.objects.Has(u.New.Commit()) {
			return gitstore.Result{Outcome: gitstore.NotSent, Err: fmt.Errorf("push %s: %w", u.Ref, gitstore.ErrForeignSnapshot)}
		}
	}
	groups := [][]gitstore.Update{p.Updates}
	if !r.refs(0).Atomic {
		groups = nil
		for _, u := range p.Updates {
			groups = append(groups, []gitstore.Update{u})
		}
	}
	var res gitstore.Result
	var applied []string
	for i, g := range groups {
		expect, judged := p.Expect, p.Updates
		if i > 0 {
			expect, judged = nil, g
		}
		one := r.push(ctx, g, judged, expect)
		if i > 0 {
			one.Refs = res.Refs
		}
		res = one
		if res.Outcome != gitstore.Landed {
			break
		}
		if len(groups) > 1 {
			applied = append(applied, g[0].Ref)
		}
	}
	res.Applied = applied
	if res.Err != nil {
		res.Err = fmt.Errorf("push to %s: %w", r.URL(), res.Err)
	}
	return res
}

// push is one request. all are the updates that the advertisement is judged by: the first request answers for the whole.
func (r *remote) push(ctx context.Context, updates, all []gitstore.Update, expect map[string]gitstore.Hash) gitstore.Result {
	names := make([]string, len(updates))
	for i, u := range updates {
		names[i] = u.Ref
	}
	f, err := r.begin(ctx, OpPush, names...)
	if err != nil {
		out := gitstore.NotSent
		if errors.Is(err, gitstore.ErrAuth) {
			out = gitstore.AuthError
		}
		return gitstore.Result{Outcome: out, Err: err}
	}
	res := gitstore.Result{Refs: r.refs(0)}
	for ref, want := range expect {
		if got := res.Refs.Tips[ref]; got != want {
			res.Outcome, res.Err = gitstore.Moved, fmt.Errorf("%w: %s is at %q, not %q", gitstore.ErrMoved, ref, got, want)
			return res
		}
	}
	for _, u := range all {
		if got := res.Refs.Tips[u.Ref]; got != u.Old && got != u.New.Commit() {
			res.Outcome, res.Err = gitstore.LostRace, fmt.Errorf("%w: %s is at %q, not %q", gitstore.ErrLostRace, u.Ref, got, u.Old)
			return res
		}
	}
	todo := slices.DeleteFunc(slices.Clone(updates), func(u gitstore.Update) bool {
		return res.Refs.Tips[u.Ref] == u.New.Commit()
	})
	if len(todo) == 0 {
		res.Message = "already there"
		return res
	}
	return r.send(f, todo, res)
}

// send is the part of a push after the advertisement.
func (r *remote) send(f Fault, todo []gitstore.Update, res gitstore.Result) gitstore.Result {
	fail := func(out gitstore.Outcome, err error) gitstore.Result {
		res.Outcome, res.Err = out, err
		return res
	}
	unknown := func() gitstore.Result {
		return fail(gitstore.Unknown, fmt.Errorf("%w: %w", gitstore.ErrUnknownOutcome, f.err(errBroken)))
	}
	switch f.Kind {
	case Lie:
		return res
	case Lost:
		return unknown()
	case Late:
		time.AfterFunc(f.Late, func() { _ = r.server.apply(r.opt.Name, r.objects, todo) })
		return unknown()
	case Reject:
		res.Message = "pre-receive hook declined (injected)"
		return fail(gitstore.Rejected, f.err(fmt.Errorf("%w: %s", gitstore.ErrRejected, res.Message)))
	case Race:
		if f.Race != nil {
			f.Race(r.server)
		}
	case None, Before, After, Auth: // before and auth have struck already; after does below
	}
	err := r.server.apply(r.opt.Name, r.objects, todo)
	switch {
	case f.Kind == After:
		return unknown()
	case errors.Is(err, gitstore.ErrLostRace):
		return fail(gitstore.LostRace, err)
	case err != nil:
		return fail(gitstore.Rejected, err)
	}
	return res
}
