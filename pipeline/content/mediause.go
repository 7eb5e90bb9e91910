package content

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	gast "github.com/yuin/goldmark/ast"

	"github.com/broadside-pub/broadside/pipeline"
)

var (
	mediaKeys  = []string{"src", "alt", "part", "focus"}
	schemeForm = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]+:|//)`)
)

// maxParts bounds the parts of one text, and `part:` in the front matter.
const maxParts = 500

// image reads an image that is alone in its paragraph.
func (c *converter) image(v *gast.Image) pipeline.MediaUse {
	at := c.pos(v.Pos())
	if len(v.Title) > 0 {
		c.note(CodeLinkTitleDropped, at, "the title of an image is not sent", "say it in the alt text")
	}
	src := unescape(v.Destination)
	name := src
	if decoded, err := url.PathUnescape(src); err == nil {
		name = decoded // a link in Markdown is a URL: %20 is a space
	}
	alt := strings.TrimSpace(plainText(v, c.text))
	return pipeline.MediaUse{
		Src: src, Path: c.parser.mediaPath(c.report, c.file, name, at), Alt: alt, HasAlt: alt != "", Pos: at,
	}
}

// plainText is the text below n without any formatting.
func plainText(n gast.Node, text []byte) string {
	var b strings.Builder
	for k := n.FirstChild(); k != nil; k = k.NextSibling() {
		switch v := k.(type) {
		case *gast.Text:
			raw := v.Segment.Value(text)
			if v.IsRaw() {
				b.Write(raw)
			} else {
				b.WriteString(unescape(raw))
			}
			if v.SoftLineBreak() || v.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *gast.String:
			b.Write(v.Value)
		case *gast.AutoLink:
			b.Write(v.Label(text))
		default:
			b.WriteString(plainText(k, text))
		}
	}
	return b.String()
}

// mediaPath resolves a reference to a path in the repository, "" where it has none.
func (p *Parser) mediaPath(r *report, post, src string, at pipeline.Pos) string {
	switch {
	case src == "":
		r.error(CodeBadValue, at, "an image without a source", "name a file of this repository")
		return ""
	case schemeForm.MatchString(src):
		r.error(CodeMediaURL, at, fmt.Sprintf("%q is not a file of this repository", short(src)),
			"download it, commit it, and name its path")
		return ""
	case strings.Contains(src, "\\"):
		r.error(CodeBadValue, at, fmt.Sprintf("%q holds a backslash", short(src)), "write / between folders")
		return ""
	}
	var found []string
	if rooted, ok := strings.CutPrefix(src, "/"); ok {
		for _, root := range p.roots() {
			if name := path.Join(root, rooted); inside(name, root) {
				found = append(found, name)
			}
		}
	} else if name := path.Join(path.Dir(post), src); inside(name, "") {
		found = append(found, name)
	}
	if len(found) == 0 {
		r.error(CodeMediaOutside, at, fmt.Sprintf("%q leads out of the repository", short(src)), "put the file into the repository")
		return ""
	}
	for _, name := range found {
		if p.exists != nil && p.exists(name) {
			return name
		}
	}
	return found[0]
}

// roots are the folders that a leading / may mean, the repository root last, without slashes at the ends.
func (p *Parser) roots() []string {
	if p.mediaRoots != nil {
		return p.mediaRoots
	}
	return []string{""}
}

func mediaRoots(roots []string) []string {
	var out []string
	root := false
	for _, r := range roots {
		r = strings.Trim(path.Clean("/"+r), "/")
		root = root || r == ""
		out = append(out, r)
	}
	if !root {
		out = append(out, "")
	}
	return out
}

// inside tells whether a clean path stays below root.
func inside(name, root string) bool {
	if name == ".." || strings.HasPrefix(name, "../") || name == "." || name == root {
		return false
	}
	return root == "" || strings.HasPrefix(name, root+"/")
}

// mediaList reads media: a list of paths or of maps with src, alt, part and focus. It is never nil.
func (f *frontMatter) mediaList(e entry) []pipeline.MediaUse {
	out := []pipeline.MediaUse{}
	if null(e.value) {
		return out
	}
	items, _ := f.items(e)
	for _, i := range items {
		if m, ok := f.mediaItem(i); ok {
			out = append(out, m)
		}
	}
	return out
}

func (f *frontMatter) mediaItem(i entry) (pipeline.MediaUse, bool) {
	m := pipeline.MediaUse{Pos: i.at}
	if s, ok := scalar(i.value); ok {
		m.Src = s
		m.Path = f.parser.mediaPath(f.report, f.post.Path, s, i.at)
		return m, true
	}
	entries, ok := f.entries(i.value)
	if !ok {
		f.wrongType(i, "a path or a map", "write - src: /media/picture.png")
		return m, false
	}
	for _, e := range entries {
		switch e.key {
		case "src":
			s, good := f.lineText(e)
			if ok = ok && good; good {
				m.Src, m.Path = s, f.parser.mediaPath(f.report, f.post.Path, s, f.pos(e.value))
			}
		case "alt":
			s, good := f.str(e)
			m.Alt, m.HasAlt = strings.TrimSpace(s), good
		case "part":
			m.Part = f.mediaPart(e)
		case "focus":
			m.Focus = f.focus(e)
		default:
			f.unknown(e, mediaKeys)
		}
	}
	if m.Src == "" && ok {
		f.error(CodeMissingKey, i.at, "a medium without src", "name a file of this repository")
	}
	return m, m.Src != ""
}

func (f *frontMatter) mediaPart(e entry) int {
	n, ok := e.value.(*ast.IntegerNode)
	if !ok {
		f.wrongType(e, "the number of a part", "the first part is 1")
		return 0
	}
	v, ok := integer(n)
	if !ok || v < 1 || v > maxParts {
		f.error(CodeBadValue, f.pos(e.value), "part must be the number of a part", "the first part is 1")
		return 0
	}
	return v
}

// focus reads [x, y], each from -1 to 1.
func (f *frontMatter) focus(e entry) *[2]float64 {
	seq, ok := e.value.(*ast.SequenceNode)
	var out [2]float64
	good := ok && len(seq.Values) == 2
	for i := 0; good && i < 2; i++ {
		switch v := seq.Values[i].(type) {
		case *ast.IntegerNode:
			n, fits := integer(v)
			out[i], good = float64(n), fits
		case *ast.FloatNode:
			out[i] = v.Value
		default:
			good = false
		}
		good = good && out[i] >= -1 && out[i] <= 1
	}
	if !good {
		f.error(CodeBadValue, f.pos(e.value), "focus must be two numbers from -1 to 1",
			"write [0, 0] for the centre, [1, 1] for the upper right corner")
		return nil
	}
	return &out
}
