// Package all is the one list of the networks that broadside knows. Adding a network means adding its line here.
package all

import (
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/bluesky"
	"github.com/broadside-pub/broadside/providers/mastodon"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/webhook"
)

// All returns every provider's description, sorted by name.
func All() []providers.Info {
	return []providers.Info{
		bluesky.Info(),
		mastodon.Info(),
		sandbox.Info(),
		webhook.Info(),
	}
}

// Lookup returns the description of the provider with this name.
func Lookup(name string) (providers.Info, bool) {
	list := All()
	i, found := slices.BinarySearchFunc(list, name, func(p providers.Info, name string) int {
		return strings.Compare(p.Name, name)
	})
	if !found {
		return providers.Info{}, false
	}
	return list[i], true
}
