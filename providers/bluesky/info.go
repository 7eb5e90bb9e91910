package bluesky

import (
	"time"

	"github.com/broadside-pub/broadside/providers"
)

const (
	name          = "bluesky"
	defaultServer = "https://bsky.social"
)

// The limits of the lexicons (bluesky-social/atproto at d6296a1c, 2026-08-20).
const (
	maxGraphemes    = 300
	maxTextBytes    = 3000
	maxImages       = 4
	maxImageBytes   = 2_000_000
	maxThumbBytes   = 1_000_000
	maxLangs        = 3
	maxTags         = 8
	maxTagGraphemes = 64
	maxTagBytes     = 640
)

const cardSchema = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["url"],
	"properties": {
		"url": {"type": "string", "format": "uri", "description": "Where the card leads."},
		"title": {"type": "string", "maxLength": 300, "description": "The card's first line; the post's title where it is left out."},
		"description": {"type": "string", "maxLength": 1000, "description": "What stands below the title."},
		"thumb": {"type": "boolean", "description": "Shows the only image of the first part as the card's picture."}
	}
}`

// Info describes the provider.
func Info() providers.Info {
	return providers.Info{
		Name:  name,
		Title: "Bluesky",
		About: "Publishes posts and threads to a Bluesky account on bsky.social or any other PDS, with an app password. " +
			"Published posts are never edited: the network keeps the old version in replies and quotes and shows no " +
			"trace of the change, so a changed file only shows as drift. Link cards are built from the settings; " +
			"nothing is fetched from the linked page. Videos are not supported.",
		Server:        providers.ServerOptional,
		DefaultServer: defaultServer,
		Settings: []providers.Setting{
			{
				Name: setLanguage, Title: "Language", Type: providers.String,
				Help: "The language of the text, as a BCP 47 tag such as en or pt-BR; the post's own language where it is left out.",
			},
			{
				Name: setLanguages, Title: "Languages", Type: providers.Strings, Max: maxLangs,
				Help: "The languages of a text in more than one, as BCP 47 tags; instead of language.",
			},
			{
				Name: setLabels, Title: "Content labels", Type: providers.Strings,
				Enum: []string{"porn", "sexual", "nudity", "graphic-media"},
				Help: "Warns of what the post shows; apps hide or cover it by the reader's own choice.",
			},
			{
				Name: setTags, Title: "Extra tags", Type: providers.Strings, Max: maxTags,
				Help: "Hashtags that are found in searches but do not stand in the text, without '#'; the first part carries them.",
			},
			{
				Name: setCard, Title: "Link card", Type: providers.Object, Schema: cardSchema,
				Help: "A card with title, description and picture below the first part, built from what stands here.",
			},
		},
		Secrets: []providers.Setting{
			{
				Name: secretIdentifier, Title: "Handle", Type: providers.String, Optional: true,
				Help: "Whom to log in as, where it is not the destination's account.",
			},
			{
				Name: secretPassword, Title: "App password", Type: providers.String,
				Help: "Made in the app under Settings, Privacy and security, App passwords; never the account's main password.",
			},
		},
		Abilities: []providers.Ability{
			providers.CanFind, providers.CanKey, providers.CanReply, providers.CanUpload, providers.CanResolve,
			providers.CanDelete, providers.CanCheck, providers.CanRefresh,
		},
		Limits:         limits(),
		Settle:         5 * time.Second,
		LongestRequest: max(2*requestTimeout, uploadTimeout),
		Encode:         Encode,
		Seal:           Seal,
		New: func(cfg providers.Config) (providers.Publisher, error) {
			p, err := New(cfg)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
	}
}

func limits() providers.Limits {
	return providers.Limits{
		Text: maxGraphemes, Unit: "graphemes", TextBytes: maxTextBytes,
		Media: maxImages, ImageBytes: maxImageBytes,
		MIME:   []string{"image/jpeg", "image/png", "image/webp", "image/gif"},
		Source: "lexicons app.bsky.feed.post, app.bsky.embed.images (bluesky-social/atproto at d6296a1c)",
		Date:   "2026-08-20",
	}
}
