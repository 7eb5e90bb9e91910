// Package render makes renditions: what exactly is sent to one destination for one post. It is pure: it reads no file, no
// clock and no network, and the same input gives the same bytes.
package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// Part is one part of a post, resolved for a destination.
type Part struct {
	Doc providers.Doc
	// Media are the files as they will be sent. For the source hash their Source counts, where they have one.
	Media []providers.Media
	Pos   pipeline.Pos
}

// Input is everything that a rendition depends on.
type Input struct {
	Post        *pipeline.Post
	Dest        pipeline.PostDestination
	Destination pipeline.Destination
	Info        providers.Info
	// Limits of the instance; nil: the destination's, or else Info's. What they leave open is taken from Info's.
	Limits *providers.Limits
	Title  string
	Lang   string
	Parts  []Part
	// CheckOnly asks for diagnostics alone: the rendition has no payloads and no hashes.
	CheckOnly bool
	// ConfigPath is where broadside.yaml lies, for diagnostics about its settings; "" for "broadside.yaml".
	ConfigPath string
}

// Output is a rendition with what the provider encoded.
type Output struct {
	Rendition pipeline.Rendition
	Encoded   providers.Encoded
}

// Render makes the rendition of a post at a destination. Where a diagnostic is an error, the rendition must not be sent;
// its Source is set even then.
func Render(in Input) (Output, []pipeline.Diagnostic) {
	r := renderer{in: in, limits: EffectiveLimits(in.Limits, in.Destination, in.Info)}
	r.draft = providers.Draft{
		Post: in.Post.ID, Title: in.Title, Lang: in.Lang, Settings: Settings(in.Info, in.Destination, in.Dest),
		Limits: r.limits, Server: server(in), CheckOnly: in.CheckOnly,
	}
	for i, p := range in.Parts {
		r.draft.Parts = append(r.draft.Parts, providers.DraftPart{Doc: p.Doc, Media: p.Media})
		r.origin = append(r.origin, i)
	}
	if in.Info.Encode == nil {
		r.add(pipeline.Error, "unsupported", -1, "", fmt.Sprintf("provider %s cannot encode posts", in.Info.Name), "")
		return Output{Rendition: pipeline.Rendition{
			Post: in.Post.ID, Destination: in.Destination.Name, Target: in.Destination.Target,
			Provider: in.Info.Name, Source: Source(in, in.Title != ""),
		}}, r.diags
	}
	enc, problems := in.Info.Encode(r.draft)
	source := ""
	if !in.CheckOnly {
		source = Source(in, r.titleCounts(enc))
	}
	if in.Post.Thread == pipeline.ThreadAuto && !in.Info.LongForm && r.tooLong(enc, problems) {
		enc, problems = r.split(enc, problems)
	}
	for _, p := range problems {
		r.problem(p)
	}
	r.checkParts()
	r.checkEncoded(enc)
	out := Output{Encoded: enc, Rendition: pipeline.Rendition{
		Post: in.Post.ID, Destination: in.Destination.Name, Target: in.Destination.Target, Provider: in.Info.Name, Source: source,
	}}
	for _, p := range enc.Parts {
		out.Rendition.Parts = append(out.Rendition.Parts, pipeline.RenditionPart{Text: p.Text, Payload: p.Payload})
	}
	if in.CheckOnly {
		pipeline.SortDiagnostics(r.diags)
		return out, r.diags
	}
	hash, err := Hash(enc)
	if err != nil {
		r.add(pipeline.Error, "internal", -1, "", fmt.Sprintf("provider %s made a payload that is not JSON: %v", in.Info.Name, err),
			"this is a bug of broadside; please report it")
	}
	out.Rendition.Hash = hash
	pipeline.SortDiagnostics(r.diags)
	return out, r.diags
}

type renderer struct {
	in     Input
	limits providers.Limits
	draft  providers.Draft
	// origin maps a part of the draft to the part of the input that it came from.
	origin []int
	diags  []pipeline.Diagnostic
	seen   map[pipeline.Diagnostic]bool // those in diags
	said   map[saidAt]bool
}

func server(in Input) string {
	if in.Destination.Server != "" {
		return in.Destination.Server
	}
	return in.Info.DefaultServer
}

// Settings merges a provider's defaults, the destination's settings and the post's overrides, later ones winning. The
// values are shared, not copied.
func Settings(info providers.Info, d pipeline.Destination, p pipeline.PostDestination) map[string]any {
	out := make(map[string]any, len(info.Settings))
	for _, s := range info.Settings {
		if s.Default != nil {
			out[s.Name] = s.Default
		}
	}
	maps.Copy(out, d.Settings)
	maps.Copy(out, p.Settings)
	return out
}

// EffectiveLimits returns the bounds that hold at a destination: own, or else the destination's, with what they leave open
// taken from the provider's.
func EffectiveLimits(own *providers.Limits, d pipeline.Destination, info providers.Info) providers.Limits {
	l := info.Limits
	if own == nil {
		own = d.Limits
	}
	if own == nil {
		return l
	}
	set(&l.Text, own.Text)
	set(&l.Unit, own.Unit)
	set(&l.TextBytes, own.TextBytes)
	set(&l.URLLength, own.URLLength)
	set(&l.Parts, own.Parts)
	set(&l.Media, own.Media)
	set(&l.ImageBytes, own.ImageBytes)
	set(&l.ImagePixels, own.ImagePixels)
	set(&l.VideoBytes, own.VideoBytes)
	set(&l.Alt, own.Alt)
	set(&l.PollOptions, own.PollOptions)
	set(&l.PollOption, own.PollOption)
	set(&l.Source, own.Source)
	set(&l.Date, own.Date)
	if len(own.MIME) > 0 {
		l.MIME = own.MIME
	}
	return l
}

func set[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}

// abilities of the destination: the provider's less those that are disabled there.
func (r *renderer) able(a providers.Ability) bool {
	return slices.Contains(r.in.Info.Abilities, a) && !slices.Contains(r.in.Destination.Disable, a)
}

// titleCounts tells whether the network gets to see the title: only then is another title another source. A copy of a post
// with a new title must not pass for new where nobody sees the title.
func (r *renderer) titleCounts(enc providers.Encoded) bool {
	if r.in.Title == "" {
		return false
	}
	if r.in.Info.LongForm {
		return true
	}
	bare := r.draft
	bare.Title = ""
	without, _ := r.in.Info.Encode(bare)
	return !slices.EqualFunc(enc.Parts, without.Parts, func(a, b providers.EncodedPart) bool {
		return string(a.Payload) == string(b.Payload)
	})
}

// Hash returns the hash of the encoded parts: payloads, media with alt texts, and names to resolve.
func Hash(enc providers.Encoded) (string, error) {
	b := []byte{'['}
	for i, p := range enc.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"media":`...)
		b = appendMedia(b, p.Media, sent)
		b = append(b, `,"payload":`...)
		payload, err := payload(p.Payload)
		if err != nil {
			return "", fmt.Errorf("part %d: %w", i+1, err)
		}
		b = append(b, payload...)
		b = append(b, `,"resolve":[`...)
		for n, name := range p.Resolve {
			if n > 0 {
				b = append(b, ',')
			}
			b = canon.AppendString(b, name)
		}
		b = append(b, `]}`...)
	}
	return canon.Sum(append(b, ']')), nil
}

func payload(p json.RawMessage) ([]byte, error) {
	if len(p) == 0 {
		return []byte("null"), nil
	}
	return canon.Transform(p)
}
