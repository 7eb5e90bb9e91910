package media_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"
)

// quarters is a picture whose four quarters are red, green, blue and white, so that its turns can be told apart.
func quarters(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{255, 255, 255, 255}
			switch {
			case x < w/2 && y < h/2:
				c = color.NRGBA{255, 0, 0, 255}
			case y < h/2:
				c = color.NRGBA{0, 255, 0, 255}
			case x < w/2:
				c = color.NRGBA{0, 0, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// corners names the colours of a picture's quarters, row by row.
func corners(img image.Image) string {
	b := img.Bounds()
	name := func(x, y int) string {
		r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
		switch {
		case r > 0xC000 && g > 0xC000 && bl > 0xC000:
			return "W"
		case r > 0xC000:
			return "R"
		case g > 0xC000:
			return "G"
		case bl > 0xC000:
			return "B"
		}
		return "?"
	}
	w, h := b.Dx(), b.Dy()
	return name(w/8, h/8) + name(w-1-w/8, h/8) + name(w/8, h-1-h/8) + name(w-1-w/8, h-1-h/8)
}

// noise is a picture that does not compress.
func noise(w, h int, alpha bool) *image.NRGBA {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 && !alpha {
			img.Pix[i] = 255
		}
	}
	return img
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asGIF(t testing.TB, frames int) []byte {
	t.Helper()
	g := &gif.GIF{}
	for i := range frames {
		p := image.NewPaletted(image.Rect(0, 0, 8, 6), color.Palette{color.Black, color.White})
		p.SetColorIndex(i, 0, 1)
		g.Image = append(g.Image, p)
		g.Delay = append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exif is an EXIF block by hand: an IFD with a camera's name and the orientation, and a GPS text behind it.
func exif(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("II*\x00")
	if order.String() == "BigEndian" {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 0x010F) // Make, ASCII
	b = order.AppendUint16(b, 2)
	b = order.AppendUint32(b, 4)
	b = append(b, "Cam\x00"...)
	b = order.AppendUint16(b, 0x0112) // Orientation, SHORT
	b = order.AppendUint16(b, 3)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint16(b, orientation)
	b = order.AppendUint16(b, 0)
	b = order.AppendUint32(b, 0)
	return append(b, "GPS 52.5200N 13.4050E"...)
}

func segment(marker byte, payload []byte) []byte {
	b := []byte{0xFF, marker}
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)+2))
	return append(b, payload...)
}

// withSegments inserts segments behind the start of a JPEG.
func withSegments(data []byte, segments ...[]byte) []byte {
	out := []byte{0xFF, 0xD8}
	for _, s := range segments {
		out = append(out, s...)
	}
	return append(out, data[2:]...)
}

func exifSegment(orientation uint16) []byte {
	return segment(0xE1, append([]byte("Exif\x00\x00"), exif(binary.LittleEndian, orientation)...))
}

func chunk(kind string, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	body := append([]byte(kind), payload...)
	b = append(b, body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(body))
}

// withChunks inserts chunks behind the header of a PNG.
func withChunks(data []byte, chunks ...[]byte) []byte {
	out := bytes.Clone(data[:33])
	for _, c := range chunks {
		out = append(out, c...)
	}
	return append(out, data[33:]...)
}

func box(kind string, body ...[]byte) []byte {
	var all []byte
	for _, b := range body {
		all = append(all, b...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(all)+8))
	return append(append(out, kind...), all...)
}

func ftyp(major string, compatible ...string) []byte {
	b := append([]byte(major), 0, 0, 0, 0)
	for _, c := range compatible {
		b = append(b, c...)
	}
	return box("ftyp", b)
}

// still is the head of a HEIF file that says how large its picture is.
func still(w, h uint32) []byte {
	ispe := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0}, w)
	ispe = binary.BigEndian.AppendUint32(ispe, h)
	return box("meta", []byte{0, 0, 0, 0}, box("iprp", box("ipco", box("ispe", ispe))))
}

// movie is the head of a film whose track has a size, turned or not.
func movie(w, h uint32, turned bool) []byte {
	body := make([]byte, 84)
	matrix := body[40:76]
	if turned {
		binary.BigEndian.PutUint32(matrix[4:], 0x10000)
	} else {
		binary.BigEndian.PutUint32(matrix, 0x10000)
	}
	binary.BigEndian.PutUint32(body[76:], w<<16)
	binary.BigEndian.PutUint32(body[80:], h<<16)
	return box("moov", box("trak", box("tkhd", body)))
}

// smallWebP is a lossless WebP of one pixel, from the format's specification of its smallest file.
func smallWebP() []byte {
	return riff(riffChunk("VP8L", []byte{0x2f, 0, 0, 0, 0, 0x07, 0x10, 0x11, 0x11, 0x88, 0x88, 0xfe, 0x07}))
}

func riffChunk(kind string, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(payload)))
	b = append(b, payload...)
	if len(payload)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

func riff(chunks ...[]byte) []byte {
	body := []byte("WEBP")
	for _, c := range chunks {
		body = append(body, c...)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}
