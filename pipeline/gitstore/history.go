package gitstore

import (
	"context"
	"errors"
	"math"
	"slices"
)

// deepest asks for all of a history; git takes this number for infinity.
const deepest = math.MaxInt32

// History follows first parents, which on a content branch is the order in which changes came onto it, whatever the
// dates of the commits that a merge brought.
func (r *goRemote) History(ctx context.Context, ref, path string, limit int) ([]FileChange, error) {
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	var boundary []Hash
	for depth := 8; ; depth *= 8 {
		depth = min(depth, deepest)
		tip, edge, err := r.deepen(ctx, ref, boundary, depth)
		if err != nil {
			return nil, r.failed(ctx, "read the history of "+path+" on "+ref+" of", err)
		}
		if tip == "" {
			return nil, nil
		}
		changes, more, err := r.objects.FileHistory(tip, path, limit)
		if err != nil {
			return nil, r.failed(ctx, "read the history of "+path+" on "+ref+" of", err)
		}
		if !more || len(edge) == 0 || depth == deepest {
			return changes, nil
		}
		boundary = edge
	}
}

// deepen brings depth commits of ref, of which those within boundary are here already. It returns the commits beyond
// which the history is still unknown.
func (r *goRemote) deepen(ctx context.Context, ref string, boundary []Hash, depth int) (Hash, []Hash, error) {
	conv, err := r.wire.open(ctx, uploadPack)
	if err != nil {
		return "", nil, err
	}
	defer conv.close()
	a := conv.advert()
	tip, ok := a.refs[ref]
	if !ok {
		return "", nil, nil
	}
	w := want{ids: []Hash{tip}, depth: depth}
	if a.has("filter") {
		w.filter = "blob:none"
	}
	if len(boundary) > 0 && r.objects.Has(tip) {
		w.haves, w.shallows = []Hash{tip}, slices.Clone(boundary)
	}
	up, err := r.receive(ctx, conv, w)
	if err != nil {
		return "", nil, err
	}
	if !r.objects.Has(tip) {
		return "", nil, ErrProtocol
	}
	edge := slices.DeleteFunc(slices.Clone(w.shallows), func(h Hash) bool { return slices.Contains(up.unshallow, h) })
	for _, h := range up.shallow {
		if !slices.Contains(edge, h) {
			edge = append(edge, h)
		}
	}
	return tip, edge, nil
}

// FileHistory walks first parents from commit as far as they are present, and lists, newest first, the commits at which
// the blob at path changed, up to limit (0 for no limit). more tells that it met an absent parent before it was done.
func (o *Objects) FileHistory(commit Hash, path string, limit int) (out []FileChange, more bool, err error) {
	at := func(c Hash) (Hash, commitObject, error) {
		raw, err := o.want(KindCommit, c)
		if err != nil {
			return "", commitObject{}, err
		}
		obj, err := parseCommit(o.format, raw)
		if err != nil {
			return "", obj, err
		}
		e, _, err := o.entry(obj.tree, path)
		return e.Blob, obj, err
	}
	blob, cur, err := at(commit)
	for err == nil {
		if len(cur.parents) == 0 {
			if blob != "" {
				out = append(out, FileChange{Commit: commit, When: cur.when, Blob: blob})
			}
			return out, false, nil
		}
		before, parent, perr := at(cur.parents[0])
		if errors.Is(perr, ErrObjectAbsent) {
			return out, true, nil
		}
		if perr != nil {
			return nil, false, perr
		}
		if before != blob {
			out = append(out, FileChange{Commit: commit, When: cur.when, Blob: blob})
			if limit > 0 && len(out) == limit {
				return out, false, nil
			}
		}
		commit, blob, cur = cur.parents[0], before, parent
	}
	return nil, false, err
}
