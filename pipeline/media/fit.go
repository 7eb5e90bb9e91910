package media

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/broadside-pub/broadside/providers"
)

// Fit returns m as it will be sent within l: without metadata and upright, and, where mode is "auto", smaller where it is
// too large. changed tells that the bytes are others than m's. Equal input gives equal bytes. What cannot be made to fit is
// a *Problem; other errors come from m.Open. Where m.Open is nil nothing can be done and m is only checked.
// The result's Open makes the bytes anew, so that nothing large is held meanwhile.
func Fit(m providers.Media, l providers.Limits, mode string) (out providers.Media, changed bool, err error) {
	if m.Open == nil {
		return m, false, check(m, l)
	}
	data, err := m.Open()
	if err != nil {
		return m, false, fmt.Errorf("%s: %w", m.Path, err)
	}
	if err := same(m, data); err != nil {
		return m, false, err
	}
	result, mime, w, h, err := fit(m, data, l, mode)
	if err != nil {
		return m, false, err
	}
	sum := sha256.Sum256(result)
	out = m
	out.SHA256, out.MIME, out.Bytes, out.Width, out.Height = hex.EncodeToString(sum[:]), mime, int64(len(result)), w, h
	if out.SHA256 == m.SHA256 {
		return out, false, check(out, l)
	}
	out.Source = m.SHA256
	out.Open = func() ([]byte, error) {
		data, err := m.Open()
		if err != nil {
			return nil, err
		}
		if err := same(m, data); err != nil {
			return nil, err
		}
		again, _, _, _, err := fit(m, data, l, mode)
		if err != nil {
			return nil, err
		}
		if got := sha256.Sum256(again); got != sum {
			return nil, fmt.Errorf("%s: made anew it differs", m.Path)
		}
		return again, nil
	}
	return out, true, check(out, l)
}

// same guards against a file that has changed since it was described.
func same(m providers.Media, data []byte) error {
	if len(data) > MaxBytes {
		return unreadable(m.Path, ErrTooLarge)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != m.SHA256 {
		return failed("media_changed", "run again", "%s has changed since it was looked at", m.Path)
	}
	return nil
}

// check compares a finished description with the limits. The nil *Problem is a nil error.
func check(m providers.Media, l providers.Limits) error {
	pixels := int64(m.Width) * int64(m.Height)
	switch {
	case len(l.MIME) > 0 && !slices.Contains(l.MIME, m.MIME):
		return failed("media_type", "export it in a type that the network takes", "%s is %s, which this network does not take",
			m.Path, m.MIME)
	case m.Image() && l.ImagePixels > 0 && pixels > l.ImagePixels:
		return failed("media_too_large", "shrink it, or set `media: {fit: auto}` in broadside.yaml",
			"%s has %d by %d pixels (%d), the limit is %d", m.Path, m.Width, m.Height, pixels, l.ImagePixels)
	case m.Image() && l.ImageBytes > 0 && m.Bytes > l.ImageBytes:
		return failed("media_too_large", "shrink it, or set `media: {fit: auto}` in broadside.yaml",
			"%s has %d bytes, the limit is %d", m.Path, m.Bytes, l.ImageBytes)
	case m.Video() && l.VideoBytes > 0 && m.Bytes > l.VideoBytes:
		return failed("media_too_large", "encode it smaller; broadside does not re-encode video",
			"%s has %d bytes, the limit is %d", m.Path, m.Bytes, l.VideoBytes)
	}
	return nil
}

// fit is the pure middle of Fit.
func fit(m providers.Media, data []byte, l providers.Limits, mode string) (out []byte, mime string, w, h int, err error) {
	var turn orientation
	switch m.MIME {
	case "image/jpeg":
		turn = exifOfJPEG(data)
		out, err = stripJPEG(data)
	case "image/png":
		turn = exifOfPNG(data)
		out, err = stripPNG(data)
	case "image/webp":
		out, err = stripWebP(data)
	default:
		return data, m.MIME, m.Width, m.Height, nil
	}
	if err != nil {
		return nil, "", 0, 0, failed("media_broken", "open it and save it again", "%s is damaged: its structure ends early", m.Path)
	}
	stripped := m
	stripped.Bytes = int64(len(out))
	limited := check(stripped, l)
	if limited != nil && mode == "none" {
		return nil, "", 0, 0, limited
	}
	if limited == nil && !turn.turned() {
		return out, m.MIME, m.Width, m.Height, nil
	}
	if animated(m.MIME, data) {
		if limited != nil {
			p := *asProblem(limited)
			p.Hint = "it moves, so it is not re-encoded; export it smaller or as video"
			return nil, "", 0, 0, &p
		}
		return out, m.MIME, m.Width, m.Height, nil
	}
	return reencode(m, data, turn, l)
}

func asProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	return failed("media_broken", "", "%v", err)
}
