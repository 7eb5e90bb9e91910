package mastodon

import (
	"fmt"
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

// The names of settings and secrets.
const (
	settingVisibility = "visibility"
	settingWarning    = "content_warning"
	settingSensitive  = "sensitive"
	settingLanguage   = "language"
	settingPoll       = "poll"
	secretToken       = "access_token"
)

// The visibilities, from the widest to the narrowest.
const (
	public   = "public"
	unlisted = "unlisted"
	private  = "private"
	direct   = "direct"
)

func settings() []providers.Setting {
	return []providers.Setting{
		{
			Name: settingVisibility, Title: "Visibility", Type: providers.String, Default: public,
			Enum: []string{public, unlisted, private, direct},
			Help: "Who sees the post: everyone, everyone but the public timelines, followers, or only those it mentions.",
		},
		{
			Name: settingWarning, Title: "Content warning", Type: providers.String, Max: 500,
			Help: "A line shown in place of the text until the reader opens it; it counts towards the length of every part.",
		},
		{
			Name: settingSensitive, Title: "Sensitive", Type: providers.Boolean, Default: false,
			Help: "Media stay covered until the reader opens them; a content warning does the same.",
		},
		{
			Name: settingLanguage, Title: "Language", Type: providers.String, Max: 35,
			Help: "The language of the text as a BCP 47 tag, where it is not the post's own.",
		},
		{
			Name: settingPoll, Title: "Poll", Type: providers.Object, Schema: pollSchema,
			Help: "A poll below the first part, which then cannot have media.",
		},
	}
}

func secrets() []providers.Setting {
	return []providers.Setting{{
		Name: secretToken, Title: "Access token", Type: providers.String,
		Help: "From Preferences, Development, on your server: an application with read, write:statuses and write:media.",
	}}
}

// options are the settings of one draft, decoded.
type options struct {
	visibility string
	warning    string
	sensitive  bool
	language   string
	poll       *poll
}

// readSettings decodes the settings of d. What is wrong with them becomes problems, the defaults stand in.
func readSettings(d providers.Draft) (options, []providers.Problem) {
	o := options{visibility: public, language: d.Lang}
	var problems []providers.Problem
	bad := func(setting, message, hint string) {
		problems = append(problems, providers.Problem{
			Code: "bad_setting", Error: true, Part: -1, Setting: setting, Message: message, Hint: hint,
		})
	}
	for name, v := range d.Settings {
		if v == nil {
			continue
		}
		s, isString := v.(string)
		switch name {
		case settingVisibility:
			switch s {
			case public, unlisted, private, direct:
				o.visibility = s
			default:
				bad(name, fmt.Sprintf("visibility is %v", v), "use public, unlisted, private or direct")
			}
		case settingWarning:
			o.warning = strings.TrimSpace(s)
			if !isString || strings.ContainsAny(s, "\r\n") {
				bad(name, "content_warning is not a line of text", "write it on one line")
			}
		case settingSensitive:
			b, ok := v.(bool)
			if !ok {
				bad(name, fmt.Sprintf("sensitive is %v", v), "use true or false")
			}
			o.sensitive = b
		case settingLanguage:
			if !isString {
				bad(name, fmt.Sprintf("language is %v", v), "use a tag such as en or pt-BR")
			} else if s != "" {
				o.language = s
			}
		case settingPoll:
			p, err := readPoll(v)
			if err != nil {
				bad(name, "poll: "+err.Error(), "a poll has options (two or more) and expires_in, such as 24h")
			}
			o.poll = p
		}
	}
	if lang, ok := language(o.language); ok {
		o.language = lang
	} else {
		bad(settingLanguage, fmt.Sprintf("%q is no language tag", o.language), "use a tag such as en or pt-BR")
		o.language = ""
	}
	return o, problems
}

// language reduces a BCP 47 tag to what Mastodon takes: an ISO 639 code, for Chinese with what tells its kinds apart
// (the languages that app/helpers/languages_helper.rb lists, 2026-11-30).
func language(tag string) (string, bool) {
	if tag == "" {
		return "", true
	}
	primary, rest, more := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	primary = strings.ToLower(primary)
	if len(primary) < 2 || len(primary) > 3 || strings.Trim(primary, "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", false
	}
	if more && (rest == "" || strings.ContainsFunc(rest, func(r rune) bool { return r != '-' && !isAlnumASCII(r) })) {
		return "", false
	}
	if primary == "zh" {
		switch strings.ToLower(rest) {
		case "cn", "hans", "hans-cn", "sg", "hans-sg":
			return "zh-CN", true
		case "tw", "hant", "hant-tw":
			return "zh-TW", true
		case "hk", "hant-hk", "mo", "hant-mo":
			return "zh-HK", true
		}
	}
	return primary, true
}
