package mastodontest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

var (
	linkForm    = regexp.MustCompile(`(^|[^A-Za-z0-9@#$])(https?://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?:/[^\s()<>?]*)?(?:\?[^\s()<>]*)?)`)
	mentionForm = regexp.MustCompile(`(^|[^=/\w])@([A-Za-z0-9_]+)@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*`)
	tagForm     = regexp.MustCompile(`(^|\s)#(\w+)`)
)

// closing is punctuation that ends a sentence and no link.
const closing = ".,;:!?"

// countable is the length that the server holds against its limit.
func countable(spoiler, text string) int {
	text = linkForm.ReplaceAllStringFunc(text, func(m string) string {
		parts := linkForm.FindStringSubmatch(m)
		url := strings.TrimRight(parts[2], closing)
		return parts[1] + strings.Repeat("x", 23) + parts[2][len(url):]
	})
	text = mentionForm.ReplaceAllString(text, "$1@$2")
	n := 0
	for it := graphemes.FromString(spoiler + text); it.Next(); {
		n++
	}
	return n
}

// pollTrouble says what is wrong with a poll.
func pollTrouble(options []string, seconds int) string {
	switch {
	case len(options) < 2:
		return "options must have more than one item"
	case len(options) > 4:
		return "options can't contain more than 4 items"
	case len(slices.Compact(slices.Sorted(slices.Values(options)))) != len(options):
		return "options must be different"
	case slices.ContainsFunc(options, func(o string) bool { return len([]rune(o)) > 50 }):
		return "options can't be longer than 50 characters each"
	case seconds < 300:
		return "duration is too short"
	case seconds > 2629746:
		return "duration is too far into the future"
	}
	return ""
}

// mediaTrouble says why the media of f cannot be attached to st.
func (s *Server) mediaTrouble(st *Status, f statusForm) string {
	if len(f.MediaIDs) == 0 {
		return ""
	}
	if len(f.MediaIDs) > 4 || f.Poll != nil {
		return "Cannot attach more than 4 files"
	}
	var found []*Attachment
	for _, id := range f.MediaIDs {
		m := s.findMedia(id)
		if m == nil || m.AccountID != st.AccountID || (m.Status != "" && m.Status != st.ID) || slices.Contains(found, m) {
			return fmt.Sprintf("Media %s not found or already attached to another post", id)
		}
		found = append(found, m)
	}
	for _, m := range found {
		if strings.HasPrefix(m.MIME, "video/") && len(found) > 1 {
			return "Cannot attach a video to a post that already contains images"
		}
		if m.looks > 0 || s.o.Corrupt {
			return "Cannot attach files that have not finished processing. Try again in a moment!"
		}
	}
	return ""
}
