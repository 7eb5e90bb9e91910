package publish

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids, not a signature
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/media"
)

// tree shows the content tip as files. Bytes come from the checkout where they are the very same blob, else from the
// remote: a checkout may be hours old, and is never trusted.
type tree struct {
	ctx    context.Context //nolint:containedctx // lives as long as one look at the content
	remote gitstore.Remote
	snap   gitstore.Snapshot
	root   *os.Root // nil without a checkout
	// settled are the files that need not be read, with the ids of their posts.
	settled map[string]string

	// all lists every file once: looking paths up in trees one by one would read the same trees again for each.
	all    []gitstore.Entry
	byPath map[string]gitstore.Entry

	mu    sync.Mutex
	blobs map[gitstore.Hash][]byte
}

func newTree(ctx context.Context, remote gitstore.Remote, snap gitstore.Snapshot, local string) (*tree, error) {
	all, err := snap.Entries("")
	if err != nil {
		return nil, fmt.Errorf("cannot list the content: %w", err)
	}
	t := &tree{ctx: ctx, remote: remote, snap: snap, blobs: map[gitstore.Hash][]byte{}, all: all, byPath: make(map[string]gitstore.Entry, len(all))}
	for _, e := range all {
		t.byPath[e.Path] = e
	}
	if local != "" {
		if r, err := os.OpenRoot(local); err == nil {
			t.root = r
		}
	}
	return t, nil
}

// below returns the files whose path begins with prefix.
func (t *tree) below(prefix string) []gitstore.Entry {
	i := sort.Search(len(t.all), func(i int) bool { return t.all[i].Path >= prefix })
	j := i
	for j < len(t.all) && strings.HasPrefix(t.all[j].Path, prefix) {
		j++
	}
	return t.all[i:j]
}

// entry finds one file.
func (t *tree) entry(path string) (gitstore.Entry, bool) {
	e, ok := t.byPath[path]
	return e, ok
}

func (t *tree) Close() {
	if t.root != nil {
		_ = t.root.Close()
	}
}

// List returns the files below prefix.
func (t *tree) List(prefix string) ([]content.File, error) {
	es := t.below(dirPrefix(prefix))
	if e, ok := t.entry(prefix); ok {
		es = []gitstore.Entry{e} // one file, by its path
	}
	out := make([]content.File, 0, len(es))
	for _, e := range es {
		if e.Mode == gitstore.ModeSubmodule {
			continue
		}
		out = append(out, content.File{Path: e.Path, Sum: string(e.Blob), Symlink: e.Mode == gitstore.ModeSymlink})
	}
	return out, nil
}

func dirPrefix(p string) string {
	p = strings.Trim(p, "/")
	if p == "" || p == "." {
		return ""
	}
	return p + "/"
}

// Read returns one file's bytes at the content tip. A missing file is an error that is fs.ErrNotExist.
func (t *tree) Read(path string) ([]byte, error) {
	e, ok := t.entry(path)
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	}
	if e.Mode == gitstore.ModeSymlink {
		return nil, fmt.Errorf("%s: %w", path, media.ErrSymlink)
	}
	return t.blob(e)
}

func (t *tree) blob(e gitstore.Entry) ([]byte, error) {
	if b, ok := t.cached(e.Blob); ok {
		return b, nil
	}
	if b, ok := t.fromCheckout(e); ok {
		return t.keep(e.Blob, b), nil
	}
	b, err := t.snap.Read(e.Blob)
	if err != nil {
		if err := t.remote.FetchBlobs(t.ctx, t.snap, []gitstore.Hash{e.Blob}); err != nil {
			return nil, fmt.Errorf("cannot fetch %s: %w", e.Path, err)
		}
		if b, err = t.snap.Read(e.Blob); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", e.Path, err)
		}
	}
	return t.keep(e.Blob, b), nil
}

// prefetch brings every file below the prefixes that the checkout does not have, in one request.
func (t *tree) prefetch(prefixes ...string) error {
	var want []gitstore.Hash
	for _, p := range prefixes {
		for _, e := range t.below(p) {
			if _, skip := t.settled[e.Path]; skip || e.Mode == gitstore.ModeSubmodule || e.Mode == gitstore.ModeSymlink || !strings.HasSuffix(e.Path, ".md") && !strings.HasSuffix(e.Path, ".age") {
				continue
			}
			if _, ok := t.cached(e.Blob); ok {
				continue
			}
			if b, ok := t.fromCheckout(e); ok {
				t.keep(e.Blob, b)
				continue
			}
			if _, err := t.snap.Read(e.Blob); err != nil {
				want = append(want, e.Blob)
			}
		}
	}
	if len(want) == 0 {
		return nil
	}
	slices.Sort(want)
	return t.remote.FetchBlobs(t.ctx, t.snap, slices.Compact(want))
}

func (t *tree) cached(h gitstore.Hash) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, ok := t.blobs[h]
	return b, ok
}

func (t *tree) keep(h gitstore.Hash, b []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blobs[h] = b
	return b
}

// maxLocal bounds what is read from a checkout in the hope that it is the blob.
const maxLocal = 512 << 20

func (t *tree) fromCheckout(e gitstore.Entry) ([]byte, bool) {
	if t.root == nil || e.Mode == gitstore.ModeSymlink {
		return nil, false
	}
	f, err := t.root.Open(e.Path)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxLocal {
		return nil, false
	}
	b, err := io.ReadAll(f)
	if err != nil || BlobID(b, len(e.Blob)) != e.Blob {
		return nil, false
	}
	return b, true
}

// BlobID is the id that git gives to these bytes, sha1 (digits 40) or sha256 (digits 64).
func BlobID(data []byte, digits int) gitstore.Hash {
	h := sha1.New() //nolint:gosec // git's object ids, not a signature
	if digits == 64 {
		h = sha256.New()
	}
	h.Write(fmt.Appendf(nil, "blob %d\x00", len(data)))
	h.Write(data)
	return gitstore.Hash(hex.EncodeToString(h.Sum(nil)))
}
