package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

// model is the content as people want it.
type model struct {
	posts   map[string]*post
	creds   map[string]string // sealed, by destination
	target  map[string]pipeline.Target
	account map[string]string // the network's account, by destination
	broken  bool              // broadside.yaml is not valid
	media   int               // which picture lies at the path of all
}

// post is one file.
type post struct {
	ID      string
	Dests   []string
	Kind    string
	Word    string // what its text begins with: no two versions of two posts have the same, but for copies
	Version int
	Due, By time.Time // By zero: the default
	Now     bool
	Draft   bool
	Bad     bool // its front matter cannot be read
	Gone    bool
	Folder  int  // it was renamed so often
	Copied  bool // another file has the same id
}

func (m *model) clone() *model {
	c := &model{posts: map[string]*post{}, creds: maps.Clone(m.creds), target: maps.Clone(m.target), account: maps.Clone(m.account), broken: m.broken, media: m.media}
	for id, p := range m.posts {
		q := *p
		c.posts[id] = &q
	}
	return c
}

// parts are the texts of a post's parts.
func (p *post) parts() []string {
	n := 1
	switch p.Kind {
	case "thread":
		n = 2 + len(p.ID)%2
	case "album":
		n = 2
	}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s part %d.", p.Word, i+1)
	}
	return out
}

func (p *post) path() string {
	if p.Folder > 0 {
		return fmt.Sprintf("posts/moved%d/%s.md", p.Folder, p.ID)
	}
	return "posts/" + p.ID + ".md"
}

func (p *post) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nid: %s\n", p.ID)
	switch {
	case p.Bad:
		b.WriteString("publish_at: tomorrow-ish\n")
	case p.Draft:
	case p.Now:
		b.WriteString("publish_at: now\n")
	default:
		fmt.Fprintf(&b, "publish_at: %s\n", p.Due.UTC().Format(time.RFC3339))
	}
	if !p.By.IsZero() && !p.Draft {
		fmt.Fprintf(&b, "publish_by: %s\n", p.By.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "destinations: [%s]\n---\n", strings.Join(p.Dests, ", "))
	for i, part := range p.parts() {
		if i > 0 {
			b.WriteString("\n---\n")
		}
		b.WriteString("\n" + part + "\n")
		if p.Kind == "image" || p.Kind == "album" && i == 1 {
			b.WriteString("\n![A red square](/media/picture.png)\n")
		}
	}
	return b.String()
}

func (m *model) config(w *world) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\ntimezone: UTC\nposts: [posts]\npublish_within: %s\nledger: {branch: broadside-ledger, id: %s, signer: %q}\nage: {recipients: [%s]}\ndestinations:\n",
		"6h", ledgerID, secrets().signer.Line, secrets().to.Names()[0])
	for _, d := range w.plan.Dests {
		fmt.Fprintf(&b, "  %s:\n    provider: sandbox\n    server: %s\n    account: %s\n    target: %s\n", d.Name, network, m.account[d.Name], m.target[d.Name])
		if len(d.Disable) > 0 {
			fmt.Fprintf(&b, "    disable: [%s]\n", strings.Join(d.Disable, ", "))
		}
	}
	if m.broken {
		b.WriteString("destinatoins: []\n")
	}
	return b.String()
}

func (m *model) files(w *world) map[string]string {
	out := map[string]string{"broadside.yaml": m.config(w), vault.KeyPath: string(secrets().sealed), "media/picture.png": string(secrets().image), "README.md": "Posts.\n"}
	if m.media > 0 {
		// Bytes after the end of a picture change nothing but its digest.
		out["media/picture.png"] += strings.Repeat("x", m.media)
	}
	for d, c := range m.creds {
		out["credentials/"+d+".age"] = c
	}
	for _, p := range m.posts {
		if p.Gone {
			continue
		}
		out[p.path()] = p.text()
		if p.Copied {
			out["posts/copy-of-"+p.ID+".md"] = p.text()
		}
	}
	return out
}

// want is what a content commit says of one post at one place.
type want struct {
	Word  string
	Parts []string
	Due   time.Time
	Now   bool
	Dest  string
}

// truth is what a content commit wants: posts that are there, in order, with a time.
type truth map[pipeline.DeliveryID]want

func (m *model) truth() truth {
	out := truth{}
	if m.broken {
		return out
	}
	for _, p := range m.posts {
		if p.Gone || p.Bad || p.Draft || p.Copied || !p.By.IsZero() && !p.Now && !p.By.After(p.Due) {
			continue
		}
		for _, d := range p.Dests {
			out[pipeline.DeliveryID{Post: p.ID, Target: m.target[d]}] = want{p.Word, p.parts(), p.Due, p.Now, d}
		}
	}
	return out
}

// commit pushes what has changed to the content branch.
func (w *world) commit(message string) {
	files := w.model.files(w)
	var ch []gitstore.Change
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if w.pushed[path] != files[path] {
			ch = append(ch, gitstore.Change{Path: path, Data: []byte(files[path])})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(w.pushed)) {
		if _, ok := files[path]; !ok {
			ch = append(ch, gitstore.Change{Path: path, Remove: true})
		}
	}
	if len(ch) == 0 {
		return
	}
	w.know(w.git.CommitAs(contentRef, contentCommit(ch, message)), files)
	w.logf("content: %s", message)
}

func contentCommit(ch []gitstore.Change, message string) gitstore.Commit {
	return gitstore.Commit{Changes: ch, Message: message, Name: "Someone Else", Email: "else@example.com", When: time.Now()}
}

// know notes what the content tip is.
func (w *world) know(tip gitstore.Hash, files map[string]string) {
	w.pushed = files
	w.past[tip], w.truths[tip] = w.model.clone(), w.model.truth()
	w.old = append(w.old, tip)
}

// rewrite replaces the content branch by another history with the same files.
func (w *world) rewrite() {
	files := w.model.files(w)
	var ch []gitstore.Change
	for _, path := range slices.Sorted(maps.Keys(files)) {
		ch = append(ch, gitstore.Change{Path: path, Data: []byte(files[path])})
	}
	const ref = "refs/heads/rewritten"
	tip := w.git.CommitAs(ref, contentCommit(ch, fmt.Sprint("one commit of all, ", w.seq())))
	w.git.Force(contentRef, tip)
	w.git.Delete(ref)
	w.know(tip, files)
}

// drop takes the last content commit back by force.
func (w *world) drop() {
	parents := w.git.Snapshot(contentRef).Parents()
	if len(parents) == 0 || w.past[parents[0]] == nil {
		return
	}
	w.git.Force(contentRef, parents[0])
	w.model = w.past[parents[0]].clone()
	w.pushed = w.model.files(w)
	w.old = append(w.old, parents[0])
}
