package content

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"golang.org/x/text/language"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/schedule"
)

// The keys of a post's front matter.
const (
	keyID             = "id"
	keyTitle          = "title"
	keyLang           = "lang"
	keyPublishAt      = "publish_at"
	keyPublishBy      = "publish_by"
	keyDestinations   = "destinations"
	keyThread         = "thread"
	keyLineBreaks     = "line_breaks"
	keyAllowDuplicate = "allow_duplicate"
	keyEmbargo        = "embargo"
	keyMedia          = "media"
	keyTextBody       = "text"
	keySkip           = "skip"
)

var postKeys = []string{
	keyID, keyTitle, keyLang, keyPublishAt, keyPublishBy, keyDestinations, keyThread, keyLineBreaks, keyAllowDuplicate,
	keyEmbargo, keyMedia,
}

// overrideKeys are those that each destination of a post may have beside its provider's settings.
var overrideKeys = []string{keyTextBody, keyTitle, keyMedia, keyPublishAt, keyPublishBy, keySkip}

// laterPostKeys belong to the format and wait for their part of the program.
var laterPostKeys = map[string]string{
	"on_edit":   "edit the post on the network by hand, or remove the key",
	"retract":   "delete the post on the network by hand, or remove the key",
	"after":     "give both posts a publish_at",
	"evergreen": "make a new post with a new id for each time",
	"repeat":    "make a new post with a new id for each time",
}

// frontMatter reads the front matter of one post.
type frontMatter struct {
	*yamlFile
	parser *Parser
	post   *pipeline.Post
	text   []byte

	hasID, hasDestinations, lineBreaksSet bool
	destinations                          *entry
	media                                 *entry
}

// read fills the post. It returns false where nothing could be read.
func (f *frontMatter) read() bool {
	root, ok := f.parse(string(f.text))
	if !ok {
		return false
	}
	if !null(root) {
		entries, ok := f.entries(root)
		if !ok {
			f.error(CodeWrongType, f.pos(root), "the front matter is "+kind(root)+", not a map", "write key: value")
			return false
		}
		for i := range entries {
			f.key(entries[i])
		}
	}
	// These need what the other keys say.
	if f.destinations != nil {
		f.readDestinations(*f.destinations)
	}
	if f.media != nil {
		f.post.Media = f.mediaList(*f.media)
	}
	return true
}

func (f *frontMatter) key(e entry) {
	switch e.key {
	case keyDestinations:
		f.hasDestinations, f.destinations = true, &e
		return
	case keyMedia:
		f.media = &e
		return
	}
	if hint, later := laterPostKeys[e.key]; later {
		f.unsupported(e, hint)
		return
	}
	if null(e.value) {
		// A key without a value says nothing: it stands for what holds without the key.
		if !known(e.key, postKeys) {
			f.unknown(e, postKeys)
		}
		return
	}
	switch e.key {
	case keyID:
		f.id(e)
	case keyTitle:
		f.post.Title, _ = f.lineText(e)
	case keyLang:
		f.lang(e)
	case keyPublishAt:
		f.post.PublishAt = f.when(e)
	case keyPublishBy:
		f.post.PublishBy = f.deadline(e)
	case keyThread:
		f.thread(e)
	case keyLineBreaks:
		f.lineBreaksSet = true
		if s, ok := f.word(e, lineBreaksKeep, lineBreaksJoin); ok {
			f.post.LineBreaks = s
		}
	case keyAllowDuplicate:
		f.post.AllowDuplicate, _ = f.boolean(e)
	case keyEmbargo:
		f.post.Embargo, _ = f.boolean(e)
	default:
		f.unknown(e, postKeys)
	}
}

func known(key string, keys []string) bool {
	return slices.Contains(keys, key)
}

func (f *frontMatter) id(e entry) {
	f.post.IDPos = f.pos(e.value)
	s, ok := f.str(e)
	if !ok {
		f.hasID = true
		return
	}
	f.hasID = true
	if !pipeline.ValidPostID(s) {
		hint := "use a-z, 0-9 and -, at most 64 of them"
		if slug := Slug(s); slug != "" {
			hint += "; for example " + slug
		}
		f.error(CodeBadID, f.pos(e.value), fmt.Sprintf("%q cannot be an id", short(s)), hint)
		return
	}
	f.post.ID = s
}

