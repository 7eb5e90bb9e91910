package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, exitDone},
		{"results in a file, whatever else", unrecordedError{errors.Join(errors.New("cannot write the report"), exitWith{exitPerson})}, exitNotRecorded},
		{"a key that is none", fmt.Errorf("keys: %w", vault.ErrBadKey), exitPerson},
		{"no key", fmt.Errorf("keys: %w", vault.ErrNoKey), exitPerson},
		{"no configuration", errNoConfig, exitInvalid},
		{"usage", fmt.Errorf("x: %w", usageError{errors.New("no such post"), ""}), exitInvalid},
		{"any other", errors.New("x"), exitFailed},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestErrorsReachNeitherTerminalNorRunnerAsCommands(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{err: &out}
	a.printError(hinted{errors.New("first \x1b[2J ##[add-mask]x\n::stop-commands::y"), "\x1b]0;title\a see ##[group]"})
	if s := out.String(); strings.ContainsAny(s, "\x1b\a") || strings.Contains(s, "##[") || strings.Contains(s, "  ::") {
		t.Errorf("%q", s)
	}
}

func TestDecisionsThatAreNotPossibleAreToldWithoutTheLedgersTerms(t *testing.T) {
	t.Parallel()
	id := pipeline.DeliveryID{Post: "one", Target: "sandbox:example.com:a1"}
	s := ledger.New()
	s.Deliveries[id] = &ledger.Delivery{ID: id, Dest: "alice"}
	for _, c := range []struct {
		state pipeline.State
		move  ledger.Move
		code  ledger.Code
		why   string
		want  string
	}{
		{pipeline.Published, ledger.MoveRetry, ledger.CodeState, "not from this state", "one at alice is published: there is nothing to retry"},
		{pipeline.Publishing, ledger.MovePersonCancel, ledger.CodeState, "not from this state", "one at alice is publishing: the run that is at it will end it"},
		{pipeline.Queued, ledger.MoveRetry, ledger.CodeState, "not from this state", "one at alice is queued: it goes out by itself"},
		{pipeline.Adopted, ledger.MovePersonPublish, ledger.CodeState, "it counts as published already", "one at alice counts as published: there is nothing to decide"},
		{pipeline.Failed, ledger.MoveRetry, ledger.CodeExpired, "publish_by has passed: move it ahead in the post's file first", "one at alice stays as it is: publish_by has passed: move it ahead in the post's file first"},
	} {
		err := inPeoplesWords(&ledger.IllegalError{Delivery: id, State: c.state, Move: c.move, Code: c.code, Why: c.why}, s)
		if err.Error() != c.want || hintOf(err) != "`broadside status one` shows where it stands" || exitCode(err) != exitFailed {
			t.Errorf("%q, hint %q, want %q", err, hintOf(err), c.want)
		}
	}
	if err := errors.New("another"); inPeoplesWords(err, s) != err { //nolint:errorlint // the very same error
		t.Error("other errors are changed")
	}
}
