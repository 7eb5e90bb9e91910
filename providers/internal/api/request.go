package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// userAgent is what servers see unless a request names another.
const userAgent = "broadside"

func parseBase(server string) (*url.URL, error) {
	if server == "" {
		return nil, errors.New("no server is configured")
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the server's address is not a URL")
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return nil, errors.New("the server's address is not an http or https URL")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the server's address holds more than scheme, host and path")
	}
	return u, nil
}

// target works out the URL of r.
func (c *Client) target(r Request) (*url.URL, error) {
	if c.baseErr != nil && r.URL == "" {
		return nil, c.baseErr
	}
	raw := r.URL
	if raw == "" {
		if r.Path != "" && !strings.HasPrefix(r.Path, "/") {
			return nil, fmt.Errorf("the path does not begin with %q", "/")
		}
		raw = strings.TrimSuffix(c.base.String(), "/") + r.Path
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the request's address is not a URL")
	}
	if u.Host == "" || u.User != nil {
		return nil, errors.New("the request's address has no host, or holds a password")
	}
	own := c.base != nil && u.Scheme == c.base.Scheme && u.Host == c.base.Host
	if u.Scheme != "https" && !own {
		return nil, errors.New("the request's address is neither https nor on the server's own host")
	}
	u.Fragment = ""
	if len(r.Query) > 0 {
		q := u.Query()
		maps.Copy(q, r.Query)
		u.RawQuery = q.Encode()
	}
	return u, nil
}

// build makes the *http.Request. Its body cannot be rewound: that is what keeps net/http from sending it again on
// another connection when a reused one turns out to be dead.
func (r Request) build(ctx context.Context, u *url.URL) (*http.Request, error) {
	body, contentType, err := r.encode()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), nil)
	if err != nil {
		return nil, errors.New("the request cannot be made: " + err.Error())
	}
	req.Header.Set("User-Agent", userAgent)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	for k, vs := range r.Header {
		req.Header[http.CanonicalHeaderKey(k)] = slices.Clone(vs)
	}
	if r.Bearer != "" {
		req.Header.Set("Authorization", "Bearer "+r.Bearer)
	}
	if len(body) > 0 {
		req.Body = onceBody{bytes.NewReader(body)}
		req.ContentLength = int64(len(body))
		return req, nil
	}
	// Without a body net/http counts a request that carries such a header as one it may send again.
	if req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != "" {
		return nil, errors.New("a request with an idempotency key needs a body")
	}
	return req, nil
}

// onceBody hides the type of its reader, so that nobody derives a GetBody from it.
type onceBody struct{ r io.Reader }

func (b onceBody) Read(p []byte) (int, error) { return b.r.Read(p) }
func (onceBody) Close() error                 { return nil }

// encode returns the body and its type; a nil body means that there is none.
func (r Request) encode() (body []byte, contentType string, err error) {
	kinds := 0
	for _, have := range []bool{r.JSON != nil, r.Body != nil, r.Form != nil || len(r.Files) > 0} {
		if have {
			kinds++
		}
	}
	if kinds > 1 {
		return nil, "", errors.New("the request has more than one body")
	}
	switch {
	case r.JSON != nil:
		return r.encodeJSON()
	case r.Body != nil:
		ct := r.ContentType
		if ct == "" {
			ct = "application/octet-stream"
		}
		return r.Body, ct, nil
	case len(r.Files) > 0:
		return r.encodeMultipart()
	case r.Form != nil:
		return []byte(r.Form.Encode()), "application/x-www-form-urlencoded", nil
	}
	return nil, "", nil
}

func (r Request) encodeJSON() ([]byte, string, error) {
	const ct = "application/json"
	if raw, ok := r.JSON.(json.RawMessage); ok { // exactly these bytes: they are what the ledger recorded
		return raw, ct, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.JSON); err != nil {
		return nil, "", errors.New("the request cannot be encoded as JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), ct, nil
}

// encodeMultipart writes fields in order of their names, then the files. The boundary is a function of the content, so
// that equal requests are equal bytes.
func (r Request) encodeMultipart() ([]byte, string, error) {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(r.Form)) {
		_, _ = h.Write(fmt.Appendf(nil, "%q %q\n", k, r.Form[k]))
	}
	for _, f := range r.Files {
		_, _ = h.Write(fmt.Appendf(nil, "%q %q %q %d\n", f.Field, f.Name, f.ContentType, len(f.Data)))
		_, _ = h.Write(f.Data)
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("broadside-" + hex.EncodeToString(h.Sum(nil)[:16])); err != nil {
		return nil, "", err
	}
	for _, k := range slices.Sorted(maps.Keys(r.Form)) {
		for _, v := range r.Form[k] {
			if err := w.WriteField(k, v); err != nil {
				return nil, "", err
			}
		}
	}
	for _, f := range r.Files {
		ct := f.ContentType
		if ct == "" {
			ct = "application/octet-stream"
		}
		p, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf(`form-data; name="%s"; filename="%s"`, quoteName(f.Field), quoteName(f.Name))},
			"Content-Type":        {quoteName(ct)},
		})
		if err != nil {
			return nil, "", err
		}
		if _, err := p.Write(f.Data); err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// quoteName escapes what would end a quoted parameter or a header line.
func quoteName(s string) string {
	return strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A").Replace(s)
}
