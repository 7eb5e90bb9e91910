package blueskytest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// post is app.bsky.feed.post with all that is checked here. Unknown fields are refused, as they would be with validate.
type post struct {
	Type      string   `json:"$type"`
	Text      *string  `json:"text"`
	CreatedAt string   `json:"createdAt"`
	Langs     []string `json:"langs"`
	Tags      []string `json:"tags"`
	Facets    []struct {
		Index struct {
			Start *int `json:"byteStart"`
			End   *int `json:"byteEnd"`
		} `json:"index"`
		Features []struct {
			Type string `json:"$type"`
			URI  string `json:"uri"`
			Tag  string `json:"tag"`
			DID  string `json:"did"`
		} `json:"features"`
	} `json:"facets"`
	Reply *struct {
		Root   ref `json:"root"`
		Parent ref `json:"parent"`
	} `json:"reply"`
	Embed  json.RawMessage `json:"embed"`
	Labels *struct {
		Type   string `json:"$type"`
		Values []struct {
			Val string `json:"val"`
		} `json:"values"`
	} `json:"labels"`
}

type ref struct {
	URI string `json:"uri"`
	CID string `json:"cid"`
}

type blobValue struct {
	Type     string `json:"$type"`
	MIMEType string `json:"mimeType"`
	Size     int    `json:"size"`
	Ref      struct {
		Link string `json:"$link"`
	} `json:"ref"`
}

type embed struct {
	Type   string `json:"$type"`
	Images []struct {
		Alt         *string    `json:"alt"`
		Image       *blobValue `json:"image"`
		AspectRatio *struct {
			Width  int `json:"width"`
			Height int `json:"height"`
		} `json:"aspectRatio"`
	} `json:"images"`
	External *struct {
		URI         *string    `json:"uri"`
		Title       *string    `json:"title"`
		Description *string    `json:"description"`
		Thumb       *blobValue `json:"thumb"`
	} `json:"external"`
}

var (
	uriForm = regexp.MustCompile(`^\w+:(//)?[^\s/]\S*$`)
	didForm = regexp.MustCompile(`^did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]$`)
	atForm  = regexp.MustCompile(`^at://did:[a-z]+:[a-zA-Z0-9._:%-]+/[a-zA-Z0-9.-]+/[a-zA-Z0-9._:~-]+$`)
	cidForm = regexp.MustCompile(`^b[a-z2-7]{58,}$`)
	bcp47   = regexp.MustCompile(`^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{1,8})*$`)
)

// count is the number of grapheme clusters.
func count(s string) int {
	n := 0
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}

func recordFault(path, format string, args ...any) *failure {
	return invalid("Invalid %s record: Record/%s %s", collection, path, fmt.Sprintf(format, args...))
}

// checkPost refuses what the lexicon refuses, and more: facets that overlap or cut a character, which the network takes
// and shows wrongly.
func (a *account) checkPost(raw json.RawMessage) *failure {
	var p post
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return recordFault("", "%v", err)
	}
	switch {
	case p.Type != collection:
		return recordFault("$type", "must be %s, got %q", collection, p.Type)
	case p.Text == nil:
		return recordFault("text", "is required")
	case len(*p.Text) > 3000:
		return recordFault("text", "must not be longer than 3000 characters")
	case count(*p.Text) > 300:
		return recordFault("text", "must not be longer than 300 graphemes")
	case len(p.Langs) > 3:
		return recordFault("langs", "must not have more than 3 elements")
	case len(p.Tags) > 8:
		return recordFault("tags", "must not have more than 8 elements")
	}
	if _, err := time.Parse(time.RFC3339Nano, p.CreatedAt); err != nil {
		return recordFault("createdAt", "must be a valid atproto datetime")
	}
	for _, l := range p.Langs {
		if !bcp47.MatchString(l) {
			return recordFault("langs", "must be well-formed BCP 47: %q", l)
		}
	}
	for _, t := range p.Tags {
		if count(t) > 64 || len(t) > 640 {
			return recordFault("tags", "must not be longer than 64 graphemes")
		}
	}
	if p.Reply != nil {
		for _, r := range []ref{p.Reply.Root, p.Reply.Parent} {
			if !atForm.MatchString(r.URI) || !cidForm.MatchString(r.CID) {
				return recordFault("reply", "must hold strong references")
			}
		}
	}
	if p.Labels != nil && (p.Labels.Type != "com.atproto.label.defs#selfLabels" || len(p.Labels.Values) > 10) {
		return recordFault("labels", "must be selfLabels")
	}
	if f := p.checkFacets(); f != nil {
		return f
	}
	return a.checkEmbed(p.Embed)
}

