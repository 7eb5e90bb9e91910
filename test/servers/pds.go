package servers

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// PDSServer is a real Bluesky PDS. It has no app view: what was posted is read back from the repository itself.
type PDSServer struct {
	URL string // base URL, without a trailing slash
	PLC string // base URL of the directory that its DIDs live in
}

// Account is an account made for one test.
type Account struct {
	Handle      string
	DID         string
	Password    string // the account's own
	AppPassword string // what a client of the account is given
}

// Record is one app.bsky.feed.post record as the PDS stores it.
type Record struct {
	URI   string
	CID   string
	Value json.RawMessage
}

// Key is the record key, the last element of the record's URI.
func (r Record) Key() string { return r.URI[strings.LastIndexByte(r.URI, '/')+1:] }

// Text is the text of the post, empty where the record has none.
func (r Record) Text() string {
	var post struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(r.Value, &post); err != nil {
		return ""
	}
	return post.Text
}

// PDS returns the PDS that .ci/servers/pds.sh started.
func PDS(t testing.TB) *PDSServer {
	t.Helper()
	return &PDSServer{
		URL: strings.TrimRight(need(t, "BROADSIDE_TEST_PDS", "pds.sh"), "/"),
		PLC: strings.TrimRight(need(t, "BROADSIDE_TEST_PLC", "pds.sh"), "/"),
	}
}

// CreateAccount makes an account with exactly this handle, which ends in .test, and returns its DID and password.
func (s *PDSServer) CreateAccount(t testing.TB, handle string) (did, password string) {
	t.Helper()
	password = rand.Text()
	var made struct {
		DID string `json:"did"`
	}
	s.procedure(t, "com.atproto.server.createAccount", "", map[string]string{
		"handle": handle, "email": handle + "@example.com", "password": password,
	}, &made)
	return made.DID, password
}

// NewAccount makes an account with a handle of its own and an app password, for a test that cares for neither.
func (s *PDSServer) NewAccount(t testing.TB) Account {
	t.Helper()
	a := Account{Handle: "t" + strings.ToLower(rand.Text()[:14]) + ".test"}
	a.DID, a.Password = s.CreateAccount(t, a.Handle)
	a.AppPassword = s.AppPassword(t, a.Handle, a.Password)
	return a
}

// AppPassword makes an app password for the account; identifier is its handle or DID.
func (s *PDSServer) AppPassword(t testing.TB, identifier, password string) string {
	t.Helper()
	var made struct {
		Password string `json:"password"`
	}
	s.procedure(t, "com.atproto.server.createAppPassword", s.Session(t, identifier, password),
		map[string]string{"name": "test-" + rand.Text()[:8]}, &made)
	return made.Password
}

// Session logs in with a password or an app password and returns an access token.
func (s *PDSServer) Session(t testing.TB, identifier, password string) string {
	t.Helper()
	var session struct {
		AccessJWT string `json:"accessJwt"`
	}
	s.procedure(t, "com.atproto.server.createSession", "",
		map[string]string{"identifier": identifier, "password": password}, &session)
	return session.AccessJWT
}

// Records lists every app.bsky.feed.post record of the account, the oldest key first.
func (s *PDSServer) Records(t testing.TB, did string) []Record {
	t.Helper()
	var all []Record
	query := url.Values{
		"repo": {did}, "collection": {"app.bsky.feed.post"}, "limit": {"100"}, "reverse": {"true"},
	}
	for {
		var page struct {
			Records []Record `json:"records"`
			Cursor  string   `json:"cursor"`
		}
		sendJSON(t, request{
			method: http.MethodGet, url: s.URL + "/xrpc/com.atproto.repo.listRecords?" + query.Encode(),
		}, nil, &page)
		all = append(all, page.Records...)
		if page.Cursor == "" || len(page.Records) == 0 {
			return all
		}
		query.Set("cursor", page.Cursor)
	}
}

// procedure calls one method that writes.
func (s *PDSServer) procedure(t testing.TB, method, token string, in, out any) {
	t.Helper()
	sendJSON(t, request{method: http.MethodPost, url: s.URL + "/xrpc/" + method, token: token}, in, out)
}
