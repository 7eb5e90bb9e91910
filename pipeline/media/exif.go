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

// parseEXIF reads the orientation out of a TIFF structure (EXIF 2.32, sections 4.5 and 4.6). What it cannot read is 0.
func parseEXIF(b []byte) orientation {
	if len(b) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := int64(order.Uint32(b[4:]))
	if at < 8 || at+2 > int64(len(b)) {
		return 0
	}
	n := int64(order.Uint16(b[at:]))
	for i := range n {
		e := at + 2 + i*12
		if e+12 > int64(len(b)) {
			return 0
		}
		if order.Uint16(b[e:]) != 0x0112 || order.Uint16(b[e+2:]) != 3 || order.Uint32(b[e+4:]) != 1 {
			continue
		}
		if v := order.Uint16(b[e+8:]); v >= 1 && v <= 8 {
			return orientation(v)
		}
		return 0
	}
	return 0
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
