// Package canon makes canonical JSON: one byte sequence for one value, after RFC 8785 (JSON Canonicalization Scheme).
// Hashes that data depends on are taken over its output. It does not validate JSON against a schema.
package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 512

// ErrInvalid is wrapped by every error about the input's form.
var ErrInvalid = errors.New("not canonicalizable JSON")

// Marshal returns the canonical JSON of v, which is first encoded as encoding/json does.
// An integer that a double cannot hold exactly is refused: it would change silently.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return transform(buf.Bytes(), true)
}

// Transform returns the canonical form of one JSON value. Duplicate names, invalid UTF-8, lone surrogates, numbers beyond
// a double's range and anything after the value are refused. Numbers are rounded to the nearest double, as RFC 8785 says.
func Transform(data []byte) ([]byte, error) {
	return transform(data, false)
}

// Hash returns the SHA-256 of v's canonical JSON in lower-case hex.
func Hash(v any) (string, error) {
	b, err := Marshal(v)
	if err != nil {
		return "", err
	}
	return Sum(b), nil
}

// Sum returns the SHA-256 of b in lower-case hex.
func Sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func transform(data []byte, exact bool) ([]byte, error) {
	p := parser{in: data, out: make([]byte, 0, len(data)), exact: exact}
	p.space()
	if err := p.value(0); err != nil {
		return nil, err
	}
	p.space()
	if p.pos != len(p.in) {
		return nil, p.fail("data after the value")
	}
	return p.out, nil
}

// Is tells whether data is in canonical form.
func Is(data []byte) bool {
	c, err := Transform(data)
	return err == nil && bytes.Equal(c, data)
}
