// Package mastodontest is a fake Mastodon server: one account's statuses and media behind the client API, with the rules
// that the real one enforces, and with switches for what other servers lack.
//
// It knows no faults: those are put on the way to it. It starts no goroutine, listens on nothing, and shares no code with
// the adapter, so that a mistake there is not repeated here.
package mastodontest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// What the fake knows from the start.
const (
	AccountID      = "109501234567890123"
	OtherAccountID = "109501234567890999"
	Username       = "alice"
	Host           = "mastodon.test"
	// Token belongs to AccountID, OtherToken to OtherAccountID.
	Token      = "token-of-alice-4f1c2b7a9e"
	OtherToken = "token-of-bob-77aa01c3d5"
)

// Options say how the server behaves. The zero value is a Mastodon with its usual limits.
type Options struct {
	Now           func() time.Time // time.Now where nil
	Software      string           // as nodeinfo names it; "mastodon" where empty
	Version       string           // as the instance tells it; a Mastodon's where empty
	MaxCharacters int              // 500 where 0
	StatusLimit   int              // statuses per five minutes; 300 where 0
	Processing    int              // how often a medium is asked for before it is ready; 0: ready at once
	Corrupt       bool             // media fail while they are processed

	NoIdempotency bool // the key is ignored
	NoV2Instance  bool // only /api/v1/instance is there
	NoConfig      bool // the instance tells no configuration, as before 3.4.2
	NoNodeInfo    bool
	NoMediaV2     bool // only /api/v1/media takes files
	NoMediaStatus bool // media cannot be asked for
	NoDelete      bool
	NoEdit        bool
	NoSource      bool
	NoPaging      bool // limit and max_id are ignored
	NoPolls       bool // polls are dropped
	HidePrivate   bool // private and direct statuses are not listed
	FewerKinds    bool // unlisted becomes public, direct becomes private
	ExtraBreaks   bool // content ends with a break, and light markup is rendered
	DropAlt       bool // descriptions of media are dropped
	Silenced      bool // public statuses become unlisted
}

// Snac returns options of a server that lacks what snac 2.75 lacks.
func Snac() Options {
	return Options{
		Software: "snac", Version: "4.0.0 (not true; really snac/2.75)", MaxCharacters: 100000,
		NoIdempotency: true, NoV2Instance: true, NoMediaStatus: true, NoDelete: true, NoPaging: true, NoPolls: true,
		HidePrivate: true, FewerKinds: true, ExtraBreaks: true,
	}
}

// Status is one status as the server keeps it.
type Status struct {
	ID         string
	AccountID  string
	Text       string
	Spoiler    string
	Visibility string
	Language   string
	Sensitive  bool
	InReplyTo  string
	Media      []Attachment
	Poll       *Poll
	Reblog     bool
	CreatedAt  time.Time
	EditedAt   time.Time // zero: never
}

// Attachment is one uploaded file.
type Attachment struct {
	ID          string
	AccountID   string
	Name        string
	MIME        string
	SHA256      string
	Description string
	Focus       string
	Status      string // the status that shows it, "" for none
	looks       int    // how often it has to be asked for until it is ready
}

// Poll is the poll of a status.
type Poll struct {
	Options    []string
	Multiple   bool
	HideTotals bool
	ExpiresAt  time.Time
}

// Server is the fake. It is safe for concurrent use.
type Server struct {
	o   Options
	mux *http.ServeMux

	mu       sync.Mutex
	last     int64
	statuses []*Status // the oldest first
	media    []*Attachment
	keys     map[string]keyed // by account and key
	sent     []time.Time      // when statuses were posted, for the rate limit
}

type keyed struct {
	status string
	until  time.Time
}

// New makes a fake.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Software == "" {
		o.Software = "mastodon"
	}
	if o.Version == "" {
		o.Version = "4.5.2"
	}
	if o.MaxCharacters == 0 {
		o.MaxCharacters = 500
	}
	if o.StatusLimit == 0 {
		o.StatusLimit = 300
	}
	s := &Server{o: o, mux: http.NewServeMux(), last: 115000000000000000, keys: map[string]keyed{}}
	s.routes()
	return s
}

