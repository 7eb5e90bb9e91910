package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/broadside-pub/broadside/providers/internal/text"
)

// medium is an uploaded file.
type medium struct {
	id, sha256, mime, alt string
	data                  []byte
	who                   *account
}

// container is a post that is being prepared.
type container struct {
	content
	who     *account
	ready   bool
	expires time.Time
	post    *post
}

// prepareFor is how long an upload or a container that is in no post is kept.
const prepareFor = 24 * time.Hour

// prepared is the answer for what is not public yet.
type prepared struct {
	ID        string    `json:"id"`
	State     string    `json:"state,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
}

// upload takes multipart/form-data with the fields file and alt.
func (s *Server) upload(c *call) *reply {
	ct, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || ct != "multipart/form-data" {
		return refuse(http.StatusUnsupportedMediaType, "bad_request", "the body must be multipart/form-data")
	}
	m := &medium{who: c.who}
	form := multipart.NewReader(bytes.NewReader(c.body), params["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return refuse(http.StatusBadRequest, "bad_request", "the form cannot be read")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return refuse(http.StatusBadRequest, "bad_request", "the form broke off")
		}
		switch part.FormName() {
		case "file":
			m.data, m.mime = data, part.Header.Get("Content-Type")
		case "alt":
			m.alt = string(data)
		default:
			return refuse(http.StatusBadRequest, "bad_request", "the form holds an unknown field")
		}
	}
	if why := s.checkMedium(m); why != "" {
		return refuse(http.StatusUnprocessableEntity, "invalid", why)
	}
	sum := sha256.Sum256(m.data)
	m.sha256 = hex.EncodeToString(sum[:])
	s.serial++
	m.id = "m" + strconv.Itoa(s.serial)
	s.media[m.id] = m
	return &reply{status: http.StatusCreated, body: prepared{ID: m.id, ExpiresAt: stamp(s.o.Now().Add(prepareFor))}}
}

func (s *Server) checkMedium(m *medium) string {
	l := s.o.Limits
	switch {
	case len(m.data) == 0:
		return "the file is empty"
	case int64(len(m.data)) > l.ImageBytes:
		return fmt.Sprintf("the file has %d bytes, the most is %d", len(m.data), l.ImageBytes)
	case !slices.Contains(l.MIME, m.mime):
		return "files of type " + strconv.Quote(m.mime) + " are not taken"
	case http.DetectContentType(m.data) != m.mime:
		return "the file is not what its type says"
	case text.Graphemes(m.alt) > l.Alt:
		return fmt.Sprintf("the alt text has %d characters, the most is %d", text.Graphemes(m.alt), l.Alt)
	}
	return ""
}

// createContainer takes a post without publishing it.
func (s *Server) createContainer(c *call) *reply {
	b := &container{who: c.who, expires: stamp(s.o.Now().Add(prepareFor))}
	if bad := c.decode(&b.content); bad != nil {
		return bad
	}
	if why := s.check(c.who, b.content, 1); why != "" {
		return refuse(http.StatusUnprocessableEntity, "invalid", why)
	}
	s.serial++
	id := "c" + strconv.Itoa(s.serial)
	s.boxes[id] = b
	return &reply{status: http.StatusCreated, body: prepared{ID: id, State: "processing", ExpiresAt: b.expires}}
}

// box finds a container of the account that asks.
func (s *Server) box(c *call) (string, *container, *reply) {
	id := c.r.PathValue("id")
	b := s.boxes[id]
	if b == nil || b.who != c.who || (b.post == nil && !s.o.Now().Before(b.expires)) {
		return "", nil, refuse(http.StatusGone, "container_gone", "the container is unknown or has expired")
	}
	return id, b, nil
}

func (s *Server) processContainer(c *call) *reply {
	id, b, bad := s.box(c)
	if bad != nil {
		return bad
	}
	b.ready = true
	return ok(prepared{ID: id, State: "ready", ExpiresAt: b.expires})
}

// publishContainer makes a container's post public, once.
func (s *Server) publishContainer(c *call) *reply {
	var in struct {
		InReplyTo string `json:"in_reply_to"`
	}
	if bad := c.decode(&in); bad != nil {
		return bad
	}
	_, b, bad := s.box(c)
	if bad != nil {
		return bad
	}
	return s.once(c, func() *reply {
		switch {
		case b.post != nil:
			return &reply{status: http.StatusConflict, body: map[string]any{"error": map[string]string{
				"code": "duplicate", "message": "the container is published already", "id": b.post.ID,
			}}}
		case !b.ready:
			return refuse(http.StatusConflict, "not_ready", "the container is still being processed")
		}
		full := b.content
		full.InReplyTo = in.InReplyTo
		answer := s.publish(c, full)
		b.post = c.made
		return answer
	})
}
