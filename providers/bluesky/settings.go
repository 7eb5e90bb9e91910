package bluesky

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// The names of the settings.
const (
	setLanguage  = "language"
	setLanguages = "languages"
	setLabels    = "labels"
	setTags      = "tags"
	setCard      = "card"
)

// settings are those of one post, checked.
type settings struct {
	langs  []string
	labels []string
	tags   []string
	card   *card
}

func readSettings(d providers.Draft, r *problems) settings {
	return settings{langs: readLangs(d, r), labels: readLabels(d, r), tags: readTags(d, r), card: readCard(d, r)}
}

func readLangs(d providers.Draft, r *problems) []string {
	one, many := str(d.Settings[setLanguage]), strs(d.Settings[setLanguages])
	if one != "" && len(many) > 0 {
		r.fail("conflicting_settings", whole, setLanguage, "both language and languages are set", "keep one of them")
		return nil
	}
	if len(many) == 0 {
		if tag := cmp.Or(one, d.Lang); tag != "" {
			many = []string{tag}
		}
	}
	var out []string
	for _, tag := range many {
		if !langForm.MatchString(tag) {
			r.fail("bad_language", whole, setLanguages, fmt.Sprintf("%q is no language tag", tag), "write a BCP 47 tag such as en, de or pt-BR")
			continue
		}
		if !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	if len(out) > maxLangs {
		r.fail("too_many_languages", whole, setLanguages, fmt.Sprintf("%d languages, Bluesky takes %d", len(out), maxLangs), "name the main ones")
	}
	return out
}

func readLabels(d providers.Draft, r *problems) []string {
	const most = 10 // com.atproto.label.defs#selfLabels
	var out []string
	for _, l := range strs(d.Settings[setLabels]) {
		if l == "" || len(l) > 128 {
			r.fail("bad_label", whole, setLabels, fmt.Sprintf("%q is no content label", l), "use porn, sexual, nudity or graphic-media")
			continue
		}
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if len(out) > most {
		r.fail("too_many_labels", whole, setLabels, fmt.Sprintf("%d content labels, Bluesky takes %d", len(out), most), "")
	}
	return out
}

func readTags(d providers.Draft, r *problems) []string {
	var out []string
	for _, raw := range strs(d.Settings[setTags]) {
		tag := strings.TrimPrefix(strings.TrimSpace(raw), "#")
		if !tagFits(tag) {
			r.fail("bad_tag", whole, setTags, fmt.Sprintf("the tag %q is empty, too long or holds a space", raw),
				fmt.Sprintf("a tag has 1 to %d characters and no spaces", maxTagGraphemes))
			continue
		}
		if !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	if len(out) > maxTags {
		r.fail("too_many_tags", whole, setTags, fmt.Sprintf("%d extra tags, Bluesky takes %d", len(out), maxTags), "keep the most telling ones")
	}
	return out
}

func tagFits(tag string) bool {
	return tag != "" && !strings.ContainsAny(tag, " \t\n") && len(tag) <= maxTagBytes && text.Graphemes(tag) <= maxTagGraphemes
}

func readCard(d providers.Draft, r *problems) *card {
	m, ok := d.Settings[setCard].(map[string]any)
	if !ok {
		return nil
	}
	uri, ok := linkURI(str(m["url"]))
	if !ok {
		r.fail("bad_card", whole, setCard, fmt.Sprintf("the card's url %q is no web address", str(m["url"])), "write a full https:// address")
		return nil
	}
	c := &card{
		Description: strings.TrimSpace(str(m["description"])),
		Title:       strings.TrimSpace(cmp.Or(str(m["title"]), d.Title)),
		URL:         uri,
	}
	if c.Title == "" {
		r.fail("bad_card", whole, setCard, "the card has no title", "give the card or the post a title")
	}
	c.wantsThumb, _ = m["thumb"].(bool)
	return c
}

// shown are the settings as a preview shows them.
func (s settings) shown(first bool) []providers.Shown {
	var out []providers.Shown
	add := func(name string, values []string) {
		if len(values) > 0 {
			out = append(out, providers.Shown{Name: name, Value: strings.Join(values, ", ")})
		}
	}
	add("languages", s.langs)
	add("labels", s.labels)
	if !first {
		return out
	}
	add("tags", s.tags)
	if c := s.card; c != nil {
		add("card", []string{c.Title})
		if c.Description != "" {
			add("card description", []string{c.Description})
		}
		add("card address", []string{c.URL})
	}
	return out
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// strs reads a list of strings in any of the forms that a setting comes in.
func strs(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			out = append(out, str(e))
		}
		return out
	}
	return nil
}
