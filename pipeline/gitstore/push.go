package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// Push sends the updates as one request when there is one, or when the remote is atomic; else one request after the other.
func (r *goRemote) Push(ctx context.Context, p Push) Result {
	if err := checkPush(r.objects, p); err != nil {
		return Result{Outcome: NotSent, Err: err}
	}
	ctx, cancel, err := r.begin(ctx)
	if err != nil {
		return Result{Outcome: NotSent, Err: err}
	}
	defer cancel()
	res := r.pushOnce(ctx, p.Updates, p.Expect)
	for _, next := range res.rest {
		more := r.pushOnce(ctx, []Update{next}, nil)
		more.Applied = append(res.Applied, more.Applied...)
		more.Refs = res.Refs
		res = more
		if res.Outcome != Landed {
			break
		}
	}
	if len(p.Updates) == 1 {
		res.Applied = nil
	}
	if res.Err != nil {
		res.Err = r.failed(ctx, "push to", res.Err)
	}
	res.Message = hideText(res.Message, r.secrets.all())
	return res.Result
}

// checkPush refuses what cannot be meant before anything is sent.
func checkPush(o *Objects, p Push) error {
	if len(p.Updates) == 0 {
		return errors.New("push: no updates")
	}
	seen := map[string]bool{}
	for _, u := range p.Updates {
		if err := checkRef(u.Ref); err != nil {
			return fmt.Errorf("push: %w", err)
		}
		if seen[u.Ref] {
			return fmt.Errorf("push: %s is updated twice", u.Ref)
		}
		seen[u.Ref] = true
		if u.Old != "" && !o.format.valid(u.Old) {
			return fmt.Errorf("push: %q is not a full %s id", u.Old, o.format)
		}
		if _, err := o.owned(u.New); err != nil {
			return fmt.Errorf("push %s: %w", u.Ref, err)
		}
	}
	return nil
}

// checkRef wants a full ref name, in the form that git check-ref-format accepts.
func checkRef(ref string) error {
	rest, ok := strings.CutPrefix(ref, "refs/")
	bad := !ok || rest == "" || strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.Contains(ref, "..") ||
		strings.Contains(ref, "@{") || strings.HasSuffix(ref, ".") || strings.ContainsFunc(ref, func(c rune) bool { return c < 0x20 })
	for part := range strings.SplitSeq(ref, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return fmt.Errorf("%q is not a full ref name (refs/heads/…)", ref)
	}
	return nil
}

// pushResult is a Result with the updates that wait for a request of their own.
type pushResult struct {
	Result
	rest []Update
}

// decide judges updates by an advertisement: what is still to be sent, or the outcome that makes sending pointless.
func decide(tips map[string]Hash, updates []Update, expect map[string]Hash) (todo []Update, out Outcome, err error) {
	for ref, want := range expect {
		if got := tips[ref]; got != want {
			return nil, Moved, fmt.Errorf("%w: %s is at %s, not %s", ErrMoved, quoteRef(ref), got.short(), want.short())
		}
	}
	for _, u := range updates {
		got := tips[u.Ref]
		switch got {
		case u.New.Commit():
		case u.Old:
			todo = append(todo, u)
		default:
			return nil, LostRace, fmt.Errorf("%w: %s is at %s, not %s", ErrLostRace, u.Ref, got.short(), u.Old.short())
		}
	}
	return todo, Landed, nil
}

