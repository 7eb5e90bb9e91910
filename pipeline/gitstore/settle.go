package gitstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// settleRace checks a lost race that the server reported for a request of ours. Something between here and there may have
// sent the request twice (curl does, when a connection that it uses again is cut): then the first copy has moved the refs,
// and the answer is to the second. tips are the refs as they are afterwards; parents reads the parents of the commit
// that a ref is at.
func settleRace(ctx context.Context, err error, todo []Update, tips func(context.Context) (map[string]Hash, error),
	parents func(ctx context.Context, u Update, tip Hash) ([]Hash, error),
) (Outcome, error) {
	now, terr := tips(ctx)
	if terr != nil {
		return Unknown, fmt.Errorf("%w: %w; and looking again failed: %w", ErrUnknownOutcome, err, terr)
	}
	landed, lost := 0, 0
	for _, u := range todo {
		tip := now[u.Ref]
		switch {
		case tip == u.New.Commit():
			landed++
			continue
		case tip == u.Old:
			lost++
			continue
		case tip == "":
			continue
		}
		ps, perr := parents(ctx, u, tip)
		if perr != nil {
			return Unknown, fmt.Errorf("%w: %w; and looking again failed: %w", ErrUnknownOutcome, err, perr)
		}
		// a commit without parents, or one made from the old commit, does not stand on ours
		if len(ps) == 0 || u.Old != "" && slices.Contains(ps, u.Old) {
			lost++
		}
	}
	switch {
	case landed == len(todo):
		return Landed, nil
	case lost > 0 && landed == 0:
		return LostRace, err
	}
	return Unknown, fmt.Errorf("%w: the refs have moved more than once: %w", ErrUnknownOutcome, err)
}

func (r *goRemote) settle(ctx context.Context, err error, todo []Update) (Outcome, error) {
	tips := func(ctx context.Context) (map[string]Hash, error) {
		conv, err := r.wire.open(ctx, uploadPack)
		if err != nil {
			return nil, err
		}
		defer conv.close()
		return conv.advert().refs, nil
	}
	parents := func(ctx context.Context, u Update, tip Hash) ([]Hash, error) {
		var have *snapshot
		if n, err := r.objects.owned(u.New); err == nil && n.complete && u.Old != "" {
			have, _ = r.objects.snapshot(u.Old, true) // nil if it was never fetched: then all is sent
		}
		s, err := r.fetch(ctx, u.Ref, have, false)
		if err != nil {
			return nil, err
		}
		if s == nil || s.id != tip {
			return nil, errors.New("the ref keeps moving")
		}
		return s.Parents(), nil
	}
	return settleRace(ctx, err, todo, tips, parents)
}

func (r *cliRemote) settle(ctx context.Context, err error, todo []Update) (Outcome, error) {
	tips := func(ctx context.Context) (map[string]Hash, error) {
		refs, err := r.list(ctx)
		return refs.Tips, err
	}
	parents := func(ctx context.Context, u Update, tip Hash) ([]Hash, error) {
		s, err := r.fetch(ctx, u.Ref, true)
		if err != nil {
			return nil, err
		}
		if s == nil || s.id != tip {
			return nil, errors.New("the ref keeps moving")
		}
		return s.Parents(), nil
	}
	return settleRace(ctx, err, todo, tips, parents)
}
