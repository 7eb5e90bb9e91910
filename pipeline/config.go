package pipeline

import (
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// Config is broadside.yaml.
type Config struct {
	Version       int
	Timezone      string
	Location      *time.Location
	Posts         []string // folders that hold posts
	Ledger        LedgerConfig
	Recipients    []string // age recipients
	PublishWithin time.Duration
	HeartbeatURL  string
	Media         MediaConfig
	// Destinations are sorted by name.
	Destinations []Destination
	Groups       map[string][]string
	// People maps a name to handles by destination.
	People map[string]map[string]string
	// Hash is the SHA-256 of the file's bytes, hex.
	Hash string
	// Path is where it was read.
	Path string
}

// LedgerConfig names the ledger and who signs it.
type LedgerConfig struct {
	Branch string // default broadside-ledger
	ID     string // 32 hex digits
	Signer string // authorized-key line of the public half
}

// DefaultLedgerBranch is where the ledger lives unless broadside.yaml names another branch.
const DefaultLedgerBranch = "broadside-ledger"

// Ref is the ledger branch's full name.
func (l LedgerConfig) Ref() string { return "refs/heads/" + l.Branch }

// MarkRef is the full name of the second ref that guards against rewinding.
func (l LedgerConfig) MarkRef() string { return "refs/heads/" + l.Branch + "-mark" }

// MediaConfig says where media are and how they are treated.
type MediaConfig struct {
	Roots []string // folders that a leading "/" may mean; default the repository root
	Fit   string   // "auto" (shrink what is too large) or "none"
	Alt   string   // "required", "warn" or "off"
}

// Destination is a configured account on a network.
type Destination struct {
	Name     string
	Provider string
	Server   string // base URL, "" for the provider's own
	Account  string
	Target   Target
	Settings map[string]any
	Limits   *providers.Limits // what `auth add` read from the instance; nil for the provider's own
	Private  bool              // allow_private: the server's address may be a private one
	Disable  []providers.Ability
	Pos      Pos
}

// Destination finds one by name.
func (c *Config) Destination(name string) (*Destination, bool) {
	for i := range c.Destinations {
		if c.Destinations[i].Name == name {
			return &c.Destinations[i], true
		}
	}
	return nil, false
}

// Expand turns names of destinations and groups into destination names, each once, in order; unknown tells which
// names are neither.
func (c *Config) Expand(names []string) (out, unknown []string) {
	seen := map[string]bool{}
	add := func(n string) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	for _, n := range names {
		if _, ok := c.Destination(n); ok {
			add(n)
			continue
		}
		if g, ok := c.Groups[n]; ok {
			for _, m := range g {
				add(m)
			}
			continue
		}
		unknown = append(unknown, n)
	}
	return out, unknown
}
