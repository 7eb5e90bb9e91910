package ledger

import (
	"slices"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
)

// Bind ties the ledger to its home: the first event of a ledger, and later by init (which only adds the repository's id),
// move or restore. b.Ledger, HomeURL, ContentBranch are required; At, Baseline and Why of b are ignored.
func (s *State) Bind(st Stamp, b Binding, actor, why string) (Event, error) {
	return s.make(st, Event{
		Kind: Bound, Ledger: b.Ledger, HomeURL: b.HomeURL, RepoID: b.RepoID, ContentBranch: b.ContentBranch,
		Signer: b.Signer, Actor: actor, Why: why,
	})
}

// HoldInput is a hold to set.
type HoldInput struct {
	Hold   string // random id: lower-case letters, digits, dashes
	Scope  string // ScopeAll, ScopePost, ScopeTarget, ScopeLogin
	Reason pipeline.Reason
	Detail string // a person's own words
	Login  string // the login that was refused: the hold binds no other
}

// Hold forbids claims in a scope, from the commit on that carries it.
func (s *State) Hold(st Stamp, in HoldInput) (Event, error) {
	return s.make(st, Event{
		Kind: Held, Hold: in.Hold, Scope: in.Scope, Reason: in.Reason, Detail: in.Detail, Login: in.Login,
	})
}

// Release lifts a hold.
func (s *State) Release(st Stamp, hold string, reason pipeline.Reason, detail string) (Event, error) {
	return s.make(st, Event{
		Kind: Released, Hold: hold, Scope: s.scopeOf(hold), Reason: reason, Detail: detail, Login: s.Holds[hold].Login,
	})
}

func (s *State) scopeOf(hold string) string {
	if h, ok := s.Holds[hold]; ok {
		return h.Scope
	}
	return ScopeAll
}

// BeginRefresh says that a run will refresh a credential: no claim uses its login until the lease ends or EndRefresh.
// It is refused while an attempt uses the login, and while another run has a refresh under its lease.
func (s *State) BeginRefresh(st Stamp, login string, leaseUntil time.Time) (Event, error) {
	return s.make(st, Event{
		Kind: Refreshing, Login: login, Seq: s.Credentials[login].Seq + 1, LeaseUntil: leaseUntil,
	})
}

// GiveUpRefresh ends the lease of a refresh that the run has begun and will not finish.
func (s *State) GiveUpRefresh(st Stamp, login string) (Event, error) {
	if c := s.Credentials[login]; !c.Pending || c.PendingRun != st.Run {
		return Event{}, &IllegalError{Move: MoveBeginRefresh, Code: CodeForeign, Why: "no refresh of this run is pending"}
	}
	return s.BeginRefresh(st, login, st.At)
}

// EndRefresh says that the successor of a credential is in this very commit, at file, with this SHA-256.
func (s *State) EndRefresh(st Stamp, login, file, digest string) (Event, error) {
	return s.make(st, Event{
		Kind: Refreshed, Login: login, Seq: s.Credentials[login].Seq + 1, File: file, Digest: digest,
	})
}

// TipInput is what a run knew when it wrote a file.
type TipInput struct {
	Content  string    // content commit; "" keeps the last one
	Config   string    // hash of broadside.yaml; "" keeps the last one
	Next     time.Time // NextWake after the events of this file, or sooner
	Finished bool
	Told     []string  // fingerprints of all that stands and has been told; nil keeps the last list
	ToldAt   time.Time // when all that stood was last told; zero: At where Told names something new, else as before
	Chain    string
	Waiting  int
}

// TipEvent is the last line of every file.
func (s *State) TipEvent(st Stamp, in TipInput) (Event, error) {
	e := Event{
		Kind: TipEv, Content: in.Content, Config: in.Config, Next: in.Next, Finished: in.Finished,
		Told: slices.Clone(in.Told), ToldAt: in.ToldAt, Chain: in.Chain, Waiting: in.Waiting,
	}
	if e.Content == "" {
		e.Content = s.Tip.Content
	}
	if e.Config == "" {
		e.Config = s.Tip.Config
	}
	if in.Told == nil {
		e.Told = slices.Clone(s.Tip.Told)
	}
	if e.ToldAt.IsZero() && slices.ContainsFunc(e.Told, func(f string) bool { return !slices.Contains(s.Tip.Told, f) }) {
		e.ToldAt = st.At
	}
	return s.make(st, e)
}
