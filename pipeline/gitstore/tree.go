package gitstore

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const modeTree Mode = 0o040000

// maxTreeDepth bounds recursion into trees that a hostile remote could nest.
const maxTreeDepth = 256

type treeEntry struct {
	name string
	mode Mode
	id   Hash
}

func (e treeEntry) isTree() bool { return e.mode == modeTree }

// tree reads a tree object.
func (o *Objects) tree(h Hash) ([]treeEntry, error) {
	data, err := o.want(KindTree, h)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(o.format, data)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	return entries, nil
}

func parseTree(f ObjectFormat, data []byte) ([]treeEntry, error) {
	var out []treeEntry
	size := f.digits() / 2
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		if !ok || len(rest) < size {
			return nil, errors.New("truncated entry")
		}
		mode, name, ok := strings.Cut(string(head), " ")
		if !ok || name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return nil, fmt.Errorf("malformed entry %q", head)
		}
		m, err := strconv.ParseUint(mode, 8, 32)
		if err != nil {
			return nil, fmt.Errorf("malformed mode %q", mode)
		}
		out = append(out, treeEntry{name, Mode(m), Hash(hex.EncodeToString(rest[:size]))})
		data = rest[size:]
	}
	return out, nil
}

// putTree stores a tree of these entries.
func (o *Objects) putTree(entries []treeEntry) (Hash, error) {
	// git compares names as if a tree's ended in a slash
	key := func(e treeEntry) string {
		if e.isTree() {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(entries, func(a, b treeEntry) int { return cmp.Compare(key(a), key(b)) })
	var b bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(string(e.id))
		if err != nil {
			return "", fmt.Errorf("entry %q: %w", e.name, err)
		}
		fmt.Fprintf(&b, "%o %s\x00", uint32(e.mode), e.name)
		b.Write(id)
	}
	return o.Put(KindTree, b.Bytes()), nil
}

// entries lists the files below prefix, sorted by path. A prefix names a directory ("a/b", also with a final slash) or
// exactly one file.
func (o *Objects) entries(root Hash, prefix string) ([]Entry, error) {
	prefix = strings.Trim(prefix, "/")
	tree := root
	if prefix != "" {
		e, ok, err := o.lookup(root, prefix)
		if err != nil || !ok {
			return nil, err
		}
		if !e.isTree() {
			return []Entry{{Path: prefix, Mode: fileMode(e.mode), Blob: e.id}}, nil
		}
		tree = e.id
		prefix += "/"
	}
	var out []Entry
	var walk func(h Hash, dir string, depth int) error
	walk = func(h Hash, dir string, depth int) error {
		if depth > maxTreeDepth {
			return fmt.Errorf("%s: directories nest deeper than %d", quoteRef(dir), maxTreeDepth)
		}
		entries, err := o.tree(h)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.isTree() {
				if err := walk(e.id, dir+e.name+"/", depth+1); err != nil {
					return err
				}
				continue
			}
			out = append(out, Entry{Path: dir + e.name, Mode: fileMode(e.mode), Blob: e.id})
		}
		return nil
	}
	if err := walk(tree, prefix, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// fileMode maps the modes that old versions of git wrote (0100664) to those of today.
func fileMode(m Mode) Mode {
	if m&0o170000 == 0o100000 {
		if m&0o100 != 0 {
			return ModeExecutable
		}
		return ModeFile
	}
	return m
}

func (o *Objects) entry(root Hash, path string) (Entry, bool, error) {
	e, ok, err := o.lookup(root, path)
	if err != nil || !ok || e.isTree() {
		return Entry{}, false, err
	}
	return Entry{Path: path, Mode: fileMode(e.mode), Blob: e.id}, true, nil
}

// lookup finds a file or a directory.
func (o *Objects) lookup(root Hash, path string) (treeEntry, bool, error) {
	cur := treeEntry{mode: modeTree, id: root}
	for part := range strings.SplitSeq(path, "/") {
		if !cur.isTree() {
			return treeEntry{}, false, nil
		}
		entries, err := o.tree(cur.id)
		if err != nil {
			return treeEntry{}, false, err
		}
		i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == part })
		if i < 0 {
			return treeEntry{}, false, nil
		}
		cur = entries[i]
	}
	return cur, true, nil
}

// change is a directory of changes: a leaf writes or removes a file, a node leads on.
type change struct {
	kids   map[string]*change
	data   []byte
	remove bool
}

// changeTree arranges changes by directory. A file and a directory cannot be written at one path.
func changeTree(changes []Change) (*change, error) {
	root := &change{kids: map[string]*change{}}
	for _, c := range changes {
		if err := checkPath(c.Path); err != nil {
			return nil, err
		}
		n := root
		parts := strings.Split(c.Path, "/")
		for _, dir := range parts[:len(parts)-1] {
			k := n.kids[dir]
			if k == nil {
				k = &change{kids: map[string]*change{}}
				n.kids[dir] = k
			}
			if k.kids == nil {
				if !k.remove {
					return nil, fmt.Errorf("%q is written both as a file and as a directory", c.Path)
				}
				k.kids = map[string]*change{}
			}
			n = k
		}
		name := parts[len(parts)-1]
		leaf := n.kids[name]
		switch {
		case leaf == nil:
			n.kids[name] = &change{data: c.Data, remove: c.Remove}
		case leaf.kids != nil && c.Remove && !leaf.remove:
			leaf.remove = true // the file gives way to the directory
		default:
			return nil, fmt.Errorf("%q is changed twice", c.Path)
		}
	}
	return root, nil
}

// checkPath refuses what git would refuse to check out.
func checkPath(p string) error {
	if p == "" || strings.ContainsAny(p, "\x00\\") {
		return fmt.Errorf("%q is not a path in a git tree", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return fmt.Errorf("%q is not a path in a git tree", p)
		}
	}
	return nil
}

// apply writes the tree that results from changes on base ("" for an empty one). It returns "" for a tree without entries,
// which git never stores inside another tree.
func (o *Objects) apply(base Hash, dir string, c *change) (Hash, error) {
	entries := map[string]treeEntry{}
	if base != "" {
		old, err := o.tree(base)
		if err != nil {
			return "", err
		}
		for _, e := range old {
			entries[e.name] = e
		}
	}
	for name, k := range c.kids {
		old, exists := entries[name]
		path := dir + name
		switch {
		case k.kids != nil:
			var sub Hash
			if exists && old.isTree() {
				sub = old.id
			} else if exists && !k.remove {
				return "", fmt.Errorf("%q is a file: remove it in the same commit to make a directory", path)
			}
			h, err := o.apply(sub, path+"/", k)
			if err != nil {
				return "", err
			}
			if h == "" {
				delete(entries, name)
				continue
			}
			entries[name] = treeEntry{name, modeTree, h}
		case exists && old.isTree():
			if k.remove {
				return "", fmt.Errorf("%q is a directory: remove its files", path)
			}
			return "", fmt.Errorf("%q is a directory, not a file", path)
		case k.remove:
			delete(entries, name)
		default:
			mode := ModeFile
			if exists && fileMode(old.mode) == ModeExecutable {
				mode = ModeExecutable
			}
			entries[name] = treeEntry{name, mode, o.Put(KindBlob, k.data)}
		}
	}
	if len(entries) == 0 {
		return "", nil
	}
	list := make([]treeEntry, 0, len(entries))
	for _, e := range entries {
		list = append(list, e)
	}
	return o.putTree(list)
}
