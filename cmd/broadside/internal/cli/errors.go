package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

// The exit codes. Where several apply the first of exitNotRecorded, exitPerson, exitFailed, exitInvalid, exitWaiting wins.
const (
	exitDone        = 0 // done, or nothing was due
	exitFailed      = 1 // something failed
	exitInvalid     = 2 // usage, or content that is not valid
	exitPerson      = 3 // something needs a person
	exitWaiting     = 4 // something waits and will pass later
	exitNotRecorded = 5 // what happened could not be recorded
)

// usageError is a command that was not given right.
type usageError struct {
	err  error
	hint string
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// hinted is an error with what to do about it.
type hinted struct {
	err  error
	hint string
}

func (e hinted) Error() string { return e.err.Error() }
func (e hinted) Unwrap() error { return e.err }

// exitWith ends a command with a code and without a message: its output has said everything.
type exitWith struct{ code int }

func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// invalidContent ends a command whose diagnostics have been printed.
var errInvalidContent = exitWith{exitInvalid}

func exitCode(err error) int {
	var with exitWith
	var usage usageError
	var push *journal.PushError
	var refused *journal.Refusal
	var config *publish.InvalidConfigError
	var unrecorded unrecordedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &unrecorded):
		return exitNotRecorded
	case errors.As(err, &with):
		return with.code
	case errors.As(err, &push):
		return exitNotRecorded
	case errors.As(err, &usage), errors.As(err, &config), errors.Is(err, errNoConfig):
		return exitInvalid
	case errors.As(err, &refused), errors.Is(err, vault.ErrNoKey), errors.Is(err, vault.ErrWrongKey), errors.Is(err, vault.ErrBadKey),
		errors.Is(err, vault.ErrKeyPermissions):
		return exitPerson
	}
	return exitFailed
}

// hintOf finds what to do about an error.
func hintOf(err error) string {
	var usage usageError
	var h hinted
	var push *journal.PushError
	var refused *journal.Refusal
	var illegal *ledger.IllegalError
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &refused):
		return refused.Hint
	case errors.As(err, &push):
		return push.Hint()
	case errors.Is(err, vault.ErrNoKey):
		return "set BROADSIDE_AGE_KEY to the private key that `broadside init` wrote, or BROADSIDE_AGE_KEY_FILE to its file"
	case errors.As(err, &illegal):
		return "`broadside status " + illegal.Delivery.Post + "` shows where it stands"
	}
	return ""
}

// printError writes one error, and its hint, to stderr.
func (a *app) printError(err error) {
	if _, ok := errors.AsType[exitWith](err); ok {
		return
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("stopped before it was done")
	}
	code := ""
	if refused, ok := errors.AsType[*journal.Refusal](err); ok {
		code = refused.Code
	}
	if a.flags.json {
		_ = json.NewEncoder(a.err).Encode(map[string]string{"error": err.Error(), "code": code, "hint": hintOf(err)})
		return
	}
	if config, ok := errors.AsType[*publish.InvalidConfigError](err); ok {
		for _, d := range config.Diagnostics {
			a.printDiagnostic(a.err, d)
		}
		return
	}
	for i, line := range strings.Split(strings.TrimSpace(err.Error()), "\n") {
		prefix := "broadside: "
		if i > 0 {
			prefix = "  "
		}
		suffix := ""
		if i == 0 && code != "" {
			suffix = " [" + code + "]"
		}
		fmt.Fprintf(a.err, "%s%s%s\n", prefix, report.Line(line), suffix)
	}
	if h := hintOf(err); h != "" {
		fmt.Fprintf(a.err, "  hint: %s\n", report.Line(h))
	}
}

// runExit is the exit code of a finished run: what no finished run has told yet, or with standing all that stands.
func runExit(res publish.Result, standing bool) int {
	var person, failed, invalid bool
	for _, t := range res.Troubles {
		if !t.New && !standing {
			continue
		}
		person = person || t.Person
		failed = failed || t.Failed
		invalid = invalid || t.Invalid
	}
	switch {
	case res.Unrecorded != "":
		return exitNotRecorded
	case person:
		return exitPerson
	case failed:
		return exitFailed
	case invalid:
		return exitInvalid
	case res.Waiting > 0:
		return exitWaiting
	}
	return exitDone
}

// severityOf is the exit code of diagnostics alone.
func severityOf(ds []pipeline.Diagnostic) error {
	if pipeline.HasErrors(ds) {
		return errInvalidContent
	}
	return nil
}
