package bluesky

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// timeForm is how a record holds a time: UTC, with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// sealed is one part as the claim records it. The record lacks only its place in the thread.
type sealed struct {
	Record json.RawMessage `json:"record"`
	RKey   string          `json:"rkey"`
}

// Seal completes a part with its time, record key, blobs and DIDs. A part's time is the claim's, plus one millisecond
// for each part before it: apps sort by it, and the record key is derived from it.
func Seal(in providers.SealInput) (json.RawMessage, error) {
	if in.Index < 0 {
		return nil, errors.New("bluesky: a part before the first")
	}
	var p payload
	if err := strict(in.Part.Payload, &p); err != nil {
		return nil, fmt.Errorf("bluesky: the rendition cannot be read: %w", err)
	}
	clock, err := clockID(in.Key)
	if err != nil {
		return nil, fmt.Errorf("bluesky: %w", err)
	}
	at := in.ClaimedAt.UTC().Truncate(time.Millisecond).Add(time.Duration(in.Index) * time.Millisecond)
	rkey, err := tid(at, clock)
	if err != nil {
		return nil, fmt.Errorf("bluesky: %w", err)
	}
	rec := record{
		Type: collection, CreatedAt: at.Format(timeForm), Facets: facets(p.Facets, in.Names),
		Langs: p.Langs, Tags: p.Tags, Text: p.Text,
	}
	if rec.Embed, err = embed(p, in.Media); err != nil {
		return nil, fmt.Errorf("bluesky: %w", err)
	}
	if len(p.Labels) > 0 {
		rec.Labels = &selfLabels{Type: "com.atproto.label.defs#selfLabels"}
		for _, l := range p.Labels {
			rec.Labels.Values = append(rec.Labels.Values, selfLabel{Val: l})
		}
	}
	raw, err := canon.Marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("bluesky: %w", err)
	}
	return canon.Marshal(sealed{Record: raw, RKey: rkey})
}

// facets turns notes into facets. A mention of somebody whom the network does not know stays plain text.
func facets(ns []note, names map[string]providers.Handle) []facet {
	const lexicon = "app.bsky.richtext.facet"
	var out []facet
	for _, n := range ns {
		var f feature
		switch {
		case n.Link != "":
			f = feature{Type: lexicon + "#link", URI: n.Link}
		case n.Tag != "":
			f = feature{Type: lexicon + "#tag", Tag: n.Tag}
		case n.Mention != "":
			h, known := names[n.Mention]
			if !known || !validDID(h.ID) {
				continue
			}
			f = feature{Type: lexicon + "#mention", DID: h.ID}
		default:
			continue
		}
		out = append(out, facet{Features: []feature{f}, Index: byteSlice{ByteStart: n.Start, ByteEnd: n.End}})
	}
	return out
}

// embed returns what stands below the text, nil for nothing.
func embed(p payload, media map[string]providers.Handle) (any, error) {
	if p.Card != nil {
		e := externalEmbed{
			Type:     "app.bsky.embed.external",
			External: external{Description: p.Card.Description, Title: p.Card.Title, URI: p.Card.URL},
		}
		if p.Card.Thumb != nil {
			b, err := uploaded(*p.Card.Thumb, media)
			if err != nil {
				return nil, err
			}
			e.External.Thumb = &b
		}
		return e, nil
	}
	if len(p.Images) == 0 {
		return nil, nil
	}
	e := imagesEmbed{Type: "app.bsky.embed.images"}
	for _, pic := range p.Images {
		b, err := uploaded(pic, media)
		if err != nil {
			return nil, err
		}
		img := shownImage{Alt: pic.Alt, Image: b}
		if pic.Width > 0 && pic.Height > 0 {
			img.AspectRatio = &aspectRatio{Width: pic.Width, Height: pic.Height}
		}
		e.Images = append(e.Images, img)
	}
	return e, nil
}

func uploaded(pic picture, media map[string]providers.Handle) (blob, error) {
	h, ok := media[providers.MediaKey(providers.Media{SHA256: pic.SHA256, Alt: pic.Alt})]
	if !ok {
		return blob{}, fmt.Errorf("the image %.12s is not uploaded", pic.SHA256)
	}
	var b blob
	if err := json.Unmarshal(h.Ref, &b); err != nil || !validBlob(b) {
		return blob{}, fmt.Errorf("the upload of the image %.12s gave no blob", pic.SHA256)
	}
	return b, nil
}

// complete reads a sealed part and adds its place in the thread, which only the earlier parts' receipts know.
func complete(op string, raw json.RawMessage, t *providers.Thread) (sealed, error) {
	bad := func(message string) error { return refused(op, providers.Invalid, message) }
	var s sealed
	if err := strict(raw, &s); err != nil {
		return sealed{}, bad("the sealed part cannot be read: " + err.Error())
	}
	if !validTID(s.RKey) {
		return sealed{}, bad(fmt.Sprintf("%q is no record key of a post", s.RKey))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(s.Record, &fields); err != nil || fields == nil {
		return sealed{}, bad("the sealed part holds no record")
	}
	if t != nil {
		root, parent, err := refs(*t)
		if err != nil {
			return sealed{}, bad(err.Error())
		}
		if fields["reply"], err = canon.Marshal(replyRef{Root: root, Parent: parent}); err != nil {
			return sealed{}, bad(err.Error())
		}
	}
	var err error
	if s.Record, err = canon.Marshal(fields); err != nil {
		return sealed{}, bad(err.Error())
	}
	return s, nil
}

func refs(t providers.Thread) (root, parent strongRef, err error) {
	for _, x := range []struct {
		what string
		from providers.Receipt
		to   *strongRef
	}{{"first", t.Root, &root}, {"previous", t.Parent, &parent}} {
		if _, _, ok := splitURI(x.from.ID); !ok || !validCID(x.from.Ref) {
			return root, parent, fmt.Errorf("the %s part's receipt has no URI and content id to reply to: %q", x.what, x.from.ID)
		}
		*x.to = strongRef{URI: x.from.ID, CID: x.from.Ref}
	}
	return root, parent, nil
}

// sameJSON tells whether a and b hold the same value; what is not JSON is the same as nothing.
func sameJSON(a, b json.RawMessage) bool {
	x, err := canon.Transform(a)
	if err != nil {
		return false
	}
	y, err := canon.Transform(b)
	return err == nil && bytes.Equal(x, y)
}

// strict decodes one JSON value and refuses fields that are not known: they would be lost on the way.
func strict(raw json.RawMessage, out any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}
