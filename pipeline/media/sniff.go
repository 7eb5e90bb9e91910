package media

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
)

// Sniff tells a file's type by its content alone.
func Sniff(data []byte) string {
	if m := bmffType(data); m != "" {
		return m
	}
	t := http.DetectContentType(data)
	t, _, _ = strings.Cut(t, ";")
	switch t {
	case "text/xml", "text/plain", "text/html":
		head := bytes.ToLower(data[:min(len(data), 4096)])
		if bytes.Contains(head, []byte("<svg")) {
			return "image/svg+xml"
		}
		if bytes.Contains(head, []byte("<html")) {
			return "text/html"
		}
	case "video/webm":
		// the same first bytes stand for Matroska; its document type tells
		if !bytes.Contains(data[:min(len(data), 64)], []byte("webm")) {
			return "video/x-matroska"
		}
	}
	return t
}

// brands maps the brands of a ftyp box (ISO 14496-12; registered at mp4ra.org) to types. Where the major brand is generic the
// compatible ones decide.
var brands = map[string]string{
	"heic": "image/heic", "heix": "image/heic", "heim": "image/heic", "heis": "image/heic",
	"hevc": "image/heic", "hevx": "image/heic", "hevm": "image/heic", "hevs": "image/heic",
	"avif": "image/avif", "avis": "image/avif", "avio": "image/avif",
	"qt  ": "video/quicktime",
	"isom": "video/mp4", "iso2": "video/mp4", "iso3": "video/mp4", "iso4": "video/mp4", "iso5": "video/mp4",
	"iso6": "video/mp4", "mp41": "video/mp4", "mp42": "video/mp4", "avc1": "video/mp4", "dash": "video/mp4",
	"M4V ": "video/mp4", "M4VH": "video/mp4", "M4VP": "video/mp4", "MSNV": "video/mp4", "f4v ": "video/mp4",
	"M4A ": "audio/mp4", "M4B ": "audio/mp4",
}

// bmffType reads the ftyp box; "" where the file does not begin with one that is known.
func bmffType(data []byte) string {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return ""
	}
	size := int(binary.BigEndian.Uint32(data))
	if size < 16 || size > 4096 {
		return ""
	}
	box := data[:min(size, len(data))]
	if t, ok := brands[string(box[8:12])]; ok {
		return t
	}
	found := ""
	for i := 16; i+4 <= len(box); i += 4 {
		t, ok := brands[string(box[i:i+4])]
		if ok && (found == "" || strings.HasPrefix(t, "image/")) {
			found = t
		}
	}
	return found
}

// bmffSize returns the dimensions of the largest picture (ispe) or track (tkhd) that the boxes tell of, 0 where none does.
func bmffSize(data []byte) (width, height int) {
	budget := 4096 // boxes looked at
	keep := func(w, h uint32) {
		if w > 1<<20 || h > 1<<20 {
			w, h = 1<<20, 1<<20 // beyond every bound, without overflow
		}
		if int64(w)*int64(h) > int64(width)*int64(height) {
			width, height = int(w), int(h)
		}
	}
	var walk func(b []byte, depth int)
	walk = func(b []byte, depth int) {
		for len(b) >= 8 && budget > 0 {
			budget--
			size, head := uint64(binary.BigEndian.Uint32(b)), uint64(8)
			switch size {
			case 0:
				size = uint64(len(b))
			case 1:
				if len(b) < 16 {
					return
				}
				size, head = binary.BigEndian.Uint64(b[8:]), 16
			}
			if size < head || size > uint64(len(b)) {
				return
			}
			body := b[head:size]
			switch string(b[4:8]) {
			case "moov", "trak", "iprp", "ipco":
				if depth < 6 {
					walk(body, depth+1)
				}
			case "meta":
				if depth < 6 && len(body) >= 4 {
					walk(body[4:], depth+1) // version and flags come first
				}
			case "ispe":
				if len(body) >= 12 {
					keep(binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:]))
				}
			case "tkhd":
				trackSize(body, keep)
			}
			b = b[size:]
		}
	}
	walk(data, 0)
	return width, height
}

// trackSize reads a track header (ISO 14496-12): its last two fields are width and height in 16.16 fixed point, and the
// matrix before them turns the picture by quarter turns.
func trackSize(body []byte, keep func(w, h uint32)) {
	n := 84
	if len(body) > 0 && body[0] == 1 {
		n = 96
	}
	if len(body) < n {
		return
	}
	w, h := binary.BigEndian.Uint32(body[n-8:])>>16, binary.BigEndian.Uint32(body[n-4:])>>16
	matrix := body[n-44 : n-8]
	if binary.BigEndian.Uint32(matrix) == 0 && binary.BigEndian.Uint32(matrix[4:]) != 0 {
		w, h = h, w
	}
	keep(w, h)
}

// keepsMetadata tells which types are sent with whatever metadata they hold.
func keepsMetadata(mime string) bool {
	switch mime {
	case "image/jpeg", "image/png", "image/webp":
		return false
	}
	return true
}

// hasLocation looks for the two places where phones write a position into videos (QuickTime user data and Apple's
// metadata keys), and for positions in XMP and EXIF.
func hasLocation(data []byte) bool {
	for _, mark := range []string{"\xa9xyz", "com.apple.quicktime.location.ISO6709", "exif:GPSLatitude"} {
		if bytes.Contains(data, []byte(mark)) {
			return true
		}
	}
	return exifLocation(data)
}
