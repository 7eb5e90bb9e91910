package sandbox

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// requestTimeout bounds each request.
const requestTimeout = 30 * time.Second

// The names of a login's secrets.
const (
	secretToken   = "token"
	secretRefresh = "refresh_token"
	secretExpires = "token_expires"
)

// The network's own error codes that say more than their status.
const (
	codeDuplicate     = "duplicate"
	codeKeyReused     = "key_reused"
	codeContainerGone = "container_gone"
	codeInvalidGrant  = "invalid_grant"
	codeMaintenance   = "maintenance"
)

// payload is the body of POST /api/v1/posts. Before it is sealed, media and mentions stand in it by SHA256 and name.
type payload struct {
	Text           string   `json:"text"`
	Marks          []mark   `json:"marks,omitempty"`
	Lang           string   `json:"lang,omitempty"`
	Visibility     string   `json:"visibility"`
	ContentWarning string   `json:"content_warning,omitempty"`
	Sensitive      bool     `json:"sensitive,omitempty"`
	Tags           []string `json:"tags,omitempty"`
	KeepDays       int      `json:"keep_days,omitempty"`
	Poll           *poll    `json:"poll,omitempty"`
	Media          []media  `json:"media,omitempty"`
	InReplyTo      string   `json:"in_reply_to,omitempty"` // merged in when it is sent
}

// mark says what a stretch of the text is, by UTF-8 byte offsets.
type mark struct {
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Kind    string `json:"kind"`
	URL     string `json:"url,omitempty"`
	Tag     string `json:"tag,omitempty"`
	Lang    string `json:"lang,omitempty"`
	Name    string `json:"name,omitempty"`    // whom a mention names, until it is sealed
	Account string `json:"account,omitempty"` // and its id from then on
}

type media struct {
	SHA256 string `json:"sha256,omitempty"` // until it is sealed
	Alt    string `json:"alt,omitempty"`
	ID     string `json:"id,omitempty"` // from then on
}

type poll struct {
	Options  []string `json:"options"`
	Hours    int      `json:"hours"`
	Multiple bool     `json:"multiple,omitempty"`
}

// post is a payload as the network shows it.
type post struct {
	payload
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	PublishedAt time.Time `json:"published_at"`
}

// receipt takes at for the time where the network tells none.
func (p post) receipt(at time.Time) providers.Receipt {
	if !p.PublishedAt.IsZero() {
		at = p.PublishedAt
	}
	return providers.Receipt{ID: p.ID, URL: api.ValidURL(p.URL), SentAt: at}
}

// equal tells whether p shows exactly what was sent.
func (p post) equal(sent payload) bool { return reflect.DeepEqual(p.payload, sent) }

type postPage struct {
	Posts []post `json:"posts"`
	Next  string `json:"next"` // the id to read on before; "" at the end
}

type account struct {
	ID     string   `json:"id"`
	Handle string   `json:"handle"`
	URL    string   `json:"url"`
	Scopes []string `json:"scopes"`
}

// prepared is an upload or a container.
type prepared struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

type tokens struct {
	Token        string    `json:"token"`
	RefreshToken string    `json:"refresh_token"`
	ExpiresAt    time.Time `json:"expires_at"`
}

type instance struct {
	Text        int      `json:"max_text"`
	Media       int      `json:"max_media"`
	Parts       int      `json:"max_parts"`
	Alt         int      `json:"max_alt"`
	ImageBytes  int64    `json:"max_image_bytes"`
	MIME        []string `json:"media_types"`
	PollOptions int      `json:"max_poll_options"`
	PollOption  int      `json:"max_poll_option"`
	KeySeconds  int      `json:"idempotency_seconds"`
}

func (i instance) limits(now time.Time) providers.Limits {
	return providers.Limits{
		Text: i.Text, Unit: unit, Parts: i.Parts, Media: i.Media, Alt: i.Alt, ImageBytes: i.ImageBytes, MIME: i.MIME,
		PollOptions: i.PollOptions, PollOption: i.PollOption,
		Source: "GET /api/v1/instance", Date: now.UTC().Format(time.DateOnly),
	}
}

// publishRequest is the one request that makes m public.
func (p *Provider) publishRequest(m providers.Message, parent string) api.Request {
	r := api.Request{
		Op: "publish", Method: "POST", Path: "/api/v1/posts", Bearer: p.token, Write: true,
		// Sandbox-Post and Sandbox-Part let a fault be aimed at a post and a part; no real network has them.
		Header: map[string][]string{
			"Idempotency-Key": {m.Key}, "Sandbox-Post": {m.Post}, "Sandbox-Part": {strconv.Itoa(m.Part + 1)},
		},
	}
	if m.Stage.ID != "" {
		r.Path = "/api/v1/containers/" + api.PathEscape(m.Stage.ID) + "/publish"
		r.JSON = map[string]string{"in_reply_to": parent}
		return r
	}
	r.JSON = m.Payload
	if parent != "" {
		r.JSON = withParent(m.Payload, parent)
	}
	return r
}

// withParent puts the post that is answered into a sealed payload. The result depends on nothing else.
func withParent(sealed json.RawMessage, parent string) any {
	body, err := parsePayload(sealed)
	if err != nil {
		return sealed // the network will say what is wrong with it
	}
	body.InReplyTo = parent
	return body
}

func parsePayload(b json.RawMessage) (payload, error) {
	var p payload
	if err := json.Unmarshal(b, &p); err != nil {
		return payload{}, &providers.Error{
			Kind: providers.Invalid, Reach: providers.NotSent, Op: Name, Message: fmt.Sprintf("the payload cannot be read: %v", err),
		}
	}
	return p, nil
}

func listRequest(before string) api.Request {
	q := url.Values{"limit": {"40"}}
	if before != "" {
		q.Set("before", before)
	}
	return api.Request{Op: "list", Path: "/api/v1/posts", Query: q}
}

func uploadRequest(m providers.Media, data []byte) api.Request {
	return api.Request{
		Op: "upload", Method: "POST", Path: "/api/v1/media", Form: url.Values{"alt": {m.Alt}},
		Files: []api.File{{Field: "file", Name: "file", ContentType: m.MIME, Data: data}},
	}
}

func postPath(id string) string { return "/api/v1/posts/" + api.PathEscape(id) }
