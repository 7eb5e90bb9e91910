package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// encoding holds what Encode and Seal promise. Which limits are tried depends on those that Info declares.
func encoding(h Harness) []subtest {
	out := []subtest{
		{name: "encode is pure", run: func(s *session) {
			for _, d := range s.drafts() {
				before := s.json(d)
				first, problems := s.h.Info.Encode(d)
				again, problems2 := s.h.Info.Encode(d)
				s.equal("the second rendition", again, first)
				s.equal("the second list of problems", problems2, problems)
				if after := s.json(d); after != before {
					s.t.Errorf("Encode changed the draft: %s, before %s", after, before)
				}
			}
		}},
		{name: "seal is pure", run: func(s *session) {
			for _, d := range s.drafts() {
				s.fresh()
				e, _ := s.h.Info.Encode(d)
				media, names := s.prepare(e)
				for i, part := range e.Parts {
					in := providers.SealInput{
						Part: part, Index: i, Key: key("seal", i), ClaimedAt: time.Now(), Media: media, Names: names,
					}
					before := s.json(in)
					first, err := s.h.Info.Seal(in)
					if err != nil {
						s.t.Fatalf("Seal: %v", err)
					}
					time.Sleep(time.Hour)
					again, err := s.h.Info.Seal(in)
					if err != nil || !bytes.Equal(first, again) {
						s.t.Errorf("the second payload differs: %s, first %s, %v", again, first, err)
					}
					if after := s.json(in); after != before {
						s.t.Errorf("Seal changed its input: %s, before %s", after, before)
					}
					s.canonical("a sealed payload", first)
				}
			}
		}},
		{name: "payloads are canonical JSON", run: func(s *session) {
			for _, d := range s.drafts() {
				e, _ := s.h.Info.Encode(d)
				for _, p := range e.Parts {
					s.canonical("a payload", p.Payload)
				}
			}
		}},
		{name: "lengths stand with their limits", run: func(s *session) {
			e, _ := s.h.Info.Encode(s.draft(plain(hello)))
			for _, l := range e.Parts[0].Lengths {
				if l.Unit == "" || l.Count < 0 {
					s.t.Errorf("a length without a unit: %+v", l)
				}
			}
			if s.h.Info.Limits.Text > 0 && len(e.Parts[0].Lengths) == 0 {
				s.t.Error("the text has a limit, and no length is measured")
			}
		}},
		{name: "an empty part is an error", run: func(s *session) {
			s.wantRefused("an empty part", s.draft(providers.DraftPart{}))
		}},
	}
	return append(out, limits(h.Info.Limits)...)
}

// limits tries each limit that is declared: exactly at it passes and is published, one over is an error of Encode.
func limits(l providers.Limits) []subtest {
	var out []subtest
	add := func(declared int64, name string, needs []providers.Ability, run func(*session)) {
		if declared > 0 {
			out = append(out, subtest{name: "limit of " + name, needs: needs, run: run})
		}
	}
	upload := []providers.Ability{providers.CanUpload}
	add(int64(l.Text), "text", nil, func(s *session) {
		s.wantAccepted("text at the limit", s.draft(plain(words(l.Text))))
		s.wantRefused("text one over the limit", s.draft(plain(words(l.Text+1))))
	})
	if l.Unit == "graphemes" {
		const wave = "\U0001F44B\U0001F3FD" // one grapheme, two code points, eight bytes
		add(int64(l.Text), "text in graphemes", nil, func(s *session) {
			n := l.Text
			if l.TextBytes > 0 {
				n = min(n, l.TextBytes/len(wave))
			}
			s.wantAccepted("graphemes at the limit", s.draft(plain(strings.Repeat(wave, n))))
			s.wantRefused("graphemes over the limit", s.draft(plain(strings.Repeat(wave, l.Text+1))))
		})
	}
	add(int64(l.TextBytes), "bytes of text", nil, func(s *session) {
		const family = "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466"
		exact := strings.Repeat(family, l.TextBytes/len(family))
		exact += strings.Repeat("a", l.TextBytes-len(exact))
		s.wantAccepted("bytes at the limit", s.draft(plain(exact)))
		s.wantRefused("bytes one over the limit", s.draft(plain(exact+"a")))
	})
	add(int64(l.Parts), "parts", []providers.Ability{providers.CanReply}, func(s *session) {
		s.wantAccepted("parts at the limit", s.draft(slices.Repeat([]providers.DraftPart{plain("x")}, l.Parts)...))
		s.wantRefused("parts one over the limit", s.draft(slices.Repeat([]providers.DraftPart{plain("x")}, l.Parts+1)...))
	})
	pictures := func(s *session, n int) providers.Draft {
		p := plain(hello)
		for i := range n {
			p.Media = append(p.Media, s.picture(i, fmt.Sprintf("picture %d", i)))
		}
		return s.draft(p)
	}
	add(int64(l.Media), "media", upload, func(s *session) {
		s.wantAccepted("media at the limit", pictures(s, l.Media))
		s.wantRefused("media one over the limit", pictures(s, l.Media+1))
	})
	add(int64(l.Alt), "alt text", upload, func(s *session) {
		d := pictures(s, 1)
		d.Parts[0].Media[0].Alt = words(l.Alt)
		s.wantAccepted("alt text at the limit", d)
		d.Parts[0].Media[0].Alt = words(l.Alt + 1)
		s.wantRefused("alt text one over the limit", d)
	})
	add(l.ImageBytes, "bytes of an image", upload, func(s *session) {
		d := pictures(s, 1)
		d.Parts[0].Media[0].Bytes = l.ImageBytes
		s.wantEncodes("an image at the limit", d)
		d.Parts[0].Media[0].Bytes++
		s.wantRefused("an image one byte over the limit", d)
	})
	add(int64(len(l.MIME)), "types of media", upload, func(s *session) {
		d := pictures(s, 1)
		d.Parts[0].Media[0].MIME = "image/x-unheard-of"
		s.wantRefused("a type of media that the network does not take", d)
	})
	return out
}

