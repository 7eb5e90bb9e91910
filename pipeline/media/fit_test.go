package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/webp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/media"
	"github.com/broadside-pub/broadside/providers"
)

var smallLimits = providers.Limits{ImageBytes: 4000, ImagePixels: 1000}

func inspect(t *testing.T, name string, data []byte) providers.Media {
	t.Helper()
	m, ps := media.Inspect(name, "alt", data)
	for _, p := range ps {
		if p.Severity == pipeline.Error {
			t.Fatal(p)
		}
	}
	m.Open = func() ([]byte, error) { return data, nil }
	return m
}

func bytesOf(t *testing.T, m providers.Media) []byte {
	t.Helper()
	b, err := m.Open()
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != m.Bytes {
		t.Errorf("%d bytes, described as %d", len(b), m.Bytes)
	}
	return b
}

func TestFitTurnsPicturesUpright(t *testing.T) {
	t.Parallel()
	// The quarters of the stored picture are RG over BW; EXIF's values say how a viewer turns it.
	want := []string{"", "RGBW", "GRWB", "WBGR", "BWRG", "RBGW", "BRWG", "WGBR", "GWRB"}
	for o := uint16(1); o <= 8; o++ {
		for name, data := range map[string][]byte{
			"a.jpg": withSegments(asJPEG(t, quarters(48, 32)), exifSegment(o)),
			"a.png": withChunks(asPNG(t, quarters(48, 32)), chunk("eXIf", exif(binary.BigEndian, o))),
		} {
			m := inspect(t, name, data)
			out, changed, err := media.Fit(m, providers.Limits{}, "auto")
			if err != nil || !changed {
				t.Fatalf("%s, %d: changed %v, %v", name, o, changed, err)
			}
			b := bytesOf(t, out)
			img, _, err := decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if got := corners(img); got != want[o] || img.Bounds().Dx() != out.Width || img.Bounds().Dy() != out.Height {
				t.Errorf("%s, %d: got %s at %v, want %s at %d by %d", name, o, got, img.Bounds(), want[o], out.Width, out.Height)
			}
			if (out.Width < out.Height) != (o >= 5) || out.Source != m.SHA256 {
				t.Errorf("%s, %d: %+v", name, o, out)
			}
			noMetadata(t, b)
		}
	}
}

func decode(b []byte) (image.Image, string, error) {
	switch media.Sniff(b) {
	case "image/jpeg":
		img, err := jpeg.Decode(bytes.NewReader(b))
		return img, "image/jpeg", err
	case "image/webp":
		img, err := webp.Decode(bytes.NewReader(b))
		return img, "image/webp", err
	}
	img, err := png.Decode(bytes.NewReader(b))
	return img, "image/png", err
}

func noMetadata(t *testing.T, b []byte) {
	t.Helper()
	for _, s := range []string{"GPS", "Exif", "eXIf", "Cam\x00", "http://ns.adobe.com", "Photoshop", "a comment", "tEXt", "tIME", "secret trailer", "EXIF", "XMP "} {
		if bytes.Contains(b, []byte(s)) {
			t.Errorf("%q is still there", s)
		}
	}
}

func rgbProfile() []byte {
	p := make([]byte, 200)
	copy(p[16:], "RGB ")
	copy(p[150:], "colour profile")
	return p
}

func iccSegment() []byte {
	return segment(0xE2, append([]byte("ICC_PROFILE\x00\x01\x01"), rgbProfile()...))
}

