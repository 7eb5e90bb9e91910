package providertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"slices"

	"github.com/broadside-pub/broadside/providers"
)

// picture makes a small PNG; n tells one from another.
func (s *session) picture(n int, alt string) providers.Media {
	s.t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 16, 9))
	for x := range 16 {
		for y := range 9 {
			img.SetNRGBA(x, y, color.NRGBA{R: uint8(n), G: uint8(n >> 8), B: uint8(x * y), A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return providers.Media{
		Path: "media/picture.png", SHA256: hex.EncodeToString(sum[:]), MIME: "image/png", Bytes: int64(b.Len()),
		Width: 16, Height: 9, Alt: alt, Open: func() ([]byte, error) { return bytes.Clone(b.Bytes()), nil },
	}
}

// preparing holds what comes before a post: uploads, names and stages, none of them public.
func preparing() []subtest {
	upload := []providers.Ability{providers.CanUpload}
	return []subtest{
		{name: "media and alt text arrive", needs: upload, run: func(s *session) {
			p := plain(hello)
			p.Media = []providers.Media{s.picture(1, "A chart that rises: 10 → 20 “units”"), s.picture(2, "Ein Diagramm, größer")}
			p.Media = s.asMany(p.Media)
			want := slices.Clone(p.Media) // what Encode does to the draft's own must not count
			s.mustSend(s.claim(s.draft(p), 0), 0, nil)
			s.wantMedia(want)
		}},
		{name: "equal media keep their own alt text", needs: upload, run: func(s *session) {
			p := plain(hello)
			p.Media = s.asMany([]providers.Media{s.picture(1, "first"), s.picture(1, "second")})
			want := slices.Clone(p.Media)
			s.mustSend(s.claim(s.draft(p), 0), 0, nil)
			s.wantMedia(want)
		}},
		{name: "upload is not public and may be repeated", needs: upload, run: func(s *session) {
			m := s.picture(1, "A chart")
			for range 2 {
				h, err := s.able.Upload.Upload(s.ctx, m)
				if err != nil {
					s.t.Fatalf("Upload: %v", err)
				}
				if h.ID == "" && len(h.Ref) == 0 {
					s.t.Error("the handle is empty")
				}
				if len(h.Ref) > 0 {
					s.canonical("a handle's ref", h.Ref)
				}
				s.noSecret("a handle", s.json(h))
			}
			s.wantPosts(0)
		}},
		{name: "upload tells what is wrong", needs: upload, run: func(s *session) {
			for status, kind := range map[int]providers.Kind{401: providers.Unauthorized, 422: providers.Invalid, 429: providers.Throttled} {
				s.wire.arm(0, answer(false, status, jsonHeader, text(`{"error":"refused"}`)))
				_, err := s.able.Upload.Upload(s.ctx, s.picture(1, "A chart"))
				if e := providers.AsError(err); e == nil || e.Kind != kind {
					s.t.Errorf("HTTP %d: got %v, want an error of kind %s", status, err, kind)
				}
			}
		}},
		{name: "resolve knows a name and refuses another", needs: []providers.Ability{providers.CanResolve}, run: func(s *session) {
			if s.h.Name == "" {
				s.t.Fatal("the harness names nobody to resolve")
			}
			h, err := s.able.Resolve.Resolve(s.ctx, s.h.Name)
			if err != nil || h.ID == "" {
				s.t.Errorf("%q: got %+v, %v", s.h.Name, h, err)
			}
			_, err = s.able.Resolve.Resolve(s.ctx, "nobody.invalid")
			if e := providers.AsError(err); e == nil || e.Kind != providers.NotFound {
				s.t.Errorf("an unknown name: got %v, want an error of kind %s", err, providers.NotFound)
			}
			s.wire.arm(0, answer(false, http.StatusInternalServerError, jsonHeader, text(`{}`)))
			_, err = s.able.Resolve.Resolve(s.ctx, s.h.Name)
			if e := providers.AsError(err); e == nil || e.Kind == providers.NotFound {
				s.t.Errorf("a failing network: got %v, want an error that does not call the name unknown", err)
			}
		}},
		{name: "stage is not public and may be repeated", needs: []providers.Ability{providers.CanStage}, run: func(s *session) {
			p := plain(hello)
			if s.able.Upload != nil {
				p.Media = []providers.Media{s.picture(1, "A chart")}
			}
			c := s.claim(s.draft(p), 0) // stages too
			s.wantPosts(0)
			c.messages[0].Stage = s.stage(c.messages[0])
			s.wantPosts(0)
			var steps []providers.Handle
			var h providers.Handle
			for done := false; !done && len(steps) < mostSteps; steps = append(steps, h) {
				var err error
				if h, done, err = s.able.Stage.Stage(s.ctx, c.messages[0], h); err != nil {
					s.t.Fatalf("Stage: %v", err)
				}
				s.noSecret("a handle", s.json(h))
			}
			for i, from := range steps[:len(steps)-1] {
				s.renew()
				if _, _, err := s.able.Stage.Stage(s.ctx, c.messages[0], from); err != nil {
					s.t.Errorf("Stage from step %d again: %v", i, err)
				}
			}
			s.wantPosts(0)
			c.messages[0].Stage = steps[len(steps)-1]
			s.mustSend(c, 0, nil)
			s.wantPosts(1)
		}},
	}
}

// asMany cuts ms to what the network takes in one part.
func (s *session) asMany(ms []providers.Media) []providers.Media {
	if n := s.h.Info.Limits.Media; n > 0 && n < len(ms) {
		return ms[:n]
	}
	return ms
}

func (s *session) wantMedia(want []providers.Media) {
	s.t.Helper()
	got := s.wantPosts(1)[0].Media
	if len(got) != len(want) {
		s.t.Fatalf("%d media arrived, want %d", len(got), len(want))
	}
	for i, m := range want {
		if got[i].SHA256 != m.SHA256 || got[i].Alt != m.Alt {
			s.t.Errorf("media %d arrived as %+v, want %s with %q", i, got[i], m.SHA256, m.Alt)
		}
	}
}
