package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers/internal/api"
)

func TestIDsAndAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"1": true, "at://did:plc:abc/app.bsky.feed.post/3k": true, strings.Repeat("a", 512): true,
		"": false, ".": false, "..": false, "a b": false, "a\n": false, "ä": false, "\x7f": false, strings.Repeat("a", 513): false,
	} {
		if got := api.ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %v", id, got)
		}
	}
	for in, want := range map[string]string{"a/b": "a%2Fb", "..": "%2E%2E", ".": "%2E", "a?b#c": "a%3Fb%23c", "%2e": "%252e"} {
		if got := api.PathEscape(in); got != want {
			t.Errorf("PathEscape(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"https://a.test/x?y": "https://a.test/x?y", "http://a.test": "http://a.test", "javascript:alert(1)": "", "//a.test": "",
		"https://u:p@a.test/": "", "https://a.test/\n": "", "https://a.test/ b": "", "": "", "https://a.test/" + strings.Repeat("x", 3000): "",
	} {
		if got := api.ValidURL(in); got != want {
			t.Errorf("ValidURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRetryAtReadsEveryForm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration // from now; negative: none
	}{
		{"Retry-After", "120", 2 * time.Minute},
		{"Retry-After", " 0 ", 0},
		{"Retry-After", "1.5", 1500 * time.Millisecond},
		{"Retry-After", "Thu, 03 Dec 2026 09:05:00 GMT", 5 * time.Minute},
		{"Retry-After", "Thursday, 03-Dec-26 09:05:00 GMT", 5 * time.Minute},
		{"Retry-After", "Thu, 03 Dec 2026 08:00:00 GMT", 0},
		{"Retry-After", "soon", -1},
		{"Retry-After", "-5", -1},
		{"Retry-After", "NaN", -1},
		{"Retry-After", "1e300", -1},
		{"Retry-After", "999999999", 0},
		{"Retry-After", "99999999999", -1},
		{"RateLimit-Reset", "30", 30 * time.Second},
		{"RateLimit-Reset", fmt.Sprint(now.Unix() + 90), 90 * time.Second},
		{"X-RateLimit-Reset", fmt.Sprint(now.Unix() + 90), 90 * time.Second},
		{"X-RateLimit-Reset", fmt.Sprintf("%d.470", now.Unix()+1), 1470 * time.Millisecond},
		{"X-RateLimit-Reset", fmt.Sprint(now.UnixMilli() + 2500), 2500 * time.Millisecond},
		{"X-RateLimit-Reset", "2026-12-03T09:10:00.123456Z", 10*time.Minute + 123456*time.Microsecond},
		{"X-RateLimit-Reset", "2026-12-03T10:10:00+01:00", 10 * time.Minute},
		{"X-RateLimit-Reset", fmt.Sprint(now.Unix() - 5), 0},
		{"X-RateLimit-Reset-After", "1.25", 1250 * time.Millisecond},
		{"X-Other", "5", -1},
	} {
		got := api.RetryAt(http.Header{http.CanonicalHeaderKey(c.name): {c.value}}, now)
		if c.want < 0 {
			if !got.IsZero() {
				t.Errorf("%s: %s: got %v, want none", c.name, c.value, got)
			}
			continue
		}
		if d := got.Sub(now) - c.want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("%s: %s: got %v, want %v from now", c.name, c.value, got.Sub(now), c.want)
		}
	}
	both := http.Header{"Retry-After": {"10"}, "X-Ratelimit-Reset": {"99"}}
	if got := api.RetryAt(both, now); got.Sub(now) != 10*time.Second {
		t.Errorf("Retry-After does not come first: %v", got)
	}
}

func FuzzSanitizeIsOneBoundedPrintableLine(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\x1b[31mred", "\u202egnp", "\xff\xfe", strings.Repeat("ä", 400), "::error::x"} {
		f.Add(s, 300)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 3 || limit > 1000 {
			return
		}
		got := api.Sanitize(s, limit)
		if len(got) > limit || strings.ContainsAny(got, "\n\r\x1b\u202e\u200b\x00") || !json.Valid(append(append([]byte(`"`), []byte(strings.NewReplacer(`\`, ``, `"`, ``).Replace(got))...), '"')) {
			t.Errorf("Sanitize(%q, %d) = %q", s, limit, got)
		}
		if api.Sanitize(got, limit) != got {
			t.Errorf("not stable: %q", got)
		}
	})
}

func FuzzRetryAtIsNeverBeforeNow(f *testing.F) {
	for _, s := range []string{"1", "1e9", "2026-12-03T09:10:00Z", "Thu, 03 Dec 2026 09:05:00 GMT", "-0", "0x1p-2", "1e12"} {
		f.Add(s)
	}
	now := time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, v string) {
		got := api.RetryAt(http.Header{"Retry-After": {v}}, now)
		if !got.IsZero() && (got.Before(now) || got.Sub(now) > 367*24*time.Hour) {
			t.Errorf("%q gives %v", v, got)
		}
	})
}
