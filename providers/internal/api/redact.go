package api

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of an error's texts, in bytes.
const (
	maxMessage = 300
	maxCode    = 80
)

// leastSecret is the length below which a value is no secret: redacting it would only garble what is said.
const leastSecret = 4

const redacted = "[redacted]"

// Redact replaces every secret that this client knows in s.
func (c *Client) Redact(s string) string { return c.redact(s, Request{}) }

func (c *Client) redact(s string, r Request) string {
	secrets := slices.Clone(c.secrets)
	if r.Bearer != "" {
		secrets = append(secrets, r.Bearer)
	}
	for _, h := range []string{"Authorization", "Cookie", "X-Api-Key", "Api-Key"} {
		for _, v := range r.Header[h] {
			secrets = append(secrets, v)
			if _, rest, ok := strings.Cut(v, " "); ok {
				secrets = append(secrets, rest)
			}
		}
	}
	return Redact(s, secrets...)
}

// Redact replaces every secret in s, as it is and as it looks escaped for a URL, in JSON, in hexadecimal and within any
// Base64.
func Redact(s string, secrets ...string) string {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= leastSecret {
			forms = append(forms, secretForms(secret)...)
		}
	}
	// The longest first, so that no form leaves the rest of a longer one behind.
	slices.SortFunc(forms, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, f := range slices.Compact(forms) {
		s = strings.ReplaceAll(s, f, redacted)
	}
	return s
}

func secretForms(secret string) []string {
	raw := []byte(secret)
	forms := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
	}
	if j, err := json.Marshal(secret); err == nil {
		forms = append(forms, string(j[1:len(j)-1]))
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString(raw))
	}
	// Inside a longer Base64 ("user:secret") only the middle is its own, one of three ways by its offset.
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			padded := enc.EncodeToString(append(make([]byte, offset), raw...))
			first := (offset*8 + 5) / 6
			last := (offset + len(raw)) * 8 / 6
			if last-first >= leastSecret {
				forms = append(forms, padded[first:last])
			}
		}
	}
	return slices.DeleteFunc(forms, func(f string) bool { return len(f) < leastSecret })
}

// Sanitize makes s fit to print: valid UTF-8 on one line, without control or invisible formatting characters, and at
// most limit bytes.
func Sanitize(s string, limit int) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !unicode.IsGraphic(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		if b.Len() > limit+utf8.UTFMax {
			break
		}
	}
	return cut(b.String(), limit)
}

// cut shortens s to limit bytes at a rune's border, and shows that it did.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "..."
	end := max(limit-len(more), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}
