package mastodontest

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
)

func (s *Server) findMedia(id string) *Attachment {
	for _, m := range s.media {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// postMedia takes a file: v2 answers before it is processed, v1 after.
func (s *Server) postMedia(w http.ResponseWriter, r *http.Request, account string) {
	const most = 64 << 20
	if err := r.ParseMultipartForm(most); err != nil {
		refuse(w, http.StatusBadRequest, "the body is no multipart form")
		return
	}
	file, header, err := r.FormFile("file")
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: File can't be blank")
		return
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	size, err := io.Copy(h, file)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	mime := header.Header.Get("Content-Type")
	m := &Attachment{
		ID: s.next(), AccountID: account, Name: header.Filename, MIME: mime, SHA256: hex.EncodeToString(h.Sum(nil)),
		Description: strings.TrimSpace(r.FormValue("description")), Focus: r.FormValue("focus"),
	}
	switch {
	case !strings.HasPrefix(mime, "image/") && !strings.HasPrefix(mime, "video/"):
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: File content type is invalid, File is invalid")
		return
	case strings.HasPrefix(mime, "image/") && size > 16<<20:
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: File must be less than 16 MB")
		return
	case len([]rune(m.Description)) > 1500:
		refuse(w, http.StatusUnprocessableEntity, "Validation failed: Description is too long (maximum is 1500 characters)")
		return
	}
	if s.o.DropAlt {
		m.Description = ""
	}
	status := http.StatusOK
	if r.URL.Path == "/api/v2/media" && (s.o.Processing > 0 || s.o.Corrupt) {
		m.looks, status = s.o.Processing, http.StatusAccepted
	}
	s.media = append(s.media, m)
	reply(w, status, mediaJSON(m))
}

func (s *Server) getMedia(w http.ResponseWriter, r *http.Request, account string) {
	m := s.findMedia(r.PathValue("id"))
	if m == nil || m.AccountID != account || m.Status != "" {
		notFound(w)
		return
	}
	if m.looks > 0 {
		m.looks--
	}
	switch {
	case m.looks > 0:
		reply(w, http.StatusPartialContent, mediaJSON(m))
	case s.o.Corrupt:
		refuse(w, http.StatusUnprocessableEntity, "Error processing thumbnail for uploaded media")
	default:
		reply(w, http.StatusOK, mediaJSON(m))
	}
}
