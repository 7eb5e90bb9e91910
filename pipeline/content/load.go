package content

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// Tree is what the posts folders hold.
type Tree struct {
	Posts   []*pipeline.Post // in the order of their paths
	Settled []File           // not read, because Loader.Settled knows them
}

// Loader reads all posts of a repository.
type Loader struct {
	Config *pipeline.Config
	Infos  map[string]providers.Info
	// Settled tells that a file need not be read, and the id of its post: all its deliveries are settled and neither the
	// file nor the configuration has changed since. It is asked only for files whose Sum is known; nil: read all.
	Settled func(File) (id string, ok bool)
	// Check is called once for each post that was read, by several goroutines at a time; its diagnostics join the others.
	// A post may still turn out to share its id with another one.
	Check func(*pipeline.Post) []pipeline.Diagnostic
	// Release drops the bodies of posts after Check, for those who only want to know what is wrong.
	Release bool
	// Workers is how many files are parsed at a time; 0: one for each core.
	Workers int
}

// Load reads the posts folders with a Loader of its own.
func Load(ctx context.Context, fsys FS, cfg *pipeline.Config, infos map[string]providers.Info, paths ...string) (Tree, []pipeline.Diagnostic) {
	return (&Loader{Config: cfg, Infos: infos}).Load(ctx, fsys, paths...)
}

// loaded is one file on its way through a Loader.
type loaded struct {
	File
	post  *pipeline.Post // nil where the file was not parsed
	id    string
	list  []pipeline.Diagnostic
	other bool // read for its id only
	media []string
}

// Load reads the posts, or of them those at or below paths; each file is read and parsed once, on all cores. Ids are
// compared with those of all posts, whatever paths says. When ctx ends, what was not read yet is reported as such.
func (l *Loader) Load(ctx context.Context, fsys FS, paths ...string) (Tree, []pipeline.Diagnostic) {
	p := NewParser(l.Config, l.Infos)
	p.exists = newExistence(fsys).has
	s := &selection{folders: l.Config.Posts, paths: cleanPaths(paths)}
	s.list(fsys)
	var tree Tree
	work := make([]*loaded, 0, len(s.posts))
	for i := range s.posts {
		f := &s.posts[i]
		if l.Settled != nil && f.Sum != "" && !f.Symlink {
			if id, ok := l.Settled(f.File); ok {
				f.id = id
				tree.Settled = append(tree.Settled, f.File)
				continue
			}
		}
		work = append(work, f)
	}
	l.each(work, func(f *loaded) {
		f.read(ctx, fsys, p)
		l.finish(f)
	})
	diagnostics := s.diagnostics
	for i := range s.posts {
		f := &s.posts[i]
		diagnostics = append(diagnostics, f.list...)
		if f.post != nil {
			tree.Posts = append(tree.Posts, f.post)
		}
	}
	diagnostics = append(diagnostics, duplicates(s.posts)...)
	diagnostics = append(diagnostics, s.strays(len(tree.Settled) > 0)...)
	pipeline.SortDiagnostics(diagnostics)
	return tree, diagnostics
}

// finish checks a post that was read.
func (l *Loader) finish(f *loaded) {
	if f.post == nil {
		return
	}
	f.media = mediaOf(f.post)
	if l.Check != nil {
		f.list = append(f.list, l.Check(f.post)...)
	}
	if l.Release {
		f.post.Body = pipeline.Body{}
		for i := range f.post.Destinations {
			f.post.Destinations[i].Text = nil
		}
	}
}

// each calls do for all files, several at a time.
func (l *Loader) each(files []*loaded, do func(*loaded)) {
	workers := l.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(files)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				do(files[i])
			}
		})
	}
	wg.Wait()
}

func (f *loaded) fail(code, message, hint string) {
	r := &report{file: f.Path}
	r.error(code, pipeline.Pos{}, message, hint)
	f.list = append(f.list, r.list...)
}

func (f *loaded) read(ctx context.Context, fsys FS, p *Parser) {
	r := &report{file: f.Path}
	switch {
	case f.Symlink:
		if !f.other {
			r.warn(CodeSymlink, pipeline.Pos{}, "a symbolic link is not followed: no post is read here", "put the post itself here")
			f.list = r.list
		}
		return
	case !goodPath(r):
		if !f.other {
			f.list = r.list
		}
		return
	case f.Size > MaxPost:
		tooLarge(r, f.Size)
		f.list = r.list
		return
	}
	if err := ctx.Err(); err != nil {
		f.fail(CodeReadFailed, "not read: "+err.Error(), "")
		return
	}
	data, err := fsys.Read(f.Path)
	if err != nil {
		f.fail(CodeReadFailed, err.Error(), "")
		return
	}
	if f.other {
		f.id = quickID(data)
		return
	}
	f.post, f.list = p.Parse(f.Path, data)
	if f.Sum != "" {
		f.post.Sum = f.Sum
	}
	f.id = f.post.ID
}

// quickID finds the id of a post that is not being looked at otherwise.
func quickID(data []byte) string {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for n := 0; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		line = bytes.TrimRight(line, " \t\r")
		if string(line) == "---" {
			if n > 0 {
				return ""
			}
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("id:")); ok && n > 0 {
			value, _, _ = bytes.Cut(value, []byte(" #"))
			id := strings.Trim(string(bytes.TrimSpace(value)), `"'`)
			if pipeline.ValidPostID(id) {
				return id
			}
			return ""
		}
		if n == 0 {
			return ""
		}
	}
	return ""
}

// duplicates reports each post whose id another one has too. Settled posts count; it is the others that are stopped.
func duplicates(files []loaded) []pipeline.Diagnostic {
	first := make(map[string]int, len(files))
	more := map[string][]int{}
	for i := range files {
		id := files[i].id
		if id == "" {
			continue
		}
		if j, taken := first[id]; taken {
			if more[id] == nil {
				more[id] = []int{j}
			}
			more[id] = append(more[id], i)
			continue
		}
		first[id] = i
	}
	var out []pipeline.Diagnostic
	for id, group := range more {
		for k, i := range group {
			f := &files[i]
			if f.post == nil {
				continue
			}
			other := group[0]
			if k == 0 {
				other = group[1]
			}
			f.post.Errors = true
			r := &report{file: f.Path}
			r.error(CodeDuplicateID, f.post.IDPos, fmt.Sprintf("the id %s is also that of %s", id, files[other].Path),
				"give the newer post another id")
			r.list[0].Post = id
			out = append(out, r.list...)
		}
	}
	return out
}

// existence tells which media files there are, asking once for each.
type existence struct {
	fsys FS
	mu   sync.Mutex
	seen map[string]bool
}

func newExistence(fsys FS) *existence { return &existence{fsys: fsys, seen: map[string]bool{}} }

func (e *existence) has(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.seen[name]; ok {
		return known
	}
	files, err := e.fsys.List(name)
	ok := err == nil && len(files) == 1 && files[0].Path == name
	e.seen[name] = ok
	return ok
}

func cleanPaths(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		p = path.Clean("/" + strings.ReplaceAll(p, "\\", "/"))[1:]
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
