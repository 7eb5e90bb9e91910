// Package canon writes canonical JSON (RFC 8785): equal values are equal bytes. Payloads are kept in this form.
package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns v, as encoding/json sees it, in canonical form.
func JSON(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Rewrite(b)
}

// Rewrite returns the one JSON value in b in canonical form.
func Rewrite(b []byte) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return write(nil, v)
}

// Is tells whether b is canonical.
func Is(b []byte) bool {
	c, err := Rewrite(b)
	return err == nil && bytes.Equal(c, b)
}

func write(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case string:
		return writeString(out, v), nil
	case json.Number:
		return writeNumber(out, v)
	case []any:
		return writeArray(out, v)
	case map[string]any:
		return writeObject(out, v)
	}
	return nil, fmt.Errorf("no JSON value: %T", v)
}

func writeArray(out []byte, v []any) ([]byte, error) {
	var err error
	out = append(out, '[')
	for i, e := range v {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = write(out, e); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func writeObject(out []byte, v map[string]any) ([]byte, error) {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	// The order is that of UTF-16 code units, which is not that of bytes beyond the basic plane.
	slices.SortFunc(keys, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	var err error
	out = append(out, '{')
	for i, k := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(writeString(out, k), ':')
		if out, err = write(out, v[k]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func writeString(out []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	out = append(out, '"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			out = append(out, '\\', byte(r))
		case '\b':
			out = append(out, `\b`...)
		case '\t':
			out = append(out, `\t`...)
		case '\n':
			out = append(out, `\n`...)
		case '\f':
			out = append(out, `\f`...)
		case '\r':
			out = append(out, `\r`...)
		default:
			if r < ' ' {
				out = append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
			} else {
				out = utf8.AppendRune(out, r)
			}
		}
	}
	return append(out, '"')
}

// writeNumber writes n as ECMAScript does. Integers that a float64 cannot hold are refused: they would change.
func writeNumber(out []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("the number %s does not fit", n)
	}
	if i, err := n.Int64(); err == nil {
		const exact = 1 << 53
		if i > exact || i < -exact {
			return nil, fmt.Errorf("the number %s does not fit", n)
		}
		return strconv.AppendInt(out, i, 10), nil
	}
	if f == 0 {
		return append(out, '0'), nil
	}
	format := byte('f')
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	from := len(out)
	out = strconv.AppendFloat(out, f, format, -1, 64)
	if format == 'e' { // e-09 is written e-9
		if k := len(out); k-from > 4 && out[k-2] == '0' && (out[k-3] == '-' || out[k-3] == '+') {
			out[k-2] = out[k-1]
			out = out[:k-1]
		}
	}
	return out, nil
}
