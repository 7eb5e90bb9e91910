package gitstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// goRemote is the Remote that speaks git's protocol itself. Each operation is one conversation of one advertisement.
type goRemote struct {
	url     string // without credentials
	wire    wire
	objects *Objects
	now     func() time.Time
	timeout time.Duration
	secrets *secretList
	// source tells where the credentials came from; authSource does where that can change.
	source     string
	authSource func() string

	mu     sync.Mutex
	closed bool
	// recent is the last look at the remote over a transport that keeps nothing between requests.
	recent *httpConversation
}

var _ Remote = (*goRemote)(nil)

func (r *goRemote) URL() string { return r.url }

// Secrets are the credentials in use, so that a caller can mask them in its output.
func (r *goRemote) Secrets() []string { return r.secrets.all() }

// AuthSource says where the credentials came from, without saying what they are.
func (r *goRemote) AuthSource() string {
	if r.authSource != nil {
		return r.authSource()
	}
	return r.source
}

func (r *goRemote) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if c, ok := r.wire.(interface{ shutdown() }); ok {
		c.shutdown()
	}
	return nil
}

// begin bounds an operation in time and refuses one on a closed remote.
func (r *goRemote) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout,
		fmt.Errorf("no end after %v: %w", r.timeout, context.DeadlineExceeded))
	return ctx, cancel, nil
}

// failed says what was being done, at which remote, without any secret.
func (r *goRemote) failed(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	return fmt.Errorf("%s %s: %w", doing, r.url, hideSecrets(err, r.secrets.all()))
}

func (r *goRemote) refs(a *advert) Refs {
	return Refs{Tips: maps.Clone(a.refs), Head: a.head, Date: a.date, At: r.now(), Atomic: a.has("atomic")}
}

func (r *goRemote) Refs(ctx context.Context) (Refs, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return Refs{}, err
	}
	defer cancel()
	conv, err := r.wire.open(ctx, uploadPack)
	if err != nil {
		return Refs{}, r.failed(ctx, "list the refs of", err)
	}
	defer conv.close()
	r.remember(conv)
	refs := r.refs(conv.advert())
	// receive-pack is the one that knows; upload-pack does not list the capability. Every git since 2.4 has it, and a
	// push finds out in time.
	refs.Atomic = true
	return refs, nil
}

func (r *goRemote) Fetch(ctx context.Context, ref string, opt FetchOptions) (Snapshot, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	var have *snapshot
	if opt.Have != nil {
		if have, err = r.objects.owned(opt.Have); err != nil {
			return nil, err
		}
	}
	if conv := r.seen(ref, opt.At); conv != nil {
		if s, err := r.fetchOver(ctx, conv, ref, have, opt.TreesOnly); err == nil {
			return s, nil
		}
		// What was seen may be gone: look again.
	}
	s, err := r.fetch(ctx, ref, have, opt.TreesOnly)
	if err != nil {
		return nil, r.failed(ctx, "fetch "+ref+" of", err)
	}
	if s == nil {
		return nil, nil
	}
	return s, nil
}

func (r *goRemote) fetch(ctx context.Context, ref string, have *snapshot, treesOnly bool) (*snapshot, error) {
	conv, err := r.wire.open(ctx, uploadPack)
	if err != nil {
		return nil, err
	}
	defer conv.close()
	r.remember(conv)
	return r.fetchOver(ctx, conv, ref, have, treesOnly)
}

// remember keeps a look at the remote, where a later request needs no conversation of its own.
func (r *goRemote) remember(conv conversation) {
	if c, ok := conv.(*httpConversation); ok {
		r.mu.Lock()
		r.recent = c
		r.mu.Unlock()
	}
}

// seen returns the look that showed ref at this commit, nil where there is none.
func (r *goRemote) seen(ref string, at Hash) conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at == "" || r.recent == nil || r.recent.a.refs[ref] != at {
		return nil
	}
	return r.recent
}

