package api

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// farthest bounds how far ahead a server may send us; what lies beyond is taken for an error of the server's.
const farthest = 366 * 24 * time.Hour

// RetryAt is when a server wants to be asked again, by its headers: Retry-After (RFC 9110: seconds or a date), then
// RateLimit-Reset (seconds from now, or an epoch), X-RateLimit-Reset-After (seconds) and X-RateLimit-Reset (epoch,
// ISO 8601, or seconds from now). Zero where none of them says. It is never before now.
func RetryAt(h http.Header, now time.Time) time.Time {
	for _, name := range []string{
		"Retry-After", "RateLimit-Reset", "X-RateLimit-Reset-After", "X-RateLimit-Reset", "X-Rate-Limit-Reset",
	} {
		if t := moment(h.Get(name), now); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// moment reads a time in any of the forms that networks use.
func moment(v string, now time.Time) time.Time {
	v = strings.TrimSpace(v)
	if v == "" {
		return time.Time{}
	}
	var t time.Time
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		const (
			epoch  = float64(farthest / time.Second) // smaller numbers are seconds from now
			millis = 1e11
		)
		switch {
		case math.IsNaN(n) || math.IsInf(n, 0) || n < 0 || n > 1e14:
			return time.Time{}
		case n < epoch:
			t = now.Add(time.Duration(math.Ceil(n*1000)) * time.Millisecond)
		case n < millis:
			t = time.UnixMilli(int64(math.Ceil(n * 1000))).UTC()
		default:
			t = time.UnixMilli(int64(math.Ceil(n))).UTC()
		}
	} else if d, err := http.ParseTime(v); err == nil {
		t = d
	} else if d, err := time.Parse(time.RFC3339Nano, v); err == nil {
		t = d.UTC()
	} else {
		return time.Time{}
	}
	if t.Sub(now) > farthest {
		return time.Time{}
	}
	if t.Before(now) {
		return now
	}
	return t
}
