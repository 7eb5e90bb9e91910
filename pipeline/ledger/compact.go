package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// FileChange is one file to write or to remove in a commit.
type FileChange struct {
	Path   string
	Data   []byte
	Remove bool
}

// Compact folds everything up to s.Number into archive/ and removes all event files. s must be what files load to. The
// commit that carries the changes also carries the event file s.Number + 1 (NextFile), so that it has a number and a
// token like any other. Loading the result gives the same state. A state to which events were applied that no file has
// yet is refused: they would be folded twice.
func Compact(s *State, files Files, now time.Time) ([]FileChange, error) {
	if s.ahead > 0 {
		return nil, fmt.Errorf("ledger: cannot compact: the state is %d events ahead of the files", s.ahead)
	}
	events, err := eventFiles(files)
	if err != nil {
		return nil, err
	}
	open, months, err := readArchives(files)
	if err != nil {
		return nil, err
	}
	if err := fitArchives(open, months); err != nil {
		return nil, err
	}
	if n := len(events); n > 0 && events[n-1].Number != s.Number || n == 0 && (open == nil || open.header.Number != s.Number) {
		return nil, fmt.Errorf("ledger: cannot compact: the state is at number %d, the files are not", s.Number)
	}
	keep, rewrite := s.archiveHomes(months, now)
	var out []FileChange
	head := header{Number: s.Number, V: FormatVersion}
	if open != nil {
		head.Files = slices.Clone(open.header.Files)
	}
	for _, p := range slices.Sorted(maps.Keys(rewrite)) {
		data := s.monthData(slices.Concat(rewrite[p], keep[p]))
		sum := sha256.Sum256(data)
		f := fileDigest{Path: p, Number: s.Number, Digest: hex.EncodeToString(sum[:])}
		i, found := slices.BinarySearchFunc(head.Files, p, func(f fileDigest, p string) int { return cmp.Compare(f.Path, p) })
		if found {
			head.Files[i] = f
		} else {
			head.Files = slices.Insert(head.Files, i, f)
		}
		out = append(out, FileChange{Path: p, Data: data})
	}
	settled := map[pipeline.DeliveryID]bool{}
	for _, ids := range []map[string][]pipeline.DeliveryID{keep, rewrite} {
		for _, list := range ids {
			for _, id := range list {
				settled[id] = true
			}
		}
	}
	out = append(out, FileChange{Path: openFile, Data: s.openData(head, settled)})
	for _, e := range events {
		out = append(out, FileChange{Path: e.Path, Remove: true})
	}
	return out, nil
}

// archiveHomes says which settled deliveries stay in the month file that has them, and which come new to one. A file
// that gains none is not written again: a line in it that is out of date is outdone by a higher number elsewhere.
func (s *State) archiveHomes(months []*archiveFile, now time.Time) (keep, rewrite map[string][]pipeline.DeliveryID) {
	keep, rewrite = map[string][]pipeline.DeliveryID{}, map[string][]pipeline.DeliveryID{}
	at := map[pipeline.DeliveryID]string{}
	for _, f := range months {
		for i := range f.records {
			if a := f.records[i].delivery; a != nil && s.Deliveries[a.ID] != nil && s.Deliveries[a.ID].Number == a.Number {
				at[a.ID] = f.path
			}
		}
	}
	for id, d := range s.Deliveries {
		if p, there := at[id]; there {
			// It has not been touched since: it is there as it is, settled or not.
			keep[p] = append(keep[p], id)
		} else if s.Settled(d, now) {
			p = monthFile(d.Touched)
			rewrite[p] = append(rewrite[p], id)
		}
	}
	return keep, rewrite
}

func (s *State) monthData(ids []pipeline.DeliveryID) []byte {
	slices.SortFunc(ids, compareIDs)
	data := appendRecord(nil, "through", headerTable, &header{Number: s.Number, V: FormatVersion})
	for _, id := range ids {
		data = appendDelivery(data, s.Deliveries[id])
	}
	return data
}

func (s *State) openData(head header, settled map[pipeline.DeliveryID]bool) []byte {
	data := appendRecord(nil, "through", headerTable, &head)
	data = appendRecord(data, "binding", bindingTable, &s.Binding)
	data = appendRecord(data, "tip", tipTable, &s.Tip)
	for _, k := range slices.Sorted(maps.Keys(s.Holds)) {
		h := s.Holds[k]
		data = appendRecord(data, "hold", holdTable, &h)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Credentials)) {
		c := s.Credentials[k]
		data = appendRecord(data, "credential", credentialTable, &c)
	}
	for i := range s.Extra {
		x := archivedExtra{ExtraCopy: s.Extra[i], post: s.Extra[i].Delivery.Post, target: string(s.Extra[i].Delivery.Target)}
		data = appendRecord(data, "extra", extraTable, &x)
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.Deliveries), compareIDs) {
		if !settled[id] {
			data = appendDelivery(data, s.Deliveries[id])
		}
	}
	return data
}

func compareIDs(a, b pipeline.DeliveryID) int {
	return cmp.Or(cmp.Compare(a.Post, b.Post), cmp.Compare(a.Target, b.Target))
}