func (r *goRemote) pushOnce(ctx context.Context, updates []Update, expect map[string]Hash) (res pushResult) {
	conv, err := r.wire.open(ctx, receivePack)
	if err != nil {
		res.Err = err
		res.Outcome = NotSent
		if errors.Is(err, ErrAuth) {
			res.Outcome = AuthError
		}
		return res
	}
	defer conv.close()
	a := conv.advert()
	res.Refs = r.refs(a)
	todo, out, err := decide(a.refs, updates, expect)
	res.Outcome, res.Err = out, err
	if err != nil {
		return res
	}
	atomic := a.has("atomic")
	if !atomic {
		for _, u := range updates {
			if !slices.Contains(todo, u) {
				res.Applied = append(res.Applied, u.Ref)
			}
		}
	}
	if len(todo) == 0 {
		res.Message = "already there"
		return res
	}
	if !atomic && len(todo) > 1 {
		todo, res.rest = todo[:1], todo[1:]
	}
	body, err := r.pushRequest(a, todo)
	if err != nil {
		res.Outcome, res.Err = NotSent, err
		res.rest = nil
		return res
	}
	var said string
	res.Outcome, said, res.Err = r.sendPush(ctx, conv, todo, body)
	if _, overHTTP := r.wire.(*httpWire); overHTTP && res.Outcome == LostRace {
		res.Outcome, res.Err = settleRace(ctx, res.Err, todo, func(ctx context.Context) (map[string]Hash, error) {
			again, err := r.wire.open(ctx, uploadPack)
			if err != nil {
				return nil, err
			}
			defer again.close()
			return again.advert().refs, nil
		})
	}
	res.Message = clip(said, 2000)
	if res.Outcome != Landed {
		res.rest = nil
	} else if !atomic {
		res.Applied = append(res.Applied, todo[0].Ref)
	}
	return res
}

// pushRequest encodes the commands and the pack. The atomic capability is asked for only when it can matter, since with
// it a server explains the failure of one ref as "atomic transaction failed".
func (r *goRemote) pushRequest(a *advert, todo []Update) ([]byte, error) {
	if !a.has("report-status") {
		return nil, errors.New("the remote does not report what a push did (no report-status): use the git transport")
	}
	caps := []string{"report-status", "agent=" + agentName}
	if a.has("side-band-64k") {
		caps = append(caps, "side-band-64k")
	}
	if a.has("object-format") {
		caps = append(caps, "object-format="+string(SHA1))
	}
	if len(todo) > 1 {
		caps = append(caps, "atomic")
	}
	var b bytes.Buffer
	var objs []Hash
	seen := map[Hash]bool{}
	for i, u := range todo {
		old := u.Old
		if old == "" {
			old = SHA1.zero()
		}
		tail := ""
		if i == 0 {
			tail = "\x00 " + strings.Join(caps, " ")
		}
		pkt(&b, "%s %s %s%s", old, u.New.Commit(), u.Ref, tail)
		fresh, err := r.objects.NewSince(u.New.Commit(), a.isTip)
		if err != nil {
			return nil, err
		}
		for _, h := range fresh {
			if !seen[h] {
				seen[h] = true
				objs = append(objs, h)
			}
		}
	}
	b.WriteString("0000")
	if err := r.objects.writePack(&b, objs); err != nil {
		return nil, fmt.Errorf("pack the new objects: %w", err)
	}
	return b.Bytes(), nil
}

// sendPush sends one request and reads what became of it.
func (r *goRemote) sendPush(ctx context.Context, conv conversation, todo []Update, body []byte) (Outcome, string, error) {
	res, err := conv.exchange(ctx, body)
	if err != nil {
		var ns *errNotSent
		var he *HTTPError
		switch {
		case errors.As(err, &ns):
			return NotSent, "", err
		case errors.Is(err, ErrAuth):
			return AuthError, "", err
		case errors.As(err, &he) && he.Status == 413:
			return Rejected, he.Text, fmt.Errorf("%w: the push is too large: %w", ErrRejected, err)
		}
		return Unknown, "", fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	defer res.Close()
	var progress bytes.Buffer
	var in io.Reader = bufio.NewReader(res)
	if conv.advert().has("side-band-64k") {
		d := sideband.NewDemuxer(sideband.Sideband64k, in)
		d.Progress = &boundedBuffer{b: &progress, max: 64 << 10}
		in = d
	}
	report := packp.NewReportStatus()
	err = report.Decode(in)
	if err == nil {
		// what post-receive hooks say comes last; the outcome is known already
		_, _ = io.Copy(io.Discard, io.LimitReader(in, 1<<20))
	}
	said := strings.TrimSpace(progress.String())
	if said == "" {
		said = conv.said()
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the answer ended early: %w", err)
		}
		return Unknown, said, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	out, err := judge(report, todo, said)
	return out, said, err
}

// boundedBuffer keeps the first max bytes and swallows the rest.
type boundedBuffer struct {
	b   *bytes.Buffer
	max int
}

func (w *boundedBuffer) Write(p []byte) (int, error) {
	w.b.Write(p[:min(len(p), max(0, w.max-w.b.Len()))])
	return len(p), nil
}
