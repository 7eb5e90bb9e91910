package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
	"github.com/broadside-pub/broadside/providers/internal/text"
)

// eventType is the type of every message.
const eventType = "post.published"

// message is what is posted. Until the part is claimed it has neither id nor time.
type message struct {
	Data      data       `json:"data"`
	ID        string     `json:"id,omitempty"` // the same as webhook-id
	Timestamp *time.Time `json:"timestamp,omitempty"`
	Type      string     `json:"type"`
}

// data is one part of a post.
type data struct {
	Extra  map[string]any `json:"extra,omitempty"`
	HTML   string         `json:"html"`
	Lang   string         `json:"lang,omitempty"`
	Media  []media        `json:"media,omitempty"`
	Parent *parent        `json:"parent,omitempty"`
	Part   int            `json:"part"`  // from 1
	Parts  int            `json:"parts"` // how many the post has
	Post   string         `json:"post"`  // the post's id
	Text   string         `json:"text"`
	Title  string         `json:"title,omitempty"`
}

// parent names the message of the part before.
type parent struct {
	ID  string `json:"id"`            // its webhook-id
	Ref string `json:"ref,omitempty"` // the id that the receiver answered with
	URL string `json:"url,omitempty"` // the URL that the receiver answered with
}

// media names a file of the repository.
type media struct {
	Alt    string      `json:"alt"`
	Bytes  int64       `json:"bytes"`
	Focus  *[2]float64 `json:"focus,omitempty"`
	Height int         `json:"height,omitempty"`
	MIME   string      `json:"mime"`
	Path   string      `json:"path"`
	SHA256 string      `json:"sha256"`
	Width  int         `json:"width,omitempty"`
}

// encode implements Info.Encode: each part becomes a message of its own.
func encode(d providers.Draft) (providers.Encoded, []providers.Problem) {
	var out providers.Encoded
	var problems []providers.Problem
	extra, ok := d.Settings[settingExtra].(map[string]any)
	if v := d.Settings[settingExtra]; v != nil && !ok {
		problems = append(problems, providers.Problem{
			Code: "bad_setting", Error: true, Part: -1, Setting: settingExtra,
			Message: fmt.Sprintf("extra is %T, not a map", v), Hint: "write names and values below it",
		})
	}
	for i, part := range d.Parts {
		body := strings.TrimSpace(text.Flatten(part.Doc, text.Options{Links: text.LinksAppended}).Text)
		if body == "" && len(part.Media) == 0 {
			problems = append(problems, providers.Problem{
				Code: "empty_part", Error: true, Part: i,
				Message: "the part has neither text nor media", Hint: "write something, or remove the part",
			})
		}
		m := message{Type: eventType, Data: data{
			Extra: extra, HTML: renderHTML(part.Doc), Lang: d.Lang, Part: i + 1, Parts: len(d.Parts),
			Post: d.Post, Text: body, Title: d.Title,
		}}
		for _, f := range part.Media {
			m.Data.Media = append(m.Data.Media, media{
				Alt: f.Alt, Bytes: f.Bytes, Focus: f.Focus, Height: f.Height, MIME: f.MIME, Path: f.Path, SHA256: f.SHA256, Width: f.Width,
			})
		}
		raw, err := canon.Marshal(m)
		if err != nil {
			problems = append(problems, providers.Problem{
				Code: "bad_setting", Error: true, Part: -1, Setting: settingExtra,
				Message: "extra cannot be written as JSON: " + err.Error(), Hint: "use texts, numbers, lists and maps",
			})
		}
		shown := []providers.Shown{{Name: "type", Value: eventType}}
		if d.Title != "" {
			shown = append(shown, providers.Shown{Name: "title", Value: d.Title})
		}
		if len(extra) > 0 {
			if v, err := canon.Marshal(extra); err == nil {
				shown = append(shown, providers.Shown{Name: "extra", Value: string(v)})
			}
		}
		out.Parts = append(out.Parts, providers.EncodedPart{Payload: raw, Text: body, Media: part.Media, Extra: shown})
	}
	return out, problems
}

// seal implements Info.Seal: the message gets its id, made of the key, and the time of the claim.
func seal(in providers.SealInput) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(in.Part.Payload, &m); err != nil {
		return nil, fmt.Errorf("webhook: seal part %d: %w", in.Index+1, err)
	}
	id, err := messageID(in.Key)
	if err != nil {
		return nil, fmt.Errorf("webhook: seal part %d: %w", in.Index+1, err)
	}
	for name, v := range map[string]any{"id": id, "timestamp": in.ClaimedAt.UTC().Format("2006-01-02T15:04:05.000Z")} {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		m[name] = raw
	}
	return canon.Marshal(m)
}

// messageID is the webhook-id that belongs to a key: 160 bits of it.
func messageID(key string) (string, error) {
	const digits = 40
	if len(key) < digits || strings.Trim(key[:digits], "0123456789abcdef") != "" {
		return "", errors.New("the key is not made of hexadecimal digits")
	}
	return "msg_" + key[:digits], nil
}

// open reads the id of a sealed payload, which is the body of the first part, and puts the parent into that of a later
// one. Everything else stays as it was claimed, byte for byte.
func open(payload json.RawMessage, up *parent) (id string, body []byte, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(payload, &m); err != nil {
		return "", nil, errors.New("the payload is not one of this provider's: " + err.Error())
	}
	if err := json.Unmarshal(m["id"], &id); err != nil || id == "" || m["timestamp"] == nil || m["data"] == nil {
		return "", nil, errors.New("the payload is not sealed")
	}
	if up == nil {
		return id, payload, nil
	}
	var d map[string]json.RawMessage
	if err := json.Unmarshal(m["data"], &d); err != nil || d == nil {
		return "", nil, errors.New("the payload holds no data")
	}
	if d["parent"], err = json.Marshal(up); err != nil {
		return "", nil, err
	}
	if m["data"], err = json.Marshal(d); err != nil {
		return "", nil, err
	}
	body, err = canon.Marshal(m)
	return id, body, err
}
