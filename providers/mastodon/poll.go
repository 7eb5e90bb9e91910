package mastodon

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/text"
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
			err = errors.New("there is no such key")
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
			return nil, errors.New("one is empty")
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

// checkPoll holds the poll against the instance's limits.
func checkPoll(o options, l providers.Limits) []providers.Problem {
	if o.poll == nil {
		return nil
	}
	var out []providers.Problem
	fail := func(code, message string) {
		out = append(out, providers.Problem{
			Code: code, Error: true, Part: 0, Setting: settingPoll, Message: message, Hint: "shorten the poll",
		})
	}
	if n := len(o.poll.Options); l.PollOptions > 0 && n > l.PollOptions {
		fail("poll_options", fmt.Sprintf("the poll has %d of at most %d options", n, l.PollOptions))
	}
	for _, option := range o.poll.Options {
		if n := text.Graphemes(option); l.PollOption > 0 && n > l.PollOption {
			fail("poll_options", fmt.Sprintf("the option %q has %d of at most %d characters", option, n, l.PollOption))
		}
	}
	return out
}

// duration writes seconds in the largest unit that holds them exactly.
func duration(seconds int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}} {
		if seconds%u.size == 0 {
			return strconv.FormatInt(seconds/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(seconds, 10) + "s"
}
