// Package webhook posts each part of a post as a signed JSON message to an address of the user's own, by the Standard
// Webhooks specification (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, version 1.0.0).
//
// The one call that makes a part public is the POST to that address. The message's bytes are fixed when the part is
// claimed; only the time of sending, which is in a header, and the signature over it are new with each attempt.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// Name is the provider's name: the config key and the first part of its targets.
const Name = "webhook"

// The names of settings and secrets.
const (
	settingDeduplicates = "deduplicates"
	settingExtra        = "extra"
	secretURL           = "url"
	secretKey           = "secret"
)

const (
	// requestTimeout is what the specification suggests at most for one attempt.
	requestTimeout = 30 * time.Second
	// keyWindow is how long a receiver that recognises a repeated webhook-id is taken to remember it.
	keyWindow = 24 * time.Hour
	// answerLimit bounds what is read of an answer, in bytes: it may hold an id and a URL.
	answerLimit = 64 << 10
)

// Provider posts to one address. It is safe for concurrent use.
type Provider struct {
	client       *api.Client
	address      string
	keys         [][]byte
	deduplicates bool
	now          func() time.Time
}

var (
	_ providers.Publisher = (*Provider)(nil)
	_ providers.Keyer     = (*Provider)(nil)
	_ providers.Replier   = (*Provider)(nil)
	_ providers.Uploader  = (*Provider)(nil)
)

// Info describes the provider.
func Info() providers.Info {
	return providers.Info{
		Name:  Name,
		Title: "Webhook",
		About: "Posts each part as a signed JSON message (Standard Webhooks) to an address of your own. Media are named by " +
			"path, digest and alternative text, their bytes are not sent. What has arrived cannot be asked for: a person " +
			"decides about an attempt whose outcome is unknown, unless the receiver recognises repeated messages.",
		Server:         providers.ServerNone,
		RandomTarget:   true,
		Settings:       settings(),
		Secrets:        secrets(),
		Abilities:      providers.Abilities((*Provider)(nil)).Names(),
		Limits:         providers.Limits{Source: "https://www.standardwebhooks.com/", Date: "2026-11-30"},
		LongestRequest: requestTimeout,
		Encode:         encode,
		Seal:           seal,
		New:            New,
	}
}

func settings() []providers.Setting {
	return []providers.Setting{
		{
			Name: settingDeduplicates, Title: "Deduplicates", Type: providers.Boolean, Default: false, ConfigOnly: true,
			Help: "The receiver recognises a repeated webhook-id for at least a day, so that a message may be sent again " +
				"when its outcome is unknown.",
		},
		{
			Name: settingExtra, Title: "Extra", Type: providers.Object, Schema: `{"type": "object"}`,
			Help: "Values of your own that are passed on in the message as they are.",
		},
	}
}

func secrets() []providers.Setting {
	return []providers.Setting{
		{
			Name: secretURL, Title: "URL", Type: providers.String,
			Help: "The address to post to; it is kept secret like a password.",
		},
		{
			Name: secretKey, Title: "Signing secret", Type: providers.String,
			Help: "whsec_ and the key in Base64, as the receiver knows it; two with a space between while you replace one.",
		},
	}
}

// New makes an adapter. It reaches no network.
func New(cfg providers.Config) (providers.Publisher, error) {
	if cfg.Transport == nil || cfg.Now == nil {
		return nil, errors.New("webhook: a transport and a clock are required")
	}
	address := cfg.Credential.Secrets[secretURL]
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("webhook: the credential's url is not an http or https address")
	}
	if u.User != nil {
		return nil, errors.New("webhook: the credential's url holds a user name or password; the signature takes their place")
	}
	if cfg.Credential.Host != "" && !api.SameHost(cfg.Credential.Host, u) {
		return nil, fmt.Errorf("webhook: the credential is for %s, and its url is on another host", cfg.Credential.Host)
	}
	keys, err := parseKeys(cfg.Credential.Secrets[secretKey])
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	deduplicates, _ := cfg.Settings[settingDeduplicates].(bool)
	cfg.Server = u.Scheme + "://" + u.Host
	return &Provider{
		client: api.New(cfg, api.Options{
			Name: Name, Timeout: requestTimeout, MaxBody: answerLimit, Secrets: secretParts(u, cfg.Credential.Secrets[secretKey]),
		}),
		address: address, keys: keys, deduplicates: deduplicates, now: cfg.Now,
	}, nil
}

// KeyRule implements providers.Keyer: the receiver decides by the webhook-id, where the destination says that it does.
func (p *Provider) KeyRule(context.Context) (providers.KeyRule, bool, error) {
	if !p.deduplicates {
		return providers.KeyRule{}, false, nil
	}
	return providers.KeyRule{Window: keyWindow, Exact: true}, true, nil
}

// Upload implements providers.Uploader. Messages name media and do not hold them, so there is nothing to send.
func (p *Provider) Upload(_ context.Context, m providers.Media) (providers.Handle, error) {
	return providers.Handle{ID: m.SHA256}, nil
}
