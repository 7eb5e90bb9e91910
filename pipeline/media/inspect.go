package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"path"
	"strconv"
	"strings"

	"golang.org/x/image/webp"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// Inspect describes a file by its content: type, size and dimensions as they are shown (after EXIF orientation), read
// from headers without decoding. Where a problem is an error the media must not be sent. Open is left nil.
func Inspect(name, alt string, data []byte) (providers.Media, []*Problem) {
	m := providers.Media{Path: name, Alt: alt, Bytes: int64(len(data))}
	if len(data) == 0 {
		return m, []*Problem{failed("media_empty", "", "%s is empty", name)}
	}
	if len(data) > MaxBytes {
		return m, []*Problem{unreadable(name, ErrTooLarge)}
	}
	if _, size, ok := LFSPointer(data); ok {
		return m, []*Problem{failed("lfs_pointer", "check out with LFS (`lfs: true` for actions/checkout, `git lfs pull` at home)",
			"%s is a Git LFS pointer to a file of %d bytes, which is not in this checkout", name, size)}
	}
	m.MIME = Sniff(data)
	if p := refuse(name, m.MIME, data); p != nil {
		return m, []*Problem{p}
	}
	sum := sha256.Sum256(data)
	m.SHA256 = hex.EncodeToString(sum[:])

	var out []*Problem
	if p := dimensions(&m, data); p != nil {
		return m, []*Problem{p}
	}
	if want, known := mimeByExtension(name); known && want != m.MIME && !sameFamily(want, m.MIME) {
		out = append(out, warned("media_type_mismatch", "rename it so that people are not misled",
			"%s is named like %s but holds %s; it is treated as %s", name, want, m.MIME, m.MIME))
	}
	if keepsMetadata(m.MIME) && hasLocation(data) {
		out = append(out, warned("media_location", "remove it with the program that made the file",
			"%s says where it was taken; for %s this is not removed", name, m.MIME))
	}
	return m, out
}

func refuse(name, mime string, data []byte) *Problem {
	switch {
	case mime == "image/svg+xml":
		return failed("media_type", "export it as PNG", "%s is an SVG; networks refuse these, and one can hold scripts", name)
	case mime == "text/html":
		return failed("media_type", "the file was probably saved from a page that needs a login", "%s is a web page, not media", name)
	case mime == "text/plain" && bytes.HasPrefix(data, []byte("version https://git-lfs")):
		return failed("lfs_pointer", "commit it again with `git lfs`", "%s looks like a damaged Git LFS pointer", name)
	case !strings.HasPrefix(mime, "image/") && !strings.HasPrefix(mime, "video/") && !strings.HasPrefix(mime, "audio/"):
		return failed("media_type", "use JPEG, PNG, GIF, WebP, AVIF, HEIC, MP4, MOV or WebM",
			"%s holds %s, which is no picture or video", name, mime)
	}
	return nil
}

// dimensions fills width and height and checks them against the bounds, before anything is ever decoded.
func dimensions(m *providers.Media, data []byte) *Problem {
	var cfg image.Config
	var err error
	switch m.MIME {
	case "image/jpeg":
		cfg, err = jpeg.DecodeConfig(bytes.NewReader(data))
		if err == nil && exifOfJPEG(data).swapsSides() {
			cfg.Width, cfg.Height = cfg.Height, cfg.Width
		}
	case "image/png":
		cfg, err = png.DecodeConfig(bytes.NewReader(data))
		if err == nil && exifOfPNG(data).swapsSides() {
			cfg.Width, cfg.Height = cfg.Height, cfg.Width
		}
	case "image/gif":
		cfg, err = gif.DecodeConfig(bytes.NewReader(data))
	case "image/webp":
		cfg, err = webp.DecodeConfig(bytes.NewReader(data))
	case "image/heic", "image/avif", "video/mp4", "video/quicktime":
		cfg.Width, cfg.Height = bmffSize(data)
	default:
		return nil
	}
	if err != nil {
		return failed("media_broken", "open it and save it again", "%s begins like %s but its header cannot be read", m.Path, m.MIME)
	}
	w, h := int64(cfg.Width), int64(cfg.Height)
	switch {
	case m.Image() && (w <= 0 || h <= 0):
		return failed("media_broken", "open it and save it again", "%s does not say how large it is", m.Path)
	case w > MaxSide || h > MaxSide || w*h > MaxPixels:
		return failed("media_too_large", "shrink it", "%s is %d by %d pixels; at most %d million are accepted", m.Path, w, h,
			MaxPixels/1_000_000)
	}
	m.Width, m.Height = cfg.Width, cfg.Height
	return nil
}

// LFSPointer reads a Git LFS pointer (git-lfs specification, version 1: text of at most 1024 bytes with version, oid and
// size). ok is false for anything else.
func LFSPointer(data []byte) (oid string, size int64, ok bool) {
	const version = "version https://git-lfs.github.com/spec/v1"
	if len(data) > 1024 || !bytes.HasPrefix(data, []byte(version)) {
		return "", 0, false
	}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch key {
		case "oid":
			oid = strings.TrimPrefix(value, "sha256:")
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return "", 0, false
			}
			size = n
		}
	}
	if raw, err := hex.DecodeString(oid); err != nil || len(raw) != sha256.Size {
		return "", 0, false
	}
	return oid, size, true
}

func mimeByExtension(name string) (string, bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".jpe":
		return "image/jpeg", true
	case ".png", ".apng":
		return "image/png", true
	case ".gif":
		return "image/gif", true
	case ".webp":
		return "image/webp", true
	case ".heic", ".heif":
		return "image/heic", true
	case ".avif":
		return "image/avif", true
	case ".mp4", ".m4v":
		return "video/mp4", true
	case ".mov", ".qt":
		return "video/quicktime", true
	case ".webm":
		return "video/webm", true
	}
	return "", false
}

// sameFamily lets pass what programs name either way.
func sameFamily(a, b string) bool {
	mov := func(s string) bool { return s == "video/mp4" || s == "video/quicktime" }
	return mov(a) && mov(b)
}

// CheckAlt applies the repository's rule for alt texts: "required", "warn" or "off". An alt text that is written and empty
// says that the picture is decoration.
func CheckAlt(rule string, use pipeline.MediaUse) *Problem {
	if rule == "off" || use.HasAlt || strings.TrimSpace(use.Alt) != "" {
		return nil
	}
	p := failed("alt_missing", "write what it shows: ![a sentence](...), or `alt: \"\"` under `media:` for decoration",
		"%s has no alt text: people who cannot see it get nothing", use.Src)
	if rule == "warn" {
		p.Severity = pipeline.Warning
	}
	return p
}
