package mastodon

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// encode implements Info.Encode. Visibility, content warning and language hold for every part of a thread, a poll stands
// below the first.
func encode(d providers.Draft) (providers.Encoded, []providers.Problem) {
	if d.Limits.Text == 0 {
		d.Limits = defaultLimits()
	}
	o, problems := readSettings(d)
	problems = append(problems, checkPoll(o, d.Limits)...)
	problems = append(problems, checkTwice(d.Parts)...)
	var out providers.Encoded
	mentions := false
	for i, part := range d.Parts {
		e := partEncoder{part: part, index: i, o: o, limits: d.Limits, checkOnly: d.CheckOnly}
		if i > 0 {
			e.o.poll = nil
		}
		encoded := e.encode()
		out.Parts = append(out.Parts, encoded)
		problems = append(problems, e.problems...)
		mentions = mentions || slices.ContainsFunc(entities(encoded.Text), func(e entity) bool { return !e.link })
	}
	if o.visibility == direct && !mentions {
		problems = append(problems, providers.Problem{
			Code: "nobody_addressed", Part: -1, Setting: settingVisibility,
			Message: "visibility is direct and nobody is mentioned: only the account itself will see it",
			Hint:    "mention somebody, or choose another visibility",
		})
	}
	return out, problems
}

// partEncoder encodes one part and gathers what there is to say about it.
type partEncoder struct {
	part   providers.DraftPart
	index  int
	o      options
	limits providers.Limits
	// checkOnly leaves the payload out.
	checkOnly bool
	problems  []providers.Problem
}

func (e *partEncoder) fail(code, message, hint string) {
	e.problems = append(e.problems, providers.Problem{
		Code: code, Error: true, Part: e.index, Message: message, Hint: hint,
	})
}

func (e *partEncoder) encode() providers.EncodedPart {
	body := strings.TrimSpace(text.Flatten(addressed(e.part.Doc), text.Options{Links: text.LinksAppended}).Text)
	if lost := text.Dropped(e.part.Doc); len(lost) > 0 {
		e.problems = append(e.problems, providers.Problem{
			Code: "formatting_dropped", Note: true, Part: e.index,
			Message: "Mastodon shows plain text: " + strings.Join(lost, ", ") + " will not be seen",
		})
	}
	if body == "" && len(e.part.Media) == 0 {
		e.fail("empty_part", "the part has neither text nor media", "write something, or remove the part")
	}
	n := length(e.o.warning, body, e.limits.URLLength)
	if n > e.limits.Text {
		e.fail("too_long", fmt.Sprintf("%d of at most %d characters", n, e.limits.Text),
			"shorten it, break it into parts with ---, or set thread: auto; a content warning counts too")
	}
	e.checkMedia()
	p := payload{
		Language: e.o.language, Poll: e.o.poll, Sensitive: e.o.sensitive || e.o.warning != "",
		SpoilerText: e.o.warning, Status: body, Visibility: e.o.visibility,
	}
	for _, m := range e.part.Media {
		p.Media = append(p.Media, attachment{Description: m.Alt, Focus: focus(m), SHA256: m.SHA256})
	}
	var raw []byte
	if !e.checkOnly {
		var err error
		if raw, err = canon.Marshal(p); err != nil {
			e.fail("bad_payload", err.Error(), "")
		}
	}
	return providers.EncodedPart{
		Payload: raw, Text: body, Media: e.part.Media, Extra: e.shown(p),
		Lengths: []providers.Length{{Count: n, Limit: e.limits.Text, Unit: e.limits.Unit}},
	}
}

// addressed returns doc with each mention written the way the fediverse writes it: @user@host.
func addressed(doc providers.Doc) providers.Doc {
	return providers.Doc{Blocks: addressedBlocks(doc.Blocks)}
}

func addressedBlocks(blocks []providers.Block) []providers.Block {
	out := slices.Clone(blocks)
	for i := range out {
		b := &out[i]
		b.Spans = slices.Clone(b.Spans)
		for j := range b.Spans {
			if s := &b.Spans[j]; s.Kind == providers.Mention && s.Handle != "" {
				s.Text = "@" + strings.TrimPrefix(s.Handle, "@")
			}
		}
		b.Blocks = addressedBlocks(b.Blocks)
		b.Items = slices.Clone(b.Items)
		for j := range b.Items {
			b.Items[j] = addressedBlocks(b.Items[j])
		}
	}
	return out
}