// Config is what an adapter needs to talk to the fake, less Transport and Now.
func Config() providers.Config {
	return providers.Config{
		Server: "https://" + Host, Account: Username + "@" + Host, TargetID: AccountID,
		Credential: providers.Credential{
			Version: 1, Provider: "mastodon", Host: Host, Target: "mastodon:" + Host + ":" + AccountID,
			Account: Username + "@" + Host, Secrets: map[string]string{"access_token": Token},
		},
	}
}

func (s *Server) routes() {
	handle := func(pattern string, off bool, h func(http.ResponseWriter, *http.Request, string)) {
		if off {
			return
		}
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			account := accountOf(r)
			if account == "" {
				refuse(w, http.StatusUnauthorized, "The access token is invalid")
				return
			}
			h(w, r, account)
		})
	}
	open := func(pattern string, off bool, h http.HandlerFunc) {
		if !off {
			s.mux.HandleFunc(pattern, h)
		}
	}
	handle("POST /api/v1/statuses", false, s.postStatus)
	handle("GET /api/v1/statuses/{id}", false, s.getStatus)
	handle("PUT /api/v1/statuses/{id}", s.o.NoEdit, s.editStatus)
	handle("DELETE /api/v1/statuses/{id}", s.o.NoDelete, s.deleteStatus)
	handle("GET /api/v1/statuses/{id}/source", s.o.NoSource, s.getSource)
	handle("GET /api/v1/accounts/{id}/statuses", false, s.listStatuses)
	handle("GET /api/v1/accounts/verify_credentials", false, s.verify)
	handle("POST /api/v2/media", s.o.NoMediaV2, s.postMedia)
	handle("POST /api/v1/media", false, s.postMedia)
	handle("GET /api/v1/media/{id}", s.o.NoMediaStatus, s.getMedia)
	open("GET /api/v2/instance", s.o.NoV2Instance, s.instanceV2)
	open("GET /api/v1/instance", false, s.instanceV1)
	open("GET /.well-known/nodeinfo", s.o.NoNodeInfo, s.nodeinfoIndex)
	open("GET /nodeinfo/2.0", s.o.NoNodeInfo, s.nodeinfo)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<h1>404 Not Found</h1>"))
	})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Statuses returns all statuses, the oldest first.
func (s *Server) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Status, 0, len(s.statuses))
	for _, st := range s.statuses {
		c := *st
		c.Media = slices.Clone(st.Media)
		out = append(out, c)
	}
	return out
}

// Add puts a status there as somebody else would, by hand or with another client, and returns its id. What it leaves
// empty is filled in; CreatedAt may lie in the past.
func (s *Server) Add(st Status) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.ID = s.next()
	if st.AccountID == "" {
		st.AccountID = AccountID
	}
	if st.Visibility == "" {
		st.Visibility = "public"
	}
	if st.CreatedAt.IsZero() {
		st.CreatedAt = s.o.Now()
	}
	s.statuses = append(s.statuses, &st)
	slices.SortStableFunc(s.statuses, func(a, b *Status) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return st.ID
}

// Rewrite changes a status in place, as an edit on the network does.
func (s *Server) Rewrite(id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.find(id); st != nil {
		st.Text, st.EditedAt = text, s.o.Now()
	}
}

func (s *Server) find(id string) *Status {
	for _, st := range s.statuses {
		if st.ID == id {
			return st
		}
	}
	return nil
}

// accountOf returns whose token r carries, "" for none.
func accountOf(r *http.Request) string {
	switch token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token {
	case Token:
		return AccountID
	case OtherToken:
		return OtherAccountID
	}
	return ""
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"error": message})
}

func notFound(w http.ResponseWriter) { refuse(w, http.StatusNotFound, "Record not found") }
