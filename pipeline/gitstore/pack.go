package gitstore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// packStore shows an Objects to go-git's packfile code. What is written is staged, so that a broken pack leaves no trace.
type packStore struct {
	base   *Objects
	staged map[Hash]object
}

var _ storer.EncodedObjectStorer = (*packStore)(nil)

var errNotSupported = errors.New("not supported")

func (p *packStore) NewEncodedObject() plumbing.EncodedObject { return new(plumbing.MemoryObject) }

func (p *packStore) SetEncodedObject(e plumbing.EncodedObject) (plumbing.Hash, error) {
	r, err := e.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer r.Close()
	data := make([]byte, e.Size())
	if _, err := io.ReadFull(r, data); err != nil {
		return plumbing.ZeroHash, err
	}
	h := e.Hash()
	p.staged[Hash(h.String())] = object{ObjectKind(e.Type().String()), data}
	return h, nil
}

func (p *packStore) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	id := Hash(h.String())
	x, ok := p.staged[id]
	if !ok {
		x.kind, x.data, ok = p.base.Get(id)
	}
	if !ok {
		return nil, plumbing.ErrObjectNotFound
	}
	kind, err := plumbing.ParseObjectType(string(x.kind))
	if err != nil || t != plumbing.AnyObject && t != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return &packObject{h, kind, x.data}, nil
}

func (p *packStore) IterEncodedObjects(plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	return nil, errNotSupported
}

func (p *packStore) HasEncodedObject(h plumbing.Hash) error {
	_, err := p.EncodedObject(plumbing.AnyObject, h)
	return err
}

func (p *packStore) EncodedObjectSize(h plumbing.Hash) (int64, error) {
	e, err := p.EncodedObject(plumbing.AnyObject, h)
	if err != nil {
		return 0, err
	}
	return e.Size(), nil
}

func (p *packStore) AddAlternate(string) error { return errNotSupported }

// packObject is an object to read.
type packObject struct {
	id   plumbing.Hash
	kind plumbing.ObjectType
	data []byte
}

func (o *packObject) Hash() plumbing.Hash         { return o.id }
func (o *packObject) Type() plumbing.ObjectType   { return o.kind }
func (o *packObject) SetType(plumbing.ObjectType) {}
func (o *packObject) Size() int64                 { return int64(len(o.data)) }
func (o *packObject) SetSize(int64)               {}
func (o *packObject) Reader() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(o.data)), nil
}
func (o *packObject) Writer() (io.WriteCloser, error) { return nil, errNotSupported }

// readPack reads the pack of an answer into o, all or nothing. Bases of deltas may be in o already.
func (o *Objects) readPack(r io.Reader, a *advert) error {
	r = io.LimitReader(r, maxPack)
	switch {
	case a.has("side-band-64k"):
		r = sideband.NewDemuxer(sideband.Sideband64k, r)
	case a.has("side-band"):
		r = sideband.NewDemuxer(sideband.Sideband, r)
	}
	st := &packStore{base: o, staged: map[Hash]object{}}
	br := bufio.NewReader(r)
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(br), st)
	if err != nil {
		return err
	}
	if _, err := parser.Parse(); err != nil {
		return fmt.Errorf("read the pack: %w", err)
	}
	o.merge(st.staged)
	return nil
}

// writePack packs these objects, without deltas: a ledger's commits are small and new.
func (o *Objects) writePack(w io.Writer, ids []Hash) error {
	hashes := make([]plumbing.Hash, len(ids))
	for i, id := range ids {
		hashes[i] = plumbing.NewHash(string(id))
	}
	st := &packStore{base: o, staged: map[Hash]object{}}
	_, err := packfile.NewEncoder(w, st, true).Encode(hashes, 0)
	return err
}