func TestFitStripsMetadataWithoutTouchingPixels(t *testing.T) {
	t.Parallel()
	plain := asJPEG(t, quarters(48, 32))
	dirty := withSegments(plain, segment(0xE0, []byte("JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00")), exifSegment(1),
		segment(0xE1, []byte("http://ns.adobe.com/xap/1.0/\x00<x:xmpmeta exif:GPSLatitude=\"52\"/>")),
		segment(0xED, []byte("Photoshop 3.0\x00")), segment(0xFE, []byte("a comment")), iccSegment())
	dirty = append(dirty, withSegments(plain, exifSegment(1))...) // a second picture behind the first
	dirty = append(dirty, "secret trailer"...)
	out, changed, err := media.Fit(inspect(t, "a.jpg", dirty), providers.Limits{}, "none")
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	b := bytesOf(t, out)
	noMetadata(t, b)
	if !bytes.Contains(b, []byte("colour profile")) || !bytes.Contains(b, []byte("JFIF")) {
		t.Error("the colour profile or JFIF is gone")
	}
	if !bytes.HasSuffix(b, plain[len(plain)-100:]) {
		t.Error("the picture's own bytes changed")
	}

	dirtyPNG := withChunks(asPNG(t, quarters(48, 32)), chunk("tEXt", []byte("GPS\x0052N")), chunk("tIME", make([]byte, 7)),
		chunk("eXIf", exif(binary.BigEndian, 1)), chunk("gAMA", []byte{0, 0, 177, 143}), chunk("prVt", []byte("GPS")))
	dirtyPNG = append(dirtyPNG, "secret trailer"...)
	out, changed, err = media.Fit(inspect(t, "a.png", dirtyPNG), providers.Limits{}, "none")
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	b = bytesOf(t, out)
	noMetadata(t, b)
	if !bytes.Contains(b, []byte("gAMA")) {
		t.Error("gamma is gone")
	}
	if img, _, err := decode(b); err != nil || corners(img) != "RGBW" {
		t.Error(err)
	}

	vp8x := []byte{0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	dirtyWebP := riff(riffChunk("VP8X", vp8x), smallWebP()[12:], riffChunk("EXIF", exif(binary.LittleEndian, 1)), riffChunk("XMP ", []byte("GPS")))
	out, changed, err = media.Fit(inspect(t, "a.webp", dirtyWebP), providers.Limits{}, "none")
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	b = bytesOf(t, out)
	noMetadata(t, b)
	if _, _, err := decode(b); err != nil || b[20] != 0 {
		t.Errorf("%v, flags %x", err, b[20])
	}
}

func TestFitLeavesCleanFilesAlone(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"a.jpg": asJPEG(t, quarters(48, 32)), "a.png": asPNG(t, quarters(48, 32)), "a.gif": asGIF(t, 3), "a.webp": smallWebP(),
		"a.heic": append(ftyp("heic"), still(8, 6)...), "a.mp4": append(ftyp("isom"), movie(8, 6, false)...),
	} {
		m := inspect(t, name, data)
		out, changed, err := media.Fit(m, providers.Limits{}, "auto")
		if err != nil || changed || out.SHA256 != m.SHA256 || out.Source != "" {
			t.Errorf("%s: changed %v, %v", name, changed, err)
		}
		if !bytes.Equal(bytesOf(t, out), data) {
			t.Errorf("%s: other bytes", name)
		}
	}
}

