package mastodontest

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// stamp writes a time as the server does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// account is the author as statuses and verify_credentials show it.
func accountJSON(id string) map[string]any {
	name := Username
	if id != AccountID {
		name = "bob"
	}
	page := "https://" + Host + "/@" + name
	return map[string]any{
		"id": id, "username": name, "acct": name, "display_name": name, "locked": false, "bot": false, "group": false,
		"discoverable": true, "indexable": true, "created_at": "2024-01-01T00:00:00.000Z", "note": "<p></p>", "url": page,
		"uri": "https://" + Host + "/users/" + name, "avatar": page + "/a.png", "avatar_static": page + "/a.png",
		"header": page + "/h.png", "header_static": page + "/h.png", "followers_count": 1, "following_count": 2,
		"statuses_count": 3, "last_status_at": "2026-11-30", "hide_collections": nil, "noindex": false,
		"emojis": []any{}, "fields": []any{}, "roles": []any{},
	}
}

// statusJSON is a Status entity.
func (s *Server) statusJSON(st *Status) map[string]any {
	attachments := []any{}
	for i := range st.Media {
		attachments = append(attachments, mediaJSON(&st.Media[i]))
	}
	page := fmt.Sprintf("https://%s/@%s/%s", Host, Username, st.ID)
	out := map[string]any{
		"id": st.ID, "created_at": stamp(st.CreatedAt), "edited_at": nil, "in_reply_to_id": nil, "in_reply_to_account_id": nil,
		"sensitive": st.Sensitive, "spoiler_text": st.Spoiler, "visibility": st.Visibility, "language": nil,
		"uri": fmt.Sprintf("https://%s/users/%s/statuses/%s", Host, Username, st.ID), "url": page,
		"replies_count": 0, "reblogs_count": 0, "favourites_count": 0, "quotes_count": 0, "favourited": false,
		"reblogged": false, "muted": false, "bookmarked": false, "pinned": false, "content": s.html(st.Text),
		"filtered": []any{}, "reblog": nil, "application": map[string]any{"name": "broadside", "website": nil},
		"account": accountJSON(st.AccountID), "media_attachments": attachments, "mentions": []any{}, "tags": []any{},
		"emojis": []any{}, "card": nil, "poll": nil,
	}
	if st.Language != "" {
		out["language"] = st.Language
	}
	if st.InReplyTo != "" {
		out["in_reply_to_id"], out["in_reply_to_account_id"] = st.InReplyTo, AccountID
	}
	if !st.EditedAt.IsZero() {
		out["edited_at"] = stamp(st.EditedAt)
	}
	if st.Poll != nil {
		var options []any
		for _, o := range st.Poll.Options {
			options = append(options, map[string]any{"title": o, "votes_count": 0})
		}
		out["poll"] = map[string]any{
			"id": st.ID, "expires_at": stamp(st.Poll.ExpiresAt), "expired": !s.o.Now().Before(st.Poll.ExpiresAt),
			"multiple": st.Poll.Multiple, "votes_count": 0, "voters_count": 0, "options": options, "emojis": []any{},
			"voted": true, "own_votes": []any{},
		}
	}
	return out
}

// mediaJSON is a MediaAttachment entity; its url is null until the file is processed.
func mediaJSON(m *Attachment) map[string]any {
	kind, _, _ := strings.Cut(m.MIME, "/")
	out := map[string]any{
		"id": m.ID, "type": kind, "url": nil, "preview_url": nil, "remote_url": nil, "meta": map[string]any{},
		"description": nil, "blurhash": nil,
	}
	if m.looks == 0 {
		out["url"] = "https://" + Host + "/media/" + m.ID
	}
	if m.Description != "" {
		out["description"] = m.Description
	}
	return out
}

// html renders a text as Mastodon does: escaped, with links, mentions without their hosts, tags, and paragraphs.
func (s *Server) html(text string) string {
	if text == "" {
		return ""
	}
	text = html.EscapeString(text)
	text = linkForm.ReplaceAllStringFunc(text, func(m string) string {
		parts := linkForm.FindStringSubmatch(m)
		url := strings.TrimRight(parts[2], closing)
		scheme, rest, _ := strings.Cut(url, "//")
		cut := min(len(rest), 30)
		return fmt.Sprintf(`%s<a href="%s" target="_blank" rel="nofollow noopener" translate="no"><span class="invisible">%s//</span>`+
			`<span class="ellipsis">%s</span><span class="invisible">%s</span></a>%s`,
			parts[1], url, scheme, rest[:cut], rest[cut:], parts[2][len(url):])
	})
	text = mentionForm.ReplaceAllString(text,
		`$1<span class="h-card" translate="no"><a href="https://remote.test/@$2" class="u-url mention">@<span>$2</span></a></span>`)
	text = tagForm.ReplaceAllString(text, `$1<a href="https://`+Host+`/tags/$2" class="mention hashtag" rel="tag">#<span>$2</span></a>`)
	if s.o.ExtraBreaks {
		return strings.NewReplacer("\n", "<br>", "**", "", "*", "", "`", "").Replace(text) + "<br>"
	}
	text = strings.ReplaceAll(text, "\n\n", "</p><p>")
	return "<p>" + strings.ReplaceAll(text, "\n", "<br />") + "</p>"
}
