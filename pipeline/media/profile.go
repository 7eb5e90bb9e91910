package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// maxProfile bounds a colour profile after decompression; real ones have a few KB.
const maxProfile = 4 << 20

// jpegProfile joins the ICC chunks of a JPEG (ICC.1, annex B.4: number and count after the name); nil where one lacks.
func jpegProfile(data []byte) []byte {
	parts := map[byte][]byte{}
	var count byte
	_ = jpegSegments(data, func(marker byte, payload []byte) bool {
		if marker == 0xE2 && isICC(payload) && len(payload) >= 14 {
			parts[payload[12]] = payload[14:]
			count = payload[13]
		}
		return true
	})
	var out []byte
	for i := range count {
		p, ok := parts[i+1]
		if !ok {
			return nil
		}
		out = append(out, p...)
	}
	return out
}

// pngProfile inflates the iCCP chunk: name, zero byte, method 0, zlib stream.
func pngProfile(data []byte) []byte {
	var out []byte
	_ = pngChunks(data, func(kind string, payload, _ []byte) bool {
		if kind != "iCCP" {
			return kind != "IDAT"
		}
		_, rest, ok := bytes.Cut(payload[:], []byte{0})
		if !ok || len(rest) < 1 || rest[0] != 0 {
			return false
		}
		r, err := zlib.NewReader(bytes.NewReader(rest[1:]))
		if err != nil {
			return false
		}
		p, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
		if err == nil && len(p) <= maxProfile {
			out = p
		}
		return false
	})
	return out
}

// withPNGProfile inserts an iCCP chunk behind the header of a PNG that the standard library wrote.
func withPNGProfile(data, profile []byte) []byte {
	var body bytes.Buffer
	body.WriteString("iCCPicc\x00\x00")
	z := zlib.NewWriter(&body)
	_, _ = z.Write(profile) // memory does not fail
	_ = z.Close()
	chunk := binary.BigEndian.AppendUint32(nil, uint32(body.Len()-4)) //nolint:gosec // at most maxProfile
	chunk = append(chunk, body.Bytes()...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body.Bytes()))
	const header = 8 + 25 // signature and IHDR
	out := append(make([]byte, 0, len(data)+len(chunk)), data[:header]...)
	return append(append(out, chunk...), data[header:]...)
}
