package gitstore

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNoRepository means that no git repository encloses the directory.
	ErrNoRepository = errors.New("not inside a git repository")
	// ErrBlobAbsent means that a blob is not in memory: FetchBlobs brings it.
	ErrBlobAbsent = errors.New("blob was not fetched")
	// ErrObjectAbsent means that a commit or a tree is not in memory.
	ErrObjectAbsent = errors.New("object is absent")
	// ErrForeignSnapshot means that a Snapshot of another Remote was passed.
	ErrForeignSnapshot = errors.New("snapshot belongs to another remote")
	// ErrObjectFormat means that the remote's object ids (sha256) are beyond the transport: the git transport can.
	ErrObjectFormat = errors.New("object format not supported by this transport")
	// ErrAuth means that the remote refused the credentials, or wants some, or hides the repository.
	ErrAuth = errors.New("access denied by the git remote")
	// ErrProtocol means that an answer is not what a git server says.
	ErrProtocol = errors.New("unexpected answer from the git remote")
	// ErrRejected means that the remote refused an update by its own policy.
	ErrRejected = errors.New("update refused by the git remote")
	// ErrLostRace means that a ref is not at the value that an update expects.
	ErrLostRace = errors.New("ref is not at the expected commit")
	// ErrMoved means that a ref of Push.Expect is not where it was.
	ErrMoved = errors.New("a watched ref has moved")
	// ErrUnknownOutcome means that a request left and its effect is not known.
	ErrUnknownOutcome = errors.New("outcome of the push is not known")
	// ErrNoGit means that the git command is needed and is not installed.
	ErrNoGit = errors.New("git command not found")
	// ErrClosed means that the Remote was closed.
	ErrClosed = errors.New("git remote is closed")
	// ErrUnsigned means that a commit carries no signature.
	ErrUnsigned = errors.New("commit is not signed")
	// ErrWrongSigner means that a commit's signature is good, but by a key that is not allowed.
	ErrWrongSigner = errors.New("commit is signed by a key that is not allowed")
	// ErrBadSignature means that a commit's signature cannot be read or does not fit the commit.
	ErrBadSignature = errors.New("commit has a bad signature")
)

// HTTPError is an answer outside 2xx from a git server.
type HTTPError struct {
	Status     int
	RetryAfter time.Duration // zero where the server does not say
	Text       string        // the start of a plain-text body
}

func (e *HTTPError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("the git server answered HTTP %d", e.Status)
	}
	return fmt.Sprintf("the git server answered HTTP %d: %s", e.Status, e.Text)
}

// Is tells that 401, 403 and 404 are ErrAuth: a forge hides what the credentials may not see behind 404.
func (e *HTTPError) Is(target error) bool {
	return target == ErrAuth && (e.Status == 401 || e.Status == 403 || e.Status == 404)
}

// AuthFailure is a refusal with what was tried, for a person who has to mend it.
type AuthFailure struct {
	URL    string // without credentials
	Source string // where the credentials came from; see Options
	Hint   string
	Cause  error
}

func (e *AuthFailure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s", ErrAuth, e.URL)
	if e.Source != "" {
		fmt.Fprintf(&b, " (credentials: %s)", e.Source)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return b.String()
}

// Unwrap gives ErrAuth and the cause.
func (e *AuthFailure) Unwrap() []error { return []error{ErrAuth, e.Cause} }

// String names the outcome as it is written in logs.
func (o Outcome) String() string {
	switch o {
	case Landed:
		return "landed"
	case LostRace:
		return "lost race"
	case Moved:
		return "moved"
	case Rejected:
		return "rejected"
	case AuthError:
		return "access denied"
	case Unknown:
		return "unknown"
	case NotSent:
		return "not sent"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}
