package gitstore

import (
	"fmt"
)

// NewSince lists the objects that commit adds to what the other side has: commits for which has reports true are there
// with all their trees and blobs. It walks first parents until it meets such a commit or a commit that was not built here.
func (o *Objects) NewSince(commit Hash, has func(Hash) bool) ([]Hash, error) {
	var out []Hash
	seen := map[Hash]bool{}
	add := func(h Hash) {
		if !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	for c := commit; !has(c); {
		base, local := o.builtOn(c)
		if !local {
			break // it was fetched, so the remote has it
		}
		root, err := o.rootTree(c)
		if err != nil {
			return nil, err
		}
		var baseRoot Hash
		if base != "" {
			if baseRoot, err = o.rootTree(base); err != nil {
				return nil, err
			}
		}
		add(c)
		if err := o.newInTree(baseRoot, root, add); err != nil {
			return nil, err
		}
		if base == "" {
			break
		}
		c = base
	}
	return out, nil
}

// builtOn tells whether a commit was built here, and on which commit ("" for a root).
func (o *Objects) builtOn(commit Hash) (base Hash, built bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	base, built = o.built[commit]
	return base, built
}

// newInTree calls add for every object below tree that is not at the same path below old.
func (o *Objects) newInTree(old, tree Hash, add func(Hash)) error {
	if old == tree {
		return nil
	}
	before := map[string]treeEntry{}
	if old != "" {
		entries, err := o.tree(old)
		if err != nil {
			return err
		}
		for _, e := range entries {
			before[e.name] = e
		}
	}
	add(tree)
	entries, err := o.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		prev, ok := before[e.name]
		if ok && prev.id == e.id && prev.isTree() == e.isTree() {
			continue
		}
		switch {
		case e.mode == ModeSubmodule:
		case e.isTree():
			sub := Hash("")
			if ok && prev.isTree() {
				sub = prev.id
			}
			if err := o.newInTree(sub, e.id, add); err != nil {
				return err
			}
		default:
			add(e.id)
		}
	}
	return nil
}

// Walk visits a commit, its trees and its blobs. Where visit returns false for a tree, what is below is left out.
func (o *Objects) Walk(commit Hash, visit func(kind ObjectKind, id Hash) bool) error {
	root, err := o.rootTree(commit)
	if err != nil {
		return err
	}
	visit(KindCommit, commit)
	var walk func(tree Hash, depth int) error
	walk = func(tree Hash, depth int) error {
		if depth > maxTreeDepth {
			return fmt.Errorf("tree %s: nested deeper than %d", tree, maxTreeDepth)
		}
		if !visit(KindTree, tree) {
			return nil
		}
		entries, err := o.tree(tree)
		if err != nil {
			return err
		}
		for _, e := range entries {
			switch {
			case e.isTree():
				if err := walk(e.id, depth+1); err != nil {
					return err
				}
			case e.mode != ModeSubmodule:
				visit(KindBlob, e.id)
			}
		}
		return nil
	}
	return walk(root, 0)
}

// checkComplete verifies that everything that commit reaches is present, except below the trees of base, which is
// known to be complete ("" for none). Without blobs it looks at trees only.
func (o *Objects) checkComplete(commit, base Hash, blobs bool) error {
	root, err := o.rootTree(commit)
	if err != nil {
		return err
	}
	var baseRoot Hash
	if base != "" {
		if baseRoot, err = o.rootTree(base); err != nil {
			return err
		}
	}
	var missing Hash
	err = o.newInTree(baseRoot, root, func(h Hash) {
		if missing == "" && blobs && !o.Has(h) {
			missing = h
		}
	})
	if err == nil && missing != "" {
		err = fmt.Errorf("object %s: %w", missing, ErrObjectAbsent)
	}
	return err
}
