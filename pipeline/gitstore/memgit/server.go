// Package memgit is a git remote in memory, for simulations: several clients, real object ids and raw commits, faults at
// will, no sockets, no processes, and no waiting but by the time package, so that it runs in a testing/synctest bubble.
package memgit

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
)

// Server is one remote repository. It is safe for concurrent use.
type Server struct {
	mu      sync.Mutex
	objects *gitstore.Objects
	refs    map[string]gitstore.Hash
	past    []map[string]gitstore.Hash // refs after each update, oldest first
	head    string
	atomic  bool
	filter  bool
	faults  func(Op) Fault
	onPush  []func(Event)
	clock   func() time.Time
	seq     int
}

// Event is one ref that moved on the server.
type Event struct {
	Remote string // the client's name; "" when the server itself was told
	Ref    string
	Old    gitstore.Hash
	New    gitstore.Hash // "" when the ref was deleted
}

// NewServer makes an empty repository that is atomic, can filter, and has no clock of its own (Refs.Date is zero).
func NewServer() *Server {
	return &Server{
		objects: gitstore.NewObjects(gitstore.SHA1),
		refs:    map[string]gitstore.Hash{},
		past:    []map[string]gitstore.Hash{{}},
		head:    "refs/heads/main",
		atomic:  true,
		filter:  true,
	}
}

// SetAtomic tells whether several refs can be updated in one transaction.
func (s *Server) SetAtomic(on bool) { s.mu.Lock(); defer s.mu.Unlock(); s.atomic = on }

// SetFilter tells whether blobs can be left out of a fetch.
func (s *Server) SetFilter(on bool) { s.mu.Lock(); defer s.mu.Unlock(); s.filter = on }

// SetHead names the default branch.
func (s *Server) SetHead(ref string) { s.mu.Lock(); defer s.mu.Unlock(); s.head = ref }

// SetClock gives the server a clock for Refs.Date; nil takes it away.
func (s *Server) SetClock(now func() time.Time) { s.mu.Lock(); defer s.mu.Unlock(); s.clock = now }

// SetFaults decides on the fault of every operation of every client; nil means none. It is called without any lock held,
// and may use the server.
func (s *Server) SetFaults(f func(Op) Fault) { s.mu.Lock(); defer s.mu.Unlock(); s.faults = f }

// OnPush adds an observer of every ref that moves. It is called after the move, in order, with the server locked: it must
// not call the server.
func (s *Server) OnPush(f func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onPush = append(s.onPush, f)
}

// Tip is the commit of a ref, "" if there is none.
func (s *Server) Tip(ref string) gitstore.Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refs[ref]
}

// Refs is a copy of all refs.
func (s *Server) Refs() map[string]gitstore.Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.refs)
}

// Snapshot reads a ref as it is now on the server; it is nil if there is no such ref. It cannot be used with a Remote.
func (s *Server) Snapshot(ref string) gitstore.Snapshot {
	tip := s.Tip(ref)
	if tip == "" {
		return nil
	}
	return s.At(tip)
}

// At reads any commit that the server has. It panics where the server does not have it.
func (s *Server) At(commit gitstore.Hash) gitstore.Snapshot {
	snap, err := s.objects.Snapshot(commit)
	if err != nil {
		panic("memgit: " + err.Error())
	}
	return snap
}

// Commit adds a commit on top of a ref, as another user's push would, and returns it. It panics on impossible changes.
func (s *Server) Commit(ref string, changes []gitstore.Change, message string) gitstore.Hash {
	now := time.Now
	s.mu.Lock()
	if s.clock != nil {
		now = s.clock
	}
	s.mu.Unlock()
	return s.CommitAs(ref, gitstore.Commit{
		Changes: changes, Message: message, Name: "Someone Else", Email: "else@example.com", When: now(),
	})
}

// CommitAs is Commit with all of the commit in the caller's hand but its parent, which is the tip of ref.
func (s *Server) CommitAs(ref string, c gitstore.Commit) gitstore.Hash {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Parent = nil
	if tip := s.refs[ref]; tip != "" {
		p, err := s.objects.Snapshot(tip)
		if err != nil {
			panic("memgit: " + err.Error())
		}
		c.Parent = p
	}
	snap, err := s.objects.Build(c)
	if err != nil {
		panic("memgit: " + err.Error())
	}
	s.move("", ref, snap.Commit())
	return snap.Commit()
}

// Force sets a ref to any commit that the server has, as a forced push would: to rewind it, or to branch off.
func (s *Server) Force(ref string, to gitstore.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.objects.Has(to) {
		panic(fmt.Sprintf("memgit: force %s to %s, which does not exist", ref, to))
	}
	s.move("", ref, to)
}

// Delete removes a ref.
func (s *Server) Delete(ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.move("", ref, "")
}

// move changes a ref and tells the observers. The lock is held.
func (s *Server) move(remote, ref string, to gitstore.Hash) {
	e := Event{Remote: remote, Ref: ref, Old: s.refs[ref], New: to}
	if to == "" {
		delete(s.refs, ref)
	} else {
		s.refs[ref] = to
	}
	s.past = append(s.past, maps.Clone(s.refs))
	for _, f := range s.onPush {
		f(e)
	}
}

// view is an advertisement: the refs now, or as they were some updates ago.
func (s *Server) view(stale int) (refs map[string]gitstore.Hash, head string, date time.Time, atomic bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs = s.refs
	if stale > 0 {
		refs = s.past[max(0, len(s.past)-1-stale)]
	}
	if s.clock != nil {
		date = s.clock()
	}
	if _, ok := refs[s.head]; ok {
		head = s.head
	}
	return maps.Clone(refs), head, date, s.atomic
}

// apply is the compare-and-set: all updates, or none.
func (s *Server) apply(remote string, from *gitstore.Objects, updates []gitstore.Update) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range updates {
		if got := s.refs[u.Ref]; got != u.Old {
			return fmt.Errorf("%w: cannot lock ref '%s': is at %q but expected %q", gitstore.ErrLostRace, u.Ref, got, u.Old)
		}
	}
	for _, u := range updates {
		fresh, err := from.NewSince(u.New.Commit(), s.objects.Has)
		if err != nil {
			return err
		}
		for _, h := range fresh {
			kind, data, ok := from.Get(h)
			if !ok {
				return fmt.Errorf("object %s: %w", h, gitstore.ErrObjectAbsent)
			}
			s.objects.Put(kind, data)
		}
		if !s.objects.Has(u.New.Commit()) {
			return fmt.Errorf("%w: %s: missing necessary objects", gitstore.ErrRejected, u.Ref)
		}
	}
	for _, u := range updates {
		s.move(remote, u.Ref, u.New.Commit())
	}
	return nil
}

// fault numbers an operation and asks for its fault.
func (s *Server) fault(op Op) Fault {
	s.mu.Lock()
	s.seq++
	op.Seq = s.seq
	f := s.faults
	s.mu.Unlock()
	if f == nil {
		return Fault{}
	}
	return f(op)
}
