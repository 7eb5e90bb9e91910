package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// Refusal is why a ledger is not used. Nothing is published after one.
type Refusal struct {
	Code    string // no_ledger, ledger_rewound, ledger_unsigned, ledger_elsewhere, ledger_broken, ledger_newer
	Message string
	Hint    string
	Err     error
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// ErrMoved tells that the content branch is no longer where a decision was made from: decide again.
var ErrMoved = errors.New("the content branch has moved")

// PushError is why a commit could not be brought to the remote. Nothing of it is known to have landed.
type PushError struct {
	Outcome gitstore.Outcome
	Branch  string
	Message string // the server's words
	Err     error
}

func (e *PushError) Error() string {
	what := map[gitstore.Outcome]string{
		gitstore.LostRace:  "the ledger kept moving",
		gitstore.Rejected:  "the remote refused the push",
		gitstore.AuthError: "the remote did not allow the push",
		gitstore.Unknown:   "the remote's answer to the push was lost",
		gitstore.NotSent:   "the remote could not be reached",
	}[e.Outcome]
	if what == "" {
		what = "the push failed"
	}
	s := fmt.Sprintf("could not record on %s: %s", e.Branch, what)
	if m := strings.TrimSpace(e.Message); m != "" {
		s += ": " + m
	} else if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *PushError) Unwrap() error { return e.Err }

// Hint says what a person can do about it.
func (e *PushError) Hint() string {
	switch e.Outcome {
	case gitstore.AuthError:
		return "give the job a token that may push to " + e.Branch + " (GitHub: permissions: contents: write)"
	case gitstore.Rejected:
		return "allow pushes to " + e.Branch + " and its mark branch: protect them against deletion and force pushes only"
	case gitstore.LostRace, gitstore.Unknown, gitstore.NotSent, gitstore.Landed, gitstore.Moved:
		return "run again when the remote answers"
	}
	return ""
}

func refuseNoLedger(opt Options, refs gitstore.Refs) error {
	r := &Refusal{
		Code:    "no_ledger",
		Message: fmt.Sprintf("there is no ledger: %s has no branch %s", opt.Remote.URL(), opt.Config.Branch),
		Hint:    "first time here: `broadside init`; if the branch was deleted: `broadside ledger restore` from any clone that has it",
	}
	if _, ok := refs.Tips[opt.Config.MarkRef()]; ok {
		r.Code = "ledger_rewound"
		r.Message += fmt.Sprintf(", though %s-mark is there: the ledger was deleted", opt.Config.Branch)
		r.Hint = "bring it back with `broadside ledger restore`; never start a new one: what went out would go out again"
	}
	return r
}

func refuseBroken(opt Options, err error) error {
	r := &Refusal{
		Code: "ledger_broken", Err: err,
		Message: fmt.Sprintf("the ledger on %s cannot be read: %v", opt.Config.Branch, err),
		Hint:    "`broadside ledger verify` lists every fault; nothing is published until it is mended",
	}
	if _, ok := errors.AsType[*ledger.UnknownKindError](err); ok {
		r.Code = "ledger_newer"
		r.Hint = "a newer broadside has written to this ledger: update this one"
	}
	return r
}

// check is every test that a ledger's tip must pass before it is believed.
func check(opt Options, snap gitstore.Snapshot, mark gitstore.Hash, state *ledger.State) error {
	if err := checkSigner(opt, snap, state); err != nil {
		return err
	}
	if err := checkMark(opt, snap, mark); err != nil {
		return err
	}
	return checkHome(opt, state)
}

// checkSigner holds that the ledger's signer made the tip. state may be nil, where it could not be read.
func checkSigner(opt Options, snap gitstore.Snapshot, state *ledger.State) error {
	if opt.Config.Signer == "" {
		return &Refusal{
			Code: "ledger_unsigned", Message: "broadside.yaml names no ledger signer",
			Hint: "`broadside init` writes ledger.signer; restore the line from the history of broadside.yaml",
		}
	}
	key, err := parseSigner(opt.Config.Signer)
	if err != nil {
		return &Refusal{
			Code: "ledger_unsigned", Err: err, Message: fmt.Sprintf("ledger.signer in broadside.yaml is not a public key: %v", err),
			Hint: "it is one line as in authorized_keys: ssh-ed25519 AAAA...",
		}
	}
	if state != nil && state.Binding.Signer != "" && !sameKey(state.Binding.Signer, key) {
		return &Refusal{
			Code:    "ledger_unsigned",
			Message: "broadside.yaml names another ledger signer than the ledger itself",
			Hint:    "restore ledger.signer in broadside.yaml from its history",
		}
	}
	if _, err := gitstore.VerifySSH(snap.Raw(), []ssh.PublicKey{key}); err != nil {
		return &Refusal{
			Code: "ledger_unsigned", Err: err,
			Message: fmt.Sprintf("commit %.12s at the tip of %s is not signed by the ledger's signer (%v)", snap.Commit(), opt.Config.Branch, err),
			Hint:    "somebody without the key has written to the ledger; look at that commit, then `broadside ledger restore`",
		}
	}
	return nil
}

func checkMark(opt Options, snap gitstore.Snapshot, mark gitstore.Hash) error {
	if mark == snap.Commit() {
		return nil
	}
	if slices.Contains(snap.Parents(), mark) {
		return nil
	}
	what := fmt.Sprintf("%s-mark is at %.12s, the ledger at %.12s", opt.Config.Branch, mark, snap.Commit())
	if mark == "" {
		what = fmt.Sprintf("%s-mark is missing", opt.Config.Branch)
	}
	return &Refusal{
		Code:    "ledger_rewound",
		Message: what + ": the ledger has been rewound or tampered with",
		Hint:    "`broadside ledger restore` shows both and appends what is missing; nothing is published until then",
	}
}

func checkHome(opt Options, state *ledger.State) error {
	b := state.Binding
	if opt.Config.ID != "" && b.Ledger != opt.Config.ID {
		return &Refusal{
			Code:    "ledger_elsewhere",
			Message: fmt.Sprintf("the ledger on %s is %s, broadside.yaml names %s", opt.Config.Branch, b.Ledger, opt.Config.ID),
			Hint:    "restore ledger.id in broadside.yaml, or the branch that belongs to it",
		}
	}
	if opt.Home.URL == "" || opt.AnyHome {
		return nil
	}
	var why string
	switch {
	case b.RepoID != "" && opt.Home.RepoID != "":
		if b.RepoID != opt.Home.RepoID {
			why = fmt.Sprintf("it belongs to repository %s (%s), this is repository %s (%s)", b.RepoID, b.HomeURL, opt.Home.RepoID, opt.Home.URL)
		}
	case NormalizeURL(b.HomeURL) != NormalizeURL(opt.Home.URL):
		why = fmt.Sprintf("it belongs to %s, this is %s", b.HomeURL, opt.Home.URL)
	}
	if why == "" && opt.Home.ContentBranch != "" && b.ContentBranch != opt.Home.ContentBranch {
		why = fmt.Sprintf("it publishes from branch %s, this run looks at %s", b.ContentBranch, opt.Home.ContentBranch)
	}
	if why == "" {
		return nil
	}
	return &Refusal{
		Code:    "ledger_elsewhere",
		Message: "this ledger is not for here: " + why,
		Hint:    "in a fork or mirror nothing is to be done: its home publishes; if the repository has moved: `broadside ledger move`",
	}
}

// NormalizeURL brings the spellings of one remote to the same text: scheme, user, port and a final .git do not count.
func NormalizeURL(u string) string {
	s := strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(u), "/"), ".git")
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		if scheme == "file" {
			return rest
		}
		host, path, _ := strings.Cut(rest, "/")
		if i := strings.LastIndex(host, "@"); i >= 0 {
			host = host[i+1:]
		}
		if scheme == "ssh" || scheme == "https" {
			host, _, _ = strings.Cut(host, ":")
		}
		return strings.ToLower(host) + "/" + path
	}
	if host, path, ok := strings.Cut(s, ":"); ok && !strings.Contains(host, "/") {
		if i := strings.LastIndex(host, "@"); i >= 0 {
			host = host[i+1:]
		}
		return strings.ToLower(host) + "/" + strings.TrimPrefix(path, "/")
	}
	return s
}

func parseSigner(line string) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	return key, err
}

func sameKey(line string, key ssh.PublicKey) bool {
	k, err := parseSigner(line)
	return err == nil && string(k.Marshal()) == string(key.Marshal())
}