// fetchOver fetches within a conversation whose advertisement is at hand.
func (r *goRemote) fetchOver(ctx context.Context, conv conversation, ref string, have *snapshot, treesOnly bool) (*snapshot, error) {
	a := conv.advert()
	tip, ok := a.refs[ref]
	if !ok {
		return nil, nil
	}
	w := want{ids: []Hash{tip}, depth: 1}
	if treesOnly && a.has("filter") {
		w.filter = "blob:none"
	}
	full := w.filter == ""
	if have != nil && full && !have.complete {
		have = nil // the remote would take its blobs for present
	}
	if have != nil && have.id == tip {
		s := *have
		s.ref = ref
		return &s, nil
	}
	var base Hash
	if have != nil {
		base = have.id
		w.haves, w.shallows = []Hash{base}, []Hash{base}
	}
	if _, err := r.receive(ctx, conv, w); err != nil {
		return nil, err
	}
	if err := r.objects.checkComplete(tip, base, full); err != nil {
		return nil, fmt.Errorf("%w: the pack lacks an object: %w", ErrProtocol, err)
	}
	s, err := r.objects.snapshot(tip, full)
	if err != nil {
		return nil, err
	}
	s.ref = ref
	return s, nil
}

// receive asks for objects and stores them.
func (r *goRemote) receive(ctx context.Context, conv conversation, w want) (shallowUpdate, error) {
	body, err := uploadRequest(conv.advert(), w)
	if err != nil {
		return shallowUpdate{}, err
	}
	res, err := conv.exchange(ctx, body)
	if err != nil {
		return shallowUpdate{}, err
	}
	defer res.Close()
	br := bufio.NewReader(res)
	up, err := readNegotiation(br, w)
	if err == nil {
		err = r.objects.readPack(br, conv.advert())
	}
	if err != nil {
		if said := clip(conv.said(), 300); said != "" {
			err = fmt.Errorf("%w (%s)", err, said)
		}
		return shallowUpdate{}, err
	}
	return up, nil
}

func (r *goRemote) FetchBlobs(ctx context.Context, s Snapshot, blobs []Hash) error {
	snap, err := r.objects.owned(s)
	if err != nil {
		return err
	}
	absent := r.absent(blobs)
	if len(absent) == 0 {
		return nil
	}
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if conv := r.seen(snap.ref, snap.id); conv != nil && conv.advert().wantsAny() {
		if _, err := r.receive(ctx, conv, want{ids: absent}); err == nil && len(r.absent(blobs)) == 0 {
			return nil
		}
	}
	conv, err := r.wire.open(ctx, uploadPack)
	if err != nil {
		return r.failed(ctx, "fetch blobs of", err)
	}
	defer conv.close()
	a := conv.advert()
	if a.wantsAny() {
		_, err = r.receive(ctx, conv, want{ids: absent})
		if err == nil && len(r.absent(blobs)) == 0 {
			return nil
		}
		if err != nil && !isRefusedWant(err) {
			return r.failed(ctx, "fetch blobs of", err)
		}
	}
	if err := r.refetch(ctx, snap); err != nil {
		return r.failed(ctx, "fetch blobs of", err)
	}
	if still := r.absent(blobs); len(still) > 0 {
		return r.failed(ctx, "fetch blobs of", fmt.Errorf("%w: %s, %d in all; the remote sends only what its refs "+
			"reach now, so fetch %s again", ErrBlobAbsent, still[0], len(still), snap.id.short()))
	}
	return nil
}

// refetch brings a snapshot's commit whole, or the present tip of its ref where the commit itself may not be asked for.
func (r *goRemote) refetch(ctx context.Context, s *snapshot) error {
	conv, err := r.wire.open(ctx, uploadPack)
	if err != nil {
		return err
	}
	defer conv.close()
	a := conv.advert()
	id := s.id
	if !a.isTip(id) && !a.wantsAny() {
		tip, ok := a.refs[s.ref]
		if !ok {
			return fmt.Errorf("%w: commit %s is no longer the tip of a ref", ErrBlobAbsent, id.short())
		}
		id = tip
	}
	_, err = r.receive(ctx, conv, want{ids: []Hash{id}, depth: 1})
	return err
}

func (r *goRemote) absent(blobs []Hash) []Hash {
	var out []Hash
	seen := map[Hash]bool{}
	for _, b := range blobs {
		if !seen[b] && !r.objects.Has(b) {
			out = append(out, b)
		}
		seen[b] = true
	}
	return out
}

// isRefusedWant recognises that a server does not give objects by id.
func isRefusedWant(err error) bool {
	if line, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		return strings.Contains(line.Text, "not our ref") || strings.Contains(line.Text, "not valid")
	}
	return strings.Contains(err.Error(), "not our ref")
}

func (r *goRemote) Build(ctx context.Context, c Commit) (Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.objects.Build(c)
}
