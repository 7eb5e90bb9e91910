package journal_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
)

// torn advertises the ledger as it was before a push, and the mark as it is, as often as left says; the first fetch is of
// the same age.
type torn struct {
	gitstore.Remote
	before gitstore.Snapshot // nil: the ledger was not there
	left   int
}

func (r *torn) Refs(ctx context.Context) (gitstore.Refs, error) {
	refs, err := r.Remote.Refs(ctx)
	if err != nil || r.left == 0 {
		return refs, err
	}
	r.left--
	refs.Tips = maps.Clone(refs.Tips)
	delete(refs.Tips, ref)
	if r.before != nil {
		refs.Tips[ref] = r.before.Commit()
	}
	return refs, nil
}

func (r *torn) Fetch(ctx context.Context, name string, opt gitstore.FetchOptions) (gitstore.Snapshot, error) {
	if s := r.before; s != nil && opt.Have == nil {
		r.before = nil
		return s, nil
	}
	return r.Remote.Fetch(ctx, name, opt)
}

// TestTornAdvertisementIsNotTakenForARewind reads the refs while another run pushes.
func TestTornAdvertisementIsNotTakenForARewind(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		opts := []journal.Options{g.options("two"), g.options("three")}
		before, err := opts[0].Remote.Fetch(t.Context(), ref, gitstore.FetchOptions{})
		check(t, err)
		for range 2 { // the mark is then neither the old tip nor its parent
			check(t, g.open("one").Append(t.Context(), nil, schedule("p"+string(rune('a'+len(g.open("reader").State().Deliveries))))))
		}
		for i, old := range []gitstore.Snapshot{before, nil} {
			opts[i].Remote = &torn{Remote: opts[i].Remote, before: old, left: 1}
			j, err := journal.Open(t.Context(), opts[i])
			if err != nil {
				t.Errorf("%d: %v", i, err)
			} else if n := len(j.State().Deliveries); n != 2 {
				t.Errorf("%d: the state has %d deliveries", i, n)
			}
		}
	})
}

// TestRefsThatNeverFitEndTheLook has a remote whose advertisement is for ever older than what it serves.
func TestRefsThatNeverFitEndTheLook(t *testing.T) {
	bubbleTest(t, func(t *testing.T, g *rig) {
		opt := g.options("two")
		before, err := opt.Remote.Fetch(t.Context(), ref, gitstore.FetchOptions{})
		check(t, err)
		check(t, g.open("one").Append(t.Context(), nil, schedule("p")))
		opt.Remote = &stuck{Remote: opt.Remote, tip: before.Commit()}
		_, err = journal.Open(t.Context(), opt)
		if refused := new(journal.Refusal); err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "does not hold still") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// stuck advertises one tip for ever and serves another.
type stuck struct {
	gitstore.Remote
	tip gitstore.Hash
}

func (r *stuck) Refs(ctx context.Context) (gitstore.Refs, error) {
	refs, err := r.Remote.Refs(ctx)
	if err == nil {
		refs.Tips = maps.Clone(refs.Tips)
		refs.Tips[ref] = r.tip
	}
	return refs, err
}

func (r *stuck) Fetch(ctx context.Context, name string, opt gitstore.FetchOptions) (gitstore.Snapshot, error) {
	opt.At = ""
	return r.Remote.Fetch(ctx, name, opt)
}
