package bluesky

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// The error codes that decide something beyond their kind.
const (
	codeSwap     = "InvalidSwap"
	codeNoRecord = "RecordNotFound"
	codeNoBlob   = "BlobNotFound"
)

// codes is what XRPC errors mean whatever their status: a PDS gives most of them as 400, an entryway some as 401.
// Names from the lexicons and from the PDS (bluesky-social/atproto at d6296a1c, 2026-08-20).
var codes = map[string]struct {
	kind providers.Kind
	next string // what to do, appended to the network's own words
}{
	"ExpiredToken":            {providers.Unauthorized, "the session has run out: refresh it"},
	"InvalidToken":            {providers.Unauthorized, "the session is not accepted any more: refresh it or log in again"},
	"AuthMissing":             {providers.Unauthorized, ""},
	"AuthenticationRequired":  {providers.Unauthorized, "check the handle, or make a new app password and log in with it"},
	"AuthFactorTokenRequired": {providers.Unauthorized, "this is the account's main password: use an app password"},
	"AccountTakedown":         {providers.Forbidden, "the network has taken the account down"},
	"AccountDeactivated":      {providers.Forbidden, "reactivate the account first"},
	"AccountSuspended":        {providers.Forbidden, ""},
	"RateLimitExceeded":       {providers.Throttled, ""},
	"HandleNotFound":          {providers.NotFound, ""},
	codeNoRecord:              {providers.NotFound, ""},
	// The key is taken; whether by an earlier write of ours, only a read can tell.
	codeSwap: {providers.Duplicate, ""},
	// A server may drop a blob that no record shows; the record was refused, and passes after another upload.
	codeNoBlob:              {providers.Unavailable, "upload the media again"},
	"InvalidRequest":        {providers.Invalid, ""},
	"InvalidRecord":         {providers.Invalid, ""},
	"BlobTooLarge":          {providers.Invalid, ""},
	"InvalidMimeType":       {providers.Invalid, ""},
	"InvalidSize":           {providers.Invalid, ""},
	"PayloadTooLarge":       {providers.Invalid, ""},
	"RepoNotFound":          {providers.Invalid, ""},
	"UnsupportedCollection": {providers.Invalid, ""},
}

// classify reads the {error, message} of an XRPC answer. A code that says that nothing was done is believed only where
// the status says so too: with a 5xx the kind goes by the status.
func classify(resp *api.Response) *providers.Error {
	var body errorAnswer
	if err := json.Unmarshal(resp.Body, &body); err != nil {
		return nil
	}
	e := &providers.Error{Code: body.Error, Message: body.Message}
	c, known := codes[body.Error]
	switch {
	case resp.Status >= http.StatusInternalServerError, resp.Status == http.StatusRequestTimeout, resp.Status < 400:
		return nil
	case resp.Status == http.StatusTooManyRequests:
		e.Kind = providers.Throttled
	case known:
		e.Kind = c.kind
		if c.next != "" {
			e.Message = join(e.Message, c.next)
		}
	default:
		e.Kind = api.KindOf(resp.Status, false)
	}
	return e
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// refused is the error of a call that was not begun.
func refused(op string, kind providers.Kind, message string) *providers.Error {
	return &providers.Error{Kind: kind, Reach: providers.NotSent, Op: name + ": " + op, Message: message}
}

// otherRecord is the error for a record key that holds what this delivery did not write, or not any more.
func otherRecord(op, did, rkey string) *providers.Error {
	return &providers.Error{
		Kind: providers.Duplicate, Reach: providers.Answered, Op: op, Code: codeSwap, ID: atURI(did, rkey),
		Message: fmt.Sprintf("another record stands at this delivery's key: it was changed after publication, or another "+
			"program wrote it; look at %s and decide", postURL(did, rkey)),
	}
}
