package blueskytest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// AddAccount makes an account with this handle.
func (s *Server) AddAccount(handle string) Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := Account{DID: "did:plc:" + token(24), Handle: handle, AppPassword: strings.Join([]string{token(4), token(4), token(4), token(4)}, "-")}
	s.accounts[a.DID] = &account{Account: a, records: map[string]stored{}, blobs: map[string]blob{}}
	s.handles[handle] = a.DID
	return a
}

// AddHandle makes a handle known that belongs to an account elsewhere.
func (s *Server) AddHandle(handle, did string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles[handle] = did
}

// SetStatus makes an account "deactivated" or "takendown", or active with "".
func (s *Server) SetStatus(did, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[did].status = status
}

// ChangeAppPassword revokes the app password and the sessions of an account and returns a new password.
func (s *Server) ChangeAppPassword(did string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[did]
	a.AppPassword = token(16)
	for id, t := range s.refresh {
		if t.did == did {
			s.gone[t.session] = true
			delete(s.refresh, id)
		}
	}
	return a.AppPassword
}

// Put stores a record as another program of the account would, replacing what is there.
func (s *Server) Put(did, rkey string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	cid, err := RecordCID(raw)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[did].records[rkey] = stored{cid: cid, raw: raw}
}

// DropBlobs forgets the blobs of an account that no record shows, as a server does after a while.
func (s *Server) DropBlobs(did string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[did]
	for cid := range a.blobs {
		if !slices.ContainsFunc(slices.Collect(maps.Values(a.records)), func(r stored) bool { return bytes.Contains(r.raw, []byte(cid)) }) {
			delete(a.blobs, cid)
		}
	}
}

// Records lists the posts of an account, the oldest record key first.
func (s *Server) Records(did string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[did]
	var out []Record
	for _, k := range slices.Sorted(maps.Keys(a.records)) {
		out = append(out, Record{URI: uri(did, k), CID: a.records[k].cid, RKey: k, Value: a.records[k].raw})
	}
	return out
}

// Posts lists the posts of an account as people see them, the oldest record key first.
func (s *Server) Posts(did string) []Post {
	var out []Post
	for _, r := range s.Records(did) {
		var p post
		var e embed
		if err := json.Unmarshal(r.Value, &p); err != nil {
			panic(err) // it was checked when it was written
		}
		if len(p.Embed) > 0 {
			if err := json.Unmarshal(p.Embed, &e); err != nil {
				panic(err)
			}
		}
		shown := Post{URI: r.URI, Langs: p.Langs}
		if p.Text != nil {
			shown.Text = *p.Text
		}
		if p.Reply != nil {
			shown.Parent = p.Reply.Parent.URI
		}
		for _, i := range e.Images {
			shown.Images = append(shown.Images, Image{SHA256: s.sum(did, i.Image), Alt: *i.Alt})
		}
		if e.External != nil && e.External.Thumb != nil {
			shown.Images = append(shown.Images, Image{SHA256: s.sum(did, e.External.Thumb)})
		}
		out = append(out, shown)
	}
	return out
}

func (s *Server) sum(did string, b *blobValue) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts[did].blobs[b.Ref.Link].sha256
}

// Session begins a session without a request and returns its tokens.
func (s *Server) Session(did string) (access, refresh string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.begin(s.accounts[did], token(16), token(16))
	access, _ = answer["accessJwt"].(string)
	refresh, _ = answer["refreshJwt"].(string)
	return access, refresh
}

// Requests lists what was asked, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count is how often a method was called.
func (s *Server) Count(nsid string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.NSID == nsid {
			n++
		}
	}
	return n
}
