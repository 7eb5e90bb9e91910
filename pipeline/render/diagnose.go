package render

import (
	"fmt"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/richtext"
	"github.com/broadside-pub/broadside/providers"
)

// addOnce is add, unless the provider has said the same (by its code) at the same part.
func (r *renderer) addOnce(sev pipeline.Severity, code string, part int, message, hint string) {
	d := r.place(pipeline.Diagnostic{Code: code}, part, "")
	if r.said[saidAt{code, d.Line, d.Column}] {
		return
	}
	r.add(sev, code, part, "", message, hint)
}

// add places a diagnostic: at the setting where one is named, else at the part, else at the destination in the post.
func (r *renderer) add(sev pipeline.Severity, code string, part int, setting, message, hint string) {
	d := r.place(pipeline.Diagnostic{Code: code, Severity: sev, Message: message, Hint: hint}, part, setting)
	if r.seen[d] {
		return
	}
	if r.seen == nil {
		r.seen, r.said = map[pipeline.Diagnostic]bool{}, map[saidAt]bool{}
	}
	r.seen[d], r.said[saidAt{code, d.Line, d.Column}] = true, true
	r.diags = append(r.diags, d)
}

// saidAt is a code with its place.
type saidAt struct {
	code         string
	line, column int
}

// place fills in where a diagnostic belongs.
func (r *renderer) place(d pipeline.Diagnostic, part int, setting string) pipeline.Diagnostic {
	d.File, d.Post, d.Destination = r.in.Post.Path, r.in.Post.ID, r.in.Destination.Name
	pos := r.in.Dest.Pos
	if pos.Line == 0 {
		pos = r.in.Post.IDPos
	}
	switch {
	case setting != "":
		if _, here := r.in.Dest.Settings[setting]; here {
			if p, ok := r.in.Dest.SettingPos[setting]; ok {
				pos = p
			}
		} else if _, inConfig := r.in.Destination.Settings[setting]; inConfig {
			pos = r.in.Destination.Pos
			d.File = r.in.ConfigPath
			if d.File == "" {
				d.File = "broadside.yaml"
			}
		}
	case part >= 0 && part < len(r.origin):
		if p := r.in.Parts[r.origin[part]].Pos; p.Line > 0 {
			pos = p
		}
	}
	d.Line, d.Column = pos.Line, pos.Column
	return d
}

func (r *renderer) problem(p providers.Problem) {
	sev := pipeline.Warning
	switch {
	case p.Error:
		sev = pipeline.Error
	case p.Note:
		sev = pipeline.Note
	}
	r.add(sev, p.Code, p.Part, p.Setting, p.Message, p.Hint)
}

// checkParts says what the destination cannot do, and what in the document may deceive.
func (r *renderer) checkParts() {
	name := r.in.Info.Title
	if name == "" {
		name = r.in.Info.Name
	}
	if len(r.in.Parts) > 1 && (r.in.Info.LongForm || !r.able(providers.CanReply)) {
		r.addOnce(pipeline.Error, "thread_unsupported", 1, fmt.Sprintf("%s takes one part, and this post has %d", name,
			len(r.in.Parts)), "write `thread: false` to send one part with rules in it, or an `::: instead` block for it")
	}
	for i, p := range r.draft.Parts {
		if len(p.Media) > 0 && !r.able(providers.CanUpload) {
			r.addOnce(pipeline.Error, "media_unsupported", i, fmt.Sprintf("%s takes no media, and this part has %d", name,
				len(p.Media)), "put them into a block for other destinations (`::: not`), or skip this destination")
			continue
		}
		if r.limits.Media > 0 && len(p.Media) > r.limits.Media {
			r.addOnce(pipeline.Error, "too_many_media", i, fmt.Sprintf("this part has %d media, %s takes %d", len(p.Media), name,
				r.limits.Media), "spread them over several parts")
		}
		seen := map[string]bool{}
		for _, m := range p.Media {
			if m.SHA256 != "" && seen[m.SHA256] {
				r.addOnce(pipeline.Warning, "media_twice", i, m.Path+" is attached twice to this part", "")
			}
			seen[m.SHA256] = true
		}
	}
	for i, p := range r.draft.Parts {
		for _, s := range richtext.Suspicions(p.Doc) {
			r.suspicion(i, s)
		}
		r.hiddenInDoc(i, p.Doc)
	}
}

