package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// unit is how the network counts text.
const unit = "graphemes"

// pollSchema describes the setting poll.
const pollSchema = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["options"],
	"properties": {
		"options": {"type": "array", "minItems": 2, "maxItems": 4, "items": {"type": "string", "minLength": 1, "maxLength": 50}},
		"hours": {"type": "integer", "minimum": 1, "maximum": 720, "default": 24},
		"multiple": {"type": "boolean", "default": false}
	}
}`

// The bounds of settings.
const (
	maxWarning   = 100 // characters of a content warning
	maxTags      = 5
	maxKeepDays  = 3650
	maxPollHours = 720
)

// Info describes the sandbox.
func Info() providers.Info {
	return providers.Info{
		Name:  Name,
		Title: "Sandbox",
		About: "An invented network for trying things out, run by `broadside sandbox` and `broadside demo`. It has every " +
			"ability, and each can be switched off with `disable:`, so that a post can be tried on any kind of network.",
		Server: providers.ServerRequired,
		Settings: []providers.Setting{
			{
				Name: "visibility", Title: "Visibility", Type: providers.String, Default: "public",
				Enum: []string{"public", "unlisted", "private"}, Help: "Who sees the post.",
			},
			{
				Name: "content_warning", Title: "Content warning", Type: providers.String, Max: maxWarning,
				Help: "Stands in front of the post, which is folded behind it.",
			},
			{
				Name: "sensitive", Title: "Sensitive media", Type: providers.Boolean, Default: false,
				Help: "Hides the media until a reader asks for them.",
			},
			{
				Name: "language", Title: "Language", Type: providers.String, Max: 35,
				Help: "The BCP 47 tag of the text, where it differs from the post's.",
			},
			{
				Name: "tags", Title: "Tags", Type: providers.Strings, Max: maxTags,
				Help: "Tags beside the text, without #.",
			},
			{
				Name: "keep_days", Title: "Days to keep", Type: providers.Integer, Max: maxKeepDays,
				Help: "After how many days the post is no longer shown; 0 keeps it.",
			},
			{
				Name: "poll", Title: "Poll", Type: providers.Object, Schema: pollSchema,
				Help: "A poll below the first part, which then takes no media.",
			},
		},
		Secrets: []providers.Setting{
			{Name: secretToken, Title: "Access token", Type: providers.String, Help: "Shown on the account's page of the sandbox."},
			{
				Name: secretRefresh, Title: "Refresh token", Type: providers.String, Optional: true,
				Help: "Replaces an access token that expires; good for one use.",
			},
			{
				Name: secretExpires, Title: "Expiry", Type: providers.String, Optional: true,
				Help: "When the access token expires, as RFC 3339.",
			},
		},
		Abilities: abilities(),
		Limits: providers.Limits{
			Text: 500, Unit: unit, Parts: 50, Media: 4, Alt: 1000, ImageBytes: 5_000_000,
			MIME:        []string{"image/png", "image/jpeg", "image/gif", "image/webp"},
			PollOptions: 4, PollOption: 50,
			Source: "this adapter's own server", Date: "2026-11-30",
		},
		Settle:         2 * time.Second,
		LongestRequest: requestTimeout,
		Encode:         Encode,
		Seal:           Seal,
		New:            New,
	}
}

func abilities() []providers.Ability {
	return []providers.Ability{
		providers.CanFind, providers.CanKey, providers.CanReply, providers.CanUpload, providers.CanResolve, providers.CanStage,
		providers.CanEdit, providers.CanDelete, providers.CanCheck, providers.CanRefresh, providers.CanLimit,
	}
}

// settings reads what is set for all parts, and checks what Info.Settings cannot express.
func (e *encoder) settings() payload {
	s := e.d.Settings
	p := payload{
		Visibility:     str(s, "visibility"),
		ContentWarning: str(s, "content_warning"),
		Lang:           e.d.Lang,
		Tags:           list(s, "tags"),
		KeepDays:       number(s, "keep_days"),
	}
	p.Sensitive, _ = s["sensitive"].(bool)
	if p.Visibility == "" {
		p.Visibility = "public"
	}
	if l := str(s, "language"); l != "" {
		p.Lang = l
	}
	if n := text.Graphemes(p.ContentWarning); n > maxWarning {
		e.failSetting("content_warning", fmt.Sprintf("it has %d characters, the sandbox takes %d", n, maxWarning), "shorten it")
	}
	for _, t := range p.Tags {
		if t == "" || strings.ContainsAny(t, "# \t\n") {
			e.failSetting("tags", fmt.Sprintf("%q is no tag", t), "write tags as single words without #")
		}
	}
	if raw, ok := s["poll"]; ok && raw != nil {
		p.Poll = e.poll(raw)
	}
	return p
}

func (e *encoder) poll(raw any) *poll {
	p := poll{Hours: 24}
	b, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		e.failSetting("poll", "it cannot be read", "give options, and hours and multiple where needed")
		return nil
	}
	l := e.d.Limits
	if len(p.Options) < 2 || (l.PollOptions > 0 && len(p.Options) > l.PollOptions) {
		e.failSetting("poll", fmt.Sprintf("it has %d options, the sandbox takes 2 to %d", len(p.Options), l.PollOptions), "")
	}
	for i, o := range p.Options {
		if n := text.Graphemes(o); n == 0 || (l.PollOption > 0 && n > l.PollOption) {
			e.failSetting("poll", fmt.Sprintf("option %d has %d characters, the sandbox takes 1 to %d", i+1, n, l.PollOption), "")
		}
		if slices.Contains(p.Options[:i], o) {
			e.failSetting("poll", fmt.Sprintf("option %d is there twice", i+1), "")
		}
	}
	if p.Hours < 1 || p.Hours > maxPollHours {
		e.failSetting("poll", fmt.Sprintf("it runs %d hours, the sandbox takes 1 to %d", p.Hours, maxPollHours), "")
	}
	return &p
}

// str, number and list read a setting, whose type has been checked against Info.Settings; what is absent is zero.
func str(s map[string]any, name string) string {
	v, _ := s[name].(string)
	return v
}

func number(s map[string]any, name string) int {
	switch v := s[name].(type) {
	case int:
		return v
	case int64:
		return int(v)
	case uint64:
		return int(min(v, 1<<31))
	case float64:
		return int(v)
	}
	return 0
}

func list(s map[string]any, name string) []string {
	switch v := s[name].(type) {
	case []string:
		return slices.Clone(v)
	case []any:
		var out []string
		for _, e := range v {
			if t, ok := e.(string); ok {
				out = append(out, t)
			}
		}
		return out
	}
	return nil
}