// words is a text of n characters that are one of every unit.
func words(n int) string {
	s := strings.Repeat("word ", n/5+1)[:n]
	if strings.HasSuffix(s, " ") {
		s = s[:n-1] + "s"
	}
	return s
}

// drafts are some of each kind.
func (s *session) drafts() []providers.Draft {
	rich := providers.DraftPart{Doc: providers.Doc{Blocks: []providers.Block{
		{Kind: providers.Paragraph, Spans: []providers.Span{
			{Text: "Hello "},
			{Text: "bold", Style: providers.Bold},
			{Text: ", "},
			{Text: "notes", URL: "https://example.com/1.0?a=b&c=d"},
			{Text: " "},
			{Kind: providers.Hashtag, Text: "#golang", Handle: "golang"},
		}},
		{Kind: providers.List, Items: [][]providers.Block{
			{{Spans: []providers.Span{{Text: "one"}}}}, {{Spans: []providers.Span{{Text: "two"}}}},
		}},
	}}}
	out := []providers.Draft{s.draft(plain(hello)), s.draft(rich)}
	if s.h.can(providers.CanUpload) {
		p := plain(hello)
		p.Media = []providers.Media{s.picture(1, "A chart"), s.picture(2, "")}
		if m := s.h.Info.Limits.Media; m == 1 {
			p.Media = p.Media[:1]
		}
		out = append(out, s.draft(p))
	}
	if s.h.can(providers.CanReply) {
		out = append(out, s.draft(plain("One"), plain("Two")))
	}
	if s.h.Samples != nil {
		for _, d := range s.h.Samples() {
			out = append(out, completeDraft(withDraft(s.h, d), s.net.Config.Server))
		}
	}
	return out
}

func (s *session) json(v any) string {
	s.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *session) equal(what string, got, want any) {
	s.t.Helper()
	if g, w := s.json(got), s.json(want); g != w {
		s.t.Errorf("%s is %s, want %s", what, g, w)
	}
}

func (s *session) canonical(what string, b []byte) {
	s.t.Helper()
	if !canon.Is(b) {
		s.t.Errorf("%s is not canonical JSON: %s", what, b)
	}
}

// wantEncodes fails where Encode finds an error in d.
func (s *session) wantEncodes(what string, d providers.Draft) {
	s.t.Helper()
	_, problems := s.h.Info.Encode(d)
	for _, p := range problems {
		s.checkProblem(p, d)
		if p.Error {
			s.t.Errorf("%s is refused: %s: %s", what, p.Code, p.Message)
		}
	}
}

// wantAccepted fails where d is refused, by Encode or by the network.
func (s *session) wantAccepted(what string, d providers.Draft) {
	s.t.Helper()
	s.wantEncodes(what, d)
	if s.t.Failed() {
		return
	}
	c := s.claim(d, len(s.net.Posts()))
	var got []providers.Receipt
	for i := range c.messages {
		got = append(got, s.mustSend(c, i, got))
	}
}

// wantRefused fails where Encode finds no error in d.
func (s *session) wantRefused(what string, d providers.Draft) {
	s.t.Helper()
	_, problems := s.h.Info.Encode(d)
	refused := false
	for _, p := range problems {
		s.checkProblem(p, d)
		refused = refused || p.Error
	}
	if !refused {
		s.t.Errorf("Encode finds no error in %s", what)
	}
}

func (s *session) checkProblem(p providers.Problem, d providers.Draft) {
	s.t.Helper()
	if !keyForm.MatchString(p.Code) || p.Message == "" {
		s.t.Errorf("a problem without code or message: %+v", p)
	}
	if p.Part < -1 || p.Part >= len(d.Parts) {
		s.t.Errorf("the problem %q names part %d of %d", p.Code, p.Part, len(d.Parts))
	}
	if p.Error && p.Note {
		s.t.Errorf("the problem %q is error and note", p.Code)
	}
}
