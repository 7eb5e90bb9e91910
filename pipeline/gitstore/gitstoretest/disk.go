package gitstoretest

import (
	"sync"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

// Disk is the Backend of a real bare repository.
type Disk struct {
	// Dir is the repository.
	Dir string
	// Client opens a remote on it.
	Client func(t *testing.T) gitstore.Remote
	// BeforePush, if there is one, arranges for a function to be called between advertisement and update of pushes.
	BeforePush func(f func())
}

// Open implements Backend.
func (d *Disk) Open(t *testing.T) gitstore.Remote { return d.Client(t) }

// Commit implements Backend.
func (d *Disk) Commit(t *testing.T, ref string, files map[string][]byte) gitstore.Hash {
	t.Helper()
	return gitstore.Hash(gittest.Commit(t, d.Dir, ref, "by another", files))
}

// Tip implements Backend.
func (d *Disk) Tip(t *testing.T, ref string) gitstore.Hash {
	t.Helper()
	return gitstore.Hash(gittest.Tip(t, d.Dir, ref))
}

// Force implements Backend.
func (d *Disk) Force(t *testing.T, ref string, to gitstore.Hash) {
	t.Helper()
	gittest.Git(t, d.Dir, "update-ref", ref, string(to))
}

// Delete implements Backend.
func (d *Disk) Delete(t *testing.T, ref string) {
	t.Helper()
	gittest.Git(t, d.Dir, "update-ref", "-d", ref)
}

// Race implements Backend.
func (d *Disk) Race(_ *testing.T, f func()) bool {
	if d.BeforePush == nil {
		return false
	}
	d.BeforePush(sync.OnceFunc(f))
	return true
}

// Reject implements Backend.
func (d *Disk) Reject(t *testing.T) {
	t.Helper()
	gittest.Hook(t, d.Dir, "pre-receive", "echo 'pushes are declined here' >&2\nexit 1\n")
}

// Check implements Backend.
func (d *Disk) Check(t *testing.T) {
	t.Helper()
	gittest.Git(t, d.Dir, "fsck", "--full", "--strict", "--no-dangling")
}
