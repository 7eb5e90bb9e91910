package providertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/transport"
)

// session is one subtest's world: a fresh fake, the wire to it, and an adapter.
type session struct {
	t    *testing.T
	h    Harness
	net  Network
	wire *wire
	pub  providers.Publisher
	able providers.Able
	ctx  context.Context
}

func newSession(t *testing.T, h Harness) *session {
	t.Helper()
	s := &session{t: t, h: h, ctx: t.Context()}
	s.net = h.Start(t, time.Now)
	s.wire = &wire{next: transport.Handler(s.net.Handler), posts: s.net.Posts, check: h.CheckRequest}
	s.renew()
	return s
}

// renew makes the adapter anew, as another run would.
func (s *session) renew() {
	s.t.Helper()
	cfg := s.net.Config
	cfg.Credential = cfg.Credential.Clone()
	cfg.Transport, cfg.Now = s.wire, time.Now
	p, err := s.h.Info.New(cfg)
	if err != nil {
		s.t.Fatalf("New: %v", err)
	}
	s.pub, s.able = p, providers.Abilities(p, s.h.Disable...)
}

// fresh refreshes the credential where it must be, as a run does before it claims.
func (s *session) fresh() {
	s.t.Helper()
	c := s.net.Config.Credential
	if s.able.Refresh == nil || !s.able.Refresh.NeedsRefresh(c, time.Now()) {
		return
	}
	next, err := s.able.Refresh.Refresh(s.ctx, c)
	if err != nil {
		s.t.Fatalf("Refresh: %v", err)
	}
	s.net.Config.Credential = next
	s.renew()
}

// finish checks what holds for every subtest.
func (s *session) finish() {
	s.t.Helper()
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	if s.wire.open != 0 {
		s.t.Errorf("%d bodies of answers were not closed", s.wire.open)
	}
	for _, err := range s.wire.trouble {
		s.t.Errorf("a request is not as it must be: %v", err)
	}
}

// draft is the harness's draft with these parts.
func (s *session) draft(parts ...providers.DraftPart) providers.Draft {
	return completeDraft(s.h, s.net.Config.Server, parts...)
}

func completeDraft(h Harness, server string, parts ...providers.DraftPart) providers.Draft {
	var d providers.Draft
	if h.Draft != nil {
		d = h.Draft()
	}
	if d.Post == "" {
		d.Post = "launch-1-0"
	}
	if d.Limits.Source == "" {
		d.Limits = h.Info.Limits
	}
	if d.Server == "" {
		d.Server = server
	}
	if d.Settings == nil {
		d.Settings = map[string]any{}
	}
	if len(parts) > 0 {
		d.Parts = parts
	}
	return d
}

// plain is a part with one paragraph.
func plain(text string) providers.DraftPart { return providers.DraftPart{Doc: paragraph(text)} }

func paragraph(text string) providers.Doc {
	if strings.Contains(text, "\r") { // as it comes from a file with such line ends
		return providers.Doc{Blocks: []providers.Block{{Spans: []providers.Span{{Text: text}}}}}
	}
	var spans []providers.Span
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			spans = append(spans, providers.Span{Kind: providers.LineBreak})
		}
		spans = append(spans, providers.Span{Text: line})
	}
	return providers.Doc{Blocks: []providers.Block{{Kind: providers.Paragraph, Spans: spans}}}
}

// claim is a draft that is ready to be sent, as a run's claim leaves it.
type claim struct {
	at       time.Time
	encoded  providers.Encoded
	messages []providers.Message
}

// query is what a finder is asked about a part of c.
func (c claim) query(part int, t *providers.Thread) providers.Query {
	return providers.Query{
		Message: c.messages[part], Thread: t, Since: c.at.Add(-time.Minute), Taken: func(string) bool { return false },
	}
}

// key is a key as the ledger makes them.
func key(parts ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, parts...))
	return hex.EncodeToString(sum[:])
}

// claim encodes, prepares and seals d. Gen tells repetitions by a person apart, as in the ledger.
func (s *session) claim(d providers.Draft, gen int) claim {
	s.t.Helper()
	encoded, problems := s.h.Info.Encode(d)
	for _, p := range problems {
		if p.Error {
			s.t.Fatalf("Encode refuses the draft: %s: %s", p.Code, p.Message)
		}
	}
	if len(encoded.Parts) == 0 {
		s.t.Fatal("Encode returned no parts")
	}
	s.fresh()
	c := claim{encoded: encoded}
	media, names := s.prepare(encoded)
	c.at = time.Now()
	for i, part := range encoded.Parts {
		k := key(d.Post, i, gen)
		payload, err := s.h.Info.Seal(providers.SealInput{
			Part: part, Index: i, Key: k, ClaimedAt: c.at, Media: media, Names: names,
		})
		if err != nil {
			s.t.Fatalf("Seal: %v", err)
		}
		c.messages = append(c.messages, providers.Message{
			Post: d.Post, Part: i, Parts: len(encoded.Parts), Key: k, Payload: payload,
		})
	}
	time.Sleep(time.Second) // a claim is pushed before anything is sent
	for i := range c.messages {
		c.messages[i].Stage = s.stage(c.messages[i])
	}
	return c
}

