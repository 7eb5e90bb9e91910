package mastodontest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keyLife is how long an idempotency key is kept.
const keyLife = time.Hour

// statusForm is the body of POST and PUT of a status.
type statusForm struct {
	Status      string   `json:"status"`
	InReplyToID string   `json:"in_reply_to_id"`
	MediaIDs    []string `json:"media_ids"`
	Sensitive   bool     `json:"sensitive"`
	SpoilerText string   `json:"spoiler_text"`
	Visibility  string   `json:"visibility"`
	Language    string   `json:"language"`
	ScheduledAt string   `json:"scheduled_at"`
	Poll        *struct {
		Options    []string `json:"options"`
		ExpiresIn  int      `json:"expires_in"`
		Multiple   bool     `json:"multiple"`
		HideTotals bool     `json:"hide_totals"`
	} `json:"poll"`
	MediaAttributes []struct {
		ID          string `json:"id"`
		Description string `json:"description"`
		Focus       string `json:"focus"`
	} `json:"media_attributes"`
}

func (s *Server) next() string {
	s.last++
	return strconv.FormatInt(s.last, 10)
}

// limited counts a status against the rate limit and refuses it where that is used up.
func (s *Server) limited(w http.ResponseWriter) bool {
	const window = 5 * time.Minute
	now := s.o.Now()
	s.sent = slices.DeleteFunc(s.sent, func(t time.Time) bool { return now.Sub(t) >= window })
	reset := now.Add(window)
	if len(s.sent) > 0 {
		reset = s.sent[0].Add(window)
	}
	left := s.o.StatusLimit - len(s.sent)
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.o.StatusLimit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(left-1, 0)))
	h.Set("X-RateLimit-Reset", reset.UTC().Format("2006-01-02T15:04:05.000000Z"))
	if left <= 0 {
		refuse(w, http.StatusTooManyRequests, "Too many requests")
		return true
	}
	s.sent = append(s.sent, now)
	return false
}

func (s *Server) postStatus(w http.ResponseWriter, r *http.Request, account string) {
	var f statusForm
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		refuse(w, http.StatusBadRequest, "the body is no JSON")
		return
	}
	key := account + ":" + r.Header.Get("Idempotency-Key")
	useKey := r.Header.Get("Idempotency-Key") != "" && !s.o.NoIdempotency && f.ScheduledAt == ""
	if k, ok := s.keys[key]; useKey && ok && s.o.Now().Before(k.until) {
		if st := s.find(k.status); st != nil {
			reply(w, http.StatusOK, s.statusJSON(st))
			return
		}
		notFound(w)
		return
	}
	if s.limited(w) {
		return
	}
	if f.ScheduledAt != "" {
		reply(w, http.StatusOK, map[string]any{"id": s.next(), "scheduled_at": f.ScheduledAt, "media_attachments": []any{}})
		return
	}
	if f.InReplyToID != "" && s.find(f.InReplyToID) == nil {
		refuse(w, http.StatusNotFound, "The post you are trying to reply to does not appear to exist.")
		return
	}
	st := &Status{
		AccountID: account, Text: strings.TrimSpace(f.Status), Spoiler: strings.TrimSpace(f.SpoilerText),
		Visibility: f.Visibility, Language: f.Language, InReplyTo: f.InReplyToID, CreatedAt: s.o.Now(),
		Sensitive: f.Sensitive || f.SpoilerText != "",
	}
	if message := s.fill(st, f); message != "" {
		refuse(w, http.StatusUnprocessableEntity, message)
		return
	}
	st.ID = s.next()
	s.attach(st, f.MediaIDs)
	s.statuses = append(s.statuses, st)
	if useKey {
		s.keys[key] = keyed{status: st.ID, until: s.o.Now().Add(keyLife)}
	}
	reply(w, http.StatusOK, s.statusJSON(st))
}

// fill takes visibility, text and poll of f into st the way the server does, and says what is wrong with it.
func (s *Server) fill(st *Status, f statusForm) string {
	if st.Text == "" && st.Spoiler != "" {
		st.Text, st.Spoiler = st.Spoiler, ""
	}
	switch st.Visibility {
	case "":
		st.Visibility = "public"
	case "public", "unlisted", "private", "direct":
	default:
		return fmt.Sprintf("'%s' is not a valid visibility", st.Visibility)
	}
	if s.o.Silenced && st.Visibility == "public" {
		st.Visibility = "unlisted"
	}
	if s.o.FewerKinds {
		if kind, ok := map[string]string{"unlisted": "public", "direct": "private"}[st.Visibility]; ok {
			st.Visibility = kind
		}
	}
	if f.Poll != nil && !s.o.NoPolls {
		st.Poll = &Poll{
			Options: f.Poll.Options, Multiple: f.Poll.Multiple, HideTotals: f.Poll.HideTotals,
			ExpiresAt: s.o.Now().Add(time.Duration(f.Poll.ExpiresIn) * time.Second),
		}
		if message := pollTrouble(f.Poll.Options, f.Poll.ExpiresIn); message != "" {
			return "Validation failed: Poll " + message
		}
	}
	if message := s.mediaTrouble(st, f); message != "" {
		return message
	}
	if st.Text == "" && len(f.MediaIDs) == 0 && st.Poll == nil {
		return "Validation failed: Text can't be blank"
	}
	if countable(st.Spoiler, st.Text) > s.o.MaxCharacters {
		return fmt.Sprintf("Validation failed: Text character limit of %d exceeded", s.o.MaxCharacters)
	}
	return ""
}

