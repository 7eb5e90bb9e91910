package providers

import (
	"encoding/json"
	"net/http"
	"time"
)

// Ability names one thing that a provider can do beside publishing.
type Ability string

// The abilities, each named after its interface.
const (
	CanFind    Ability = "find"
	CanKey     Ability = "key"
	CanReply   Ability = "reply"
	CanUpload  Ability = "upload"
	CanResolve Ability = "resolve"
	CanStage   Ability = "stage"
	CanEdit    Ability = "edit"
	CanDelete  Ability = "delete"
	CanCheck   Ability = "check"
	CanRefresh Ability = "refresh"
	CanLimit   Ability = "limit"
)

// Able holds a provider's abilities, nil where it lacks one. Abilities is the only place that looks for them.
type Able struct {
	Publish Publisher
	Find    Finder
	Key     Keyer
	Reply   Replier
	Upload  Uploader
	Resolve Resolver
	Stage   Stager
	Edit    Editor
	Delete  Deleter
	Check   Checker
	Refresh Refresher
	Limit   Limiter
}

// Abilities gathers what p can do, less the abilities that are disabled by name.
func Abilities(p Publisher, disable ...Ability) Able {
	off := map[Ability]bool{}
	for _, d := range disable {
		off[d] = true
	}
	a := Able{Publish: p}
	a.Find = ability[Finder](p, off[CanFind])
	a.Key = ability[Keyer](p, off[CanKey])
	a.Reply = ability[Replier](p, off[CanReply])
	a.Upload = ability[Uploader](p, off[CanUpload])
	a.Resolve = ability[Resolver](p, off[CanResolve])
	a.Stage = ability[Stager](p, off[CanStage])
	a.Edit = ability[Editor](p, off[CanEdit])
	a.Delete = ability[Deleter](p, off[CanDelete])
	a.Check = ability[Checker](p, off[CanCheck])
	a.Refresh = ability[Refresher](p, off[CanRefresh])
	a.Limit = ability[Limiter](p, off[CanLimit])
	return a
}

func ability[T any](p Publisher, off bool) T {
	v, ok := p.(T)
	if !ok || off {
		var none T
		return none
	}
	return v
}

// Names lists the abilities that are present, in a fixed order.
func (a Able) Names() []Ability {
	var out []Ability
	add := func(have bool, n Ability) {
		if have {
			out = append(out, n)
		}
	}
	add(a.Find != nil, CanFind)
	add(a.Key != nil, CanKey)
	add(a.Reply != nil, CanReply)
	add(a.Upload != nil, CanUpload)
	add(a.Resolve != nil, CanResolve)
	add(a.Stage != nil, CanStage)
	add(a.Edit != nil, CanEdit)
	add(a.Delete != nil, CanDelete)
	add(a.Check != nil, CanCheck)
	add(a.Refresh != nil, CanRefresh)
	add(a.Limit != nil, CanLimit)
	return out
}

// Limits are a network's bounds. Zero means that the network sets none, or none that is known.
type Limits struct {
	Text        int      `json:"text,omitempty"`       // most of Unit in one part
	Unit        string   `json:"unit,omitempty"`       // "graphemes", "code points", "weighted", "bytes"
	TextBytes   int      `json:"text_bytes,omitempty"` // most UTF-8 bytes in one part
	URLLength   int      `json:"url_length,omitempty"` // every URL counts as this much; 0: as it is
	Parts       int      `json:"parts,omitempty"`      // most parts in one thread
	Media       int      `json:"media,omitempty"`      // most media in one part
	ImageBytes  int64    `json:"image_bytes,omitempty"`
	ImagePixels int64    `json:"image_pixels,omitempty"` // width times height
	VideoBytes  int64    `json:"video_bytes,omitempty"`
	Alt         int      `json:"alt,omitempty"` // most of Unit in an alt text
	MIME        []string `json:"mime,omitempty"`
	PollOptions int      `json:"poll_options,omitempty"`
	PollOption  int      `json:"poll_option,omitempty"` // most characters in one option
	Source      string   `json:"source,omitempty"`      // where the figures come from
	Date        string   `json:"date,omitempty"`        // YYYY-MM-DD when they were read there
}

// SettingType is the JSON type of a setting's value.
type SettingType string

// The types of settings.
const (
	String  SettingType = "string"
	Boolean SettingType = "boolean"
	Integer SettingType = "integer"
	Strings SettingType = "strings" // a list of strings
	Object  SettingType = "object"  // described by Schema
)

