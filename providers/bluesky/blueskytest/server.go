// Package blueskytest is a Bluesky server (PDS) in memory, for tests: as strict about requests as the real one, and with
// the same answers where they matter. It keeps repositories, blobs and sessions, and knows no app view.
//
// Its behavior follows bluesky-social/atproto at d6296a1c (2026-08-20) and what a real PDS was seen to answer.
package blueskytest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// maxBody bounds what is read of a request: the PDS's own limit for blobs.
const maxBody = 52_428_800

// Server is the fake. Its exported fields are set before its first request.
type Server struct {
	Now func() time.Time
	// Logins is how many sessions an account may begin in five minutes, and Points how many points of writing it has in
	// an hour (3 to create, 2 to update, 1 to delete).
	Logins, Points int
	// AccessLife is how long an access token works.
	AccessLife time.Duration

	mu       sync.Mutex
	key      []byte
	accounts map[string]*account // by DID
	handles  map[string]string   // handle to DID, also of accounts elsewhere
	refresh  map[string]*refreshToken
	gone     map[string]bool // ids of sessions that were ended
	spent    map[string]*window
	requests []Request
}

// Account is what a client is given.
type Account struct {
	DID, Handle, AppPassword string
}

type account struct {
	Account
	records map[string]stored // by record key
	blobs   map[string]blob   // by CID
	status  string            // "" for an active one
}

type stored struct {
	cid string
	raw json.RawMessage
}

type blob struct {
	mime   string
	size   int
	sha256 string
}

// Record is one post as it is stored.
type Record struct {
	URI, CID, RKey string
	Value          json.RawMessage
}

// Post is what people see of a record.
type Post struct {
	URI, Parent, Text string
	Langs             []string
	Images            []Image
}

// Image is one image of a post, or the picture of its card.
type Image struct {
	SHA256, Alt string
}

// Request is one request that was answered.
type Request struct {
	Method string
	NSID   string
	Query  url.Values
	Header http.Header
	Body   []byte
	Status int
}

// New returns a server without accounts.
func New(now func() time.Time) *Server {
	s := &Server{
		Now: now, Logins: 30, Points: 5000, AccessLife: 120 * time.Minute, key: make([]byte, 32),
		accounts: map[string]*account{}, handles: map[string]string{}, refresh: map[string]*refreshToken{},
		gone: map[string]bool{}, spent: map[string]*window{},
	}
	_, _ = rand.Read(s.key)
	return s
}

// failure is an answer other than 200.
type failure struct {
	status        int
	code, message string
	header        http.Header
}

func bad(code, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, code: code, message: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *failure { return bad("InvalidRequest", format, args...) }

// call is one request on its way through a method.
type call struct {
	method string
	query  url.Values
	header http.Header
	body   []byte
	out    http.Header // headers of the answer
}

// ServeHTTP answers XRPC.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client is gone
	}
	nsid, ok := strings.CutPrefix(r.URL.Path, "/xrpc/")
	c := &call{method: r.Method, query: r.URL.Query(), header: r.Header, body: body, out: w.Header()}

	s.mu.Lock()
	defer s.mu.Unlock()
	var answer any
	var f *failure
	switch {
	case !ok:
		f = &failure{status: http.StatusNotFound, code: "NotFound", message: "not found"}
	case len(body) > maxBody:
		f = &failure{status: http.StatusRequestEntityTooLarge, code: "PayloadTooLarge", message: "request entity too large"}
	default:
		answer, f = s.dispatch(nsid, c)
	}
	status := http.StatusOK
	if f != nil {
		status = f.status
		answer = map[string]string{"error": f.code, "message": f.message}
		maps.Copy(w.Header(), f.header)
	}
	s.requests = append(s.requests, Request{
		Method: r.Method, NSID: nsid, Query: c.query, Header: r.Header.Clone(), Body: body, Status: status,
	})
	w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	if answer == nil {
		w.WriteHeader(status)
		return
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}

type handler struct {
	method string
	serve  func(*Server, *call) (any, *failure)
}

func (s *Server) dispatch(nsid string, c *call) (any, *failure) {
	h, ok := map[string]handler{
		"com.atproto.server.createSession":   {http.MethodPost, (*Server).createSession},
		"com.atproto.server.refreshSession":  {http.MethodPost, (*Server).refreshSession},
		"com.atproto.server.getSession":      {http.MethodGet, (*Server).getSession},
		"com.atproto.server.deleteSession":   {http.MethodPost, (*Server).deleteSession},
		"com.atproto.identity.resolveHandle": {http.MethodGet, (*Server).resolveHandle},
		"com.atproto.repo.createRecord":      {http.MethodPost, (*Server).createRecord},
		"com.atproto.repo.putRecord":         {http.MethodPost, (*Server).putRecord},
		"com.atproto.repo.getRecord":         {http.MethodGet, (*Server).getRecord},
		"com.atproto.repo.listRecords":       {http.MethodGet, (*Server).listRecords},
		"com.atproto.repo.deleteRecord":      {http.MethodPost, (*Server).deleteRecord},
		"com.atproto.repo.uploadBlob":        {http.MethodPost, (*Server).uploadBlob},
	}[nsid]
	if !ok {
		return nil, &failure{status: http.StatusNotImplemented, code: "MethodNotImplemented", message: "Method Not Implemented"}
	}
	if c.method != h.method {
		return nil, invalid("Incorrect HTTP method (%s) expected %s", c.method, h.method)
	}
	return h.serve(s, c)
}

// decode reads a JSON body strictly: a field that the lexicon does not have is a mistake of ours.
func (c *call) decode(out any) *failure {
	if ct, _, _ := strings.Cut(c.header.Get("Content-Type"), ";"); ct != "application/json" {
		return invalid("Wrong request encoding (Content-Type): %s", ct)
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return invalid("Input is not as the lexicon has it: %v", err)
	}
	return nil
}

// token returns n random characters of base32.
func token(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strings.ToLower(rand.Text()))
	}
	return b.String()[:n]
}

func (s *Server) resolveHandle(c *call) (any, *failure) {
	did, ok := s.handles[c.query.Get("handle")]
	if !ok {
		return nil, invalid("Unable to resolve handle")
	}
	return map[string]string{"did": did}, nil
}