// attach gives st its media.
func (s *Server) attach(st *Status, ids []string) {
	st.Media = nil
	for _, id := range ids {
		if m := s.findMedia(id); m != nil {
			m.Status = st.ID
			st.Media = append(st.Media, *m)
		}
	}
}

// own returns the account's status that r names, or answers 404.
func (s *Server) own(w http.ResponseWriter, r *http.Request, account string) *Status {
	st := s.find(r.PathValue("id"))
	if st == nil || st.AccountID != account {
		notFound(w)
		return nil
	}
	return st
}

func (s *Server) getStatus(w http.ResponseWriter, r *http.Request, account string) {
	st := s.find(r.PathValue("id"))
	if st == nil || (st.AccountID != account && st.Visibility != "public" && st.Visibility != "unlisted") {
		notFound(w)
		return
	}
	reply(w, http.StatusOK, s.statusJSON(st))
}

func (s *Server) getSource(w http.ResponseWriter, r *http.Request, account string) {
	if st := s.own(w, r, account); st != nil {
		reply(w, http.StatusOK, map[string]any{"id": st.ID, "text": st.Text, "spoiler_text": st.Spoiler})
	}
}

func (s *Server) editStatus(w http.ResponseWriter, r *http.Request, account string) {
	st := s.own(w, r, account)
	if st == nil {
		return
	}
	var f statusForm
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		refuse(w, http.StatusBadRequest, "the body is no JSON")
		return
	}
	c := *st
	c.Text, c.Spoiler, c.Poll = strings.TrimSpace(f.Status), strings.TrimSpace(f.SpoilerText), nil
	c.Sensitive = f.Sensitive || c.Spoiler != ""
	if f.Language != "" {
		c.Language = f.Language
	}
	if message := s.fill(&c, f); message != "" {
		refuse(w, http.StatusUnprocessableEntity, message)
		return
	}
	c.Visibility, c.EditedAt = st.Visibility, s.o.Now()
	for _, a := range f.MediaAttributes {
		if m := s.findMedia(a.ID); m != nil && slices.Contains(f.MediaIDs, a.ID) {
			m.Description, m.Focus = a.Description, a.Focus
		}
	}
	s.attach(&c, f.MediaIDs)
	*st = c
	reply(w, http.StatusOK, s.statusJSON(st))
}

func (s *Server) deleteStatus(w http.ResponseWriter, r *http.Request, account string) {
	st := s.own(w, r, account)
	if st == nil {
		return
	}
	s.statuses = slices.DeleteFunc(s.statuses, func(x *Status) bool { return x == st })
	j := s.statusJSON(st)
	j["text"] = st.Text
	reply(w, http.StatusOK, j)
}

func (s *Server) listStatuses(w http.ResponseWriter, r *http.Request, account string) {
	id := r.PathValue("id")
	if id != AccountID && id != OtherAccountID {
		notFound(w)
		return
	}
	q := r.URL.Query()
	limit := 20
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		limit = min(n, 40)
	}
	maxID, _ := strconv.ParseInt(q.Get("max_id"), 10, 64)
	page := []map[string]any{}
	last := ""
	for _, st := range slices.Backward(s.statuses) {
		n, _ := strconv.ParseInt(st.ID, 10, 64)
		hidden := st.Visibility == "private" || st.Visibility == "direct"
		switch {
		case st.AccountID != id, q.Get("exclude_reblogs") == "true" && st.Reblog:
			continue
		case hidden && (account != id || s.o.HidePrivate):
			continue
		case !s.o.NoPaging && maxID != 0 && n >= maxID:
			continue
		}
		if !s.o.NoPaging && len(page) == limit {
			break
		}
		page = append(page, s.statusJSON(st))
		last = st.ID
	}
	if !s.o.NoPaging && len(page) == limit {
		w.Header().Set("Link", fmt.Sprintf(`<https://%s/api/v1/accounts/%s/statuses?limit=%d&max_id=%s>; rel="next"`, Host, id, limit, last))
	}
	reply(w, http.StatusOK, page)
}
