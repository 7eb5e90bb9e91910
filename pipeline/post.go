package pipeline

import (
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// Pos is a place in a file.
type Pos struct {
	Line   int // from 1
	Column int // from 1, in characters
}

// When is a time as the author wrote it.
type When struct {
	Raw  string
	Now  bool      // "now": the moment the file is first seen on the content branch
	At   time.Time // the instant, in the zone it was written in; zero for Now and for none
	Zone string    // the IANA name or offset it was read in
	Pos  Pos
}

// IsZero tells that nothing was written.
func (w When) IsZero() bool { return w.Raw == "" }

// Post is one Markdown file: the author's intent. It is parsed once and shared; nothing changes it.
type Post struct {
	ID             string
	Path           string // slash-separated, relative to the repository
	Title          string
	Lang           string
	PublishAt      When
	PublishBy      When
	AllowDuplicate bool
	Embargo        bool
	Thread         ThreadMode
	LineBreaks     string // "keep" or "join"
	// Destinations are in the order of their names, groups expanded.
	Destinations []PostDestination
	// Body is what the file says below its front matter, not yet resolved for a destination.
	Body Body
	// Media are those of `media:` in the front matter.
	Media []MediaUse
	// Sum is the git blob id (sha1) of the file, lower-case hex.
	Sum string
	// IDPos is where the id stands, or the first line where there is none.
	IDPos Pos
	// Errors tells that a diagnostic of severity Error concerns the post as a whole: it must not go out.
	Errors bool
}

// Draft tells that the post has no time and will not go out.
func (p *Post) Draft() bool { return p.PublishAt.IsZero() }

// ThreadMode says how parts come about.
type ThreadMode string

// The thread modes.
const (
	ThreadManual ThreadMode = ""     // `---` starts a part; too long is an error
	ThreadAuto   ThreadMode = "auto" // what is too long is split at sentences and words
	ThreadNone   ThreadMode = "none" // `thread: false`: one part, every break is a rule
)

// PostDestination is one destination of a post with the post's overrides for it.
type PostDestination struct {
	Name      string
	Pos       Pos
	Skip      bool
	Title     string
	PublishAt When // zero: the post's
	PublishBy When
	// Settings are the provider's settings that the post overrides, by name.
	Settings map[string]any
	// SettingPos is where each is written.
	SettingPos map[string]Pos
	// Text replaces the body, as `::: instead` does; nil for none.
	Text *Body
	// Media replaces the front matter's; nil for none.
	Media []MediaUse
	// Errors tells that this destination must not go out though others may.
	Errors bool
}

// Body is a parsed Markdown body with its blocks.
type Body struct {
	// Segments are in file order; a part break is a segment of its own.
	Segments []Segment
}

// Segment is a stretch of a body with one audience.
type Segment struct {
	Break bool // `---`: the next part starts here
	// Only, Not and Instead hold destination names, groups expanded. At most one of them is set.
	Only, Not, Instead []string
	Doc                providers.Doc
	Media              []MediaUse // images alone in their paragraph
	Pos                Pos
	// Lines of each block in Doc, for diagnostics.
	BlockPos []Pos
}

// MediaUse is a reference to a media file.
type MediaUse struct {
	Src    string // as written
	Path   string // in the repository; "" where it cannot be resolved
	Alt    string
	HasAlt bool
	Part   int // 1-based part that it belongs to; 0: where it stands, or the first
	Focus  *[2]float64
	Pos    Pos
}
