package mastodon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

const (
	// handleLife is how long an upload counts as usable: Mastodon removes what no status names after a day.
	handleLife = 20 * time.Hour
	// The waits between two looks at a medium that is being processed, and how long that may take in all.
	firstLook      = time.Second
	longestLook    = 10 * time.Second
	longestProcess = 5 * time.Minute
)

// Upload implements providers.Uploader. It returns when the server has processed the file: before that a status that
// names it is refused.
func (p *Provider) Upload(ctx context.Context, m providers.Media) (providers.Handle, error) {
	if m.Open == nil {
		return providers.Handle{}, invalid("upload", fmt.Errorf("the bytes of %s are not at hand", m.Path))
	}
	data, err := m.Open()
	if err != nil {
		return providers.Handle{}, invalid("upload", fmt.Errorf("reading %s: %w", m.Path, err))
	}
	form := url.Values{}
	if m.Alt != "" {
		form.Set("description", m.Alt)
	}
	if f := focus(m); f != "" {
		form.Set("focus", f)
	}
	r := api.Request{
		Op: "upload", Method: http.MethodPost, Path: "/api/v2/media", Timeout: uploadTimeout, Form: form,
		Files: []api.File{{Field: "file", Name: uploadName(m), ContentType: m.MIME, Data: data}},
	}
	var got media
	resp, err := p.call(ctx, r, &got)
	if absent(err) { // servers from before 3.1.3 and some that only speak the API
		r.Path = "/api/v1/media"
		got = media{}
		resp, err = p.call(ctx, r, &got)
	}
	if err != nil {
		return providers.Handle{}, err
	}
	if !api.ValidID(string(got.ID)) {
		return providers.Handle{}, p.client.Unusable(r, resp, "the answer names no medium")
	}
	if resp.Status == http.StatusAccepted {
		if got, err = p.processed(ctx, m, got); err != nil {
			return providers.Handle{}, err
		}
	}
	h := providers.Handle{ID: string(got.ID), Expires: p.now().Add(handleLife).UTC()}
	if m.Alt != "" && collapse(got.Description) != collapse(m.Alt) {
		h.Warning = fmt.Sprintf("the server did not keep the alternative text of %s as it is", m.Path)
	}
	return h, nil
}

// uploadName is a name of the file's own: a server that knows files by their name (snac 2.75, tried 2026-11-30) would put
// each one in the place of the last of that name, also in what is published.
func uploadName(m providers.Media) string {
	sum := sha256.Sum256([]byte(providers.MediaKey(m)))
	return hex.EncodeToString(sum[:16]) + path.Ext(m.Path)
}

// processed waits until the server has processed an upload.
func (p *Provider) processed(ctx context.Context, m providers.Media, first media) (media, error) {
	ctx, cancel := context.WithTimeout(ctx, longestProcess)
	defer cancel()
	r := api.Request{Op: "upload", Path: "/api/v1/media/" + api.PathEscape(string(first.ID))}
	for wait := firstLook; ; wait = min(wait*2, longestLook) {
		if err := pause(ctx, wait); err != nil {
			e := p.client.Fail(r, nil, providers.Unavailable, "", fmt.Sprintf(
				"%s is still being processed by the server; it is uploaded again later", m.Path))
			e.Err = err
			return media{}, e
		}
		// 206 answers with the medium as far as it is: only the status tells that it is not ready.
		var raw json.RawMessage
		resp, err := p.call(ctx, r, &raw)
		if err == nil && resp.Status == http.StatusPartialContent {
			continue
		}
		if err == nil {
			var got media
			if err := json.Unmarshal(raw, &got); err != nil || got.ID != first.ID {
				return media{}, p.client.Unusable(r, resp, "the answer is not the medium that was asked for")
			}
			return got, nil
		}
		e := providers.AsError(err)
		switch {
		case absent(err) && first.URL != "":
			return first, nil // the server cannot be asked, but has said where the file is
		case e.Kind == providers.Invalid && e.Status == http.StatusUnprocessableEntity:
			e.Message = api.Sanitize(fmt.Sprintf("%s could not be processed: %s", m.Path, e.Message), 300)
			return media{}, e
		case e.Kind == providers.Unavailable || e.Kind == providers.Unknown:
			continue // the upload is there; only this look failed
		default:
			return media{}, err
		}
	}
}

// pause waits for d, or returns why ctx ended first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errors.New("no time left")
		}
		return ctx.Err()
	}
}