// prepare uploads the media and resolves the names.
func (s *session) prepare(e providers.Encoded) (media, names map[string]providers.Handle) {
	s.t.Helper()
	media, names = map[string]providers.Handle{}, map[string]providers.Handle{}
	for _, part := range e.Parts {
		for _, m := range part.Media {
			if _, ok := media[providers.MediaKey(m)]; ok {
				continue
			}
			if s.able.Upload == nil {
				continue
			}
			h, err := s.able.Upload.Upload(s.ctx, m)
			if err != nil {
				s.t.Fatalf("Upload: %v", err)
			}
			media[providers.MediaKey(m)] = h
		}
		for _, name := range part.Resolve {
			if s.able.Resolve == nil {
				continue
			}
			h, err := s.able.Resolve.Resolve(s.ctx, name)
			switch e := providers.AsError(err); {
			case err == nil:
				names[name] = h
			case e.Kind != providers.NotFound:
				s.t.Fatalf("Resolve: %v", err)
			}
		}
	}
	return media, names
}

// mostSteps bounds how many steps a Stager may take.
const mostSteps = 20

func (s *session) stage(m providers.Message) providers.Handle {
	s.t.Helper()
	if s.able.Stage == nil {
		return providers.Handle{}
	}
	var h providers.Handle
	for range mostSteps {
		next, done, err := s.able.Stage.Stage(s.ctx, m, h)
		if err != nil {
			s.t.Fatalf("Stage: %v", err)
		}
		if h = next; done {
			return h
		}
		time.Sleep(time.Second)
	}
	s.t.Fatalf("Stage is not done after %d steps", mostSteps)
	return h
}

// send publishes part i of c below the receipts of the parts before.
func (s *session) send(c claim, i int, before []providers.Receipt) (providers.Receipt, error) {
	if i == 0 {
		return s.pub.Publish(s.ctx, c.messages[0])
	}
	return s.able.Reply.Reply(s.ctx, c.messages[i], providers.Thread{Root: before[0], Parent: before[i-1]})
}

// mustSend is send, and the receipt must be one.
func (s *session) mustSend(c claim, i int, before []providers.Receipt) providers.Receipt {
	s.t.Helper()
	r, err := s.send(c, i, before)
	if err != nil {
		s.t.Fatalf("part %d is not published: %v", i, err)
	}
	s.checkReceipt(r)
	return r
}

func (s *session) checkReceipt(r providers.Receipt) {
	s.t.Helper()
	if r.ID == "" || len(r.ID) > 512 || strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c > '~' }) {
		s.t.Errorf("the receipt's id is not 1 to 512 characters of printable ASCII: %q", r.ID)
	}
	if r.SentAt.IsZero() {
		s.t.Error("the receipt has no time")
	}
}

// publishingRequest tells which request of Publish, from 0, is the one that publishes, by trying on a fake of its own.
func (s *session) publishingRequest(d providers.Draft) int {
	s.t.Helper()
	trial := newSession(s.t, s.h)
	c := trial.claim(d, 0)
	mark := trial.wire.mark()
	trial.mustSend(c, 0, nil)
	at := -1
	for i, x := range trial.wire.since(mark) {
		if !x.Grew {
			continue
		}
		if at >= 0 {
			s.t.Fatalf("Publish makes more than one request that publishes: numbers %d and %d", at, i)
		}
		at = i
	}
	if at < 0 {
		s.t.Fatal("no request of Publish made the fake hold a post")
	}
	trial.finish()
	return at
}

// hit publishes d while f acts on the request that publishes.
func (s *session) hit(d providers.Draft, f fault) (claim, providers.Receipt, *providers.Error) {
	s.t.Helper()
	n := s.publishingRequest(d)
	c := s.claim(d, 0)
	s.wire.arm(n, f)
	r, err := s.send(c, 0, nil)
	if err == nil {
		return c, r, nil
	}
	if _, ok := errors.AsType[*providers.Error](err); !ok {
		s.t.Errorf("the error is no *providers.Error: %T: %v", err, err)
	}
	s.noSecret("an error", err.Error())
	return c, r, providers.AsError(err)
}

// wantPosts fails unless the fake holds n posts.
func (s *session) wantPosts(n int) []Post {
	s.t.Helper()
	posts := s.net.Posts()
	if len(posts) != n {
		s.t.Fatalf("the network holds %d posts, want %d", len(posts), n)
	}
	return posts
}
