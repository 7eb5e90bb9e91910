package providers_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/broadside-pub/broadside/providers"
)

var kinds = []providers.Kind{
	providers.Unknown, providers.Invalid, providers.Unauthorized, providers.Forbidden, providers.Throttled, providers.Unavailable,
	providers.Duplicate, providers.NotFound, providers.Ambiguous, providers.Unsupported,
}

// TestSurelyUnpublishedIsCareful spells the whole table out: a wrong line here posts twice.
func TestSurelyUnpublishedIsCareful(t *testing.T) {
	t.Parallel()
	sureWhenAnswered := map[providers.Kind]bool{
		providers.Unknown: false, providers.Invalid: true, providers.Unauthorized: true, providers.Forbidden: true,
		providers.Throttled: true, providers.Unavailable: true, providers.Duplicate: false, providers.NotFound: true,
		providers.Ambiguous: false, providers.Unsupported: true,
	}
	if len(sureWhenAnswered) != len(kinds) {
		t.Fatalf("%d kinds are decided, there are %d", len(sureWhenAnswered), len(kinds))
	}
	for _, k := range kinds {
		for reach, want := range map[providers.Reach]bool{
			providers.NotSent: true, providers.MaybeSent: false, providers.Answered: sureWhenAnswered[k],
		} {
			e := &providers.Error{Kind: k, Reach: reach}
			if got := e.SurelyUnpublished(); got != want {
				t.Errorf("%s, %s: %v, want %v", k, reach, got, want)
			}
		}
	}
	if (&providers.Error{Kind: providers.Kind(99), Reach: providers.Answered}).SurelyUnpublished() {
		t.Error("a kind that does not exist counts as surely unpublished")
	}
}

func TestErrorSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*providers.Error{
		"bluesky: putRecord: HTTP 400 InvalidSwap: invalid: exists": {
			Op: "bluesky: putRecord", Status: 400, Code: "InvalidSwap", Kind: providers.Invalid, Reach: providers.Answered, Message: "exists",
		},
		"net: send: ambiguous: EOF (maybe sent)": {Op: "net: send", Kind: providers.Ambiguous, Reach: providers.MaybeSent, Err: io.EOF},
		"net: unavailable: no route (not sent)":  {Op: "net", Kind: providers.Unavailable, Reach: providers.NotSent, Message: "no route"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	seen := map[string]bool{}
	for _, k := range kinds {
		if s := k.String(); s == "" || seen[s] || s != strings.ToLower(s) {
			t.Errorf("the kind %d is called %q", k, s)
		}
		seen[k.String()] = true
	}
}

func TestAsErrorReadsAnythingCarefully(t *testing.T) {
	t.Parallel()
	if providers.AsError(nil) != nil {
		t.Error("nil became an error")
	}
	known := &providers.Error{Kind: providers.Throttled, Reach: providers.Answered, Err: io.EOF}
	wrapped := fmt.Errorf("part 2: %w", known)
	if got := providers.AsError(wrapped); got != known {
		t.Errorf("got %v", got)
	}
	if !errors.Is(wrapped, io.EOF) {
		t.Error("the cause is lost")
	}
	want := &providers.Error{Kind: providers.Unknown, Reach: providers.MaybeSent, Op: "provider", Err: io.EOF}
	got := providers.AsError(io.EOF)
	if diff := cmp.Diff(*want, *got, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.SurelyUnpublished() {
		t.Error("an error of no kind counts as surely unpublished")
	}
}
