package mastodon

import (
	"context"
	"slices"

	"github.com/broadside-pub/broadside/providers/internal/api"
)

// verdict says whether a status is the part that is looked for.
type verdict int

const (
	different verdict = iota
	similar           // it may be: nothing can be concluded from it
	equal
)

// matcher compares statuses with one part.
type matcher struct {
	p       *Provider
	want    payload
	parent  string // the status that the part replies to, "" for none
	genuine bool
	// noSource: the server does not tell the text that a status was made from.
	noSource bool
}

// source is what a status was made from.
type source struct {
	Text        string `json:"text"`
	SpoilerText string `json:"spoiler_text"`
}

// compare judges one status; why says what makes it only similar.
func (m *matcher) compare(ctx context.Context, s status) (v verdict, why string, err error) {
	seen := look(stripHTML(s.Content), m.text())
	if seen == unlike {
		if !s.EditedAt.IsZero() {
			return similar, "it was edited since", nil
		}
		return different, "", nil
	}
	warning := s.SpoilerText
	if !m.noSource {
		var src source
		_, err := m.p.call(ctx, api.Request{
			Op: "find", Path: "/api/v1/statuses/" + api.PathEscape(s.ID) + "/source",
		}, &src)
		switch {
		case absent(err):
			m.noSource = true
		case err != nil:
			return 0, "", err
		case !m.sameText(src.Text):
			if !s.EditedAt.IsZero() {
				return similar, "it was edited since", nil
			}
			if seen == sameText {
				return similar, "its text differs in marks", nil
			}
			return different, "", nil
		default:
			seen = sameText
			warning = src.SpoilerText
		}
	}
	switch {
	case seen == sameText:
		return m.compareRest(s, warning)
	case !s.EditedAt.IsZero():
		return similar, "it was edited since", nil
	case m.genuine: // shows what was sent, with nothing changed but links
		return different, "", nil
	}
	return similar, "its text is not quite the same", nil
}

// text is what the status must hold: a content warning without a text becomes the text
// (app/services/post_status_service.rb, 2026-11-30).
func (m *matcher) text() string {
	if m.want.Status == "" {
		return m.want.SpoilerText
	}
	return m.want.Status
}

func (m *matcher) sameText(s string) bool {
	got := collapse(s)
	return got == collapse(m.want.Status) || got == collapse(m.text())
}

// compareRest compares all but the text, which is the same.
func (m *matcher) compareRest(s status, warning string) (verdict, string, error) {
	w := m.want
	attached := m.attachments(s)
	replies := string(s.InReplyToID)
	switch {
	case w.Status == "" && attached == unlike:
		return different, "", nil // no text to go by, and other pictures
	case replies != m.parent && (replies != "" || m.genuine):
		return different, "", nil // another place in this thread or in another one
	}
	switch {
	case attached != sameText:
		return similar, "its media are not the same", nil
	case collapse(warning) != collapse(w.SpoilerText) && (w.Status != "" || collapse(warning) != ""):
		return similar, "its content warning is not the same", nil
	case !sameVisibility(w.Visibility, s.Visibility, m.genuine):
		return similar, "it is " + s.Visibility + " and not " + w.Visibility, nil
	case replies != m.parent:
		return similar, "this server does not say what it replies to", nil
	case (w.Poll == nil) != (s.Poll == nil) || (w.Poll != nil && !slices.Equal(w.Poll.Options, titles(s))):
		return similar, "its poll is not the same", nil
	}
	return equal, "", nil
}

// attachments compares media: by their ids, and where the server gives others, by number and alternative text.
func (m *matcher) attachments(s status) likeness {
	w := m.want.Media
	if len(w) != len(s.Media) {
		return unlike
	}
	ids, alts, some := true, true, false
	for i := range w {
		ids = ids && string(s.Media[i].ID) == w[i].ID
		alt := collapse(w[i].Description) == collapse(s.Media[i].Description)
		alts = alts && alt
		some = some || alt || w[i].Description == "" || s.Media[i].Description == ""
	}
	switch {
	case ids || alts:
		return sameText
	case some:
		return alike
	}
	return unlike
}

// sameVisibility tells whether a status may have been sent with the visibility that is wanted. A silenced account's
// public statuses become unlisted; servers that only speak the API know fewer visibilities (seen with snac 2.75).
func sameVisibility(want, got string, genuine bool) bool {
	if want == got || want == public && got == unlisted {
		return true
	}
	return !genuine && (want == unlisted && got == public || want == direct && got == private)
}
