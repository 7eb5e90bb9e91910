// Package content reads broadside.yaml and posts: front matter, Markdown, parts and blocks, each with its place, and
// resolves a post for one destination.
//
// It reaches no network, reads no clock, and knows files only through FS. Whatever is wrong becomes a diagnostic with a
// stable code; nothing in a file is ignored silently.
package content

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's name for a blob, not a protection
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/goldmark/parser"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

const (
	lineBreaksKeep = "keep"
	lineBreaksJoin = "join"
)

// Parser parses posts under one configuration. It is safe for concurrent use.
type Parser struct {
	cfg      *pipeline.Config
	markdown parser.Parser
	dests    map[string]*destination
	names    []string // of destinations and groups, for hints
	people   []string
	// mediaRoots are the folders that a leading / of a media path may mean.
	mediaRoots []string
	// exists tells whether the repository has a file; nil where that cannot be asked.
	exists func(path string) bool
	// scratch holds *scratch: memory that serves one post after the other.
	scratch sync.Pool
}

// scratch is memory for what is being built; what is kept is copied out of it.
type scratch struct {
	spans    []providers.Span
	text     []byte
	blocks   []providers.Block
	at       []pipeline.Pos
	segments []pipeline.Segment
	lines    []int
}

// destination is a destination with what its overrides are checked against.
type destination struct {
	*pipeline.Destination
	settings map[string]*setting
	keys     []string // that an override may have
}

// setting is a provider's setting with its compiled schema.
type setting struct {
	providers.Setting
	schema *jsonschema.Schema // of an Object
	broken error              // the schema does not compile
}

// NewParser prepares the parsing of posts under cfg. infos are the providers by name.
func NewParser(cfg *pipeline.Config, infos map[string]providers.Info) *Parser {
	p := &Parser{
		cfg: cfg, markdown: newMarkdown(), dests: make(map[string]*destination, len(cfg.Destinations)),
		mediaRoots: mediaRoots(cfg.Media.Roots), scratch: sync.Pool{New: func() any { return new(scratch) }},
	}
	byProvider := map[string]map[string]*setting{}
	for i := range cfg.Destinations {
		d := &cfg.Destinations[i]
		settings, ok := byProvider[d.Provider]
		if !ok {
			settings = compile(infos[d.Provider].Settings)
			byProvider[d.Provider] = settings
		}
		keys := slices.Clone(overrideKeys)
		for _, s := range infos[d.Provider].Settings {
			if !s.ConfigOnly {
				keys = append(keys, s.Name)
			}
		}
		p.dests[d.Name] = &destination{Destination: d, settings: settings, keys: keys}
		p.names = append(p.names, d.Name)
	}
	for g := range cfg.Groups {
		p.names = append(p.names, g)
	}
	for n := range cfg.People {
		p.people = append(p.people, n)
	}
	slices.Sort(p.names)
	slices.Sort(p.people)
	return p
}

// Parse reads one post with a Parser of its own. It is pure: whether media exist is not asked.
func Parse(path string, data []byte, cfg *pipeline.Config, infos map[string]providers.Info) (*pipeline.Post, []pipeline.Diagnostic) {
	return NewParser(cfg, infos).Parse(path, data)
}

// Parse reads one post. path is slash-separated and relative to the repository. The post is never nil; where it has
// Errors, or a destination has, that must not go out.
func (p *Parser) Parse(path string, data []byte) (*pipeline.Post, []pipeline.Diagnostic) {
	r := &report{file: path}
	post := &pipeline.Post{Path: path, LineBreaks: lineBreaksKeep, IDPos: pipeline.Pos{Line: 1, Column: 1}}
	if goodPath(r) {
		p.guarded(post, data, r)
	}
	for i := range r.list {
		d := &r.list[i]
		d.Post = post.ID
		if d.Severity == pipeline.Error && d.Destination == "" {
			post.Errors = true
		}
	}
	return post, r.list
}

// guarded reads the post so that a fault in this package or in a library stops this post alone.
func (p *Parser) guarded(post *pipeline.Post, data []byte, r *report) {
	defer func() {
		if fault := recover(); fault != nil {
			r.error(CodeInternal, pipeline.Pos{}, fmt.Sprintf("the post cannot be read, by a fault of this program: %v", fault),
				"report this with the post")
		}
	}()
	p.read(post, data, r)
}

func (p *Parser) read(post *pipeline.Post, data []byte, r *report) {
	if len(data) > MaxPost {
		tooLarge(r, int64(len(data)))
		return
	}
	post.Sum = blobID(data)
	text, ok := clean(data, r)
	if !ok {
		return
	}
	matter, body, line, ok := split(text, r)
	if !ok {
		return
	}
	fm := &frontMatter{yamlFile: &yamlFile{report: r, above: 1}, parser: p, post: post, text: matter}
	if !fm.read() {
		return
	}
	s := &source{text: body, line: line}
	post.Body = p.body(post, s, r, !fm.lineBreaksSet, false)
	fm.finish()
}

func tooLarge(r *report, size int64) {
	r.error(CodePostTooLarge, pipeline.Pos{},
		fmt.Sprintf("the post has %d bytes; the most is %d", size, MaxPost), "divide it, or attach the data as media")
}

// split cuts a post into front matter and body. line is the number of the body's first line.
func split(text []byte, r *report) (matter, body []byte, line int, ok bool) {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	if string(bytes.TrimRight(first, " \t")) != "---" {
		r.error(CodeNoFrontMatter, pipeline.Pos{Line: 1, Column: 1}, "the post does not begin with front matter",
			"begin the file with a line ---, then id and destinations, then a line ---")
		return nil, nil, 0, false
	}
	line = 2
	for at := 0; at < len(rest); {
		end := bytes.IndexByte(rest[at:], '\n')
		next := at + end + 1
		if end < 0 {
			end, next = len(rest)-at, len(rest)
		}
		line++
		if string(bytes.TrimRight(rest[at:at+end], " \t")) == "---" {
			return rest[:at], rest[next:], line, true
		}
		at = next
	}
	r.error(CodeUnclosedFrontMatter, pipeline.Pos{Line: 1, Column: 1}, "the front matter is never closed",
		"add a line --- where it ends")
	return nil, nil, 0, false
}

// blobID is git's name for a file with these bytes, in a repository of the sha1 format.
func blobID(data []byte) string {
	h := sha1.New() //nolint:gosec // git's name for a blob, not a protection
	h.Write([]byte("blob " + strconv.Itoa(len(data)) + "\x00"))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func (p *Parser) unknownDestination(r *report, at pipeline.Pos, name string) {
	hint := didYouMean(name, p.names)
	if hint == "" {
		hint = "broadside.yaml has: " + strings.Join(p.names, ", ")
		if len(p.names) == 0 {
			hint = "broadside.yaml has no destinations yet: broadside auth add NAME makes one"
		}
	}
	r.error(CodeUnknownDestination, at, fmt.Sprintf("unknown destination %q", short(name)), hint)
}

// example names a destination for a hint.
func (p *Parser) example() string {
	if len(p.names) == 0 {
		return "bluesky"
	}
	return p.names[0]
}
