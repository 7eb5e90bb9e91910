package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	stddraw "image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/broadside-pub/broadside/providers"
)

// qualities are tried in order until a JPEG is small enough; below the last one the picture is made smaller instead.
var qualities = []int{90, 85, 80, 72, 64}

// minSide is the shorter side below which nothing is shrunk any further.
const minSide = 64

// reencode decodes, turns, scales and encodes within l. The bounds of the picture were checked when it was described.
func reencode(m providers.Media, data []byte, turn orientation, l providers.Limits) ([]byte, string, int, int, error) {
	broken := func() ([]byte, string, int, int, error) {
		return nil, "", 0, 0, failed("media_broken", "open it and save it again", "%s cannot be decoded", m.Path)
	}
	if int64(m.Width)*int64(m.Height) > MaxPixels || m.Width <= 0 || m.Height <= 0 {
		return broken()
	}
	src, err := decode(m.MIME, data)
	if err != nil {
		return broken()
	}
	profile := iccProfile(m.MIME, data, src)
	if turn.turned() {
		src = upright(src, turn)
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	w, h = within(w, h, l.ImagePixels)
	takes := func(mime string) bool { return len(l.MIME) == 0 || slices.Contains(l.MIME, mime) }
	solid := opaque(src)
	for {
		img := scaled(src, w, h)
		if (m.MIME != "image/jpeg" || !takes("image/jpeg")) && takes("image/png") {
			out := encodePNG(img, profile)
			if l.ImageBytes == 0 || int64(len(out)) <= l.ImageBytes {
				return out, "image/png", w, h, nil
			}
		}
		if solid && takes("image/jpeg") {
			for _, q := range qualities {
				out := encodeJPEG(img, q, profile)
				if l.ImageBytes == 0 || int64(len(out)) <= l.ImageBytes {
					return out, "image/jpeg", w, h, nil
				}
			}
		} else if !takes("image/png") {
			return nil, "", 0, 0, failed("media_type", "export it in a type that the network takes",
				"%s is %s, which this network does not take, and it cannot be converted without loss of transparency", m.Path, m.MIME)
		}
		if min(w, h) <= minSide {
			return nil, "", 0, 0, failed("media_too_large", "shrink it by hand", "%s cannot be made smaller than %d bytes",
				m.Path, l.ImageBytes)
		}
		w, h = max(w*4/5, 1), max(h*4/5, 1)
	}
}

// within scales a size down to at most limit pixels and keeps its shape as far as whole pixels can; 0 is no limit.
func within(w, h int, limit int64) (int, int) {
	if limit <= 0 || int64(w)*int64(h) <= limit {
		return w, h
	}
	scale := math.Sqrt(float64(limit) / (float64(w) * float64(h)))
	w, h = max(int(math.Round(float64(w)*scale)), 1), max(int(math.Round(float64(h)*scale)), 1)
	if int64(w)*int64(h) > limit {
		if w > h {
			w = max(int(limit)/h, 1)
		} else {
			h = max(int(limit)/w, 1)
		}
	}
	return w, h
}

func decode(mime string, data []byte) (image.Image, error) {
	r := bytes.NewReader(data)
	switch mime {
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/png":
		return png.Decode(r)
	}
	return webp.Decode(r)
}

func opaque(img image.Image) bool {
	if o, ok := img.(interface{ Opaque() bool }); ok {
		return o.Opaque()
	}
	return false
}

func toNRGBA(src image.Image) *image.NRGBA {
	b := src.Bounds()
	if n, ok := src.(*image.NRGBA); ok && b.Min == (image.Point{}) {
		return n
	}
	dst := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	stddraw.Draw(dst, dst.Bounds(), src, b.Min, stddraw.Src)
	return dst
}

// scaled returns src at w by h; src itself where it has that size.
func scaled(src image.Image, w, h int) image.Image {
	b := src.Bounds()
	if b.Dx() == w && b.Dy() == h {
		return src
	}
	r := image.Rect(0, 0, w, h)
	var dst draw.Image = image.NewRGBA(r)
	if _, gray := src.(*image.Gray); gray {
		dst = image.NewGray(r)
	}
	draw.CatmullRom.Scale(dst, r, src, b, draw.Src, nil)
	return dst
}

func encodeJPEG(img image.Image, quality int, profile []byte) []byte {
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil // unreachable: memory does not fail and the sides are within a JPEG's
	}
	if profile == nil {
		return buf.Bytes()
	}
	const chunk = 65_000
	n := (len(profile) + chunk - 1) / chunk
	if n > 255 {
		return buf.Bytes()
	}
	out := []byte{0xFF, 0xD8}
	for i := range n {
		part := profile[i*chunk : min((i+1)*chunk, len(profile))]
		out = append(out, 0xFF, 0xE2)
		out = binary.BigEndian.AppendUint16(out, uint16(len(part)+16)) //nolint:gosec // a chunk is below 65,519
		out = append(out, "ICC_PROFILE\x00"...)
		out = append(out, byte(i+1), byte(n))
		out = append(out, part...)
	}
	return append(out, buf.Bytes()[2:]...)
}

func encodePNG(img image.Image, profile []byte) []byte {
	var buf bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&buf, img); err != nil {
		return nil // unreachable, as above
	}
	out := buf.Bytes()
	if profile == nil {
		return out
	}
	return withPNGProfile(out, profile)
}

// iccProfile returns the colour profile to carry over, nil where there is none or where it would not fit the pixels that
// will be written: those are always RGB, so profiles for gray or CMYK are left out.
func iccProfile(mime string, data []byte, src image.Image) []byte {
	switch src.ColorModel() {
	case color.GrayModel, color.Gray16Model, color.CMYKModel:
		return nil
	}
	var p []byte
	switch mime {
	case "image/jpeg":
		p = jpegProfile(data)
	case "image/png":
		p = pngProfile(data)
	case "image/webp":
		_ = riffChunks(data, func(kind string, payload []byte) {
			if kind == "ICCP" {
				p = payload
			}
		})
	}
	// bytes 16 to 19 name the colour space (ICC.1, section 7.2)
	if len(p) < 128 || len(p) > maxProfile || string(p[16:20]) != "RGB " {
		return nil
	}
	return p
}
