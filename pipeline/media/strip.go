package media

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errBroken = errors.New("broken structure")

// jpegSegments calls each with every marker segment up to the first scan, in order, and returns errBroken where the
// structure does not hold. each returns false to stop.
func jpegSegments(data []byte, each func(marker byte, payload []byte) bool) error {
	if len(data) < 4 || data[0] != 0xFF || data[1] != 0xD8 {
		return errBroken
	}
	for i := 2; ; {
		marker, payload, next, err := jpegSegment(data, i)
		if err != nil {
			return err
		}
		if !each(marker, payload) || marker == 0xDA || marker == 0xD9 {
			return nil
		}
		i = next
	}
}

// jpegSegment reads the segment at i (ITU T.81, annex B). Markers may be preceded by fill bytes.
func jpegSegment(data []byte, i int) (marker byte, payload []byte, next int, err error) {
	if i >= len(data) || data[i] != 0xFF {
		return 0, nil, 0, errBroken
	}
	for i < len(data) && data[i] == 0xFF {
		i++
	}
	if i >= len(data) {
		return 0, nil, 0, errBroken
	}
	marker = data[i]
	i++
	if marker == 0xD8 || marker == 0xD9 || marker == 0x01 || marker >= 0xD0 && marker <= 0xD7 {
		return marker, nil, i, nil
	}
	if i+2 > len(data) {
		return 0, nil, 0, errBroken
	}
	n := int(binary.BigEndian.Uint16(data[i:]))
	if n < 2 || i+n > len(data) {
		return 0, nil, 0, errBroken
	}
	return marker, data[i+2 : i+n], i + n, nil
}

// maxScans bounds the scans of a progressive JPEG: each makes a decoder go over the whole picture, and real files have
// about ten.
const maxScans = 200

// stripJPEG copies a JPEG without EXIF, XMP, IPTC, comments and whatever follows its end (further pictures with metadata
// of their own). What changes the look stays: JFIF, ICC profile, Adobe's colour transform.
func stripJPEG(data []byte) ([]byte, error) {
	if len(data) < 4 || data[0] != 0xFF || data[1] != 0xD8 {
		return nil, errBroken
	}
	out := append(make([]byte, 0, len(data)), 0xFF, 0xD8)
	scans := 0
	for i := 2; ; {
		marker, payload, next, err := jpegSegment(data, i)
		if err != nil {
			return nil, err
		}
		if marker == 0xD9 {
			if scans == 0 {
				return nil, errBroken
			}
			return append(out, 0xFF, 0xD9), nil
		}
		if keepSegment(marker, payload) {
			out = append(out, 0xFF, marker)
			if payload != nil {
				out = binary.BigEndian.AppendUint16(out, uint16(len(payload)+2)) //nolint:gosec // a segment's own length fits
				out = append(out, payload...)
			}
		}
		i = next
		if marker != 0xDA {
			continue
		}
		if scans++; scans > maxScans {
			return nil, errBroken
		}
		end := entropyEnd(data, i)
		out = append(out, data[i:end]...)
		if end == len(data) {
			// cut off inside the picture: decoders show what is there, so the missing end is added
			return append(out, 0xFF, 0xD9), nil
		}
		i = end
	}
}

// entropyEnd returns where the scan data that begins at i ends: at a marker that is neither stuffing nor a restart.
func entropyEnd(data []byte, i int) int {
	for {
		n := bytes.IndexByte(data[i:], 0xFF)
		if n < 0 || i+n+1 >= len(data) {
			return len(data)
		}
		i += n
		if c := data[i+1]; c == 0 || c >= 0xD0 && c <= 0xD7 {
			i += 2
		} else if c == 0xFF {
			i++
		} else {
			return i
		}
	}
}

func keepSegment(marker byte, payload []byte) bool {
	switch {
	case marker == 0xE0: // JFIF; its extension may hold a thumbnail
		return bytes.HasPrefix(payload, []byte("JFIF\x00"))
	case marker == 0xE2:
		return isICC(payload)
	case marker == 0xEE:
		return bytes.HasPrefix(payload, []byte("Adobe"))
	case marker > 0xE0 && marker <= 0xEF, marker == 0xFE, marker == 0xD8, marker == 0x01:
		return false
	}
	return true
}

func isICC(payload []byte) bool { return bytes.HasPrefix(payload, []byte("ICC_PROFILE\x00")) }

