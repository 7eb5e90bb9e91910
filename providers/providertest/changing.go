package providertest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// changing holds what happens to posts and credentials afterwards.
func changing() []subtest {
	edit := []providers.Ability{providers.CanEdit}
	del := []providers.Ability{providers.CanDelete}
	refresh := []providers.Ability{providers.CanRefresh}
	return []subtest{
		{name: "edit changes the post in place", needs: edit, run: func(s *session) {
			r := s.mustSend(s.claim(s.draft(plain(hello)), 0), 0, nil)
			c := s.claim(s.draft(plain("Version 1.1 is out.")), 1)
			for range 2 {
				s.renew()
				if err := s.able.Edit.Edit(s.ctx, r, c.messages[0]); err != nil {
					s.t.Fatalf("Edit: %v", err)
				}
			}
			if p := s.wantPosts(1)[0]; p.ID != r.ID || !strings.Contains(p.Text, "Version 1.1") {
				s.t.Errorf("the post is %+v, want id %q and the new text", p, r.ID)
			}
		}},
		{name: "edit of what is gone is not found", needs: append(edit, providers.CanDelete), run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			r := s.mustSend(c, 0, nil)
			if err := s.able.Delete.Delete(s.ctx, r); err != nil {
				s.t.Fatalf("Delete: %v", err)
			}
			err := s.able.Edit.Edit(s.ctx, r, c.messages[0])
			if e := providers.AsError(err); e == nil || e.Kind != providers.NotFound {
				s.t.Errorf("got %v, want an error of kind %s", err, providers.NotFound)
			}
			s.wantPosts(0)
		}},
		{name: "edit whose answer is lost is not surely undone", needs: edit, run: func(s *session) {
			r := s.mustSend(s.claim(s.draft(plain(hello)), 0), 0, nil)
			c := s.claim(s.draft(plain("Version 1.1 is out.")), 1)
			mark := s.wire.mark()
			if err := s.able.Edit.Edit(s.ctx, r, c.messages[0]); err != nil {
				s.t.Fatalf("Edit: %v", err)
			}
			last := len(s.wire.since(mark)) - 1
			s.wire.arm(last, loseAnswer)
			s.wantUnsure(providers.AsError(s.able.Edit.Edit(s.ctx, r, c.messages[0])))
		}},
		{name: "delete takes the post down, twice is fine", needs: del, run: func(s *session) {
			r := s.mustSend(s.claim(s.draft(plain(hello)), 0), 0, nil)
			keep := s.mustSend(s.claim(s.draft(plain("Another")), 1), 0, nil)
			for range 2 {
				s.renew()
				if err := s.able.Delete.Delete(s.ctx, r); err != nil {
					s.t.Fatalf("Delete: %v", err)
				}
			}
			if p := s.wantPosts(1)[0]; p.ID != keep.ID {
				s.t.Errorf("the post %q is left, want %q", p.ID, keep.ID)
			}
		}},
		{name: "delete that fails says so", needs: del, run: func(s *session) {
			r := s.mustSend(s.claim(s.draft(plain(hello)), 0), 0, nil)
			for _, f := range []fault{noDial, loseRequest, answer(false, 500, nil, text("")), answer(false, 403, jsonHeader, text(`{}`))} {
				s.wire.arm(0, f)
				if err := s.able.Delete.Delete(s.ctx, r); err == nil {
					s.t.Error("no error, and the post is still there")
				}
			}
			s.wantPosts(1)
		}},
		{name: "refresh keeps what it is given", needs: refresh, run: func(s *session) {
			old := s.net.Config.Credential.Clone()
			before := s.json(old)
			c, err := s.able.Refresh.Refresh(s.ctx, old)
			if err != nil {
				s.t.Fatalf("Refresh: %v", err)
			}
			if s.json(old) != before {
				s.t.Error("the credential that was given has changed")
			}
			if c.Seq != old.Seq+1 {
				s.t.Errorf("Seq is %d, want %d", c.Seq, old.Seq+1)
			}
			for name, same := range map[string]bool{
				"version": c.Version == old.Version, "provider": c.Provider == old.Provider, "host": c.Host == old.Host,
				"target": c.Target == old.Target, "account": c.Account == old.Account, "ledger": c.Ledger == old.Ledger,
				"login": c.Login == old.Login, "recipients": slices.Equal(c.Recipients, old.Recipients),
			} {
				if !same {
					s.t.Errorf("the credential's %s has changed", name)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(old.Secrets)) {
				if old.Secrets[name] != "" && c.Secrets[name] == "" {
					s.t.Errorf("the secret %q is gone", name)
				}
			}
			if s.able.Refresh.NeedsRefresh(c, time.Now()) {
				s.t.Error("it needs another refresh at once")
			}
			s.net.Config.Credential = c
			s.renew()
			s.mustSend(s.claim(s.draft(plain(hello)), 0), 0, nil)
		}},
		{name: "refresh can be repeated from its result", needs: refresh, run: func(s *session) {
			c := s.net.Config.Credential
			for range 3 {
				var err error
				if c, err = s.able.Refresh.Refresh(s.ctx, c); err != nil {
					s.t.Fatalf("Refresh: %v", err)
				}
				time.Sleep(time.Hour)
				s.net.Config.Credential = c
				s.renew()
			}
		}},
		{name: "refresh that is refused is unauthorized", needs: refresh, run: func(s *session) {
			for _, status := range []int{400, 401} {
				s.wire.arm(0, answer(false, status, jsonHeader, text(`{"error":"invalid_grant","message":"expired"}`)))
				_, err := s.able.Refresh.Refresh(s.ctx, s.net.Config.Credential)
				if e := providers.AsError(err); e == nil || (e.Kind != providers.Unauthorized && status == 401) {
					s.t.Errorf("HTTP %d: got %v, want an error of kind %s", status, err, providers.Unauthorized)
				}
				if err != nil {
					s.noSecret("an error", err.Error())
				}
			}
		}},
		{name: "refresh fails when its answer is not usable", needs: refresh, run: func(s *session) {
			for _, f := range []fault{cut, answer(false, 200, jsonHeader, text(`{}`)), answer(false, 200, nil, text(``))} {
				t := newSession(s.t, s.h)
				t.wire.arm(0, f)
				if c, err := t.able.Refresh.Refresh(t.ctx, t.net.Config.Credential); err == nil {
					t.t.Errorf("no error, and %d secrets", len(c.Secrets))
				}
				t.finish()
			}
		}},
	}
}
