// Package journal is a ledger on a git remote: it reads the ledger branch, refuses one that is not ours, and appends to
// it by compare-and-set. Several appends that wait at the same time go out as one commit.
package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// Home is where a run happens: a ledger belongs to one.
type Home struct {
	URL           string // of the remote, without credentials
	RepoID        string // the forge's id of the repository, "" where unknown
	ContentBranch string
}

// Options are what a Journal works with. Remote, Config, Clock, Rand and Sleep are required.
type Options struct {
	Remote gitstore.Remote
	Config pipeline.LedgerConfig
	Home   Home
	// Signer gives the key that signs commits; it is asked once, when something is first written. Nil: read only.
	Signer func(context.Context) (ssh.Signer, error)
	Clock  pipeline.Clock
	// Sleep waits between tries; it returns early with the context's error.
	Sleep func(context.Context, time.Duration) error
	Rand  io.Reader
	Run   string // the run's nonce
	// RunURL is where a person can look the run up; it stands in commit messages.
	RunURL string
	Actor  string // who acts, for a command given by a person
	// AnyHome opens a ledger that belongs to another repository or branch, to rebind it. Nothing is published from one.
	AnyHome bool
}

// Journal is an open ledger. It is safe for concurrent use.
type Journal struct {
	opt Options

	// mu guards what follows. The leader of a group commit holds it only between pushes.
	mu      sync.Mutex
	snap    gitstore.Snapshot
	state   *ledger.State
	refs    gitstore.Refs
	mark    gitstore.Hash
	content string
	config  string
	// followed counts how often the ledger had moved under a look in a row.
	followed int

	queue   []*request
	leading bool
	signer  ssh.Signer
}

// Open reads the ledger at its tip and checks that it is ours. It fails with a *Refusal when there is none, when it
// belongs elsewhere, or when somebody without the signer's key has written to it or rewound it.
func Open(ctx context.Context, opt Options) (*Journal, error) {
	if opt.Config.Branch == "" {
		opt.Config.Branch = pipeline.DefaultLedgerBranch
	}
	j := &Journal{opt: opt}
	if err := j.Sync(ctx); err != nil {
		return nil, err
	}
	return j, nil
}

// Now is the time of new events: the wall clock, UTC, in milliseconds.
func (j *Journal) Now() time.Time { return j.opt.Clock.Wall().UTC().Truncate(time.Millisecond) }

// Stamp marks an event as made now by this run.
func (j *Journal) Stamp() ledger.Stamp { return ledger.Stamp{At: j.Now(), Run: j.opt.Run} }

