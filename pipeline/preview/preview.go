// Package preview shows renditions to people: every part exactly as it will be sent, with its length against the limit.
//
// It renders nothing itself and decides nothing: what it shows is what compose has worked out, and what is sent.
package preview

import (
	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/providers"
)

// Post is what one post becomes.
type Post struct {
	ID    string `json:"id"`
	Path  string `json:"path"`
	Title string `json:"title,omitempty"`
	// Draft tells that it has no time and will not go out.
	Draft        bool          `json:"draft"`
	Destinations []Destination `json:"destinations"`
	// Diagnostics concern the post as a whole.
	Diagnostics []pipeline.Diagnostic `json:"diagnostics"`
}

// Destination is one rendition.
type Destination struct {
	Name     string          `json:"name"`
	Provider string          `json:"provider"`
	Account  string          `json:"account,omitempty"`
	Target   pipeline.Target `json:"target,omitempty"`
	// Skip tells that the author wants nothing here.
	Skip bool `json:"skip,omitempty"`
	// Invalid tells that nothing goes out here until the diagnostics are dealt with; the parts are then as they would be.
	Invalid     bool                  `json:"invalid,omitempty"`
	Source      string                `json:"source,omitempty"`
	Rendition   string                `json:"rendition,omitempty"`
	Parts       []Part                `json:"parts"`
	Diagnostics []pipeline.Diagnostic `json:"diagnostics"`
}

// Part is one part, as it will be sent.
type Part struct {
	Text    string             `json:"text"`
	Lengths []providers.Length `json:"lengths,omitempty"`
	Media   []Media            `json:"media,omitempty"`
	// Settings are those that are sent with this part.
	Settings []providers.Shown `json:"settings,omitempty"`
	// Mentions are the names that are looked up on the network when it is sent.
	Mentions []string `json:"mentions,omitempty"`
}

// Media is one file, as it will be uploaded.
type Media struct {
	Path   string `json:"path"`
	MIME   string `json:"mime"`
	Bytes  int64  `json:"bytes"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Alt    string `json:"alt"`
	// Changed tells that other bytes are sent than those in the repository: smaller, turned upright, without metadata.
	Changed bool `json:"changed,omitempty"`
}

// Posts arranges a view by post, in its order. only narrows it to one destination; "" for all.
func Posts(v *compose.View, only string) []Post {
	out := make([]Post, 0, len(v.Tree.Posts))
	at := make(map[*pipeline.Post]int, len(v.Tree.Posts))
	byFile := map[string][]pipeline.Diagnostic{}
	for _, d := range v.Diagnostics {
		byFile[d.File] = append(byFile[d.File], d)
	}
	for _, p := range v.Tree.Posts {
		at[p] = len(out)
		post := Post{ID: p.ID, Path: p.Path, Title: p.Title, Draft: p.Draft(), Destinations: []Destination{}, Diagnostics: []pipeline.Diagnostic{}}
		for _, d := range byFile[p.Path] {
			if d.Destination == "" {
				post.Diagnostics = append(post.Diagnostics, d)
			}
		}
		out = append(out, post)
	}
	for _, it := range v.Items {
		i, ok := at[it.Post]
		if !ok || only != "" && it.Destination.Name != only {
			continue
		}
		out[i].Draft = out[i].Draft && it.Draft()
		out[i].Destinations = append(out[i].Destinations, destination(it, byFile[it.Post.Path]))
	}
	return out
}

func destination(it *compose.Item, ds []pipeline.Diagnostic) Destination {
	d := Destination{
		Name: it.Destination.Name, Provider: it.Destination.Provider, Account: it.Destination.Account, Target: it.ID.Target,
		Skip: it.Skip, Invalid: it.Errors && !it.Skip, Source: it.Rendition.Source, Rendition: it.Rendition.Hash, Parts: []Part{},
		Diagnostics: []pipeline.Diagnostic{},
	}
	for _, x := range ds {
		if x.Destination == it.Destination.Name {
			d.Diagnostics = append(d.Diagnostics, x)
		}
	}
	if it.Skip {
		return d
	}
	enc := it.Encoded
	if it.Errors && it.Again != nil {
		// How much too long it is, and what stands where, shows best in the text itself.
		_, enc, _ = it.Again(it.Destination.Limits)
	}
	for _, p := range enc.Parts {
		part := Part{Text: p.Text, Lengths: p.Lengths, Settings: p.Extra, Mentions: p.Resolve}
		for _, m := range p.Media {
			part.Media = append(part.Media, Media{
				Path: m.Path, MIME: m.MIME, Bytes: m.Bytes, Width: m.Width, Height: m.Height, Alt: m.Alt,
				Changed: m.Source != "" && m.Source != m.SHA256,
			})
		}
		d.Parts = append(d.Parts, part)
	}
	return d
}
