package providertest

import (
	"errors"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// finding holds what a Finder promises.
func finding() []subtest {
	find := []providers.Ability{providers.CanFind}
	return []subtest{
		{name: "find gives the receipt of publish", needs: find, run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			want := s.mustSend(c, 0, nil)
			s.renew()
			s.wantFound(c.query(0, nil), want)
		}},
		{name: "find answers that nothing is there", needs: find, run: func(s *session) {
			other := s.claim(s.draft(plain("Something else")), 7)
			s.mustSend(other, 0, nil)
			c := s.claim(s.draft(plain(hello)), 0)
			s.wantAbsent(c.query(0, nil))
		}},
		{name: "find passes over what is taken", needs: find, run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			r := s.mustSend(c, 0, nil)
			q := c.query(0, nil)
			q.Taken = func(id string) bool { return id == r.ID }
			s.wantAbsent(q)
		}},
		{name: "find passes over what is older", needs: find, run: func(s *session) {
			old := s.claim(s.draft(plain(hello)), 0)
			s.mustSend(old, 0, nil)
			time.Sleep(48 * time.Hour)
			c := s.claim(s.draft(plain(hello)), 1)
			s.wantAbsent(c.query(0, nil))
		}},
		{name: "find looks past later posts", needs: find, run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			want := s.mustSend(c, 0, nil)
			for i := range 60 {
				s.mustSend(s.claim(s.draft(plain("Something else")), i+1), 0, nil)
			}
			s.wantFound(c.query(0, nil), want)
		}},
		{name: "find is not sure when the network fails", needs: find, run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			s.mustSend(c, 0, nil)
			for _, f := range []fault{
				noDial, loseAnswer, cut, answer(false, 500, nil, text("")), answer(false, 200, nil, text("<html>")),
				answer(false, 403, jsonHeader, text(`{}`)),
			} {
				s.wire.arm(0, f)
				if r, err := s.able.Find.Find(s.ctx, c.query(0, nil)); err == nil || errors.Is(err, providers.ErrNotFound) {
					s.t.Errorf("got %+v, %v, want an error that says nothing about the post", r, err)
				}
			}
		}},
		{name: "find sees a thread's parts", needs: []providers.Ability{providers.CanFind, providers.CanReply}, run: func(s *session) {
			c := s.claim(s.draft(plain("One"), plain("Two"), plain("Two")), 0)
			var got []providers.Receipt
			for i := range 2 {
				got = append(got, s.mustSend(c, i, got))
			}
			s.wantFound(c.query(0, nil), got[0])
			s.wantFound(c.query(1, &providers.Thread{Root: got[0], Parent: got[0]}), got[1])
			s.wantAbsent(c.query(2, &providers.Thread{Root: got[0], Parent: got[1]}))
		}},
	}
}

// settled waits until the finder must see what was published.
func (s *session) settled() {
	time.Sleep(s.h.Info.Settle + time.Second)
	s.fresh()
}

func (s *session) wantFound(q providers.Query, want providers.Receipt) {
	s.t.Helper()
	s.settled()
	got, err := s.able.Find.Find(s.ctx, q)
	if err != nil {
		s.t.Fatalf("Find: %v", err)
	}
	s.checkReceipt(got)
	if got.ID != want.ID || got.URL != want.URL || got.Ref != want.Ref {
		s.t.Errorf("found %+v, published %+v", got, want)
	}
}

func (s *session) wantAbsent(q providers.Query) {
	s.t.Helper()
	s.settled()
	if got, err := s.able.Find.Find(s.ctx, q); !errors.Is(err, providers.ErrNotFound) {
		s.t.Errorf("found %+v, %v, want %v", got, err, providers.ErrNotFound)
	}
}
