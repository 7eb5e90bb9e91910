package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// Encode turns a draft into the network's own shape. Pure.
func Encode(d providers.Draft) (providers.Encoded, []providers.Problem) {
	e := encoder{d: d}
	common := e.settings()
	e.checkThread()
	var out providers.Encoded
	for i, part := range d.Parts {
		out.Parts = append(out.Parts, e.part(i, part, common))
	}
	return out, e.problems
}

// encoder gathers the problems of one draft.
type encoder struct {
	d        providers.Draft
	problems []providers.Problem
}

func (e *encoder) fail(part int, code, message, hint string) {
	e.problems = append(e.problems, providers.Problem{Code: code, Error: true, Part: part, Message: message, Hint: hint})
}

func (e *encoder) failSetting(setting, message, hint string) {
	e.problems = append(e.problems, providers.Problem{
		Code: "bad_setting", Error: true, Part: -1, Setting: setting, Message: message, Hint: hint,
	})
}

// checkThread refuses what the destination cannot do as a whole.
func (e *encoder) checkThread() {
	if most := e.d.Limits.Parts; most > 0 && len(e.d.Parts) > most {
		e.fail(-1, "too_many_parts", fmt.Sprintf("the thread has %d parts, the sandbox takes %d", len(e.d.Parts), most),
			"join some parts")
	}
}

// part encodes one part; common holds what the settings say for all of them.
func (e *encoder) part(i int, part providers.DraftPart, common payload) providers.EncodedPart {
	flat := text.Flatten(part.Doc, text.Options{Links: text.LinksMarked})
	body := common
	body.Text = flat.Text
	if i > 0 {
		body.Poll = nil // a poll stands in the first part
	}
	out := providers.EncodedPart{Text: flat.Text, Media: part.Media, Extra: shown(body)}
	for _, m := range flat.Marks {
		w := mark{Start: m.Start, End: m.End, Kind: m.Kind.String(), URL: m.URL, Lang: m.Lang}
		switch m.Kind {
		case text.Mention:
			w.Name = m.Handle
			if !slices.Contains(out.Resolve, m.Handle) {
				out.Resolve = append(out.Resolve, m.Handle)
			}
		case text.Hashtag:
			w.Tag = m.Handle
		case text.Link, text.Bold, text.Italic, text.Strike, text.Code, text.Pre, text.Quote, text.Heading:
		}
		body.Marks = append(body.Marks, w)
	}
	slices.Sort(out.Resolve)
	if slices.Contains(text.Dropped(part.Doc), "image") {
		e.problems = append(e.problems, providers.Problem{
			Code: "formatting_dropped", Part: i, Message: "an image inside running text is shown as its alt text",
			Hint: "put the image alone in its paragraph to attach it",
		})
	}
	for _, m := range part.Media {
		body.Media = append(body.Media, media{SHA256: m.SHA256, Alt: m.Alt})
	}
	e.checkText(i, flat.Text, &out)
	e.checkMedia(i, part, body)
	raw, err := canon.Marshal(body)
	if err != nil {
		e.fail(i, "not_encodable", "the part cannot be written as JSON: "+err.Error(), "")
	}
	out.Payload = raw
	return out
}

func (e *encoder) checkText(i int, s string, out *providers.EncodedPart) {
	n, most := text.Graphemes(s), e.d.Limits.Text
	out.Lengths = []providers.Length{{Count: n, Limit: most, Unit: unit}}
	if most > 0 && n > most {
		e.fail(i, "too_long", fmt.Sprintf("the text has %d characters, the sandbox takes %d", n, most),
			"shorten it, split it with a line ---, or set thread: auto")
	}
	if s == "" && len(out.Media) == 0 {
		e.fail(i, "empty_part", "the part has neither text nor media", "write something, or remove the part")
	}
}

func (e *encoder) checkMedia(i int, part providers.DraftPart, body payload) {
	l := e.d.Limits
	if len(part.Media) > 0 && body.Poll != nil {
		e.fail(i, "poll_with_media", "a part with a poll takes no media", "put the media into another part")
	}
	if l.Media > 0 && len(part.Media) > l.Media {
		e.fail(i, "too_many_media", fmt.Sprintf("the part has %d media, the sandbox takes %d", len(part.Media), l.Media),
			"spread them over several parts")
	}
	for _, m := range part.Media {
		if len(l.MIME) > 0 && !slices.Contains(l.MIME, m.MIME) {
			e.fail(i, "media_type", fmt.Sprintf("%s is %s, the sandbox takes %s", m.Path, m.MIME, strings.Join(l.MIME, ", ")),
				"convert it")
		}
		if m.Image() && l.ImageBytes > 0 && m.Bytes > l.ImageBytes {
			e.fail(i, "media_too_large", fmt.Sprintf("%s has %d bytes, the sandbox takes %d", m.Path, m.Bytes, l.ImageBytes),
				"make it smaller, or set media.fit: auto")
		}
		if n := text.Graphemes(m.Alt); l.Alt > 0 && n > l.Alt {
			e.fail(i, "alt_too_long", fmt.Sprintf("the alt text of %s has %d characters, the sandbox takes %d", m.Path, n, l.Alt),
				"shorten the alt text")
		}
	}
}

// shown lists the settings as they will be sent, for previews.
func shown(p payload) []providers.Shown {
	var out []providers.Shown
	add := func(name, value string) {
		if value != "" {
			out = append(out, providers.Shown{Name: name, Value: value})
		}
	}
	add("visibility", p.Visibility)
	add("content_warning", p.ContentWarning)
	if p.Sensitive {
		add("sensitive", "true")
	}
	add("language", p.Lang)
	add("tags", strings.Join(p.Tags, ", "))
	if p.KeepDays > 0 {
		add("keep_days", strconv.Itoa(p.KeepDays))
	}
	if p.Poll != nil {
		add("poll", fmt.Sprintf("%s (%d h)", strings.Join(p.Poll.Options, " / "), p.Poll.Hours))
	}
	return out
}

// Seal puts in the ids of media and mentions. A mention of nobody known stays plain text. Pure.
func Seal(in providers.SealInput) (json.RawMessage, error) {
	body, err := parsePayload(in.Part.Payload)
	if err != nil {
		return nil, err
	}
	marks := body.Marks
	body.Marks = nil
	for _, m := range marks {
		if m.Name != "" {
			h, ok := in.Names[m.Name]
			if !ok {
				continue
			}
			m.Name, m.Account = "", h.ID
		}
		body.Marks = append(body.Marks, m)
	}
	sealed := make([]media, 0, len(body.Media))
	for _, m := range body.Media {
		h, ok := in.Media[providers.MediaKey(providers.Media{SHA256: m.SHA256, Alt: m.Alt})]
		if !ok {
			return nil, fmt.Errorf("sandbox: part %d: the file %s has not been uploaded", in.Index+1, m.SHA256)
		}
		sealed = append(sealed, media{ID: h.ID, Alt: m.Alt})
	}
	body.Media = sealed
	return canon.Marshal(body)
}