func (p *post) checkFacets() *failure {
	text, last := *p.Text, 0
	for _, f := range p.Facets {
		if f.Index.Start == nil || f.Index.End == nil || len(f.Features) == 0 {
			return recordFault("facets", "must have index and features")
		}
		start, end := *f.Index.Start, *f.Index.End
		switch {
		case start < last || end <= start || end > len(text):
			return recordFault("facets", "must lie in order within the text: %d to %d of %d", start, end, len(text))
		case !utf8.RuneStart(text[start]) || (end < len(text) && !utf8.RuneStart(text[end])):
			return recordFault("facets", "must not cut a character: %d to %d", start, end)
		}
		last = end
		for _, x := range f.Features {
			ok := false
			switch x.Type {
			case "app.bsky.richtext.facet#link":
				ok = uriForm.MatchString(x.URI) && x.Tag == "" && x.DID == ""
			case "app.bsky.richtext.facet#tag":
				ok = x.Tag != "" && !strings.HasPrefix(x.Tag, "#") && count(x.Tag) <= 64 && len(x.Tag) <= 640
			case "app.bsky.richtext.facet#mention":
				ok = didForm.MatchString(x.DID)
			}
			if !ok {
				return recordFault("facets", "has a bad feature: %+v", x)
			}
		}
	}
	return nil
}

func (a *account) checkEmbed(raw json.RawMessage) *failure {
	if len(raw) == 0 {
		return nil
	}
	var e embed
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return recordFault("embed", "%v", err)
	}
	switch e.Type {
	case "app.bsky.embed.images":
		if len(e.Images) > 4 || e.External != nil {
			return recordFault("embed/images", "must not have more than 4 elements")
		}
		for _, i := range e.Images {
			if i.Alt == nil {
				return recordFault("embed/images", "must have the property \"alt\"")
			}
			if r := i.AspectRatio; r != nil && (r.Width < 1 || r.Height < 1) {
				return recordFault("embed/images/aspectRatio", "can not be less than 1")
			}
			if f := a.checkBlob(i.Image, 2_000_000); f != nil {
				return f
			}
		}
	case "app.bsky.embed.external":
		x := e.External
		if x == nil || x.URI == nil || x.Title == nil || x.Description == nil || !uriForm.MatchString(*x.URI) || e.Images != nil {
			return recordFault("embed/external", "must have uri, title and description")
		}
		if x.Thumb != nil {
			return a.checkBlob(x.Thumb, 1_000_000)
		}
	default:
		return recordFault("embed", "is of a type that this server does not check: %q", e.Type)
	}
	return nil
}

func (a *account) checkBlob(b *blobValue, most int) *failure {
	if b == nil || b.Type != "blob" {
		return recordFault("embed", "should be a blob ref")
	}
	have, ok := a.blobs[b.Ref.Link]
	switch {
	case !ok:
		return bad("BlobNotFound", "Could not find blob: %s", b.Ref.Link)
	case have.mime != b.MIMEType:
		return bad("InvalidMimeType", "Referenced Mimetype does not match stored blob. Expected: %s, Got: %s", have.mime, b.MIMEType)
	case have.size != b.Size:
		return bad("InvalidSize", "Referenced size does not match stored blob. Expected: %d, Got: %d", have.size, b.Size)
	case b.Size > most:
		return bad("BlobTooLarge", "This file is too large. It is %d bytes but the maximum size is %d bytes.", b.Size, most)
	case !strings.HasPrefix(b.MIMEType, "image/"):
		return bad("InvalidMimeType", "Wrong type of file. It is %s but it must match image/*.", b.MIMEType)
	}
	return nil
}
