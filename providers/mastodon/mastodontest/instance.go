package mastodontest

import "net/http"

func (s *Server) verify(w http.ResponseWriter, _ *http.Request, account string) {
	a := accountJSON(account)
	a["source"] = map[string]any{
		"privacy": "public", "sensitive": false, "language": nil, "note": "", "fields": []any{},
		"follow_requests_count": 0, "indexable": true,
	}
	a["role"] = map[string]any{"id": "-99", "name": "", "color": "", "permissions": "65536", "highlighted": false}
	reply(w, http.StatusOK, a)
}

// configuration is what both versions of the instance tell.
func (s *Server) configuration() map[string]any {
	return map[string]any{
		"accounts": map[string]any{"max_featured_tags": 10, "max_pinned_statuses": 5},
		"statuses": map[string]any{
			"max_characters": s.o.MaxCharacters, "max_media_attachments": 4, "characters_reserved_per_url": 23,
		},
		"media_attachments": map[string]any{
			"supported_mime_types": []string{"image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4", "video/webm"},
			"image_size_limit":     16 << 20, "image_matrix_limit": 33177600,
			"video_size_limit": 99 << 20, "video_frame_rate_limit": 120, "video_matrix_limit": 8294400,
			"description_limit": 1500,
		},
		"polls": map[string]any{
			"max_options": 4, "max_characters_per_option": 50, "min_expiration": 300, "max_expiration": 2629746,
		},
		"translation": map[string]any{"enabled": false},
		"urls":        map[string]any{"streaming": "wss://" + Host},
	}
}

func (s *Server) instanceV2(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"domain": Host, "title": "Test", "version": s.o.Version, "source_url": "https://github.com/mastodon/mastodon",
		"description": "", "usage": map[string]any{"users": map[string]any{"active_month": 1}},
		"configuration": s.configuration(), "languages": []string{"en"}, "rules": []any{}, "icon": []any{},
		"api_versions": map[string]any{"mastodon": 7}, "thumbnail": map[string]any{"url": "https://" + Host + "/t.png"},
		"contact":       map[string]any{"email": "admin@" + Host, "account": accountJSON(AccountID)},
		"registrations": map[string]any{"enabled": false, "approval_required": false, "message": nil, "url": nil, "reason_required": nil},
	})
}

func (s *Server) instanceV1(w http.ResponseWriter, _ *http.Request) {
	out := map[string]any{
		"uri": Host, "title": "Test", "version": s.o.Version, "description": "", "email": "", "urls": map[string]any{},
		"configuration": s.configuration(), "languages": []string{"en"}, "rules": []any{},
	}
	if s.o.NoConfig {
		delete(out, "configuration")
		out["max_toot_chars"] = s.o.MaxCharacters
	}
	reply(w, http.StatusOK, out)
}

func (s *Server) nodeinfoIndex(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{"links": []any{map[string]any{
		"rel": "http://nodeinfo.diaspora.software/ns/schema/2.0", "href": "https://" + Host + "/nodeinfo/2.0",
	}}})
}

func (s *Server) nodeinfo(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"version": "2.0", "software": map[string]any{"name": s.o.Software, "version": s.o.Version},
		"protocols": []string{"activitypub"}, "openRegistrations": false,
	})
}
