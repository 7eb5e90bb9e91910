// Package mastodon publishes to Mastodon and to servers that speak its client API.
//
// The one call that makes a post public is POST /api/v1/statuses, made by Publish and Reply; PUT of a status changes one
// that is public, DELETE takes it down. Media are uploaded before and belong to nobody until a status names them.
// Statuses are never scheduled on the server: it drops the idempotency key of those (mastodon/mastodon#30039).
//
// What servers do differently is found out at run time: limits from the instance, the idempotency key from the software
// that the server says it runs, everything else from its answers.
package mastodon

import (
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Name is the provider's name: the config key and the first part of its targets.
const Name = "mastodon"

const (
	// requestTimeout bounds an ordinary call.
	requestTimeout = 30 * time.Second
	// uploadTimeout bounds the transfer of one file: the largest that Mastodon takes is 99 MiB.
	uploadTimeout = 2 * time.Minute
	// keyWindow is how long Mastodon keeps an idempotency key (docs.joinmastodon.org/methods/statuses, 2026-11-30).
	keyWindow = time.Hour
	// settle is how long a new status may take to show in its author's list.
	settle = 5 * time.Second
)

// Provider publishes to one account on one server. It is safe for concurrent use.
type Provider struct {
	client  *api.Client
	token   string
	server  string
	account string // as configured, for messages
	target  string // the account id that the target names, "" before it is known
	now     func() time.Time

	mu       sync.Mutex
	instance *instance
	software *software
	own      *account
}

var (
	_ providers.Publisher = (*Provider)(nil)
	_ providers.Finder    = (*Provider)(nil)
	_ providers.Keyer     = (*Provider)(nil)
	_ providers.Replier   = (*Provider)(nil)
	_ providers.Uploader  = (*Provider)(nil)
	_ providers.Editor    = (*Provider)(nil)
	_ providers.Deleter   = (*Provider)(nil)
	_ providers.Checker   = (*Provider)(nil)
	_ providers.Limiter   = (*Provider)(nil)
)

// Info describes the provider.
func Info() providers.Info {
	return providers.Info{
		Name:  Name,
		Title: "Mastodon",
		About: "Publishes statuses, threads, pictures, video and polls to a Mastodon account, or to one on a server that " +
			"speaks Mastodon's client API. Where a server ignores idempotency keys, the account's own statuses are " +
			"searched before anything is sent again.",
		Server:    providers.ServerRequired,
		Settings:  settings(),
		Secrets:   secrets(),
		Abilities: providers.Abilities((*Provider)(nil)).Names(),
		Limits:    defaultLimits(),
		Settle:    settle,
		// The longest is an upload; everything else ends after requestTimeout.
		LongestRequest: uploadTimeout,
		Encode:         encode,
		Seal:           seal,
		New:            New,
	}
}

// New makes an adapter for one account. It reaches no network.
func New(cfg providers.Config) (providers.Publisher, error) {
	u, err := url.Parse(cfg.Server)
	if err != nil || u.Host == "" {
		return nil, errors.New("mastodon: the destination needs a server, such as https://mastodon.example")
	}
	if cfg.Credential.Host != "" && !api.SameHost(cfg.Credential.Host, u) {
		return nil, fmt.Errorf("mastodon: the credential is for %s and is never sent to %s", cfg.Credential.Host, u.Host)
	}
	token := cfg.Credential.Secrets[secretToken]
	if token == "" {
		return nil, errors.New("mastodon: the credential holds no access_token")
	}
	if cfg.Transport == nil || cfg.Now == nil {
		return nil, errors.New("mastodon: a transport and a clock are required")
	}
	return &Provider{
		client:  api.New(cfg, api.Options{Name: Name, Timeout: requestTimeout, Secrets: []string{token}}),
		token:   token,
		server:  cfg.Server,
		account: cfg.Account,
		target:  cfg.TargetID,
		now:     cfg.Now,
	}, nil
}