func TestFitShrinksWithinTheLimits(t *testing.T) {
	t.Parallel()
	clear := noise(300, 200, true)
	gray := image.NewGray(image.Rect(0, 0, 300, 200))
	for i := range gray.Pix {
		gray.Pix[i] = byte(i * 7)
	}
	turned := withSegments(asJPEG(t, noise(300, 200, false)), exifSegment(6), iccSegment())
	for name, c := range map[string]struct {
		data []byte
		l    providers.Limits
		mime string
	}{
		"pixels.jpg":       {asJPEG(t, noise(300, 200, false)), providers.Limits{ImagePixels: 15_000}, "image/jpeg"},
		"bytes.jpg":        {asJPEG(t, noise(300, 200, false)), providers.Limits{ImageBytes: 20_000}, "image/jpeg"},
		"both.jpg":         {asJPEG(t, noise(300, 200, false)), providers.Limits{ImageBytes: 9_000, ImagePixels: 30_000}, "image/jpeg"},
		"turned.jpg":       {turned, providers.Limits{ImagePixels: 15_000}, "image/jpeg"},
		"gray.jpg":         {asJPEG(t, gray), providers.Limits{ImagePixels: 15_000}, "image/jpeg"},
		"pixels.png":       {asPNG(t, quarters(300, 200)), providers.Limits{ImagePixels: 15_000}, "image/png"},
		"opaque.png":       {asPNG(t, noise(300, 200, false)), providers.Limits{ImageBytes: 60_000}, "image/jpeg"},
		"transparent.png":  {asPNG(t, clear), providers.Limits{ImageBytes: 60_000}, "image/png"},
		"type.webp":        {smallWebP(), providers.Limits{MIME: []string{"image/png"}}, "image/png"},
		"jpeg only.png":    {asPNG(t, quarters(30, 20)), providers.Limits{MIME: []string{"image/jpeg"}}, "image/jpeg"},
		"png only.jpg":     {asJPEG(t, quarters(30, 20)), providers.Limits{MIME: []string{"image/png"}}, "image/png"},
		"profile.png":      {withChunks(asPNG(t, quarters(300, 200)), iccpChunk(t)), providers.Limits{ImagePixels: 15_000}, "image/png"},
		"very long.png":    {asPNG(t, quarters(2000, 4)), providers.Limits{ImagePixels: 4000}, "image/png"},
		"sixteen bits.png": {asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 300, 200))), providers.Limits{ImagePixels: 15_000}, "image/png"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := inspect(t, name, c.data)
			out, changed, err := media.Fit(m, c.l, "auto")
			if err != nil || !changed {
				t.Fatal(changed, err)
			}
			b := bytesOf(t, out)
			img, mime, err := decode(b)
			if err != nil {
				t.Fatal(err)
			}
			w, h := img.Bounds().Dx(), img.Bounds().Dy()
			if mime != c.mime || out.MIME != c.mime || w != out.Width || h != out.Height {
				t.Errorf("%s of %d by %d, described as %+v", mime, w, h, out)
			}
			if c.l.ImagePixels > 0 && int64(w*h) > c.l.ImagePixels || c.l.ImageBytes > 0 && int64(len(b)) > c.l.ImageBytes {
				t.Errorf("%d by %d, %d bytes", w, h, len(b))
			}
			if ratio := float64(w*m.Height) / float64(h*m.Width); ratio < 0.8 || ratio > 1.25 {
				t.Errorf("%d by %d became %d by %d", m.Width, m.Height, w, h)
			}
			noMetadata(t, b)
			again, _, err := media.Fit(m, c.l, "auto")
			if err != nil || again.SHA256 != out.SHA256 {
				t.Errorf("not the same bytes again: %v", err)
			}
			if p := strings.Contains(name, "profile") || name == "turned.jpg"; p && !bytes.Contains(b, []byte("ICC_PROFILE")) && !bytes.Contains(b, []byte("iCCP")) {
				t.Error("the colour profile is gone")
			}
			if name == "gray.jpg" && img.ColorModel() != color.GrayModel {
				t.Error("gray became coloured")
			}
			if _, ps := media.Inspect(name, "", b); strings.Contains(codes(ps), "error") {
				t.Error(codes(ps))
			}
			noOpen := out
			noOpen.Open = nil
			if _, _, err := media.Fit(noOpen, c.l, "none"); err != nil {
				t.Errorf("checked again: %v", err)
			}
		})
	}
}

func iccpChunk(t *testing.T) []byte {
	t.Helper()
	// the profile as the package itself writes it, taken from a JPEG that carries one
	data := withSegments(asJPEG(t, quarters(30, 20)), iccSegment())
	out, _, err := media.Fit(inspect(t, "a.jpg", data), providers.Limits{MIME: []string{"image/png"}}, "auto")
	if err != nil {
		t.Fatal(err)
	}
	b := bytesOf(t, out)
	at := bytes.Index(b, []byte("iCCP"))
	if at < 0 {
		t.Fatal("the profile was not carried over to PNG")
	}
	n := binary.BigEndian.Uint32(b[at-4:])
	return b[at-4 : at+8+int(n)]
}

func TestFitSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	scans := asJPEG(t, quarters(16, 16))
	sos := bytes.Index(scans, []byte{0xFF, 0xDA})
	scans = append(bytes.Clone(scans[:len(scans)-2]), bytes.Repeat(scans[sos:len(scans)-2], 300)...)
	scans = append(scans, 0xFF, 0xD9)
	moving := withChunks(asPNG(t, quarters(300, 200)), chunk("acTL", make([]byte, 8)))
	for name, c := range map[string]struct {
		data []byte
		l    providers.Limits
		mode string
		code string
	}{
		"none, pixels.png":      {asPNG(t, quarters(300, 200)), providers.Limits{ImagePixels: 100}, "none", "media_too_large"},
		"none, bytes.jpg":       {asJPEG(t, noise(300, 200, false)), providers.Limits{ImageBytes: 100}, "none", "media_too_large"},
		"none, type.png":        {asPNG(t, quarters(30, 20)), providers.Limits{MIME: []string{"image/jpeg"}}, "none", "media_type"},
		"moving.gif":            {asGIF(t, 3), providers.Limits{ImagePixels: 10}, "auto", "media_too_large"},
		"moving.png":            {moving, providers.Limits{ImagePixels: 1000}, "auto", "media_too_large"},
		"still.gif":             {asGIF(t, 1), providers.Limits{MIME: []string{"image/png"}}, "auto", "media_type"},
		"a.heic":                {append(ftyp("heic"), still(8, 6)...), providers.Limits{MIME: []string{"image/jpeg"}}, "auto", "media_type"},
		"large.mp4":             {append(ftyp("isom"), movie(8, 6, false)...), providers.Limits{VideoBytes: 10}, "auto", "media_too_large"},
		"see-through.png":       {asPNG(t, noise(30, 20, true)), providers.Limits{MIME: []string{"image/jpeg"}}, "auto", "media_type"},
		"hopeless.jpg":          {asJPEG(t, noise(300, 200, false)), providers.Limits{ImageBytes: 100}, "auto", "media_too_large"},
		"cut.jpg":               {asJPEG(t, noise(300, 200, false))[:700], providers.Limits{ImagePixels: 100}, "auto", "media_broken"},
		"cut.png":               {asPNG(t, noise(300, 200, false))[:5000], providers.Limits{}, "auto", "media_broken"},
		"cut, to be turned.jpg": {withSegments(asJPEG(t, noise(300, 200, false)), exifSegment(6))[:800], providers.Limits{}, "auto", "media_broken"},
		"scans.jpg":             {scans, providers.Limits{}, "auto", "media_broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := media.Fit(inspect(t, name, c.data), c.l, c.mode)
			var p *media.Problem
			if !errors.As(err, &p) || p.Code != c.code || p.Severity != pipeline.Error || p.Hint == "" || !strings.Contains(p.Message, name) {
				t.Errorf("got %v (%+v), want %s", err, p, c.code)
			}
		})
	}
}

func TestFitNoticesThatTheFileChanged(t *testing.T) {
	t.Parallel()
	data := withSegments(asJPEG(t, quarters(48, 32)), exifSegment(6))
	m := inspect(t, "a.jpg", data)
	current := data
	m.Open = func() ([]byte, error) { return current, nil }
	out, _, err := media.Fit(m, providers.Limits{}, "auto")
	if err != nil {
		t.Fatal(err)
	}
	current = asJPEG(t, quarters(48, 34))
	if _, err := out.Open(); err == nil {
		t.Error("other bytes pass for what was described")
	}
	if _, _, err := media.Fit(m, providers.Limits{}, "auto"); err == nil {
		t.Error("other bytes pass for what was inspected")
	}
	failing := m
	failing.Open = func() ([]byte, error) { return nil, errors.New("gone") }
	if _, _, err := media.Fit(failing, providers.Limits{}, "auto"); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Error(err)
	}
}

func TestLoaderFitsEqualFilesOnce(t *testing.T) {
	t.Parallel()
	data := withSegments(asJPEG(t, quarters(48, 32)), exifSegment(6))
	src := &files{data: map[string][]byte{"a.jpg": data, "b.jpg": data}, reads: map[string]int{}}
	l := media.NewLoader(src, pipeline.MediaConfig{Alt: "off", Fit: "auto"})
	post := &pipeline.Post{ID: "p", Path: "p.md"}
	var sums []string
	for _, path := range []string{"a.jpg", "b.jpg", "a.jpg"} {
		m, ds, ok := l.Load(post, pipeline.MediaUse{Path: path, Alt: path})
		if !ok {
			t.Fatal(ds)
		}
		out, err := l.Fit(m, providers.Limits{ImagePixels: 500})
		if err != nil {
			t.Fatal(err)
		}
		if out.Alt != path || out.Path != path {
			t.Errorf("%+v", out)
		}
		sums = append(sums, out.SHA256)
	}
	if sums[0] != sums[1] || sums[0] != sums[2] || src.reads["a.jpg"] != 2 || src.reads["b.jpg"] != 1 {
		t.Errorf("%v, reads %v", sums, src.reads)
	}
}