var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// pngChunks calls each with every chunk: its type, its payload and the whole chunk with length and checksum.
func pngChunks(data []byte, each func(kind string, payload, whole []byte) bool) error {
	if !bytes.HasPrefix(data, pngMagic) {
		return errBroken
	}
	for b := data[len(pngMagic):]; ; {
		if len(b) < 12 {
			return errBroken
		}
		n := uint64(binary.BigEndian.Uint32(b))
		if n+12 > uint64(len(b)) {
			return errBroken
		}
		kind := string(b[4:8])
		if !each(kind, b[8:8+n], b[:12+n]) || kind == "IEND" {
			return nil
		}
		b = b[12+n:]
	}
}

// pngKeep are the ancillary chunks that change how a picture looks or moves; all others are metadata.
var pngKeep = map[string]bool{
	"IHDR": true, "PLTE": true, "IDAT": true, "IEND": true, "tRNS": true, "gAMA": true, "cHRM": true, "sRGB": true,
	"iCCP": true, "sBIT": true, "bKGD": true, "pHYs": true, "cICP": true, "mDCV": true, "cLLI": true, "acTL": true,
	"fcTL": true, "fdAT": true,
}

// stripPNG copies a PNG without text, time, EXIF, unknown chunks and whatever follows its end.
func stripPNG(data []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(data)), pngMagic...)
	ended := false
	err := pngChunks(data, func(kind string, _, whole []byte) bool {
		if pngKeep[kind] {
			out = append(out, whole...)
		}
		ended = kind == "IEND"
		return true
	})
	if err == nil && !ended {
		err = errBroken
	}
	return out, err
}

func riffChunks(data []byte, each func(kind string, payload []byte)) error {
	if len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return errBroken
	}
	size := uint64(binary.LittleEndian.Uint32(data[4:])) + 8
	if size < 12 || size > uint64(len(data)) {
		return errBroken
	}
	for b := data[12:size]; len(b) > 0; {
		if len(b) < 8 {
			return errBroken
		}
		n := uint64(binary.LittleEndian.Uint32(b[4:]))
		if n+8 > uint64(len(b)) {
			return errBroken
		}
		each(string(b[:4]), b[8:8+n])
		b = b[min(8+n+n%2, uint64(len(b))):]
	}
	return nil
}

// The flags of a VP8X chunk (WebP container specification, "Extended File Format").
const (
	webpAnimated = 0x02
	webpXMP      = 0x04
	webpEXIF     = 0x08
)

// stripWebP copies a WebP without EXIF, XMP and unknown chunks, and clears the flags that announce them.
func stripWebP(data []byte) ([]byte, error) {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	err := riffChunks(data, func(kind string, payload []byte) {
		switch kind {
		case "VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP":
		default:
			return
		}
		out = append(out, kind...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(payload))) //nolint:gosec // read from 32 bits
		at := len(out)
		out = append(out, payload...)
		if kind == "VP8X" && len(payload) > 0 {
			out[at] &^= webpXMP | webpEXIF
		}
		if len(payload)%2 == 1 {
			out = append(out, 0)
		}
	})
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8)) //nolint:gosec // at most MaxBytes
	return out, nil
}

// animated tells that a picture has more than one frame; such a one is never re-encoded.
func animated(mime string, data []byte) bool {
	found := false
	switch mime {
	case "image/gif":
		return gifFrames(data) > 1
	case "image/png":
		_ = pngChunks(data, func(kind string, _, _ []byte) bool {
			found = kind == "acTL"
			return !found && kind != "IDAT"
		})
	case "image/webp":
		_ = riffChunks(data, func(kind string, payload []byte) {
			if kind == "VP8X" && len(payload) > 0 && payload[0]&webpAnimated != 0 {
				found = true
			}
		})
	}
	return found
}

// gifFrames counts image descriptors (GIF89a specification) up to two, without decoding any.
func gifFrames(data []byte) int {
	if len(data) < 13 {
		return 0
	}
	table := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	frames := 0
	i := 13 + table(data[10])
	for i < len(data) && frames < 2 {
		switch data[i] {
		case 0x21: // extension: label, then sub-blocks
			i += 2
		case 0x2C:
			if i+10 > len(data) {
				return frames
			}
			frames++
			i += 10 + table(data[i+9]) + 1 // the LZW code size comes before the sub-blocks
		default:
			return frames
		}
		for i < len(data) && data[i] != 0 {
			i += 1 + int(data[i])
		}
		i++
	}
	return frames
}
