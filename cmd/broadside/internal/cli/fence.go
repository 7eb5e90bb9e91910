//go:build !fencescale

package cli

import "github.com/broadside-pub/broadside/pipeline/publish"

// fence is the released fence. Only a binary built with the tag fencescale can have another.
func (a *app) fence() publish.Fence { return publish.DefaultFence() }
