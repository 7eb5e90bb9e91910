package content

import (
	"path"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
)

// mediaExtensions are those of files that posts can show.
var mediaExtensions = []string{
	".avif", ".gif", ".heic", ".jpeg", ".jpg", ".m4v", ".mov", ".mp3", ".mp4", ".pdf", ".png", ".srt", ".svg", ".tif", ".tiff",
	".vtt", ".webm", ".webp",
}

// selection is what is to be read.
type selection struct {
	folders []string
	paths   []string // clean; none: everything

	posts       []loaded
	rest        []File // in the posts folders, but no posts
	diagnostics []pipeline.Diagnostic
}

// list finds the files.
func (s *selection) list(fsys FS) {
	r := &report{}
	add := func(code string, severity pipeline.Severity, file, message, hint string) {
		r.file = file
		r.add(pipeline.Diagnostic{Code: code, Severity: severity, Message: message, Hint: hint}, pipeline.Pos{})
	}
	seen := map[string]bool{}
	for _, folder := range s.folders {
		files, err := fsys.List(folder)
		if err != nil {
			add(CodeReadFailed, pipeline.Error, folder, err.Error(), "")
		}
		if len(files) == 0 && err == nil && len(s.paths) == 0 {
			add(CodeNoPostsFolder, pipeline.Warning, folder, "no posts: the folder "+folder+" does not exist or is empty",
				`broadside new "Title" makes a post`)
		}
		for _, f := range files {
			seen[f.Path] = true
			s.add(f)
		}
	}
	for _, p := range s.paths {
		found := false
		for name := range seen {
			found = found || below(name, p)
		}
		if found {
			continue
		}
		files, err := fsys.List(p)
		switch {
		case err != nil:
			add(CodeReadFailed, pipeline.Error, p, err.Error(), "")
		case len(files) == 0:
			add(CodeNotFound, pipeline.Error, p, "there is no file or folder "+p, "name a path below the repository's root")
		}
		for _, f := range files {
			if seen[f.Path] {
				continue
			}
			seen[f.Path] = true
			if len(files) == 1 && f.Path == p || isPost(f.Path) {
				add(CodeOutsidePosts, pipeline.Warning, f.Path, "the file is in none of the posts folders: no run looks at it",
					"move it below "+strings.Join(s.folders, " or "))
				s.posts = append(s.posts, loaded{File: f})
			}
		}
	}
	slices.SortFunc(s.posts, func(a, b loaded) int { return strings.Compare(a.Path, b.Path) })
	s.diagnostics = append(s.diagnostics, r.list...)
}

// add sorts one file of a posts folder.
func (s *selection) add(f File) {
	switch {
	case hidden(f.Path), strings.EqualFold(path.Base(f.Path), "README.md"):
	case isPost(f.Path):
		s.posts = append(s.posts, loaded{File: f, other: !s.selected(f.Path)})
	default:
		s.rest = append(s.rest, f)
	}
}

func (s *selection) selected(name string) bool {
	if len(s.paths) == 0 {
		return true
	}
	return slices.ContainsFunc(s.paths, func(p string) bool { return below(name, p) })
}

// hidden tells whether a name on the path begins with a dot.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

func isPost(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return (ext == ".md" || ext == ".markdown") && !hidden(name) && !strings.EqualFold(path.Base(name), "README.md")
}

// mediaOf lists the media files that a post shows anywhere.
func mediaOf(p *pipeline.Post) []string {
	var out []string
	add := func(list []pipeline.MediaUse) {
		for _, m := range list {
			if m.Path != "" {
				out = append(out, m.Path)
			}
		}
	}
	add(p.Media)
	for _, seg := range p.Body.Segments {
		add(seg.Media)
	}
	for _, d := range p.Destinations {
		add(d.Media)
		if d.Text != nil {
			for _, seg := range d.Text.Segments {
				add(seg.Media)
			}
		}
	}
	return out
}

// strays warns about files in the posts folders that are no posts and that no post shows. Only a look at all posts can
// tell: partly says that some were left out.
func (s *selection) strays(partly bool) []pipeline.Diagnostic {
	if partly || len(s.paths) > 0 || len(s.rest) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, p := range s.posts {
		for _, m := range p.media {
			used[m] = true
		}
	}
	r := &report{}
	for _, f := range s.rest {
		if used[f.Path] {
			continue
		}
		r.file = f.Path
		switch {
		case f.Symlink:
			r.warn(CodeSymlink, pipeline.Pos{}, "a symbolic link is not followed", "put the file itself here")
		case slices.Contains(mediaExtensions, strings.ToLower(path.Ext(f.Path))):
			r.warn(CodeUnreferencedMedia, pipeline.Pos{}, "no post shows this file", "show it in a post, or remove it")
		default:
			r.warn(CodeStrayFile, pipeline.Pos{}, "this is no post: posts end in .md", "rename it, move it elsewhere, or let its name begin with a dot")
		}
	}
	return r.list
}
