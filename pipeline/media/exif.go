package media

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation is EXIF's tag 0x0112: how the stored picture must be turned to be upright, 1 to 8. 0 stands for none.
type orientation int

func (o orientation) swapsSides() bool { return o >= 5 }

// turned tells that the stored picture is not upright.
func (o orientation) turned() bool { return o > 1 }

// EXIF's tags that matter here (EXIF 2.32, sections 4.6.3 and 4.6.4).
const (
	tagOrientation = 0x0112
	tagGPS         = 0x8825
)

// parseEXIF reads the orientation out of a TIFF structure. What it cannot read is 0.
func parseEXIF(b []byte) orientation {
	var o orientation
	eachTag(b, func(tag, kind uint16, count uint32, value uint16) {
		if tag == tagOrientation && kind == 3 && count == 1 && value >= 1 && value <= 8 && o == 0 {
			o = orientation(value)
		}
	})
	return o
}

// eachTag calls each with the entries of the first directory of a TIFF structure; value is the first half of an entry's
// value, which is all of it for a single short.
func eachTag(b []byte, each func(tag, kind uint16, count uint32, value uint16)) {
	if len(b) < 8 {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return
	}
	at := int64(order.Uint32(b[4:]))
	if at < 8 || at+2 > int64(len(b)) {
		return
	}
	n := int64(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + i*12
		if e+12 > int64(len(b)) {
			return
		}
		each(order.Uint16(b[e:]), order.Uint16(b[e+2:]), order.Uint32(b[e+4:]), order.Uint16(b[e+8:]))
	}
}

// exifLocation tells whether an EXIF block anywhere in data, as HEIC and AVIF hold one, has a GPS directory.
func exifLocation(data []byte) bool {
	found := false
	mark := []byte("Exif\x00\x00")
	for range 8 {
		_, rest, ok := bytes.Cut(data, mark)
		if !ok {
			return false
		}
		eachTag(rest, func(tag, _ uint16, _ uint32, _ uint16) { found = found || tag == tagGPS })
		if found {
			return true
		}
		data = rest
	}
	return false
}

func exifOfJPEG(data []byte) orientation {
	var o orientation
	_ = jpegSegments(data, func(marker byte, payload []byte) bool {
		if marker == 0xE1 && bytes.HasPrefix(payload, []byte("Exif\x00\x00")) {
			o = parseEXIF(payload[6:])
			return false
		}
		return marker != 0xDA
	})
	return o
}

func exifOfPNG(data []byte) orientation {
	var o orientation
	_ = pngChunks(data, func(kind string, payload, _ []byte) bool {
		if kind == "eXIf" {
			o = parseEXIF(payload)
			return false
		}
		return true
	})
	return o
}

// upright returns src turned as o says. It works on any picture and keeps nothing of src.
func upright(src image.Image, o orientation) image.Image {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	dw, dh := w, h
	if o.swapsSides() {
		dw, dh = h, w
	}
	// at gives for a place in the upright picture the place in the stored one.
	at := func(x, y int) (int, int) {
		switch o {
		case 2:
			return w - 1 - x, y
		case 3:
			return w - 1 - x, h - 1 - y
		case 4:
			return x, h - 1 - y
		case 5:
			return y, x
		case 6:
			return y, h - 1 - x
		case 7:
			return w - 1 - y, h - 1 - x
		case 8:
			return w - 1 - y, x
		}
		return x, y
	}
	if gray, ok := src.(*image.Gray); ok {
		dst := image.NewGray(image.Rect(0, 0, dw, dh))
		for y := range dh {
			for x := range dw {
				sx, sy := at(x, y)
				dst.SetGray(x, y, gray.GrayAt(b.Min.X+sx, b.Min.Y+sy))
			}
		}
		return dst
	}
	from := toNRGBA(src)
	dst := image.NewNRGBA(image.Rect(0, 0, dw, dh))
	for y := range dh {
		for x := range dw {
			sx, sy := at(x, y)
			s, d := from.PixOffset(sx, sy), dst.PixOffset(x, y)
			copy(dst.Pix[d:d+4], from.Pix[s:s+4])
		}
	}
	return dst
}
