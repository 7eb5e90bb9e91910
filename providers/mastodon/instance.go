package mastodon

import (
	"context"
	"net/url"
	"regexp"
	"slices"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/api"
)

// defaultLimits are those of an unchanged Mastodon.
func defaultLimits() providers.Limits {
	return providers.Limits{
		Text: 500, Unit: "graphemes", URLLength: 23,
		Media: 4, ImageBytes: 16 << 20, ImagePixels: 33177600, VideoBytes: 99 << 20, Alt: 1500,
		MIME: []string{
			"image/jpeg", "image/png", "image/gif", "image/heic", "image/heif", "image/webp", "image/avif",
			"video/webm", "video/mp4", "video/quicktime", "video/ogg",
		},
		PollOptions: 4, PollOption: 50,
		Source: "https://docs.joinmastodon.org/entities/Instance/", Date: "2026-11-30",
	}
}

// instance is what is read of an instance's description.
type instance struct {
	limits  providers.Limits
	version string
}

// instanceAnswer is v1 and v2 of it in one: both hold the same configuration.
type instanceAnswer struct {
	Version       string `json:"version"`
	MaxTootChars  number `json:"max_toot_chars"` // v1 of some forks
	Configuration struct {
		Statuses struct {
			MaxCharacters    number `json:"max_characters"`
			MaxMedia         number `json:"max_media_attachments"`
			CharactersPerURL number `json:"characters_reserved_per_url"`
		} `json:"statuses"`
		Media struct {
			MIME             []string `json:"supported_mime_types"`
			ImageSizeLimit   number   `json:"image_size_limit"`
			ImageMatrixLimit number   `json:"image_matrix_limit"`
			VideoSizeLimit   number   `json:"video_size_limit"`
			DescriptionLimit number   `json:"description_limit"`
		} `json:"media_attachments"`
		Polls struct {
			MaxOptions    number `json:"max_options"`
			MaxCharacters number `json:"max_characters_per_option"`
		} `json:"polls"`
	} `json:"configuration"`
}

// limits overlays what the instance tells on Mastodon's own limits.
func (a instanceAnswer) limits(source, date string) providers.Limits {
	l := defaultLimits()
	l.Source, l.Date = source, date
	c := a.Configuration
	set := func(to *int, values ...number) {
		for _, v := range values {
			if v > 0 {
				*to = int(v)
				return
			}
		}
	}
	set64 := func(to *int64, v number) {
		if v > 0 {
			*to = int64(v)
		}
	}
	set(&l.Text, c.Statuses.MaxCharacters, a.MaxTootChars)
	set(&l.Media, c.Statuses.MaxMedia)
	set(&l.URLLength, c.Statuses.CharactersPerURL)
	set(&l.Alt, c.Media.DescriptionLimit)
	set(&l.PollOptions, c.Polls.MaxOptions)
	set(&l.PollOption, c.Polls.MaxCharacters)
	set64(&l.ImageBytes, c.Media.ImageSizeLimit)
	set64(&l.ImagePixels, c.Media.ImageMatrixLimit)
	set64(&l.VideoBytes, c.Media.VideoSizeLimit)
	if len(c.Media.MIME) > 0 {
		l.MIME = slices.Clone(c.Media.MIME)
	}
	return l
}

// Limits implements providers.Limiter. The instance is asked once in the life of a Provider.
func (p *Provider) Limits(ctx context.Context) (providers.Limits, error) {
	i, err := p.describe(ctx)
	if err != nil {
		return providers.Limits{}, err
	}
	l := i.limits
	l.MIME = slices.Clone(l.MIME)
	return l, nil
}

// describe reads the instance's description: v2, or v1 where the server has no v2.
func (p *Provider) describe(ctx context.Context) (*instance, error) {
	p.mu.Lock()
	have := p.instance
	p.mu.Unlock()
	if have != nil {
		return have, nil
	}
	var a instanceAnswer
	path := "/api/v2/instance"
	_, err := p.call(ctx, api.Request{Op: "limits", Path: path}, &a)
	if absent(err) {
		a = instanceAnswer{}
		path = "/api/v1/instance"
		_, err = p.call(ctx, api.Request{Op: "limits", Path: path}, &a)
	}
	if err != nil {
		return nil, err
	}
	have = &instance{limits: a.limits(p.server+path, p.now().UTC().Format("2006-01-02")), version: a.Version}
	p.mu.Lock()
	p.instance = have
	p.mu.Unlock()
	return have, nil
}

