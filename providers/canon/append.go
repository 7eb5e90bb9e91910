package canon

import (
	"math"
	"strconv"
	"strings"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s, which must be valid UTF-8, as a canonical JSON string.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendNumber appends f, which must be finite, as ECMAScript's Number::toString prints it (RFC 8785, section 3.2.2.3).
func AppendNumber(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // also for negative zero
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	if f < 0 {
		dst = append(dst, '-')
		f = -f
	}
	sci := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(sci, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exp) // FormatFloat's own exponent always parses
	k, n := len(digits), e+1  // the value is 0.digits times ten to the n
	switch {
	case k <= n && n <= 21:
		return append(append(dst, digits...), strings.Repeat("0", n-k)...)
	case 0 < n && n <= 21:
		return append(append(append(dst, digits[:n]...), '.'), digits[n:]...)
	case -6 < n && n <= 0:
		return append(append(append(dst, '0', '.'), strings.Repeat("0", -n)...), digits...)
	}
	dst = append(dst, digits[0])
	if k > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	dst = append(dst, 'e')
	if e > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(e), 10)
}

// CompareNames orders names by their UTF-16 code units, as RFC 8785 sorts an object. Both must be valid UTF-8.
func CompareNames(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		// UTF-8 sorts as UTF-16 does, but for what takes a surrogate pair (first byte 0xF0 and above): it comes before
		// U+E000 to U+FFFF (first byte 0xEE or 0xEF). A continuation byte never reaches 0xEE.
		if x >= 0xF0 && (y == 0xEE || y == 0xEF) {
			return -1
		}
		if y >= 0xF0 && (x == 0xEE || x == 0xEF) {
			return 1
		}
		if x < y {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}