// Setting is one thing that can be set at a destination or overridden in a post. Secrets are described the same way.
type Setting struct {
	Name    string
	Title   string
	Help    string // one sentence, for docs, schema and editors
	Type    SettingType
	Enum    []string
	Default any
	Max     int    // most characters, items or the largest integer; 0: no bound
	Schema  string // JSON Schema of an Object
	// ConfigOnly settings describe the place and cannot be overridden in a post.
	ConfigOnly bool
	// Optional secrets may be left empty.
	Optional bool
}

// Problem is something to say about a draft: it becomes a diagnostic of the post.
type Problem struct {
	Code    string // stable, snake_case: "too_long", "formatting_dropped"
	Error   bool   // false: a warning
	Note    bool   // neither: shown in previews only
	Part    int    // from 0, or -1 for the whole post
	Setting string // the setting it concerns, or ""
	Message string
	Hint    string
}

// Draft is a post at one destination before it is encoded.
type Draft struct {
	Post     string
	Title    string
	Lang     string // BCP 47 tag of the text, "" where the author does not say
	Parts    []DraftPart
	Settings map[string]any // destination's settings with the post's overrides; checked against Info.Settings
	Limits   Limits         // the instance's, or Info.Limits
	Server   string         // base URL of the destination's server
	// CheckOnly asks for problems, texts and lengths alone: Encode may leave Payload out.
	CheckOnly bool
}

// DraftPart is one part of a Draft.
type DraftPart struct {
	Doc   Doc
	Media []Media
}

// Encoded is a post as it will be sent, but for what only the claim knows.
type Encoded struct {
	Parts []EncodedPart
}

// EncodedPart is one part of a rendition.
type EncodedPart struct {
	// Payload is canonical JSON of the provider's own shape. Media stand in it by their SHA256, names to resolve by name.
	Payload json.RawMessage `json:"payload"`
	Text    string          `json:"text"` // what a reader sees
	Lengths []Length        `json:"lengths,omitempty"`
	Media   []Media         `json:"media,omitempty"`   // to upload, in order
	Resolve []string        `json:"resolve,omitempty"` // names to resolve, sorted
	Extra   []Shown         `json:"extra,omitempty"`   // settings as they will be sent, for previews
}

// Length is a measured length against its limit, on the exact text that is sent.
type Length struct {
	Count int    `json:"count"`
	Limit int    `json:"limit"`
	Unit  string `json:"unit"`
}

// Shown is a labelled value in a preview.
type Shown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SealInput is what is known at the claim.
type SealInput struct {
	Part      EncodedPart
	Index     int
	Key       string
	ClaimedAt time.Time
	Media     map[string]Handle // by Media.SHA256 + "\x00" + Media.Alt, see MediaKey
	Names     map[string]Handle // by name; a name that the network does not know is absent
}

// MediaKey is the key of m in SealInput.Media: equal bytes with another alt text are another upload.
func MediaKey(m Media) string { return m.SHA256 + "\x00" + m.Alt }

// ServerRule says whether a destination of this provider names a server.
type ServerRule int

// The rules for `server:`.
const (
	ServerNone     ServerRule = iota // the network has one address
	ServerOptional                   // DefaultServer unless the destination names another
	ServerRequired
)

// Config is what an adapter is made from.
type Config struct {
	Server     string // base URL, no trailing slash
	Account    string // handle as in broadside.yaml, for messages
	TargetID   string // last part of the target; "" before it is known
	Settings   map[string]any
	Credential Credential
	// Transport carries every request: guards, faults, dry-run and recording live there. Required.
	Transport http.RoundTripper
	Now       func() time.Time // required
	// Private allows addresses that are not public, for a destination that says so.
	Private bool
}

// Info describes one provider. It is the only source of the registry, the config schema, the validation of settings,
// `broadside providers`, the docs pages and the README's matrix.
type Info struct {
	Name          string // lower-case noun: the folder's name and the config key
	Title         string
	About         string // one or two sentences for docs: what it publishes to, what is absent and what that means
	Server        ServerRule
	DefaultServer string
	Settings      []Setting
	Secrets       []Setting
	Abilities     []Ability
	Limits        Limits
	// LongForm providers take one part; every break is a rule there.
	LongForm bool
	// Settle is how long a published part may take until the finder sees it.
	Settle time.Duration
	// LongestRequest bounds every call that this adapter makes.
	LongestRequest time.Duration
	// RandomTarget providers have no account id; `auth add` makes a random one (webhooks).
	RandomTarget bool
	// Encode turns a draft into a rendition. Pure.
	Encode func(Draft) (Encoded, []Problem)
	// Seal completes a part with what the claim knows. Pure: the same input gives the same bytes.
	Seal func(SealInput) (json.RawMessage, error)
	// New makes an adapter; it reaches no network.
	New func(Config) (Publisher, error)
}
