package bluesky

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// whole is the part of a problem that concerns the post as a whole.
const whole = -1

// payload is one part before the claim: a record without its time, its DIDs and its blobs.
type payload struct {
	Card   *card     `json:"card,omitempty"`
	Facets []note    `json:"facets,omitempty"`
	Images []picture `json:"images,omitempty"`
	Labels []string  `json:"labels,omitempty"`
	Langs  []string  `json:"langs,omitempty"`
	Tags   []string  `json:"tags,omitempty"`
	Text   string    `json:"text"`
}

type card struct {
	Description string   `json:"description"`
	Thumb       *picture `json:"thumb,omitempty"`
	Title       string   `json:"title"`
	URL         string   `json:"url"`

	wantsThumb bool
}

type picture struct {
	Alt    string `json:"alt"`
	Height int    `json:"height,omitempty"`
	SHA256 string `json:"sha256"`
	Width  int    `json:"width,omitempty"`
}

func pictureOf(m providers.Media) picture {
	p := picture{Alt: m.Alt, SHA256: m.SHA256}
	if m.Width > 0 && m.Height > 0 {
		p.Width, p.Height = m.Width, m.Height
	}
	return p
}

// problems gathers what there is to say about a draft.
type problems struct{ list []providers.Problem }

func (r *problems) fail(code string, part int, setting, message, hint string) {
	r.list = append(r.list, providers.Problem{Code: code, Error: true, Part: part, Setting: setting, Message: message, Hint: hint})
}

func (r *problems) warn(code string, part int, message, hint string) {
	r.list = append(r.list, providers.Problem{Code: code, Part: part, Message: message, Hint: hint})
}

func (r *problems) note(code string, part int, message string) {
	r.list = append(r.list, providers.Problem{Code: code, Note: true, Part: part, Message: message})
}

// Encode makes a draft's rendition. Facets are worked out last, on the text that is sent.
func Encode(d providers.Draft) (providers.Encoded, []providers.Problem) {
	r := &problems{}
	if d.Limits.Text == 0 {
		d.Limits = limits()
	}
	s := readSettings(d, r)
	if d.Title != "" && (s.card == nil || s.card.Title != d.Title) {
		r.note("title_dropped", whole, "posts on Bluesky have no title: it is not sent")
	}
	var out providers.Encoded
	for i, part := range d.Parts {
		e, err := encodePart(d, s, i, part, r)
		if err != nil {
			r.fail("not_encodable", i, "", err.Error(), "")
		}
		out.Parts = append(out.Parts, e)
	}
	if len(d.Parts) == 0 {
		r.fail("empty", whole, "", "the post has no part", "write a text or add an image")
	}
	return out, r.list
}

func encodePart(d providers.Draft, s settings, i int, part providers.DraftPart, r *problems) (providers.EncodedPart, error) {
	flat := text.Flatten(part.Doc, text.Options{Links: text.LinksMarked})
	if lost := text.Dropped(part.Doc); len(lost) > 0 {
		r.note("formatting_dropped", i, "Bluesky shows plain text: the formatting is lost ("+strings.Join(lost, ", ")+")")
	}
	p := payload{Facets: notes(flat, i, r), Labels: s.labels, Langs: s.langs, Text: flat.Text}
	checkMedia(d.Limits, i, part.Media, r)
	for _, m := range part.Media {
		p.Images = append(p.Images, pictureOf(m))
	}
	if i == 0 {
		p.Tags = s.tags
		if s.card != nil {
			p.Card, p.Images = attach(*s.card, part.Media, p.Images, r)
		}
	}
	if strings.TrimSpace(flat.Text) == "" && len(part.Media) == 0 && p.Card == nil {
		r.fail("empty", i, "", "the part has neither text nor media", "write something, or remove the part")
	}
	var raw []byte
	var err error
	if !d.CheckOnly {
		raw, err = canon.Marshal(p)
	}
	return providers.EncodedPart{
		Payload: raw, Text: flat.Text, Lengths: lengths(d.Limits, i, flat.Text, r), Media: part.Media,
		Resolve: mentioned(p.Facets), Extra: s.shown(i == 0),
	}, err
}

// lengths measures the text by both of the network's rules.
func lengths(lim providers.Limits, part int, s string, r *problems) []providers.Length {
	ls := []providers.Length{
		{Count: text.Graphemes(s), Limit: lim.Text, Unit: lim.Unit},
		{Count: len(s), Limit: lim.TextBytes, Unit: "bytes"},
	}
	for _, l := range ls {
		if l.Limit > 0 && l.Count > l.Limit {
			r.fail("too_long", part, "", fmt.Sprintf("the text has %d %s, Bluesky takes %d", l.Count, l.Unit, l.Limit),
				"shorten it, give the address of a link to its text, or start another part with ---")
		}
	}
	return ls
}

func checkMedia(lim providers.Limits, part int, media []providers.Media, r *problems) {
	if lim.Media > 0 && len(media) > lim.Media {
		r.fail("too_many_media", part, "", fmt.Sprintf("%d images in one part, Bluesky takes %d", len(media), lim.Media),
			"move some to another part")
	}
	for _, m := range media {
		switch {
		case !slices.Contains(lim.MIME, m.MIME):
			r.fail("media_type", part, "", fmt.Sprintf("%s is %s, which is not sent to Bluesky", m.Path, cmp.Or(m.MIME, "of unknown type")),
				"use a JPEG, PNG, WebP or GIF image")
		case lim.ImageBytes > 0 && m.Bytes > lim.ImageBytes:
			r.fail("media_too_large", part, "", fmt.Sprintf("%s has %d bytes, Bluesky takes %d", m.Path, m.Bytes, lim.ImageBytes),
				"make it smaller")
		case m.MIME == "image/gif":
			r.note("animation_dropped", part, m.Path+" is shown as a still image: Bluesky does not play GIFs")
		}
	}
}

// attach puts the card in the place of the images: a post shows the one or the others.
func attach(c card, media []providers.Media, images []picture, r *problems) (*card, []picture) {
	switch {
	case c.wantsThumb && len(media) != 1:
		r.fail("card_with_media", 0, setCard, fmt.Sprintf("the card's picture is the only image of the first part, which has %d", len(media)),
			"leave one image in the first part, or remove thumb")
	case c.wantsThumb && media[0].Bytes > maxThumbBytes:
		r.fail("media_too_large", 0, setCard, fmt.Sprintf("%s has %d bytes, the picture of a card may have %d", media[0].Path, media[0].Bytes, maxThumbBytes),
			"make it smaller")
	case c.wantsThumb:
		if media[0].Alt != "" {
			r.note("alt_dropped", 0, "the picture of a card has no alternative text on Bluesky")
		}
		c.Thumb = &images[0]
		return &c, nil
	case len(media) > 0:
		r.fail("card_with_media", 0, setCard, "a post on Bluesky shows images or a link card, not both",
			"remove the card or the images, or set thumb to make the only image the card's picture")
	}
	return &c, images
}

// mentioned lists the handles to resolve.
func mentioned(ns []note) []string {
	var out []string
	for _, n := range ns {
		if n.Mention != "" {
			out = append(out, n.Mention)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
