// Package compose joins content, media and rendering: from a tree of files to every delivery that the content wants.
//
// validate, preview, plan and the run all see a repository through it, so that what was reviewed is what is sent.
package compose

import (
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/schedule"
	"github.com/broadside-pub/broadside/providers"
)

// GCPercent is how seldom a short-lived process that reads a repository should collect garbage (debug.SetGCPercent): what
// it holds is small, and what it throws away is much.
const GCPercent = 400

// View is a repository's content at one commit, or in one work tree.
type View struct {
	Commit string // "" for a work tree
	Config *pipeline.Config
	Tree   content.Tree
	// Items are the deliveries that the content wants, by path and destination, in order.
	Items []*Item
	// Diagnostics hold everything there is to say, sorted.
	Diagnostics []pipeline.Diagnostic
	// Drafts counts the posts without a time.
	Drafts int
	byID   map[pipeline.DeliveryID]*Item
}

// Item is one post at one destination.
type Item struct {
	Post        *pipeline.Post
	At          pipeline.PostDestination
	Destination *pipeline.Destination
	Info        providers.Info
	// ID is the delivery; its Target is empty where the destination has none yet.
	ID pipeline.DeliveryID
	// Skip tells that the author wants nothing there.
	Skip bool
	// Rendition and Encoded are empty when Errors.
	Rendition pipeline.Rendition
	Encoded   providers.Encoded
	// Errors tells that it must not go out until a diagnostic is dealt with.
	Errors bool
	// Again renders the item for other limits than the destination's: those that an instance says it has.
	Again func(limits *providers.Limits) (pipeline.Rendition, providers.Encoded, []pipeline.Diagnostic)
}

// Draft tells that the item has no time.
func (i *Item) Draft() bool { return i.Post.Draft() && i.At.PublishAt.IsZero() }

// Now tells that the item is to go out as soon as it is seen.
func (i *Item) Now() bool {
	if !i.At.PublishAt.IsZero() {
		return i.At.PublishAt.Now
	}
	return i.Post.PublishAt.Now
}

// Window is when the item may go out, for a delivery that was first seen at seen.
func (i *Item) Window(cfg *pipeline.Config, seen time.Time) (pipeline.Window, error) {
	return schedule.Window(i.Post, i.At, cfg, seen)
}

// Item finds a delivery.
func (v *View) Item(id pipeline.DeliveryID) (*Item, bool) {
	i, ok := v.byID[id]
	return i, ok
}
