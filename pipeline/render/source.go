package render

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// Source returns the hash of what the author wants at a destination: SHA-256 of the canonical JSON of
//
//	{"lang", "parts": [{"doc": [block...], "media": [{"alt", "focus"?, "sha256"}...]}...], "settings", "title"?, "v": 1}
//
// with the parts before encoding and splitting, the files as they lie in the repository, and the settings as written:
// those of the destination with the post's overrides, less those that describe the place (Setting.ConfigOnly) and without
// the provider's defaults, so that neither times, limits nor another version of the program change it. The JSON is written
// directly: this runs for every post and destination.
func Source(in Input, withTitle bool) string {
	b := make([]byte, 0, 4096)
	b = append(b, `{"lang":`...)
	b = appendString(b, in.Lang)
	b = append(b, `,"parts":[`...)
	for i, p := range in.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"doc":`...)
		b = appendBlocks(b, p.Doc.Blocks)
		b = append(b, `,"media":`...)
		b = appendMedia(b, p.Media, authored)
		b = append(b, '}')
	}
	b = append(b, `],"settings":`...)
	b = append(b, settingsJSON(in)...)
	if withTitle {
		b = append(b, `,"title":`...)
		b = appendString(b, in.Title)
	}
	return canon.Sum(append(b, `,"v":1}`...))
}

func settingsJSON(in Input) []byte {
	place := map[string]bool{}
	for _, s := range in.Info.Settings {
		if s.ConfigOnly {
			place[s.Name] = true
		}
	}
	all := make(map[string]any, len(in.Destination.Settings)+len(in.Dest.Settings))
	for _, m := range []map[string]any{in.Destination.Settings, in.Dest.Settings} {
		for k, v := range m {
			if !place[k] {
				all[k] = v
			}
		}
	}
	if len(all) == 0 {
		return []byte("{}")
	}
	b, err := canon.Marshal(all)
	if err != nil {
		// YAML values that JSON lacks (an infinite number, an integer beyond a double) are refused when settings are
		// checked; a constant keeps the hash defined until then
		return []byte(`{"unencodable":true}`)
	}
	return b
}

// appendString appends s as canonical JSON. Bytes that are not UTF-8 count as U+FFFD, as in encoding/json.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return canon.AppendString(b, s)
}

// sent and authored pick the digest that stands for a medium: of the bytes to send, or of the file in the repository.
func sent(m providers.Media) string { return m.SHA256 }

func authored(m providers.Media) string {
	if m.Source != "" {
		return m.Source
	}
	return m.SHA256
}

func appendMedia(b []byte, ms []providers.Media, digest func(providers.Media) string) []byte {
	b = append(b, '[')
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"alt":`...)
		b = appendString(b, m.Alt)
		if m.Focus != nil {
			b = append(b, `,"focus":[`...)
			b = canon.AppendNumber(b, m.Focus[0])
			b = append(b, ',')
			b = canon.AppendNumber(b, m.Focus[1])
			b = append(b, ']')
		}
		b = append(b, `,"sha256":`...)
		b = appendString(b, digest(m))
		b = append(b, '}')
	}
	return append(b, ']')
}

// The names of kinds in the source hash are data: they never change.
var blockNames = [...]string{
	providers.Paragraph: "p", providers.Heading: "h", providers.Quote: "quote", providers.List: "list",
	providers.CodeBlock: "code", providers.Rule: "rule",
}

var spanNames = [...]string{
	providers.Text: "text", providers.LineBreak: "br", providers.Mention: "mention", providers.Hashtag: "tag",
	providers.Image: "image",
}

// appendBlocks writes blocks with their names sorted and empty fields left out.
func appendBlocks(b []byte, bs []providers.Block) []byte {
	b = append(b, '[')
	for i, k := range bs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		if len(k.Blocks) > 0 {
			b = append(b, `"blocks":`...)
			b = appendBlocks(b, k.Blocks)
			b = append(b, ',')
		}
		if len(k.Items) > 0 {
			b = append(b, `"items":[`...)
			for n, item := range k.Items {
				if n > 0 {
					b = append(b, ',')
				}
				b = appendBlocks(b, item)
			}
			b = append(b, `],`...)
		}
		b = append(b, `"kind":"`...)
		b = append(b, blockNames[k.Kind]...)
		b = append(b, '"')
		b = appendField(b, "lang", k.Lang)
		if k.Level != 0 {
			b = append(b, `,"level":`...)
			b = strconv.AppendInt(b, int64(k.Level), 10)
		}
		if k.Ordered {
			b = append(b, `,"ordered":true`...)
		}
		if len(k.Spans) > 0 {
			b = append(b, `,"spans":`...)
			b = appendSpans(b, k.Spans)
		}
		if k.Start != 0 {
			b = append(b, `,"start":`...)
			b = strconv.AppendInt(b, int64(k.Start), 10)
		}
		b = appendField(b, "text", k.Text)
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return appendString(b, value)
}

// appendSpans joins neighbouring runs that differ in nothing: how a parser cuts a text is not what the author wants.
func appendSpans(b []byte, spans []providers.Span) []byte {
	b = append(b, '[')
	for i := 0; i < len(spans); i++ {
		s := spans[i]
		for s.Kind == providers.Text && i+1 < len(spans) {
			n := spans[i+1]
			if n.Kind != s.Kind || n.Style != s.Style || n.URL != s.URL || n.Handle != s.Handle {
				break
			}
			s.Text += n.Text
			i++
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, '{')
		if s.Handle != "" {
			b = append(b, `"handle":`...)
			b = appendString(b, s.Handle)
			b = append(b, ',')
		}
		b = append(b, `"kind":"`...)
		b = append(b, spanNames[s.Kind]...)
		b = append(b, '"')
		if s.Style != 0 {
			b = append(b, `,"style":`...)
			b = strconv.AppendUint(b, uint64(s.Style), 10)
		}
		b = appendField(b, "text", s.Text)
		b = appendField(b, "url", s.URL)
		b = append(b, '}')
	}
	return append(b, ']')
}