func (f *frontMatter) lang(e entry) {
	s, ok := f.lineText(e)
	if !ok {
		return
	}
	if _, err := language.Parse(s); err != nil || strings.Contains(s, "_") {
		f.error(CodeBadLanguage, f.pos(e.value), fmt.Sprintf("%q is not a language", short(s)), "write a tag such as en, de or pt-BR")
		return
	}
	f.post.Lang = s
}

func (f *frontMatter) thread(e entry) {
	if b, ok := e.value.(*ast.BoolNode); ok && !b.Value {
		f.post.Thread = pipeline.ThreadNone
		return
	}
	if s, ok := scalar(e.value); ok && s == string(pipeline.ThreadAuto) {
		f.post.Thread = pipeline.ThreadAuto
		return
	}
	f.error(CodeBadValue, f.pos(e.value), "thread must be auto or false",
		"auto splits what is too long, false makes one part; without the key, --- starts a part")
}

// when reads a time. Its Raw stays set where the time is bad, so that the post is no draft on account of a slip.
func (f *frontMatter) when(e entry) pipeline.When {
	at := f.pos(e.value)
	s, ok := f.str(e)
	if !ok {
		return pipeline.When{Raw: "?", Pos: at}
	}
	w, err := schedule.ParseWhen(s, f.parser.cfg.Location)
	if err != nil {
		f.timeError(e, at, err)
		w.Raw = s
	}
	w.Pos = at
	return w
}

// deadline reads a time that cannot be "now".
func (f *frontMatter) deadline(e entry) pipeline.When {
	w := f.when(e)
	if w.Now {
		f.error(schedule.CodeBadTime, w.Pos, "publish_by cannot be now", "write a time, or leave it out")
		return pipeline.When{}
	}
	if w.At.IsZero() {
		return pipeline.When{}
	}
	return w
}

func (f *frontMatter) timeError(e entry, at pipeline.Pos, err error) {
	code, message, hint := schedule.CodeBadTime, err.Error(), ""
	if te, ok := asTimeError(err); ok {
		code, message, hint = te.Code, te.Message, te.Hint
	}
	f.error(code, at, e.key+": "+message, hint)
}

// finish makes the checks that need the whole post.
func (f *frontMatter) finish() {
	p := f.post
	if !f.hasID && !p.Draft() {
		f.error(CodeMissingID, p.IDPos, "the post has no id", "broadside validate --fix writes one")
	}
	if !f.hasDestinations && !p.Draft() {
		f.error(CodeNoDestinations, pipeline.Pos{Line: 1, Column: 1}, "the post names no destinations",
			"add destinations: ["+f.parser.example()+"]")
	}
	for i := range p.Destinations {
		from := len(f.list)
		f.window(&p.Destinations[i])
		if f.destination(from, p.Destinations[i].Name) {
			p.Destinations[i].Errors = true
		}
	}
}

// window checks that the post's times leave a window at d. What is wrong with the post's own times is said once.
func (f *frontMatter) window(d *pipeline.PostDestination) {
	p := f.post
	if p.Draft() {
		if !d.PublishAt.IsZero() || !d.PublishBy.IsZero() {
			f.error(CodeDraftWithTime, d.Pos, "the post has no publish_at, which makes it a draft, but this destination has a time",
				"add publish_at to the post")
		}
		return
	}
	if p.PublishAt.At.IsZero() && !p.PublishAt.Now {
		return // reported where it stands
	}
	own := !d.PublishAt.IsZero() || !d.PublishBy.IsZero()
	if own && d.PublishAt.At.IsZero() && !d.PublishAt.Now && !d.PublishAt.IsZero() {
		return
	}
	by, at := p.PublishBy, p.PublishAt
	if !d.PublishBy.IsZero() {
		by = d.PublishBy
	}
	if !d.PublishAt.IsZero() {
		at = d.PublishAt
	}
	if at.Now || by.IsZero() {
		return
	}
	if _, err := schedule.Window(p, *d, f.parser.cfg, at.At); err != nil {
		te, ok := asTimeError(err)
		if !ok || (!own && f.said(te.Code, by.Pos)) {
			return
		}
		f.error(te.Code, by.Pos, te.Message, te.Hint)
	}
}

// said tells whether a diagnostic with this code stands at this place already.
func (f *frontMatter) said(code string, at pipeline.Pos) bool {
	for _, d := range f.list {
		if d.Code == code && d.Line == at.Line && d.Column == at.Column {
			return true
		}
	}
	return false
}
