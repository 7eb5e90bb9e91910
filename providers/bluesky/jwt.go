package bluesky

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// claims is what a session's token says about itself. It is read, never verified: the server that made the token
// verifies it, and here it only tells when to refresh and whose it is.
type claims struct {
	Sub   string
	Scope string
	Exp   time.Time // zero where the token does not say
}

// maxToken bounds the tokens that are looked into, in bytes.
const maxToken = 16 << 10

// readClaims reads the claims of a JWT; ok is false for anything else.
func readClaims(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return claims{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}, false
	}
	var body struct {
		Sub   string  `json:"sub"`
		Scope string  `json:"scope"`
		Exp   float64 `json:"exp"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return claims{}, false
	}
	c = claims{Sub: body.Sub, Scope: body.Scope}
	if body.Exp > 0 && body.Exp < math.MaxInt32*1000 {
		c.Exp = time.Unix(int64(body.Exp), 0).UTC()
	}
	return c, true
}

// expiresBy tells whether the token is unusable at t, or says nothing that can be read.
func expiresBy(token string, t time.Time) bool {
	c, ok := readClaims(token)
	return !ok || c.Exp.IsZero() || !t.Before(c.Exp)
}
