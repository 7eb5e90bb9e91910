// Package webhooktest is a receiver of Standard Webhooks for tests: it checks each message as a careful receiver does and
// keeps what it takes.
//
// It shares no code with the adapter, starts no goroutine and listens on nothing.
package webhooktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// Secret is the signing secret that the receiver knows, URL the address that it answers at.
const (
	Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	Host   = "hooks.test"
	Path   = "/in/0d3f9a6c51"
	URL    = "https://" + Host + Path + "?token=b8f2c04e7d19"
)

// tolerance is how far a message's time may be from the receiver's own.
const tolerance = 5 * time.Minute

// Options say how the receiver behaves.
type Options struct {
	Now         func() time.Time // time.Now where nil
	Deduplicate bool             // a webhook-id that is known is answered and not taken again
	Answer      bool             // answers carry an id and a URL of the receiver's own
}

// Message is one message that was taken.
type Message struct {
	ID     string
	Sent   time.Time // by webhook-timestamp
	Header http.Header
	Raw    []byte
	Body   Body
}

// Body is the JSON of a message.
type Body struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		Post   string         `json:"post"`
		Part   int            `json:"part"`
		Parts  int            `json:"parts"`
		Title  string         `json:"title"`
		Text   string         `json:"text"`
		HTML   string         `json:"html"`
		Lang   string         `json:"lang"`
		Extra  map[string]any `json:"extra"`
		Parent *struct {
			ID  string `json:"id"`
			Ref string `json:"ref"`
			URL string `json:"url"`
		} `json:"parent"`
		Media []struct {
			Path   string `json:"path"`
			Alt    string `json:"alt"`
			SHA256 string `json:"sha256"`
			MIME   string `json:"mime"`
			Bytes  int64  `json:"bytes"`
			Width  int    `json:"width"`
			Height int    `json:"height"`
		} `json:"media"`
	} `json:"data"`
}

// Receiver takes messages. It is safe for concurrent use.
type Receiver struct {
	o    Options
	mu   sync.Mutex
	took []Message
	seen int
}

// New makes a receiver.
func New(o Options) *Receiver {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Receiver{o: o}
}

// Config is what an adapter needs to talk to the receiver, less Transport and Now.
func (r *Receiver) Config() providers.Config {
	return providers.Config{
		TargetID: "5b0c9e7a41d2", Settings: map[string]any{"deduplicates": r.o.Deduplicate},
		Credential: providers.Credential{
			Version: 1, Provider: "webhook", Host: Host, Target: "webhook:" + Host + ":5b0c9e7a41d2",
			Secrets: map[string]string{"url": URL, "secret": Secret},
		},
	}
}

// Messages returns what was taken, in order.
func (r *Receiver) Messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.took)
}

// Requests tells how many requests passed the checks, repeated ones included.
func (r *Receiver) Requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.URL.Path != Path || req.URL.Query().Get("token") != "b8f2c04e7d19" {
		http.Error(w, "no such endpoint", http.StatusNotFound)
		return
	}
	if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "only JSON by POST", http.StatusUnsupportedMediaType)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body broke off", http.StatusBadRequest)
		return
	}
	m := Message{ID: req.Header.Get("webhook-id"), Header: req.Header.Clone(), Raw: raw}
	if m.Sent, err = Verify(Secret, req.Header, raw, r.o.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if err := json.Unmarshal(raw, &m.Body); err != nil || m.Body.ID != m.ID || m.Body.Type != "post.published" {
		http.Error(w, "not a message of the kind that is taken here", http.StatusUnprocessableEntity)
		return
	}
	r.seen++
	at := slices.IndexFunc(r.took, func(t Message) bool { return t.ID == m.ID })
	if at < 0 || !r.o.Deduplicate {
		at = len(r.took)
		r.took = append(r.took, m)
	}
	if !r.o.Answer {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": 1000 + at, "url": fmt.Sprintf("https://blog.test/posts/%d", 1000+at)})
}

// Verify checks a message's headers against its body, as of now, and returns when it was sent.
func Verify(secret string, h http.Header, body []byte, now time.Time) (time.Time, error) {
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	if id == "" || strings.Contains(id, ".") {
		return time.Time{}, fmt.Errorf("the webhook-id is %q", id)
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the webhook-timestamp is %q", stamp)
	}
	sent := time.Unix(seconds, 0)
	if d := now.Sub(sent); d > tolerance || d < -tolerance {
		return time.Time{}, fmt.Errorf("the message was sent %v ago", d)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return time.Time{}, err
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	want := mac.Sum(nil)
	for s := range strings.FieldsSeq(h.Get("webhook-signature")) {
		version, encoded, _ := strings.Cut(s, ",")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if version == "v1" && err == nil && hmac.Equal(got, want) {
			return sent, nil
		}
	}
	return time.Time{}, fmt.Errorf("no signature is right")
}
