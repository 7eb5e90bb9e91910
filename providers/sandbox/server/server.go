// Package server is the sandbox: an invented network with accounts, threads, media, polls and staged containers, a page
// that shows what arrived, and faults by rule. It holds everything in memory.
//
// It is meant for a machine of one's own: whoever reaches it may administer it. It knows nothing of the adapter in the
// package above, so that each checks the other.
package server

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Limits are what the instance takes; GET /api/v1/instance tells them.
type Limits struct {
	Text        int      `json:"max_text"` // graphemes of a post
	Parts       int      `json:"max_parts"`
	Media       int      `json:"max_media"`
	Alt         int      `json:"max_alt"` // graphemes of an alt text
	ImageBytes  int64    `json:"max_image_bytes"`
	MIME        []string `json:"media_types"`
	PollOptions int      `json:"max_poll_options"`
	PollOption  int      `json:"max_poll_option"`
}

// DefaultLimits are those that the adapter's Info declares.
func DefaultLimits() Limits {
	return Limits{
		Text: 500, Parts: 50, Media: 4, Alt: 1000, ImageBytes: 5_000_000,
		MIME:        []string{"image/png", "image/jpeg", "image/gif", "image/webp"},
		PollOptions: 4, PollOption: 50,
	}
}

// Options say how a sandbox behaves. Their zero values, but for Now, mean the defaults.
type Options struct {
	Now func() time.Time // required
	// BaseURL is the address in links to posts; by default the one that each request came to.
	BaseURL string
	Limits  Limits
	// KeyWindow is how long an idempotency key is remembered: an hour by default, negative for never.
	KeyWindow time.Duration
	// TokenLife is how long an access token lives that a refresh token comes with; 2 hours by default.
	TokenLife time.Duration
	// PageSize is the most posts on one page of a list; 40 by default.
	PageSize int
}

// Server is a sandbox. It is safe for concurrent use.
type Server struct {
	o   Options
	mux *http.ServeMux

	mu       sync.Mutex
	serial   int
	accounts []*account
	posts    map[string]*post // those that were deleted too
	order    []*post          // by publication
	media    map[string]*medium
	boxes    map[string]*container
	rules    []*rule
	log      []Request
}

// New returns a sandbox without accounts.
func New(o Options) *Server {
	if o.Limits.Text == 0 {
		o.Limits = DefaultLimits()
	}
	if o.KeyWindow == 0 {
		o.KeyWindow = time.Hour
	}
	if o.TokenLife == 0 {
		o.TokenLife = 2 * time.Hour
	}
	if o.PageSize == 0 {
		o.PageSize = 40
	}
	s := &Server{o: o, mux: http.NewServeMux(), posts: map[string]*post{}, media: map[string]*medium{}, boxes: map[string]*container{}}
	s.routes()
	return s
}

// routes lists every address with the name that rules and the log know it by.
func (s *Server) routes() {
	for _, r := range []struct {
		pattern string
		op      Op
		run     func(*call) *reply
	}{
		{"POST /api/v1/posts", Publish, s.createPost},
		{"GET /api/v1/posts", List, s.listPosts},
		{"GET /api/v1/posts/{id}", Get, s.getPost},
		{"PUT /api/v1/posts/{id}", Edit, s.editPost},
		{"DELETE /api/v1/posts/{id}", Delete, s.deletePost},
		{"POST /api/v1/media", Upload, s.upload},
		{"POST /api/v1/containers", Container, s.createContainer},
		{"POST /api/v1/containers/{id}/process", Process, s.processContainer},
		{"POST /api/v1/containers/{id}/publish", Publish, s.publishContainer},
		{"GET /api/v1/account", Account, s.ownAccount},
		{"GET /api/v1/accounts/{handle}", Resolve, s.otherAccount},
		{"GET /api/v1/instance", Instance, s.instance},
		{"POST /api/v1/token", Refresh, s.refresh},
	} {
		s.mux.Handle(r.pattern, s.api(r.op, r.run))
	}
	s.mux.Handle("/api/", s.api("", func(*call) *reply { return refuse(http.StatusNotFound, "not_found", "there is no such address") }))
	s.adminRoutes()
	s.pageRoutes()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Request is one line of the log.
type Request struct {
	At      time.Time `json:"at"`
	Op      Op        `json:"op"`
	Account string    `json:"account,omitempty"` // the handle
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Post    string    `json:"post,omitempty"` // by the header Sandbox-Post
	Part    int       `json:"part,omitempty"`
	Status  int       `json:"status"` // 0 where no answer was given
	Fault   Fault     `json:"fault,omitempty"`
	Made    string    `json:"made,omitempty"`   // the id of the post that came into being
	Repeat  bool      `json:"repeat,omitempty"` // the idempotency key was known
}

// mostLogged bounds the log; the oldest lines go first.
const mostLogged = 2000

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) >= mostLogged {
		s.log = slices.Delete(s.log, 0, mostLogged/10)
	}
	s.log = append(s.log, r)
}

// Requests returns the log, the oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Reset forgets posts, media, containers, rules and the log; accounts and their tokens stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts, s.order = map[string]*post{}, nil
	s.media, s.boxes = map[string]*medium{}, map[string]*container{}
	s.rules, s.log = nil, nil
	for _, a := range s.accounts {
		a.keys = map[string]remembered{}
	}
}
