package mastodon

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

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

// The bounds of a poll's duration (app/validators/poll_expiration_validator.rb, 2026-11-30).
const (
	shortestPoll = 5 * time.Minute
	longestPoll  = 2629746 * time.Second // a month
	usualPoll    = 24 * time.Hour
)

// pollSchema describes the setting; the number of options is bounded by the instance.
const pollSchema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["options"],
  "properties": {
    "options": {
      "description": "The answers to choose from.",
      "type": "array", "minItems": 2, "uniqueItems": true,
      "items": {"type": "string", "minLength": 1}
    },
    "expires_in": {
      "description": "How long the poll is open: a duration such as 30m, 24h or 7d, or seconds. A day if left out.",
      "anyOf": [
        {"type": "integer", "minimum": 300, "maximum": 2629746},
        {"type": "string", "pattern": "^[0-9]+(s|m|h|d)$"}
      ]
    },
    "multiple": {"description": "More than one answer may be chosen.", "type": "boolean"},
    "hide_totals": {"description": "The votes stay hidden until the poll ends.", "type": "boolean"}
  }
}`

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

// readPoll decodes the poll setting, whichever types the configuration's reader chose.
func readPoll(v any) (*poll, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is %T, not a map", v)
	}
	p := &poll{ExpiresIn: int64(usualPoll / time.Second)}
	for name, v := range m {
		var err error
		switch name {
		case "options":
			p.Options, err = readStrings(v)
		case "expires_in":
			p.ExpiresIn, err = readSeconds(v)
		case "multiple":
			p.Multiple, err = readBool(v)
		case "hide_totals":
			p.HideTotals, err = readBool(v)
		default:
			err = fmt.Errorf("there is no such key")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(p.Options) < 2 {
		return nil, fmt.Errorf("it has %d options", len(p.Options))
	}
	seen := map[string]bool{}
	for _, o := range p.Options {
		if seen[o] {
			return nil, fmt.Errorf("the option %q is there twice", o)
		}
		seen[o] = true
	}
	if d := p.ExpiresIn; d < int64(shortestPoll/time.Second) || d > int64(longestPoll/time.Second) {
		return nil, fmt.Errorf("expires_in: %d seconds is not between 5 minutes and a month", d)
	}
	return p, nil
}

func readStrings(v any) ([]string, error) {
	var out []string
	switch v := v.(type) {
	case []string:
		out = append(out, v...)
	case []any:
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("%v is no text; put it in quotes", e)
			}
			out = append(out, s)
		}
	default:
		return nil, fmt.Errorf("it is %T, not a list", v)
	}
	for i, s := range out {
		out[i] = strings.TrimSpace(s)
		if out[i] == "" {
			return nil, fmt.Errorf("one is empty")
		}
	}
	return out, nil
}

func readBool(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("%v is neither true nor false", v)
	}
	return b, nil
}

// readSeconds reads a duration: a number of seconds, or digits with one of s, m, h, d.
func readSeconds(v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case uint64:
		if v <= math.MaxInt32 {
			return int64(v), nil
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= math.MaxInt32 {
			return int64(v), nil
		}
	case string:
		units := map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400}
		if v == "" || units[v[len(v)-1]] == 0 {
			break
		}
		n, err := strconv.ParseInt(v[:len(v)-1], 10, 32)
		if err != nil || n < 0 {
			break
		}
		return n * units[v[len(v)-1]], nil
	}
	return 0, fmt.Errorf("%v is no duration", v)
}