// State is the state at the last commit that was read or written. Callers do not change it.
func (j *Journal) State() *ledger.State {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Refs is the newest advertisement.
func (j *Journal) Refs() gitstore.Refs {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refs
}

// Snapshot is the ledger's tree at the last commit that was read or written.
func (j *Journal) Snapshot() gitstore.Snapshot {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.snap
}

// Files gives the ledger's files at the last commit, for ledger.Verify and ledger.Story.
func (j *Journal) Files() ledger.Files { return filesOf(j.Snapshot()) }

// Read returns one file of the ledger branch; ok is false when it has none.
func (j *Journal) Read(path string) (data []byte, ok bool, err error) {
	snap := j.Snapshot()
	e, ok, err := snap.Entry(path)
	if err != nil || !ok {
		return nil, false, err
	}
	data, err = snap.Read(e.Blob)
	return data, err == nil, err
}

// Know tells the journal which content the next tip events speak of.
func (j *Journal) Know(content, config string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.content, j.config = content, config
}

// Sync brings the ledger's tip, checks it, and folds what is new.
func (j *Journal) Sync(ctx context.Context) error {
	refs, err := j.opt.Remote.Refs(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the refs of %s: %w", j.opt.Remote.URL(), err)
	}
	return j.syncTo(ctx, refs)
}

func (j *Journal) syncTo(ctx context.Context, refs gitstore.Refs) error {
	j.mu.Lock()
	have, state := j.snap, j.state
	j.mu.Unlock()
	tip, ok := refs.Tips[j.opt.Config.Ref()]
	if !ok {
		return j.lookAgain(ctx, refs, refuseNoLedger(j.opt, refs))
	}
	mark := refs.Tips[j.opt.Config.MarkRef()]
	if have == nil || tip != have.Commit() {
		snap, err := j.opt.Remote.Fetch(ctx, j.opt.Config.Ref(), gitstore.FetchOptions{Have: have, At: tip})
		if err != nil {
			return fmt.Errorf("cannot fetch %s from %s: %w", j.opt.Config.Branch, j.opt.Remote.URL(), err)
		}
		if snap == nil {
			return refuseNoLedger(j.opt, refs)
		}
		if snap.Commit() != tip {
			// The ledger moved between the look and the fetch: the marks must be those of the same moment.
			if refs, err = j.opt.Remote.Refs(ctx); err != nil {
				return fmt.Errorf("cannot read the refs of %s: %w", j.opt.Remote.URL(), err)
			}
			if refs.Tips[j.opt.Config.Ref()] != snap.Commit() {
				return j.again(ctx, refs)
			}
			mark = refs.Tips[j.opt.Config.MarkRef()]
		}
		if state, err = j.fold(have, snap, state); err != nil {
			// That somebody else has written explains more than what is wrong with it.
			if foreign := checkSigner(j.opt, snap, nil); foreign != nil {
				return foreign
			}
			return err
		}
		have = snap
	}
	if err := check(j.opt, have, mark, state); err != nil {
		return j.lookAgain(ctx, refs, err)
	}
	j.mu.Lock()
	j.snap, j.state, j.refs, j.mark, j.followed = have, state, refs, mark, 0
	j.mu.Unlock()
	return nil
}

// lookAgain makes sure of a refusal that says that the ledger was rewound. An advertisement is no snapshot: git reads one
// ref after the other, so that of a push in between the mark alone may show (git 2.39, files backend: 7 of 765 reads beside
// a writer, tried 2026-11-30). Only refs that stay as they are prove anything.
func (j *Journal) lookAgain(ctx context.Context, refs gitstore.Refs, err error) error {
	var r *Refusal
	if !errors.As(err, &r) || r.Code != "ledger_rewound" {
		return err
	}
	now, rerr := j.opt.Remote.Refs(ctx)
	if rerr != nil {
		return fmt.Errorf("cannot read the refs of %s: %w", j.opt.Remote.URL(), rerr)
	}
	for _, ref := range []string{j.opt.Config.Ref(), j.opt.Config.MarkRef()} {
		if now.Tips[ref] != refs.Tips[ref] {
			return j.again(ctx, now)
		}
	}
	return err
}

// maxFollowed bounds how often a ledger that keeps moving is followed at once.
const maxFollowed = 50

// again follows a ledger that keeps moving, a bounded number of times.
func (j *Journal) again(ctx context.Context, refs gitstore.Refs) error {
	j.mu.Lock()
	j.followed++
	n := j.followed
	j.mu.Unlock()
	if n > maxFollowed {
		return fmt.Errorf("%s on %s does not hold still: its refs and its commits do not fit together; run again", j.opt.Config.Branch, j.opt.Remote.URL())
	}
	if err := j.opt.Sleep(ctx, j.jitter(0)); err != nil {
		return err
	}
	return j.syncTo(ctx, refs)
}

// fold brings state from the commit of have to that of snap.
func (j *Journal) fold(have, snap gitstore.Snapshot, state *ledger.State) (*ledger.State, error) {
	if have != nil && state != nil && sameArchive(have, snap) && goesOn(have, snap) {
		next, err := ledger.Extend(state.Fork(), filesOf(snap), state.Number+1)
		if err == nil {
			return next, nil
		}
	}
	next, err := ledger.Load(filesOf(snap))
	if err != nil {
		return nil, refuseBroken(j.opt, err)
	}
	return next, nil
}

// goesOn tells that a commit's events are those of another one, and more. After a restore, or in the hands of a thief, a
// ledger can be longer than it was and yet another: the last event file is the proof, for its name is random.
func goesOn(from, to gitstore.Snapshot) bool {
	es, err := from.Entries("events/")
	if err != nil {
		return false
	}
	last, number := gitstore.Entry{}, 0
	for _, e := range es {
		if f, ok := ledger.ParseEventPath(e.Path); ok && f.Number > number {
			last, number = e, f.Number
		}
	}
	e, ok, err := to.Entry(last.Path)
	return err == nil && ok && e.Blob == last.Blob
}

// sameArchive tells that no compaction lies between two commits.
func sameArchive(a, b gitstore.Snapshot) bool {
	x, err1 := a.Entries("archive/")
	y, err2 := b.Entries("archive/")
	if err1 != nil || err2 != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// files shows a snapshot as the files of a ledger.
type files struct {
	snap gitstore.Snapshot
	// blobs are those of the paths that were listed: finding each again would read the same trees once more.
	blobs map[string]gitstore.Hash
}

func filesOf(s gitstore.Snapshot) files { return files{s, map[string]gitstore.Hash{}} }

func (f files) List(prefix string) ([]string, error) {
	es, err := f.snap.Entries(prefix)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.Path
		f.blobs[e.Path] = e.Blob
	}
	return out, nil
}

func (f files) Read(path string) ([]byte, error) {
	if b, ok := f.blobs[path]; ok {
		return f.snap.Read(b)
	}
	e, ok, err := f.snap.Entry(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("the ledger has no file %s", path)
	}
	return f.snap.Read(e.Blob)
}

// Ledger commits are broadside's own, whoever runs it; the events name people.
const (
	authorName  = "broadside"
	authorEmail = "broadside@localhost"
)
