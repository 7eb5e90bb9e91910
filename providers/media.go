package providers

import "strings"

// Media is one file to show with a part.
type Media struct {
	Path   string `json:"path"` // in the repository, for people
	SHA256 string `json:"sha256"`
	// Source is the SHA-256 of the file in the repository, where the bytes to send are derived from it; else empty.
	Source string `json:"source,omitempty"`
	MIME   string `json:"mime"`
	Bytes  int64  `json:"bytes"`
	Width  int    `json:"width,omitempty"`  // pixels, 0 where it has none
	Height int    `json:"height,omitempty"` // pixels
	Alt    string `json:"alt"`
	// Focus is the focal point, each axis from -1 to 1, nil for the centre.
	Focus *[2]float64 `json:"focus,omitempty"`
	// Open returns the bytes; it is nil where only the description is at hand (in previews).
	Open func() ([]byte, error) `json:"-"`
}

// Image tells whether m is a still or animated picture.
func (m Media) Image() bool { return strings.HasPrefix(m.MIME, "image/") }

// Video tells whether m is a video.
func (m Media) Video() bool { return strings.HasPrefix(m.MIME, "video/") }
