package server

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers/internal/text"
)

// content is what a client sends for a post.
type content struct {
	Text           string     `json:"text"`
	Marks          []mark     `json:"marks,omitempty"`
	Lang           string     `json:"lang,omitempty"`
	Visibility     string     `json:"visibility"`
	ContentWarning string     `json:"content_warning,omitempty"`
	Sensitive      bool       `json:"sensitive,omitempty"`
	Tags           []string   `json:"tags,omitempty"`
	KeepDays       int        `json:"keep_days,omitempty"`
	Poll           *poll      `json:"poll,omitempty"`
	Media          []attached `json:"media,omitempty"`
	InReplyTo      string     `json:"in_reply_to,omitempty"`
}

type mark struct {
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Kind    string `json:"kind"`
	URL     string `json:"url,omitempty"`
	Tag     string `json:"tag,omitempty"`
	Lang    string `json:"lang,omitempty"`
	Account string `json:"account,omitempty"`
}

type attached struct {
	ID  string `json:"id"`
	Alt string `json:"alt,omitempty"`
}

type poll struct {
	Options  []string `json:"options"`
	Hours    int      `json:"hours"`
	Multiple bool     `json:"multiple,omitempty"`
}

// post is a published post; as JSON it is what the API shows.
type post struct {
	content
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	PublishedAt time.Time `json:"published_at"`
	EditedAt    time.Time `json:"edited_at,omitzero"`

	who     *account
	depth   int // its part in its thread, from 1
	deleted bool
	listed  time.Time // not in lists before
	label   string    // header Sandbox-Post
}

// expired tells whether the post is no longer shown.
func (p *post) expired(now time.Time) bool {
	return p.KeepDays > 0 && now.After(p.PublishedAt.AddDate(0, 0, p.KeepDays))
}

// createPost publishes.
func (s *Server) createPost(c *call) *reply {
	var in content
	if bad := c.decode(&in); bad != nil {
		return bad
	}
	return s.once(c, func() *reply { return s.publish(c, in) })
}

// once honours the idempotency key: a key that has published answers with that post.
func (s *Server) once(c *call, publish func() *reply) *reply {
	key := c.r.Header.Get("Idempotency-Key")
	if key == "" || s.o.KeyWindow < 0 {
		return publish()
	}
	now := s.o.Now()
	sent := c.r.URL.Path + "\n" + string(c.body)
	if old, known := c.who.keys[key]; known && now.Before(old.until) {
		if old.sent != sent {
			return refuse(http.StatusUnprocessableEntity, "key_reused", "the idempotency key belongs to another request")
		}
		c.same = true
		return &reply{status: http.StatusOK, body: old.post}
	}
	answer := publish()
	if c.made != nil {
		c.who.keys[key] = remembered{sent: sent, post: c.made, until: now.Add(s.o.KeyWindow)}
	}
	return answer
}

// publish checks and keeps a post.
func (s *Server) publish(c *call, in content) *reply {
	parent, bad := s.parent(in.InReplyTo)
	if bad != nil {
		return bad
	}
	depth := 1
	if parent != nil {
		depth = parent.depth + 1
	}
	if why := s.check(c.who, in, depth); why != "" {
		return refuse(http.StatusUnprocessableEntity, "invalid", why)
	}
	s.serial++
	id := strconv.Itoa(100000 + s.serial)
	p := &post{
		content: in, ID: id, URL: s.base(c.r) + "/@" + c.who.handle + "/" + id, PublishedAt: stamp(s.o.Now()),
		who: c.who, depth: depth, label: c.post,
	}
	s.posts[id] = p
	s.order = append(s.order, p)
	c.made = p
	return &reply{status: http.StatusCreated, body: p}
}

func (s *Server) parent(id string) (*post, *reply) {
	if id == "" {
		return nil, nil
	}
	p := s.posts[id]
	if p == nil || p.deleted {
		return nil, refuse(http.StatusNotFound, "parent_not_found", "the post to answer is not there")
	}
	return p, nil
}

var kinds = []string{"link", "mention", "hashtag", "bold", "italic", "strike", "code", "pre", "quote", "heading"}

// check says what is wrong with a post, "" for nothing.
func (s *Server) check(who *account, in content, depth int) string {
	l := s.o.Limits
	switch {
	case !utf8.ValidString(in.Text):
		return "the text is not valid UTF-8"
	case in.Text == "" && len(in.Media) == 0:
		return "a post needs text or media"
	case text.Graphemes(in.Text) > l.Text:
		return fmt.Sprintf("the text has %d characters, the most is %d", text.Graphemes(in.Text), l.Text)
	case !slices.Contains([]string{"public", "unlisted", "private"}, in.Visibility):
		return "the visibility is unknown"
	case depth > l.Parts:
		return fmt.Sprintf("a thread has at most %d posts", l.Parts)
	case len(in.Media) > l.Media:
		return fmt.Sprintf("a post has at most %d media", l.Media)
	case in.Poll != nil && len(in.Media) > 0:
		return "a post with a poll takes no media"
	case in.KeepDays < 0 || text.Graphemes(in.ContentWarning) > 100 || len(in.Tags) > 5:
		return "keep_days, content_warning or tags are out of bounds"
	}
	for _, m := range in.Marks {
		if why := s.checkMark(in.Text, m); why != "" {
			return why
		}
	}
	for _, m := range in.Media {
		have := s.media[m.ID]
		if have == nil || have.who != who {
			return "the media " + strconv.Quote(m.ID) + " are not yours"
		}
		if have.alt != m.Alt {
			return "the alt text differs from the upload's"
		}
	}
	if p := in.Poll; p != nil {
		if len(p.Options) < 2 || len(p.Options) > l.PollOptions || p.Hours < 1 {
			return "the poll has too few or too many options, or no time"
		}
		for _, o := range p.Options {
			if n := text.Graphemes(o); n == 0 || n > l.PollOption {
				return "an option of the poll is empty or too long"
			}
		}
	}
	return ""
}

