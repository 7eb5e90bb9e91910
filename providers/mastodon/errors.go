package mastodon

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

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
