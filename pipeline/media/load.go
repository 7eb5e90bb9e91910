package media

import (
	"path"
	"strings"
	"sync"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// Loader turns what posts refer to into media. It remembers descriptions, not bytes, and is safe for concurrent use. A
// Loader belongs to one state of its Source.
type Loader struct {
	source Source
	config pipeline.MediaConfig

	mu     sync.Mutex
	files  map[string]*file
	fitted map[fitKey]*fitResult
}

type file struct {
	once     sync.Once
	media    providers.Media
	problems []*Problem
}

type fitKey struct {
	sum, mime     string
	pixels, bytes int64
	takes         string
}

type fitResult struct {
	once sync.Once
	out  providers.Media
	err  error
}

// NewLoader makes a Loader over src.
func NewLoader(src Source, cfg pipeline.MediaConfig) *Loader {
	return &Loader{source: src, config: cfg, files: map[string]*file{}, fitted: map[fitKey]*fitResult{}}
}

// Load describes one file that post refers to. ok is false where it must not be sent; the diagnostics say why, but for a
// use without a path, of which content has told when it could not be resolved.
func (l *Loader) Load(post *pipeline.Post, use pipeline.MediaUse) (m providers.Media, ds []pipeline.Diagnostic, ok bool) {
	var problems []*Problem
	if use.Path == "" {
		return m, nil, false
	}
	f := l.file(use.Path)
	m = f.media
	problems = append(problems, f.problems...)
	m.Alt, m.Focus = use.Alt, use.Focus
	if p := CheckAlt(l.config.Alt, use); p != nil {
		problems = append(problems, p)
	}
	ok = true
	for _, p := range problems {
		ds = append(ds, Diagnostic(p, post, use.Pos))
		ok = ok && p.Severity != pipeline.Error
	}
	return m, ds, ok
}

// Fit is Fit with the repository's `media.fit`, done once for equal files and limits.
func (l *Loader) Fit(m providers.Media, lim providers.Limits) (providers.Media, error) {
	key := fitKey{sum: m.SHA256, mime: m.MIME, pixels: lim.ImagePixels, bytes: lim.ImageBytes, takes: strings.Join(lim.MIME, " ")}
	if m.Video() {
		key.bytes = lim.VideoBytes
	}
	l.mu.Lock()
	r, ok := l.fitted[key]
	if !ok {
		r = &fitResult{}
		l.fitted[key] = r
	}
	l.mu.Unlock()
	r.once.Do(func() { r.out, _, r.err = Fit(m, lim, l.config.Fit) })
	out := r.out
	out.Path, out.Alt, out.Focus = m.Path, m.Alt, m.Focus
	return out, r.err
}

func (l *Loader) file(name string) *file {
	name = path.Clean(name)
	l.mu.Lock()
	f, ok := l.files[name]
	if !ok {
		f = &file{}
		l.files[name] = f
	}
	l.mu.Unlock()
	f.once.Do(func() {
		data, err := l.source.Read(name)
		if err != nil {
			f.problems = []*Problem{unreadable(name, err)}
			return
		}
		f.media, f.problems = Inspect(name, "", data)
		f.media.Open = func() ([]byte, error) { return l.source.Read(name) }
	})
	return f
}

// Diagnostic places a problem in a post.
func Diagnostic(p *Problem, post *pipeline.Post, pos pipeline.Pos) pipeline.Diagnostic {
	return pipeline.Diagnostic{
		Code: p.Code, Severity: p.Severity, File: post.Path, Line: pos.Line, Column: pos.Column,
		Message: p.Message, Hint: p.Hint, Post: post.ID,
	}
}
