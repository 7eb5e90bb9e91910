package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// service is one of the two programs at the far end.
type service string

const (
	uploadPack  service = "git-upload-pack"
	receivePack service = "git-receive-pack"
)

const (
	maxAdvert = 256 << 20 // bytes of a ref advertisement
	maxPack   = 4 << 30   // bytes of a pack
	agentName = "broadside"
)

// wire reaches a remote over one transport.
type wire interface {
	// open begins a conversation and reads the advertisement. When it fails, nothing has been asked of the remote.
	open(ctx context.Context, svc service) (conversation, error)
}

// conversation is one advertisement, followed by at most one request.
type conversation interface {
	advert() *advert
	// exchange sends the request and returns the answer as it comes. An error that is an errNotSent says that no byte of
	// the request left.
	exchange(ctx context.Context, body []byte) (io.ReadCloser, error)
	// said returns what the far end wrote besides the protocol, for error messages.
	said() string
	close()
}

// errNotSent marks a failure before the first byte of a request.
type errNotSent struct{ err error }

func (e *errNotSent) Error() string { return e.err.Error() }
func (e *errNotSent) Unwrap() error { return e.err }

// advert is what a remote tells before any request.
type advert struct {
	refs map[string]Hash
	head string
	caps map[string][]string
	date time.Time
}

func (a *advert) has(capability string) bool { _, ok := a.caps[capability]; return ok }

// wantsAny tells whether objects other than advertised tips may be asked for by id.
func (a *advert) wantsAny() bool {
	return a.has("allow-reachable-sha1-in-want") || a.has("allow-any-sha1-in-want")
}

// isTip tells whether some ref is advertised at h.
func (a *advert) isTip(h Hash) bool {
	for _, x := range a.refs {
		if x == h {
			return true
		}
	}
	return false
}

func (a *advert) setCaps(line string) {
	for word := range strings.FieldsSeq(line) {
		k, v, _ := strings.Cut(word, "=")
		a.caps[k] = append(a.caps[k], v)
		if target, ok := strings.CutPrefix(v, "HEAD:"); ok && k == "symref" {
			a.head = target
		}
	}
}

// readAdvert reads a version 0 or 1 advertisement, with or without the preamble of smart HTTP.
func readAdvert(r io.Reader) (*advert, error) {
	a := &advert{refs: map[string]Hash{}, caps: map[string][]string{}}
	s := pktline.NewScanner(io.LimitReader(r, maxAdvert))
	first, preamble := true, false
	for s.Scan() {
		line := strings.TrimSuffix(string(s.Bytes()), "\n")
		switch {
		case line == "" && preamble:
			preamble = false
			continue
		case line == "":
			return a, nil
		case first && strings.HasPrefix(line, "# service="):
			preamble = true
			continue
		case first && line == "version 1":
			continue
		case strings.HasPrefix(line, "shallow "):
			continue
		}
		preamble = false
		if first {
			text, caps, _ := strings.Cut(line, "\x00")
			a.setCaps(caps)
			line, first = text, false
		}
		id, name, ok := strings.Cut(line, " ")
		if f := a.caps["object-format"]; slices.Contains(f, string(SHA256)) && SHA256.valid(Hash(id)) {
			return nil, fmt.Errorf("%w: the repository has sha256 ids; choose the git transport", ErrObjectFormat)
		}
		if !ok || !SHA1.valid(Hash(id)) {
			return nil, fmt.Errorf("%w: %q in the list of refs", ErrProtocol, clip(line, 80))
		}
		if strings.HasPrefix(name, "refs/") && !strings.HasSuffix(name, "^{}") {
			a.refs[name] = Hash(id)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if first && !preamble {
		return nil, io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("the list of refs was cut short: %w", io.ErrUnexpectedEOF)
}

// want is what to ask of upload-pack.
type want struct {
	ids      []Hash
	haves    []Hash
	shallows []Hash
	depth    int
	filter   string
}

// uploadRequest encodes a whole negotiation: wants, haves and done in one, which suits stateless HTTP as well.
func uploadRequest(a *advert, w want) ([]byte, error) {
	caps := []string{"agent=" + agentName}
	for _, c := range []string{"multi_ack_detailed", "side-band-64k", "ofs-delta", "no-progress"} {
		if a.has(c) {
			caps = append(caps, c)
		}
	}
	if !slices.Contains(caps, "side-band-64k") && a.has("side-band") {
		caps = append(caps, "side-band")
	}
	if len(w.haves) > 0 && a.has("thin-pack") {
		caps = append(caps, "thin-pack")
	}
	if w.depth > 0 || len(w.shallows) > 0 {
		if !a.has("shallow") {
			return nil, errors.New("the remote cannot send single commits (no shallow capability)")
		}
		caps = append(caps, "shallow")
	}
	if w.filter != "" {
		caps = append(caps, "filter")
	}
	if a.has("object-format") {
		caps = append(caps, "object-format="+string(SHA1))
	}
	var b bytes.Buffer
	for i, id := range w.ids {
		if i == 0 {
			pkt(&b, "want %s %s\n", id, strings.Join(caps, " "))
		} else {
			pkt(&b, "want %s\n", id)
		}
	}
	for _, id := range w.shallows {
		pkt(&b, "shallow %s\n", id)
	}
	if w.depth > 0 {
		pkt(&b, "deepen %d\n", w.depth)
	}
	if w.filter != "" {
		pkt(&b, "filter %s\n", w.filter)
	}
	b.WriteString("0000")
	for _, id := range w.haves {
		pkt(&b, "have %s\n", id)
	}
	pkt(&b, "done\n")
	return b.Bytes(), nil
}

func pkt(b *bytes.Buffer, format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintf(b, "%04x%s", len(s)+4, s)
}

// shallowUpdate is the part of upload-pack's answer on the boundary of history.
type shallowUpdate struct{ shallow, unshallow []Hash }

// readNegotiation reads the answer up to the pack.
func readNegotiation(r io.Reader, w want) (shallowUpdate, error) {
	var up shallowUpdate
	s := pktline.NewScanner(r)
	next := func() (string, error) {
		if !s.Scan() {
			if s.Err() != nil {
				return "", s.Err()
			}
			return "", io.ErrUnexpectedEOF
		}
		return strings.TrimSuffix(string(s.Bytes()), "\n"), nil
	}
	for w.depth > 0 {
		line, err := next()
		if err != nil {
			return up, err
		}
		if line == "" {
			break
		}
		key, id, _ := strings.Cut(line, " ")
		switch {
		case key == "shallow" && SHA1.valid(Hash(id)):
			up.shallow = append(up.shallow, Hash(id))
		case key == "unshallow" && SHA1.valid(Hash(id)):
			up.unshallow = append(up.unshallow, Hash(id))
		default:
			return up, fmt.Errorf("%w: %q instead of a boundary", ErrProtocol, clip(line, 80))
		}
	}
	for {
		line, err := next()
		if err != nil {
			return up, err
		}
		words := strings.Fields(line)
		switch {
		case line == "NAK":
			return up, nil
		case len(words) == 2 && words[0] == "ACK":
			return up, nil
		case len(words) == 3 && words[0] == "ACK":
		default:
			return up, fmt.Errorf("%w: %q instead of an acknowledgement", ErrProtocol, clip(line, 80))
		}
	}
}

// clip bounds and cleans server text for a message.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > n {
		s = string(r[:n]) + "…"
	}
	return s
}
