package mastodon

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

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
