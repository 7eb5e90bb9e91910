// Package gitstore reads one commit of a git remote and moves refs by compare-and-set.
//
// It knows nothing of posts or ledgers. A Remote is reached either through go-git's transport (the default),
// through the git command (for its helpers, proxies, ssh configuration and sha256 repositories), or in memory
// (package memgit). It never opens, and never writes, the repository that a user works in.
package gitstore

import (
	"context"
	"io"
	"time"
)

// Hash is a git object id in lower-case hex: 40 digits (sha1) or 64 (sha256). The empty Hash means "no such object" or,
// as an old value, "the ref must not exist".
type Hash string

// Refs is one advertisement of a remote's refs.
type Refs struct {
	// Tips maps full ref names ("refs/heads/main") to commits.
	Tips map[string]Hash
	// Head is the full name of the branch that HEAD points at, where the remote says so.
	Head string
	// Date is the remote's own clock (the HTTP Date header), zero where the transport has none.
	Date time.Time
	// At is when the answer arrived, by the clock of Options.Now.
	At time.Time
	// Atomic tells whether the remote offers to update several refs in one transaction. A remote says so only to a push:
	// what Remote.Refs tells is an assumption, and what Result.Refs tells is known.
	Atomic bool
}

// Mode is a tree entry's file mode, as git writes it.
type Mode uint32

// The modes a tree entry can have.
const (
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// Entry is one file of a commit's tree.
type Entry struct {
	Path string // slash-separated, relative to the root
	Mode Mode
	Blob Hash
}

// Snapshot is one commit with its tree. Its blobs may be absent until FetchBlobs brings them.
// A Snapshot stays valid, and unchanged, for as long as its Remote is open.
type Snapshot interface {
	// Commit is the id of the commit.
	Commit() Hash
	// Raw is the commit object as git stores it (headers, signature, message), without the object header.
	Raw() []byte
	// Parents are the commit's parents; they need not be present.
	Parents() []Hash
	// Entries lists all files below the directory prefix ("" for all), sorted by path; a prefix that is a file lists it.
	Entries(prefix string) ([]Entry, error)
	// Entry finds one file by path; ok is false when the tree has none.
	Entry(path string) (e Entry, ok bool, err error)
	// Read returns a blob's bytes. A blob that was not fetched is ErrBlobAbsent.
	Read(blob Hash) ([]byte, error)
}

// Change is one file to write (Data) or to remove (Remove) in a new commit.
type Change struct {
	Path   string
	Data   []byte
	Remove bool
}

// Commit describes a commit to build.
type Commit struct {
	Parent  Snapshot // nil for a root commit
	Changes []Change
	// Also are further parents; nothing of their trees is taken over. A ref at any parent moves to the commit without
	// force. The remote must have them.
	Also []Hash
	// Message is written as it is; a missing final newline is added.
	Message string
	Name    string
	Email   string
	When    time.Time
	// Sign returns the armored signature over the unsigned commit object; nil leaves the commit unsigned.
	Sign func(payload []byte) (string, error)
}

// Update moves one ref from exactly Old to New. An empty Old creates the ref and requires that it does not exist.
type Update struct {
	Ref string
	Old Hash
	New Snapshot // a Snapshot that Build returned, or one that was fetched
}

// Outcome says what is known after a push.
type Outcome int

const (
	// Landed means that the server confirmed every update, or already shows exactly the new values.
	Landed Outcome = iota
	// LostRace means that nothing was updated: a ref is not at the old value.
	LostRace
	// Moved means that nothing was sent: a ref of Push.Expect is not where it was.
	Moved
	// Rejected means that the server refused by policy: a hook, a protected branch, a size limit.
	Rejected
	// AuthError means 401, 403, 404 or their kin over ssh: nothing was updated.
	AuthError
	// Unknown means that the request left and its effect is not known: look at the remote.
	Unknown
	// NotSent means that it failed before anything was sent: safe to send again.
	NotSent
)

// Push is one compare-and-set request.
type Push struct {
	// Updates are applied together where the remote is atomic; else in order, stopping at the first that fails.
	Updates []Update
	// Expect names refs that must still be at these commits in the same advertisement that the push is decided from
	// (an empty Hash: must be absent). Otherwise the outcome is Moved.
	Expect map[string]Hash
}

// Result is the outcome of a push with the server's own words.
type Result struct {
	Outcome Outcome
	// Refs is the advertisement that the push was decided from; zero where none was read.
	Refs Refs
	// Message is what the server said, for a person to read; never a secret.
	Message string
	// Err is the cause when the outcome is not Landed.
	Err error
	// Applied names the refs known to have moved when several were sent to a remote without atomic updates.
	Applied []string
}

// FetchOptions narrow what a fetch brings.
type FetchOptions struct {
	// Have is a Snapshot of this Remote whose objects are complete: the server sends only the difference. Nil for none.
	Have Snapshot
	// At is the tip that a Refs of this Remote has just shown for the ref. Where the transport keeps nothing between
	// requests the remote is then not looked at again; otherwise, and where At is not to be had, the ref's present tip is
	// fetched. Empty: look again.
	At Hash
	// TreesOnly asks for commit and trees without blobs, where the remote can filter; else all is fetched.
	TreesOnly bool
}

// Remote is one git remote. Implementations are safe for concurrent use.
type Remote interface {
	// Refs reads the advertisement once.
	Refs(ctx context.Context) (Refs, error)
	// Fetch brings the tip commit of ref at depth 1, never more. It returns nil, nil when the ref does not exist.
	Fetch(ctx context.Context, ref string, opt FetchOptions) (Snapshot, error)
	// FetchBlobs makes these blobs of s readable, asking only for what is absent. The server must allow wanting
	// reachable objects; where it does not, the whole commit is fetched again with its blobs.
	FetchBlobs(ctx context.Context, s Snapshot, blobs []Hash) error
	// History reports, newest first, the commits at which the blob at path was last changed on ref, deepening as far
	// as needed, up to limit changes (0 for all). It follows first parents: a merge is the moment at which its changes
	// came onto the branch.
	History(ctx context.Context, ref, path string, limit int) ([]FileChange, error)
	// Build makes the objects of a new commit locally; nothing is sent.
	Build(ctx context.Context, c Commit) (Snapshot, error)
	// Push sends the updates once; it never retries and never forces.
	Push(ctx context.Context, p Push) Result
	// URL is the remote's address without any credential.
	URL() string
	io.Closer
}

// FileChange is one commit that changed a file.
type FileChange struct {
	Commit Hash
	When   time.Time // committer time
	Blob   Hash      // "" where the commit removed the file
}