func (s *Server) checkMark(all string, m mark) string {
	border := func(i int) bool { return i == len(all) || utf8.RuneStart(all[i]) }
	if m.Start < 0 || m.End > len(all) || m.Start >= m.End || !border(m.Start) || !border(m.End) {
		return fmt.Sprintf("a mark from %d to %d is not on borders of characters", m.Start, m.End)
	}
	if !slices.Contains(kinds, m.Kind) {
		return "the kind of mark " + strconv.Quote(m.Kind) + " is unknown"
	}
	if m.Kind == "mention" && !slices.ContainsFunc(s.accounts, func(a *account) bool { return a.id == m.Account }) {
		return "a mention names no account"
	}
	return ""
}

// own finds a post of the account that asks.
func (s *Server) own(c *call) (*post, *reply) {
	p := s.posts[c.r.PathValue("id")]
	if p == nil || p.deleted {
		return nil, refuse(http.StatusNotFound, "not_found", "the post is not there")
	}
	if p.who != c.who {
		return nil, refuse(http.StatusForbidden, "forbidden", "the post belongs to another account")
	}
	return p, nil
}

func (s *Server) getPost(c *call) *reply {
	p, bad := s.own(c)
	if bad != nil {
		return bad
	}
	return ok(p)
}

func (s *Server) editPost(c *call) *reply {
	p, bad := s.own(c)
	if bad != nil {
		return bad
	}
	var in content
	if bad := c.decode(&in); bad != nil {
		return bad
	}
	in.InReplyTo = p.InReplyTo // where it stands cannot be edited
	if why := s.check(c.who, in, p.depth); why != "" {
		return refuse(http.StatusUnprocessableEntity, "invalid", why)
	}
	if !reflect.DeepEqual(p.content, in) {
		p.content = in
		p.EditedAt = stamp(s.o.Now())
	}
	return ok(p)
}

func (s *Server) deletePost(c *call) *reply {
	p, bad := s.own(c)
	if bad != nil {
		return bad
	}
	p.deleted = true
	return &reply{status: http.StatusNoContent}
}

// listPosts shows the account's own posts, the newest first: at most `limit`, older than the one named by `before`.
func (s *Server) listPosts(c *call) *reply {
	q := c.r.URL.Query()
	limit := s.o.PageSize
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		limit = min(n, limit)
	}
	now := s.o.Now()
	before := len(s.order)
	if id := q.Get("before"); id != "" {
		if before = slices.IndexFunc(s.order, func(p *post) bool { return p.ID == id }); before < 0 {
			return refuse(http.StatusBadRequest, "bad_request", "there is no such post to read on before")
		}
	}
	out := struct {
		Posts []*post `json:"posts"`
		Next  string  `json:"next"`
	}{Posts: []*post{}}
	for i := before - 1; i >= 0; i-- {
		p := s.order[i]
		if p.who != c.who || p.deleted || now.Before(p.listed) {
			continue
		}
		if len(out.Posts) == limit {
			out.Next = out.Posts[limit-1].ID
			break
		}
		out.Posts = append(out.Posts, p)
	}
	return ok(out)
}

// Post is a published post as a test or a program sees it.
type Post struct {
	ID, URL, Parent, Handle string
	Text, Lang              string
	Visibility, Warning     string
	Tags                    []string
	Label                   string // the header Sandbox-Post: the id of the post in its repository
	At                      time.Time
	Edited                  bool
	Deleted                 bool
	Media                   []Media
}

// Media is one file of a Post.
type Media struct {
	ID, SHA256, Alt, MIME string
	Data                  []byte
}

// Posts returns what an account shows, the oldest first; of all accounts where handle is "".
func (s *Server) Posts(handle string) []Post {
	return slices.DeleteFunc(s.EveryPost(handle), func(p Post) bool { return p.Deleted })
}

// EveryPost is Posts with those that were deleted.
func (s *Server) EveryPost(handle string) []Post {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Post
	for _, p := range s.order {
		if handle != "" && p.who.handle != strings.TrimPrefix(handle, "@") {
			continue
		}
		v := Post{
			ID: p.ID, URL: p.URL, Parent: p.InReplyTo, Handle: p.who.handle, Text: p.Text, Lang: p.Lang,
			Visibility: p.Visibility, Warning: p.ContentWarning, Tags: slices.Clone(p.Tags), Label: p.label,
			At: p.PublishedAt, Edited: !p.EditedAt.IsZero(), Deleted: p.deleted,
		}
		for _, m := range p.Media {
			f := s.media[m.ID]
			v.Media = append(v.Media, Media{ID: m.ID, SHA256: f.sha256, Alt: m.Alt, MIME: f.mime, Data: bytes.Clone(f.data)})
		}
		out = append(out, v)
	}
	return out
}
