package bluesky

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// blobLife is how long an uploaded blob is counted on while no record shows it. The lexicon of uploadBlob names no
// figure ("within a time window (eg, minutes)", read 2026-11-30); uploading again is harmless and gives the same blob.
const blobLife = 30 * time.Minute

// Upload stores the bytes of m. Its handle holds the blob as a record refers to it.
func (p *Provider) Upload(ctx context.Context, m providers.Media) (providers.Handle, error) {
	const op = "uploadBlob"
	me, err := p.session(op)
	if err != nil {
		return providers.Handle{}, err
	}
	if m.Open == nil {
		return providers.Handle{}, refused(op, providers.Invalid, fmt.Sprintf("%s cannot be opened", m.Path))
	}
	data, err := m.Open()
	if err != nil {
		e := refused(op, providers.Invalid, fmt.Sprintf("%s cannot be read", m.Path))
		e.Err = err
		return providers.Handle{}, e
	}
	if len(data) == 0 || !mimeForm.MatchString(m.MIME) {
		return providers.Handle{}, refused(op, providers.Invalid, fmt.Sprintf("%s is empty or of unknown type", m.Path))
	}
	req := api.Request{
		Op: op, Method: http.MethodPost, Path: method("com.atproto.repo.uploadBlob"), Bearer: me.token,
		Body: data, ContentType: m.MIME, Timeout: uploadTimeout,
	}
	var out blobAnswer
	resp, err := p.api.JSON(ctx, req, &out)
	if err != nil {
		return providers.Handle{}, err
	}
	b := out.Blob
	if !validBlob(b) || b.Size != int64(len(data)) || b.Ref.Link != blobCID(data) {
		return providers.Handle{}, p.api.Unusable(req, resp, fmt.Sprintf("the server stored something else than %s", m.Path))
	}
	ref, err := canon.Marshal(b)
	if err != nil {
		return providers.Handle{}, refused(op, providers.Unknown, err.Error())
	}
	return providers.Handle{ID: b.Ref.Link, Ref: ref, Expires: resp.At.Add(blobLife)}, nil
}

func validBlob(b blob) bool {
	return b.Type == "blob" && validCID(b.Ref.Link) && mimeForm.MatchString(b.MIMEType) && b.Size > 0
}

// blobCID is the content id of a blob: version 1, codec raw, SHA-256, in base32 (atproto.com/specs/data-model, read
// 2026-11-30).
func blobCID(data []byte) string {
	sum := sha256.Sum256(data)
	raw := append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw))
}

// Resolve looks up the DID behind a handle.
func (p *Provider) Resolve(ctx context.Context, handle string) (providers.Handle, error) {
	const op = "resolveHandle"
	h := handleOf(handle)
	if !validHandle(h) {
		return providers.Handle{}, refused(op, providers.NotFound, fmt.Sprintf("%q is no handle", handle))
	}
	req := api.Request{
		Op: op, Method: http.MethodGet, Path: method("com.atproto.identity.resolveHandle"), Query: url.Values{"handle": {h}},
	}
	var out didAnswer
	resp, err := p.api.JSON(ctx, req, &out)
	if e := providers.AsError(err); e != nil {
		// A PDS says this without the code that the lexicon has for it.
		if e.Kind == providers.Invalid && strings.HasPrefix(e.Message, "Unable to resolve handle") {
			e.Kind = providers.NotFound
		}
		return providers.Handle{}, e
	}
	if !validDID(out.DID) {
		return providers.Handle{}, p.api.Unusable(req, resp, "the answer holds no DID")
	}
	return providers.Handle{ID: out.DID}, nil
}
