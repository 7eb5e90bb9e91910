package gitstoretest

import (
	"sync"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
)

// Mem is the Backend of a repository in memory.
type Mem struct{ Server *memgit.Server }

// Open implements Backend.
func (m *Mem) Open(*testing.T) gitstore.Remote { return m.Server.Remote(memgit.RemoteOptions{}) }

// Commit implements Backend.
func (m *Mem) Commit(_ *testing.T, ref string, files map[string][]byte) gitstore.Hash {
	var changes []gitstore.Change
	for p, data := range files {
		changes = append(changes, gitstore.Change{Path: p, Data: data, Remove: data == nil})
	}
	return m.Server.Commit(ref, changes, "by another")
}

// Tip implements Backend.
func (m *Mem) Tip(_ *testing.T, ref string) gitstore.Hash { return m.Server.Tip(ref) }

// Force implements Backend.
func (m *Mem) Force(_ *testing.T, ref string, to gitstore.Hash) { m.Server.Force(ref, to) }

// Delete implements Backend.
func (m *Mem) Delete(_ *testing.T, ref string) { m.Server.Delete(ref) }

// Race implements Backend.
func (m *Mem) Race(_ *testing.T, f func()) bool {
	once := sync.OnceFunc(f)
	m.Server.SetFaults(func(op memgit.Op) memgit.Fault {
		if op.Kind != memgit.OpPush {
			return memgit.Fault{}
		}
		return memgit.Fault{Kind: memgit.Race, Race: func(*memgit.Server) { once() }}
	})
	return true
}

// Reject implements Backend.
func (m *Mem) Reject(*testing.T) {
	m.Server.SetFaults(func(op memgit.Op) memgit.Fault {
		if op.Kind == memgit.OpPush {
			return memgit.Fault{Kind: memgit.Reject}
		}
		return memgit.Fault{}
	})
}

// Check implements Backend.
func (m *Mem) Check(*testing.T) {}
