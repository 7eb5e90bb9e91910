package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const keyPrefix = "whsec_"

// The bounds of a key in bytes, by the specification.
const (
	shortestKey = 24
	longestKey  = 64
)

// parseKeys reads one signing secret, or several with spaces between. Its errors do not show them.
func parseKeys(s string) ([][]byte, error) {
	var keys [][]byte
	for f := range strings.FieldsSeq(s) {
		text, ok := strings.CutPrefix(f, keyPrefix)
		if !ok {
			return nil, errors.New("the signing secret does not begin with " + keyPrefix)
		}
		key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return nil, errors.New("the signing secret is not Base64 behind " + keyPrefix)
		}
		if len(key) < shortestKey || len(key) > longestKey {
			return nil, fmt.Errorf("the signing secret has %d bytes; it needs %d to %d", len(key), shortestKey, longestKey)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("the credential holds no signing secret")
	}
	return keys, nil
}

// sign returns the webhook-signature of a message: one for each key.
func sign(keys [][]byte, id string, at time.Time, body []byte) string {
	var out []string
	for _, key := range keys {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		h.Write(body)
		out = append(out, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	}
	return strings.Join(out, " ")
}

// secretParts are the parts of the address and the secret that must not be seen either: services put their tokens into
// the path or the query.
func secretParts(u *url.URL, secret string) []string {
	const least = 8 // what is shorter is a word of the path
	parts := []string{u.EscapedPath(), u.RequestURI(), u.RawQuery}
	parts = append(parts, strings.Split(u.EscapedPath(), "/")...)
	parts = append(parts, strings.Split(u.Path, "/")...)
	for _, vs := range u.Query() {
		parts = append(parts, vs...)
	}
	for f := range strings.FieldsSeq(secret) {
		parts = append(parts, f, strings.TrimPrefix(f, keyPrefix))
	}
	var out []string
	for _, p := range parts {
		if len(p) >= least {
			out = append(out, p)
		}
	}
	return out
}
