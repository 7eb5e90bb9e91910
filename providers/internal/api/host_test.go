package api_test

import (
	"net/url"
	"testing"

	"github.com/broadside-pub/broadside/providers/internal/api"
)

func TestSameHostKnowsEverySpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host, server string
		want         bool
	}{
		{"a.example", "https://a.example:443", true},
		{"a.example", "https://A.example./x", true},
		{"a.example:443", "https://a.example", true},
		{"a.example", "http://a.example:80", true},
		{"a.example:8443", "https://a.example:8443", true},
		{"[::1]", "https://[::1]:443", true},
		{"[::1]:3000", "http://[::1]:3000", true},
		{"a.example", "https://a.example:80", false},
		{"a.example", "http://a.example:443", false},
		{"a.example", "https://a.example:8443", false},
		{"a.example:8443", "https://a.example", false},
		{"a.example", "https://a.example.evil.test", false},
		{"", "https://a.example", false},
	} {
		u, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := api.SameHost(c.host, u); got != c.want {
			t.Errorf("%s and %s: %v", c.host, c.server, got)
		}
	}
}