// checkMedia holds the part's media against Mastodon's rules: up to four pictures, or one video.
func (e *partEncoder) checkMedia() {
	videos, others := 0, 0
	for _, m := range e.part.Media {
		if m.Image() {
			others++
		} else {
			videos++
		}
		e.checkOne(m)
	}
	switch {
	case videos > 0 && videos+others > 1:
		e.fail("media_mixed", "a part takes pictures or one video, not both and not two", "move the video to a part of its own")
	case e.limits.Media > 0 && others > e.limits.Media:
		e.fail("too_many_media", fmt.Sprintf("%d of at most %d pictures", others, e.limits.Media), "spread them over parts of a thread")
	}
	if e.o.poll != nil && len(e.part.Media) > 0 {
		e.fail("poll_with_media", "the poll stands below the first part, and a part with a poll takes no media",
			"move the media to a later part, or leave the poll out here")
	}
}

func (e *partEncoder) checkOne(m providers.Media) {
	l := e.limits
	if n := utf8.RuneCountInString(m.Alt); l.Alt > 0 && n > l.Alt {
		e.fail("alt_too_long", fmt.Sprintf("the alternative text of %s has %d of at most %d characters", m.Path, n, l.Alt), "shorten it")
	}
	if len(l.MIME) > 0 && m.MIME != "" && !slices.Contains(l.MIME, m.MIME) {
		e.fail("media_type", fmt.Sprintf("%s is %s, which this server does not take", m.Path, m.MIME), "convert it")
	}
	most, what := l.ImageBytes, "picture"
	if !m.Image() {
		most, what = l.VideoBytes, "video"
	}
	if most > 0 && m.Bytes > most {
		e.fail("media_too_large", fmt.Sprintf("%s has %d of at most %d bytes for a %s", m.Path, m.Bytes, most, what), "make it smaller")
	}
	if pixels := int64(m.Width) * int64(m.Height); m.Image() && l.ImagePixels > 0 && pixels > l.ImagePixels {
		e.fail("media_too_large", fmt.Sprintf("%s has %d of at most %d pixels", m.Path, pixels, l.ImagePixels), "make it smaller")
	}
}

// checkTwice refuses a file that would be one upload for two places: Mastodon attaches an upload once.
func checkTwice(parts []providers.DraftPart) []providers.Problem {
	var out []providers.Problem
	seen := map[string]bool{}
	for i, part := range parts {
		for _, m := range part.Media {
			key := providers.MediaKey(m)
			if seen[key] {
				out = append(out, providers.Problem{
					Code: "media_twice", Error: true, Part: i,
					Message: m.Path + " is there twice with the same alternative text",
					Hint:    "remove one, or say in the alternative texts what tells the two apart",
				})
			}
			seen[key] = true
		}
	}
	return out
}

// focus writes a focal point as Mastodon takes it, "" for the centre.
func focus(m providers.Media) string {
	if m.Focus == nil {
		return ""
	}
	axis := func(f float64) string { return strconv.FormatFloat(min(max(f, -1), 1), 'f', -1, 64) }
	return axis(m.Focus[0]) + "," + axis(m.Focus[1])
}

// shown lists the settings for previews.
func (e *partEncoder) shown(p payload) []providers.Shown {
	out := []providers.Shown{{Name: "visibility", Value: p.Visibility}}
	add := func(name, value string) {
		if value != "" {
			out = append(out, providers.Shown{Name: name, Value: value})
		}
	}
	add("content warning", p.SpoilerText)
	if p.Sensitive && p.SpoilerText == "" {
		add("sensitive", "yes")
	}
	add("language", p.Language)
	if p.Poll != nil {
		kind := "one answer"
		if p.Poll.Multiple {
			kind = "several answers"
		}
		if p.Poll.HideTotals {
			kind += ", totals hidden"
		}
		add("poll", fmt.Sprintf("%s (%s, open for %s)", strings.Join(p.Poll.Options, " / "), kind, duration(p.Poll.ExpiresIn)))
	}
	return out
}

// seal implements Info.Seal: each medium's digest becomes the id of its upload.
func seal(in providers.SealInput) (json.RawMessage, error) {
	var p payload
	if err := json.Unmarshal(in.Part.Payload, &p); err != nil {
		return nil, fmt.Errorf("mastodon: seal part %d: %w", in.Index+1, err)
	}
	if len(p.Media) != len(in.Part.Media) {
		return nil, fmt.Errorf("mastodon: seal part %d: the payload has %d media, the part %d", in.Index+1, len(p.Media), len(in.Part.Media))
	}
	for i, m := range in.Part.Media {
		h, ok := in.Media[providers.MediaKey(m)]
		if !ok || h.ID == "" {
			return nil, fmt.Errorf("mastodon: seal part %d: %s has not been uploaded", in.Index+1, m.Path)
		}
		if p.Media[i].SHA256 != m.SHA256 {
			return nil, errors.New("mastodon: seal: the media are not those of the payload")
		}
		p.Media[i].SHA256, p.Media[i].ID = "", h.ID
	}
	return canon.Marshal(p)
}
