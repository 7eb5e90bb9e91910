package providertest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

const hello = "Version 1.0 is out."

// publishing holds what goes out when nothing goes wrong.
func publishing() []subtest {
	reply := []providers.Ability{providers.CanReply}
	return []subtest{
		{name: "publish makes one post and tells its id", run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			s.wantPosts(0)
			r := s.mustSend(c, 0, nil)
			p := s.wantPosts(1)[0]
			if p.ID != r.ID {
				s.t.Errorf("the receipt names %q, the post is %q", r.ID, p.ID)
			}
			if !strings.Contains(p.Text, hello) {
				s.t.Errorf("the post reads %q, want %q in it", p.Text, hello)
			}
			if p.Parent != "" {
				s.t.Errorf("the post answers %q", p.Parent)
			}
			if d := r.SentAt.Sub(c.at); d < -time.Minute || d > 10*time.Minute {
				s.t.Errorf("the receipt's time is %v away from the claim", d)
			}
		}},
		{name: "samples are published", run: func(s *session) {
			if s.h.Samples == nil {
				return
			}
			want := 0
			for i, d := range s.h.Samples() {
				d = completeDraft(withDraft(s.h, d), s.net.Config.Server)
				c := s.claim(d, i)
				var got []providers.Receipt
				for n := range c.messages {
					got = append(got, s.mustSend(c, n, got))
				}
				want += len(got)
			}
			s.wantPosts(want)
		}},
		{name: "text survives", run: func(s *session) {
			for _, line := range hardText {
				c := s.claim(s.draft(plain(line)), len(s.net.Posts()))
				s.mustSend(c, 0, nil)
				posts := s.net.Posts()
				got := strings.ReplaceAll(posts[len(posts)-1].Text, "\r\n", "\n")
				want := strings.ReplaceAll(line, "\r\n", "\n")
				if !strings.Contains(got, want) {
					s.t.Errorf("sent %+q, the network holds %+q", want, got)
				}
				if shown := c.encoded.Parts[0].Text; !strings.Contains(shown, want) {
					s.t.Errorf("sent %+q, previews show %+q", want, shown)
				}
			}
		}},
		{name: "language arrives", run: func(s *session) {
			d := s.draft(plain("Guten Tag"))
			d.Lang = "de"
			s.mustSend(s.claim(d, 0), 0, nil)
			if p := s.wantPosts(1)[0]; p.Lang != "de" {
				s.t.Errorf("the post's language is %q, want %q", p.Lang, "de")
			}
		}},
		{name: "canceled before sending nothing goes out", run: func(s *session) {
			c := s.claim(s.draft(plain(hello)), 0)
			ctx, cancel := context.WithCancel(s.ctx)
			cancel()
			_, err := s.pub.Publish(ctx, c.messages[0])
			e := providers.AsError(err)
			if e == nil || e.Reach != providers.NotSent || !e.SurelyUnpublished() {
				s.t.Errorf("got %v, want an error that is surely not sent", err)
			}
			s.wantPosts(0)
		}},
		{name: "same key posts once", needs: []providers.Ability{providers.CanKey}, run: func(s *session) {
			rule, ok, err := s.able.Key.KeyRule(s.ctx)
			if err != nil || !ok {
				s.t.Fatalf("the fake does not honour keys: ok %v, %v", ok, err)
			}
			if rule.Window < 0 {
				s.t.Errorf("the window is %v", rule.Window)
			}
			c := s.claim(s.draft(plain(hello)), 0)
			first := s.mustSend(c, 0, nil)
			s.renew()
			again := s.mustSend(c, 0, nil)
			s.wantPosts(1)
			if first.ID != again.ID || first.URL != again.URL || first.Ref != again.Ref {
				s.t.Errorf("the receipts differ: %+v and %+v", first, again)
			}
			s.mustSend(s.claim(s.draft(plain(hello)), 1), 0, nil)
			s.wantPosts(2)
		}},
		{name: "same key posts once in a thread", needs: []providers.Ability{providers.CanKey, providers.CanReply}, run: func(s *session) {
			c := s.claim(s.draft(plain("One"), plain("Two")), 0)
			root := []providers.Receipt{s.mustSend(c, 0, nil)}
			first := s.mustSend(c, 1, root)
			again := s.mustSend(c, 1, root)
			if s.wantPosts(2); first.ID != again.ID {
				s.t.Errorf("the receipts differ: %+v and %+v", first, again)
			}
		}},
		{name: "thread keeps its order", needs: reply, run: func(s *session) {
			c := s.claim(s.draft(plain("One"), plain("Two"), plain("Three")), 0)
			var got []providers.Receipt
			for i := range c.messages {
				got = append(got, s.mustSend(c, i, got))
			}
			s.wantThread(got, "One", "Two", "Three")
		}},
		{name: "thread is resumed from receipts", needs: reply, run: func(s *session) {
			c := s.claim(s.draft(plain("One"), plain("Two"), plain("Three")), 0)
			got := []providers.Receipt{s.mustSend(c, 0, nil)}
			got = append(got, s.mustSend(c, 1, got))
			s.renew() // another run knows what the ledger keeps, and nothing else
			for i, r := range got {
				got[i] = providers.Receipt{ID: r.ID, URL: r.URL, SentAt: r.SentAt, Ref: r.Ref}
			}
			got = append(got, s.mustSend(c, 2, got))
			s.wantThread(got, "One", "Two", "Three")
		}},
	}
}

// hardText is text that careless handling breaks.
var hardText = []string{
	"Größe: 5 µm, naïve café",
	"汉字とかな 한글",
	"family \U0001F468\u200D\U0001F469\u200D\U0001F467, flag \U0001F1E9\U0001F1EA, skin \U0001F44B\U0001F3FD",
	"שלום עולם and مرحبا بالعالم",
	"combining: e\u0301 and o\u0308\u0323",
	"two\nlines",
	"carriage\r\nreturn",
	"<b>not bold</b> & \"quoted\" 'text' \\ back \u2028 slash",
	"100% of {braces} [brackets] `ticks` *stars* _lines_ ~waves~ #",
}

func withDraft(h Harness, d providers.Draft) Harness {
	h.Draft = func() providers.Draft { return d }
	return h
}

func (s *session) wantThread(got []providers.Receipt, texts ...string) {
	s.t.Helper()
	posts := s.wantPosts(len(texts))
	for i, p := range posts {
		parent := ""
		if i > 0 {
			parent = got[i-1].ID
		}
		if p.ID != got[i].ID || p.Parent != parent || !strings.Contains(p.Text, texts[i]) {
			s.t.Errorf("part %d is %+v, want id %q below %q, reading %q", i, p, got[i].ID, parent, texts[i])
		}
	}
	if !slices.IsSortedFunc(got, func(a, b providers.Receipt) int { return a.SentAt.Compare(b.SentAt) }) {
		s.t.Error("the receipts' times are not in order")
	}
}