// software is what runs the server.
type software struct {
	name string // as nodeinfo calls it, "" where the server does not say
	// genuine: Mastodon itself or a fork of it that answers like it.
	genuine bool
}

// plainVersion is how Mastodon and its forks write their version: "4.5.2", "4.6.0-alpha.1+glitch". What only speaks the
// API names itself behind it: "2.7.2 (compatible; Pleroma 2.9.1)", "4.0.0 (not true; really snac/2.75)".
var plainVersion = regexp.MustCompile(`^[2-9][0-9]*\.[0-9]+\.[0-9]+([a-z0-9.+-]*)?$`)

// genuineNames are the names by which Mastodon and the forks that keep its PostStatusService call themselves.
var genuineNames = []string{"mastodon", "hometown", "glitch-soc"}

// lacking names what servers are known to lack beside idempotency keys, by their nodeinfo name (seen with snac 2.75,
// 2026-11-30).
var lacking = map[string][]string{"snac": {"delete", "polls", "lists of private statuses"}}

// serverSoftware asks, without the token, what runs the server. A server that does not say is not an error.
func (p *Provider) serverSoftware(ctx context.Context) (*software, error) {
	p.mu.Lock()
	have := p.software
	p.mu.Unlock()
	if have != nil {
		return have, nil
	}
	i, err := p.describe(ctx)
	if err != nil {
		return nil, err
	}
	name, err := p.nodeinfo(ctx)
	if err != nil {
		return nil, err
	}
	have = &software{name: name, genuine: slices.Contains(genuineNames, name) && plainVersion.MatchString(i.version)}
	p.mu.Lock()
	p.software = have
	p.mu.Unlock()
	return have, nil
}

// nodeinfo returns the software's name by http://nodeinfo.diaspora.software, "" where there is none.
func (p *Provider) nodeinfo(ctx context.Context) (string, error) {
	var index struct {
		Links []struct {
			Href string `json:"href"`
		} `json:"links"`
	}
	var info struct {
		Software struct {
			Name string `json:"name"`
		} `json:"software"`
	}
	const op = "nodeinfo"
	if _, err := p.client.JSON(ctx, api.Request{Op: op, Path: "/.well-known/nodeinfo"}, &index); err != nil {
		return "", unlessAnswered(err)
	}
	for _, l := range index.Links {
		u, err := url.Parse(l.Href)
		if err != nil || u.Path == "" {
			continue
		}
		// The address may have the server's other name in it; the question is what this server is.
		if _, err := p.client.JSON(ctx, api.Request{Op: op, Path: u.EscapedPath()}, &info); err != nil {
			return "", unlessAnswered(err)
		}
		if len(info.Software.Name) <= 64 {
			return info.Software.Name, nil
		}
		break
	}
	return "", nil
}

// unlessAnswered drops an error that is itself an answer: the server does not tell. What may be told later stays.
func unlessAnswered(err error) error {
	e := providers.AsError(err)
	if e.Reach == providers.Answered && e.Kind != providers.Unavailable && e.Kind != providers.Throttled {
		return nil
	}
	return err
}

// KeyRule implements providers.Keyer. Only Mastodon and its forks are known to honour the key, and even there it is not
// atomic: it is stored after the status, so that a proxy's 504 in between leaves a status without a key
// (mastodon/mastodon#21840).
func (p *Provider) KeyRule(ctx context.Context) (providers.KeyRule, bool, error) {
	s, err := p.serverSoftware(ctx)
	if err != nil || !s.genuine {
		return providers.KeyRule{}, false, err
	}
	return providers.KeyRule{Window: keyWindow}, true, nil
}