func (r *renderer) suspicion(part int, s richtext.Suspicion) {
	if s.Code == "confusable_mention" {
		r.add(pipeline.Warning, s.Code, part, "", fmt.Sprintf("the mention %q (%s) mixes scripts within a word and may pass for "+
			"another account", richtext.Visible(s.Text), richtext.Visible(s.Real)), "check that it is the account that is meant")
		return
	}
	r.add(pipeline.Warning, s.Code, part, "", fmt.Sprintf("the link %q leads to %s", richtext.Visible(s.Text), s.Real),
		"let the text name the host that the link leads to")
}

// hiddenInDoc looks at what a rendition's text need not show: addresses and handles.
func (r *renderer) hiddenInDoc(part int, d providers.Doc) {
	richtext.Walk(d, func(spans []providers.Span) {
		for _, s := range spans {
			r.hidden(part, "", "the address of a link", s.URL)
			if s.Kind == providers.Mention || s.Kind == providers.Hashtag {
				r.hidden(part, "", "a mention or hashtag", s.Handle)
			}
		}
	})
}

// hidden reports the hidden characters of one text, each kind of character once.
func (r *renderer) hidden(part int, setting, where, text string) {
	seen := map[rune]bool{}
	for _, h := range richtext.HiddenChars(text) {
		if seen[h.Rune] {
			continue
		}
		seen[h.Rune] = true
		code := "hidden_character"
		if h.Kind == richtext.Bidi {
			code = "bidi_control"
		}
		r.add(pipeline.Error, code, part, setting, fmt.Sprintf("%s holds U+%04X (%s), which readers do not see, behind %q", where,
			h.Rune, h.Name, before(text, h.Offset)), "delete it; it often comes along when text is copied from another program")
	}
}

// before is the visible text that leads up to an offset.
func before(text string, at int) string {
	rs := []rune(richtext.Visible(strings.ToValidUTF8(text[:at], "\uFFFD")))
	if len(rs) > 16 {
		rs = rs[len(rs)-16:]
	}
	return string(rs)
}

// checkEncoded looks at what readers will get.
func (r *renderer) checkEncoded(enc providers.Encoded) {
	if r.limits.Parts > 0 && len(enc.Parts) > r.limits.Parts {
		r.addOnce(pipeline.Error, "too_many_parts", r.limits.Parts, fmt.Sprintf("this makes %d parts, %d are possible there",
			len(enc.Parts), r.limits.Parts), "shorten the text")
	}
	texts := map[string]int{}
	for i, p := range enc.Parts {
		r.hidden(i, "", "the text", p.Text)
		for _, m := range p.Media {
			r.hidden(i, "", "the alt text of "+m.Path, m.Alt)
		}
		var key strings.Builder
		key.WriteString(p.Text)
		for _, m := range p.Media {
			key.WriteString("\x00" + m.SHA256)
		}
		if first, again := texts[key.String()]; again && key.String() != "" {
			r.add(pipeline.Warning, "duplicate_part", i, "", fmt.Sprintf("part %d says the same as part %d", i+1, first+1),
				"networks may refuse the second one")
		} else {
			texts[key.String()] = i
		}
	}
	r.hidden(-1, "", "the title", r.in.Title)
	for name, v := range r.draft.Settings {
		r.hiddenIn(name, v)
	}
}

// hiddenIn looks through a setting's value.
func (r *renderer) hiddenIn(setting string, v any) {
	switch v := v.(type) {
	case string:
		r.hidden(-1, setting, "the setting "+setting, v)
	case []string:
		for _, s := range v {
			r.hiddenIn(setting, s)
		}
	case []any:
		for _, s := range v {
			r.hiddenIn(setting, s)
		}
	case map[string]any:
		for k, s := range v {
			r.hiddenIn(setting, k)
			r.hiddenIn(setting, s)
		}
	}
}
