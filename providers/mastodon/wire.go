package mastodon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// payload is one part as the ledger keeps it. Sealed it lacks nothing of a status but the one that it replies to.
type payload struct {
	Language    string       `json:"language,omitempty"`
	Media       []attachment `json:"media,omitempty"`
	Poll        *poll        `json:"poll,omitempty"`
	Sensitive   bool         `json:"sensitive"`
	SpoilerText string       `json:"spoiler_text,omitempty"`
	Status      string       `json:"status"`
	Visibility  string       `json:"visibility"`
}

// attachment is one medium: named by its digest until it is sealed, then by the id of its upload.
type attachment struct {
	Description string `json:"description,omitempty"`
	Focus       string `json:"focus,omitempty"` // "x,y", each from -1 to 1
	ID          string `json:"id,omitempty"`
	SHA256      string `json:"sha256,omitempty"`
}

// poll is a poll as it is sent.
type poll struct {
	ExpiresIn  int64    `json:"expires_in"` // seconds
	HideTotals bool     `json:"hide_totals"`
	Multiple   bool     `json:"multiple"`
	Options    []string `json:"options"`
}

// statusRequest is the body of POST and PUT of a status. Whatever an account has a default for is always there, so that
// what was approved is what is sent.
type statusRequest struct {
	InReplyToID     string       `json:"in_reply_to_id,omitempty"`
	Language        string       `json:"language,omitempty"`
	MediaAttributes []attachment `json:"media_attributes,omitempty"` // PUT only
	MediaIDs        []string     `json:"media_ids,omitempty"`
	Poll            *poll        `json:"poll,omitempty"`
	Sensitive       bool         `json:"sensitive"`
	SpoilerText     *string      `json:"spoiler_text,omitempty"`
	Status          string       `json:"status"`
	Visibility      string       `json:"visibility,omitempty"` // POST only
}

// status is what is read of a Status.
type status struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	URI         string    `json:"uri"`
	CreatedAt   timestamp `json:"created_at"`
	EditedAt    timestamp `json:"edited_at"`
	Content     string    `json:"content"`
	SpoilerText string    `json:"spoiler_text"`
	Visibility  string    `json:"visibility"`
	InReplyToID id        `json:"in_reply_to_id"`
	Media       []media   `json:"media_attachments"`
	Poll        *struct {
		ExpiresAt timestamp `json:"expires_at"`
		Expired   bool      `json:"expired"`
		Multiple  bool      `json:"multiple"`
		Options   []struct {
			Title string `json:"title"`
		} `json:"options"`
	} `json:"poll"`
}

// media is what is read of a MediaAttachment.
type media struct {
	ID          id     `json:"id"`
	URL         string `json:"url"`
	Description string `json:"description"`
}

// account is what is read of a CredentialAccount.
type account struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Acct     string `json:"acct"`
	URL      string `json:"url"`
}

// id is an id that some servers write as a number or null.
type id string

// UnmarshalJSON takes strings, numbers and null.
func (i *id) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*i = ""
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		var s string
		err := json.Unmarshal(b, &s)
		*i = id(s)
		return err
	}
	var n json.Number
	err := json.Unmarshal(b, &n)
	*i = id(n.String())
	return err
}

// timestamp is a time that is zero where a server's is null, empty or not understood.
type timestamp struct{ time.Time }

// UnmarshalJSON never fails for a string: a receipt must not be lost over its time.
func (t *timestamp) UnmarshalJSON(b []byte) error {
	*t = timestamp{}
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339Nano, *s); err == nil {
		t.Time = at.UTC()
	}
	return nil
}

// number is an integer that some servers write as a string.
type number int64

// UnmarshalJSON takes numbers and strings of digits; what is neither counts as not told.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	s := strings.Trim(string(b), `"`)
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1<<53 {
		*n = number(f)
	}
	return nil
}

// parsePayload reads a sealed payload and refuses one that is not: it would send something that was never approved.
func parsePayload(raw json.RawMessage) (payload, error) {
	var p payload
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, errors.New("the payload is not one of this provider's: " + err.Error())
	}
	if d.More() {
		return p, errors.New("the payload holds more than one value")
	}
	for _, m := range p.Media {
		if !api.ValidID(m.ID) || m.SHA256 != "" {
			return p, errors.New("the payload is not sealed: a medium has no id")
		}
	}
	if p.Visibility == "" {
		return p, errors.New("the payload says no visibility")
	}
	return p, nil
}

// invalid is the error of a call that is refused before anything is sent.
func invalid(op string, err error) *providers.Error {
	return &providers.Error{Kind: providers.Invalid, Reach: providers.NotSent, Op: Name + ": " + op, Err: err}
}

// call sends r with the token and English as the language of errors, decodes the answer into out, and reads errors the
// way Mastodon writes them.
func (p *Provider) call(ctx context.Context, r api.Request, out any) (*api.Response, error) {
	r.Bearer = p.token
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Language", "en")
	resp, err := p.client.JSON(ctx, r, out)
	if err == nil || resp == nil || resp.Status < 400 {
		return resp, err
	}
	kind, message := judge(resp, r.Write)
	e := p.client.Fail(r, resp, kind, "", message)
	if kind == providers.Unavailable && e.RetryAt.IsZero() && resp.Status == http.StatusUnprocessableEntity {
		e.RetryAt = resp.At.Add(notReadyWait)
	}
	return resp, e
}

// notReadyWait is how long to leave media that are still being processed.
const notReadyWait = 15 * time.Second

// judge says what an answer of 400 and above means, with the server's own words.
func judge(resp *api.Response, write bool) (providers.Kind, string) {
	kind := api.KindOf(resp.Status, write)
	message := errorMessage(resp.Body)
	switch resp.Status {
	case http.StatusUnprocessableEntity:
		// "Cannot attach files that have not finished processing. Try again in a moment!": refused, and will pass.
		if strings.Contains(strings.ToLower(message), "finished processing") {
			kind = providers.Unavailable
		}
	case http.StatusForbidden:
		if strings.Contains(message, "authorized scopes") {
			message += "; the access token needs the scopes read, write:statuses and write:media"
		}
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		kind = providers.Unsupported
	}
	return kind, message
}

// errorMessage reads {"error": ..., "error_description": ...}; "" where the body is something else.
func errorMessage(body []byte) string {
	var e struct {
		Error       any    `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	message, _ := e.Error.(string)
	if e.Description != "" && e.Description != message {
		message = strings.TrimPrefix(message+": "+e.Description, ": ")
	}
	return message
}

// absent tells whether err is the server's answer that it has no such thing, or no such endpoint.
func absent(err error) bool {
	e := providers.AsError(err)
	if e == nil || e.Reach != providers.Answered {
		return false
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}
