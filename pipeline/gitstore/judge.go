package gitstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// judge reads a report. Landed needs an explicit "ok" for every ref.
func judge(report *packp.ReportStatus, todo []Update, said string) (Outcome, error) {
	if report.UnpackStatus != "ok" {
		text := "unpack " + report.UnpackStatus
		return Rejected, fmt.Errorf("%w: %s", ErrRejected, withWords(text, said))
	}
	status := map[string]string{}
	for _, c := range report.CommandStatuses {
		status[c.ReferenceName.String()] = c.Status
	}
	worst, at := Landed, ""
	for _, u := range todo {
		st, ok := status[u.Ref]
		if !ok {
			return Unknown, fmt.Errorf("%w: the server did not report on %s", ErrUnknownOutcome, u.Ref)
		}
		if st == "ok" {
			continue
		}
		out := classify(st, said, u)
		// the refs that fail only because another did say "atomic …"; the cause is more telling
		if worst == Landed || strings.HasPrefix(status[at], "atomic") {
			worst, at = out, u.Ref
		}
	}
	text := withWords(at+": "+status[at], said)
	if worst == Landed {
		return Landed, nil
	}
	return worst, fmt.Errorf("%w: %s", worst.err(), text)
}

// err is the sentinel of an outcome.
func (o Outcome) err() error {
	switch o {
	case Landed:
		return nil
	case LostRace:
		return ErrLostRace
	case Moved:
		return ErrMoved
	case Rejected:
		return ErrRejected
	case AuthError:
		return ErrAuth
	case Unknown, NotSent:
		return ErrUnknownOutcome
	}
	return ErrUnknownOutcome
}

// classify sorts a server's reason for refusing one ref.
func classify(status, said string, u Update) Outcome {
	st := strings.ToLower(status)
	all := st + " " + strings.ToLower(said)
	switch {
	case strings.Contains(all, "is at "+string(u.New.Commit())+" but expected"):
		return Landed // an earlier copy of this very request arrived
	case containsAny(all, "gh006", "gh013", "protected branch", "repository rule", "hook declined", "not allowed to push"):
		return Rejected
	case containsAny(st, "fetch first", "failed to update ref", "failed to lock", "cannot lock ref", "lock error",
		"incorrect old value", "reference already exists", "stale info", "transaction"),
		containsAny(all, "cannot lock ref", "reference already exists"):
		return LostRace
	case containsAny(st, "non-fast-forward", "non-fast forward"):
		if slices.Contains(u.New.Parents(), u.Old) {
			return LostRace // it would have been fast-forward from the old commit
		}
		return Rejected
	case containsAny(all, "commit_refs", "internal server error", "internal error", "timed out", "timeout") ||
		st == "failure" || st == "error":
		return Unknown
	case containsAny(st, "permission denied", "access denied", "read only", "read-only", "unauthorized", "forbidden"):
		return AuthError
	}
	return Rejected
}

func containsAny(s string, subs ...string) bool {
	return slices.ContainsFunc(subs, func(x string) bool { return strings.Contains(s, x) })
}

func withWords(status, said string) string {
	if said = clip(said, 500); said != "" {
		return status + " (" + said + ")"
	}
	return status
}
