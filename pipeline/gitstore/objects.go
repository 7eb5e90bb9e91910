package gitstore

import (
	"crypto/sha1" //nolint:gosec // the ids of git objects
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"sync"
)

// ObjectFormat names the hash function of a repository's object ids.
type ObjectFormat string

// The object formats of git.
const (
	SHA1   ObjectFormat = "sha1"
	SHA256 ObjectFormat = "sha256"
)

// ObjectKind is the type of a git object, as its header spells it.
type ObjectKind string

// The kinds of objects that an Objects holds.
const (
	KindCommit ObjectKind = "commit"
	KindTree   ObjectKind = "tree"
	KindBlob   ObjectKind = "blob"
	KindTag    ObjectKind = "tag"
)

// header is what precedes an object's data where it is hashed and stored.
func (k ObjectKind) header(size int) []byte { return fmt.Appendf(nil, "%s %d\x00", string(k), size) }

// digits is the length of an id in hex.
func (f ObjectFormat) digits() int {
	if f == SHA256 {
		return 64
	}
	return 40
}

// zero is the id that stands for "no object" in the protocol.
func (f ObjectFormat) zero() Hash {
	b := make([]byte, f.digits())
	for i := range b {
		b[i] = '0'
	}
	return Hash(b)
}

// valid tells whether h has the form of an id of this format.
func (f ObjectFormat) valid(h Hash) bool {
	if len(h) != f.digits() {
		return false
	}
	for i := range len(h) {
		if c := h[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// HashObject computes the id of an object.
func (f ObjectFormat) HashObject(kind ObjectKind, data []byte) Hash {
	var w hash.Hash
	if f == SHA256 {
		w = sha256.New()
	} else {
		w = sha1.New() //nolint:gosec // see above
	}
	w.Write(kind.header(len(data)))
	w.Write(data)
	return Hash(hex.EncodeToString(w.Sum(nil)))
}

// Objects is a git object database in memory, from which Snapshots are read and in which commits are built. It is what
// every Remote of this package and of memgit stands on. It is safe for concurrent use; objects are never removed.
type Objects struct {
	format ObjectFormat

	mu   sync.RWMutex
	objs map[Hash]object
	// base tells, for a commit built here, from which commit it was built; its objects beyond that commit are new.
	built map[Hash]Hash
}

type object struct {
	kind ObjectKind
	data []byte
}

// NewObjects makes an empty object database.
func NewObjects(f ObjectFormat) *Objects {
	return &Objects{format: f, objs: map[Hash]object{}, built: map[Hash]Hash{}}
}

// Format is the object format of all ids in o.
func (o *Objects) Format() ObjectFormat { return o.format }

// Put stores an object and returns its id. The data must not change afterwards.
func (o *Objects) Put(kind ObjectKind, data []byte) Hash {
	h := o.format.HashObject(kind, data)
	o.put(h, object{kind, data})
	return h
}

func (o *Objects) put(h Hash, x object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.objs[h]; !ok {
		o.objs[h] = x
	}
}

// merge takes over all of m in one step, so that a reader sees either none or all of a fetch.
func (o *Objects) merge(m map[Hash]object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for h, x := range m {
		if _, ok := o.objs[h]; !ok {
			o.objs[h] = x
		}
	}
}

// Get returns an object. The data must not be changed.
func (o *Objects) Get(h Hash) (kind ObjectKind, data []byte, ok bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	x, ok := o.objs[h]
	return x.kind, x.data, ok
}

// Has tells whether an object is present.
func (o *Objects) Has(h Hash) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	_, ok := o.objs[h]
	return ok
}

// want returns an object's data if it is of that kind.
func (o *Objects) want(kind ObjectKind, h Hash) ([]byte, error) {
	k, data, ok := o.Get(h)
	if !ok {
		return nil, fmt.Errorf("%s %s: %w", kind, h, ErrObjectAbsent)
	}
	if k != kind {
		return nil, fmt.Errorf("object %s is a %s, not a %s", h, k, kind)
	}
	return data, nil
}

// Snapshot returns the view of a commit whose trees are present.
func (o *Objects) Snapshot(commit Hash) (Snapshot, error) { return o.snapshot(commit, true) }

func (o *Objects) snapshot(commit Hash, complete bool) (*snapshot, error) {
	raw, err := o.want(KindCommit, commit)
	if err != nil {
		return nil, err
	}
	c, err := parseCommit(o.format, raw)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", commit, err)
	}
	return &snapshot{objects: o, id: commit, raw: raw, commit: c, complete: complete}, nil
}

func (o *Objects) rootTree(commit Hash) (Hash, error) {
	raw, err := o.want(KindCommit, commit)
	if err != nil {
		return "", err
	}
	c, err := parseCommit(o.format, raw)
	if err != nil {
		return "", fmt.Errorf("commit %s: %w", commit, err)
	}
	return c.tree, nil
}

// short is an id for people.
func (h Hash) short() string {
	if h == "" {
		return "nothing"
	}
	return string(h[:min(len(h), 10)])
}

// quoteRef makes a server-supplied name safe to print.
func quoteRef(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
