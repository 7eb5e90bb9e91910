package server

import (
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed page.html style.css
var pageFiles embed.FS

// pagePolicy lets a page load nothing but this server's own style and pictures, and run nothing.
const pagePolicy = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageRoutes are the pages for people: /, /@handle, /@handle/id, /faults, /media/id and /style.css.
func (s *Server) pageRoutes() {
	t := template.Must(template.New("page.html").Funcs(template.FuncMap{
		"when": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	}).ParseFS(pageFiles, "page.html"))
	style, err := pageFiles.ReadFile("style.css")
	if err != nil {
		panic("the style is not embedded: " + err.Error())
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only reading here", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == "/style.css" {
			h.Set("Content-Type", "text/css; charset=utf-8")
			_, _ = w.Write(style)
			return
		}
		if id, is := strings.CutPrefix(r.URL.Path, "/media/"); is {
			s.serveMedium(w, r, id)
			return
		}
		p, found := s.page(r)
		if !found {
			http.NotFound(w, r)
			return
		}
		var b strings.Builder
		if err := t.Execute(&b, p); err != nil {
			http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(b.String()))
	})
}

func (s *Server) serveMedium(w http.ResponseWriter, r *http.Request, id string) {
	s.mu.Lock()
	m := s.media[id]
	s.mu.Unlock()
	if m == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", m.mime) // one of the pictures that uploads are checked to be
	_, _ = w.Write(m.data)
}

// pageView is what the template shows.
type pageView struct {
	Title    string
	Accounts []accountLine
	Threads  []threadView
	Faults   bool
	Rules    []Rule
	Log      []Request
	One      string // the id of the post that the page is about
}

type accountLine struct {
	Handle string
	Posts  int
	Here   bool
}

// threadView is a root and all that hangs below it, in order of publication.
type threadView struct {
	Posts []postView
}

type postView struct {
	ID, Handle, URL, Lang, Visibility, Warning, Label string
	At, Edited                                        time.Time
	Reply, Sensitive, Here                            bool
	Body                                              []run
	Tags                                              []string
	Media                                             []Media
	Poll                                              *poll
	KeepDays                                          int
}

// run is a stretch of text with one look.
type run struct {
	Text, Class, URL string
}

// page gathers what the address asks for.
func (s *Server) page(r *http.Request) (pageView, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Trim(r.URL.Path, "/")
	v := pageView{Title: "Sandbox"}
	handle := ""
	switch at, rest, _ := strings.Cut(path, "/"); {
	case path == "":
	case path == "faults":
		v.Title, v.Faults = "Faults and requests", true
		for _, r := range s.rules {
			v.Rules = append(v.Rules, r.Rule)
		}
		v.Log = slices.Clone(s.log)
		slices.Reverse(v.Log)
		v.Log = v.Log[:min(len(v.Log), 200)]
	case strings.HasPrefix(at, "@") && s.byHandle(at[1:]) >= 0:
		handle = at[1:]
		v.Title, v.One = at, rest
		if rest != "" && (s.posts[rest] == nil || s.posts[rest].deleted || s.posts[rest].who.handle != handle) {
			return pageView{}, false
		}
	default:
		return pageView{}, false
	}
	for _, a := range s.accounts {
		line := accountLine{Handle: a.handle, Here: a.handle == handle}
		for _, p := range s.order {
			if p.who == a && !p.deleted {
				line.Posts++
			}
		}
		v.Accounts = append(v.Accounts, line)
	}
	if !v.Faults {
		v.Threads = s.threads(handle, v.One)
	}
	return v, true
}

// mostThreads bounds a page.
const mostThreads = 200

// threads groups posts under their roots, the newest thread first.
func (s *Server) threads(handle, one string) []threadView {
	now := s.o.Now()
	byRoot := map[string][]postView{}
	var roots []string
	for _, p := range s.order {
		if p.deleted || p.expired(now) || (handle != "" && p.who.handle != handle) {
			continue
		}
		root := s.root(p)
		if byRoot[root] == nil {
			roots = append(roots, root)
		}
		byRoot[root] = append(byRoot[root], s.viewPost(p, one))
	}
	slices.Reverse(roots)
	var out []threadView
	for _, root := range roots[:min(len(roots), mostThreads)] {
		if one != "" && s.root(s.posts[one]) != root {
			continue
		}
		out = append(out, threadView{Posts: byRoot[root]})
	}
	return out
}

// root is the id of the first post of p's thread.
func (s *Server) root(p *post) string {
	for p.InReplyTo != "" && s.posts[p.InReplyTo] != nil {
		p = s.posts[p.InReplyTo]
	}
	return p.ID
}

func (s *Server) viewPost(p *post, one string) postView {
	v := postView{
		ID: p.ID, Handle: p.who.handle, URL: "/@" + p.who.handle + "/" + p.ID, Lang: p.Lang, Visibility: p.Visibility,
		Warning: p.ContentWarning, Label: p.label, At: p.PublishedAt, Edited: p.EditedAt, Reply: p.InReplyTo != "",
		Sensitive: p.Sensitive, Here: p.ID == one, Tags: p.Tags, Poll: p.Poll, KeepDays: p.KeepDays,
		Body: runs(p.Text, p.Marks),
	}
	for _, m := range p.Media {
		v.Media = append(v.Media, Media{ID: m.ID, Alt: m.Alt})
	}
	return v
}

// runs cuts a text wherever a mark begins or ends.
func runs(all string, marks []mark) []run {
	borders := []int{0, len(all)}
	for _, m := range marks {
		borders = append(borders, m.Start, m.End)
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	var out []run
	for i := 1; i < len(borders); i++ {
		from, to := borders[i-1], borders[i]
		r := run{Text: all[from:to]}
		var classes []string
		for _, m := range marks {
			if m.Start <= from && to <= m.End {
				classes = append(classes, m.Kind)
				if m.Kind == "link" && (strings.HasPrefix(m.URL, "https://") || strings.HasPrefix(m.URL, "http://")) {
					r.URL = m.URL
				}
			}
		}
		r.Class = strings.Join(classes, " ")
		out = append(out, r)
	}
	return out
}
