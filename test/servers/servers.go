// Package servers gives tests the real servers that .ci/servers starts on loopback: a Bluesky PDS and a server that
// speaks the Mastodon API. It starts nothing itself: it finds them by the environment that their scripts print.
//
// A test that needs a server which is not there is skipped by name, and fails where BROADSIDE_REQUIRE_SERVERS is 1, as it
// is in CI. The servers are shared by every package under test, so a test makes what it needs and counts only that.
package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// RequireEnv is the variable that turns a missing server from a skipped test into a failed one.
const RequireEnv = "BROADSIDE_REQUIRE_SERVERS"

// answerLimit bounds what is read of one answer: a listing of some hundred posts is far below it.
const answerLimit = 16 << 20

// need returns the value of an environment variable that a server's script prints.
func need(t testing.TB, name, script string) string {
	t.Helper()
	if v := os.Getenv(name); v != "" {
		return v
	}
	text := fmt.Sprintf(`%s is not set: run .ci/servers/%s install, then eval "$(.ci/servers/%s start)"`, name, script, script)
	if os.Getenv(RequireEnv) == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// client sends the helpers' own requests. It follows no redirect: the code of a login comes in one.
var client = &http.Client{
	Timeout: 30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
	Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
}

// request is one call of a helper.
type request struct {
	method, url string
	contentType string
	body        string
	token       string
}

// send returns the body of a successful answer and ends the test at any other.
func send(t testing.TB, r request) []byte {
	t.Helper()
	body, err := r.do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// do keeps secrets out of its error: a request's body is never part of it.
func (r request) do(ctx context.Context) ([]byte, error) {
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, err
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.url, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %.300s", r.method, r.url, resp.Status, answer)
	}
	return answer, nil
}

// sendJSON sends in as JSON, or nothing when it is nil, and decodes the answer into out.
func sendJSON(t testing.TB, r request, in, out any) {
	t.Helper()
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		r.body, r.contentType = string(b), "application/json"
	}
	decode(t, r, send(t, r), out)
}

// decode reads the answer to r.
func decode(t testing.TB, r request, answer []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("%s %s: %v in %.300s", r.method, r.url, err, answer)
	}
}
