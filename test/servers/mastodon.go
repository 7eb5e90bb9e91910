package servers

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// outOfBand is the redirect of a client that has no page to be sent back to: the code is shown instead.
const outOfBand = "urn:ietf:wg:oauth:2.0:oob"

// MastodonServer is a real server that speaks the Mastodon API (snac), with one of its users. It knows no Idempotency-Key,
// deletes nothing, and makes public of unlisted and private of direct. A user is shared by many tests: a test marks its
// posts with a text of its own and looks for that.
type MastodonServer struct {
	URL  string // base URL, without a trailing slash
	User string

	passwordFile string
	token        string
}

// Status is one status as the server lists it.
type Status struct {
	ID          string       `json:"id"`
	URL         string       `json:"url"`
	Content     string       `json:"content"` // HTML
	Visibility  string       `json:"visibility"`
	Language    string       `json:"language"`
	SpoilerText string       `json:"spoiler_text"`
	InReplyTo   string       `json:"in_reply_to_id"`
	Media       []Attachment `json:"media_attachments"`
}

// Attachment is one medium of a status.
type Attachment struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Mastodon returns the server that .ci/servers/snac.sh started.
func Mastodon(t testing.TB) *MastodonServer {
	t.Helper()
	return &MastodonServer{
		URL:          strings.TrimRight(need(t, "BROADSIDE_TEST_MASTODON", "snac.sh"), "/"),
		User:         need(t, "BROADSIDE_TEST_MASTODON_USER", "snac.sh"),
		passwordFile: need(t, "BROADSIDE_TEST_MASTODON_PASSWORD_FILE", "snac.sh"),
	}
}

// MastodonOther is the same server with its other user, for tests that cannot bear all that others do with the first: a
// status that somebody has edited could be any, so that a finder is not sure while there is one.
func MastodonOther(t testing.TB) *MastodonServer {
	t.Helper()
	s := Mastodon(t)
	s.User = need(t, "BROADSIDE_TEST_MASTODON_OTHER", "snac.sh")
	s.passwordFile = need(t, "BROADSIDE_TEST_MASTODON_OTHER_PASSWORD_FILE", "snac.sh")
	return s
}

// Token goes the whole way of a new client, from registering the app to the access token, which may read and write.
func (s *MastodonServer) Token(t testing.TB) string {
	t.Helper()
	password, err := os.ReadFile(s.passwordFile)
	if err != nil {
		t.Fatal(err)
	}
	const scopes = "read write"
	var app struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	s.form(t, "/api/v1/apps", url.Values{
		"client_name": {"broadside tests"}, "redirect_uris": {outOfBand}, "scopes": {scopes},
	}, &app)
	// Where Mastodon shows a person a page with a form, this is what snac's form sends.
	code := send(t, request{
		method: http.MethodPost, url: s.URL + "/oauth/x-snac-login", contentType: formType,
		body: url.Values{
			"login": {s.User}, "passwd": {strings.TrimSpace(string(password))},
			"redir": {outOfBand}, "cid": {app.ID}, "state": {""},
		}.Encode(),
	})
	var token struct {
		Access string `json:"access_token"`
	}
	s.form(t, "/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {app.ID}, "client_secret": {app.Secret},
		"redirect_uri": {outOfBand}, "code": {strings.TrimSpace(string(code))}, "scope": {scopes},
	}, &token)
	if token.Access == "" {
		t.Fatal("the server gave an empty access token")
	}
	return token.Access
}

// AccountID is the id of the server's user, which the target of a delivery names.
func (s *MastodonServer) AccountID(t testing.TB) string {
	t.Helper()
	var me struct {
		ID string `json:"id"`
	}
	s.get(t, "/api/v1/accounts/verify_credentials", &me)
	return me.ID
}

// Statuses lists what the user has posted in public, the newest first. The server leaves out private statuses even here.
func (s *MastodonServer) Statuses(t testing.TB) []Status {
	t.Helper()
	var all []Status
	s.get(t, "/api/v1/accounts/"+url.PathEscape(s.AccountID(t))+"/statuses", &all)
	return all
}

// Status returns one status of the user, whatever its visibility.
func (s *MastodonServer) Status(t testing.TB, id string) Status {
	t.Helper()
	var status Status
	s.get(t, "/api/v1/statuses/"+url.PathEscape(id), &status)
	return status
}

const formType = "application/x-www-form-urlencoded"

func (s *MastodonServer) form(t testing.TB, path string, values url.Values, out any) {
	t.Helper()
	r := request{method: http.MethodPost, url: s.URL + path, contentType: formType, body: values.Encode()}
	decode(t, r, send(t, r), out)
}

func (s *MastodonServer) get(t testing.TB, path string, out any) {
	t.Helper()
	if s.token == "" {
		s.token = s.Token(t)
	}
	sendJSON(t, request{method: http.MethodGet, url: s.URL + path, token: s.token}, nil, out)
}
