package gitstore

import (
	"fmt"
	"slices"
)

// snapshot is the Snapshot of all remotes here.
type snapshot struct {
	objects *Objects
	id      Hash
	raw     []byte
	commit  commitObject
	// complete tells that the blobs are present too, so that it can serve as FetchOptions.Have of a full fetch.
	complete bool
	// ref is where it was fetched from; "" for a built one.
	ref string
}

var _ Snapshot = (*snapshot)(nil)

func (s *snapshot) Commit() Hash    { return s.id }
func (s *snapshot) Raw() []byte     { return slices.Clone(s.raw) }
func (s *snapshot) Parents() []Hash { return slices.Clone(s.commit.parents) }

func (s *snapshot) Entries(prefix string) ([]Entry, error) {
	return s.objects.entries(s.commit.tree, prefix)
}

func (s *snapshot) Entry(path string) (Entry, bool, error) {
	return s.objects.entry(s.commit.tree, path)
}

func (s *snapshot) Read(blob Hash) ([]byte, error) {
	kind, data, ok := s.objects.Get(blob)
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", blob, ErrBlobAbsent)
	}
	if kind != KindBlob {
		return nil, fmt.Errorf("object %s is a %s, not a blob", blob, kind)
	}
	return slices.Clone(data), nil
}

// owned returns the snapshot behind s if it belongs to o.
func (o *Objects) owned(s Snapshot) (*snapshot, error) {
	x, ok := s.(*snapshot)
	if !ok || x == nil || x.objects != o {
		return nil, ErrForeignSnapshot
	}
	return x, nil
}
