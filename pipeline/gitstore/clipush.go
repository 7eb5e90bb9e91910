package gitstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Push asks git to move the refs, each only from its old value (--force-with-lease with a value is git's
// compare-and-set; nothing is ever forced past one).
func (r *cliRemote) Push(ctx context.Context, p Push) Result {
	if err := checkPush(r.objects, p); err != nil {
		return Result{Outcome: NotSent, Err: err}
	}
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return Result{Outcome: NotSent, Err: err}
	}
	defer end()
	res := r.push(ctx, p)
	if len(p.Updates) == 1 {
		res.Applied = nil
	}
	if res.Err != nil {
		res.Err = r.failed("push to", res.Err)
	}
	res.Message = hideText(res.Message, r.secrets.all())
	return res
}

func (r *cliRemote) push(ctx context.Context, p Push) (res Result) {
	refs, err := r.list(ctx)
	if err != nil {
		res.Outcome, res.Err = NotSent, err
		var ge *gitError
		if errors.As(err, &ge) && isDeniedGit(ge.text) {
			res.Outcome = AuthError
		}
		return res
	}
	res.Refs = refs
	todo, out, err := decide(refs.Tips, p.Updates, p.Expect)
	if res.Outcome, res.Err = out, err; err != nil {
		return res
	}
	done := func() {
		for _, u := range p.Updates {
			if !slices.Contains(todo, u) && !slices.Contains(res.Applied, u.Ref) {
				res.Applied = append(res.Applied, u.Ref)
			}
		}
	}
	if len(todo) == 0 {
		res.Message = "already there"
		return res
	}
	repo, err := r.prepare(ctx, refs, todo)
	if err != nil {
		res.Outcome, res.Err = NotSent, err
		return res
	}
	if len(todo) > 1 && !r.noAtomic {
		var lacks bool
		res.Outcome, res.Message, res.Err, lacks = r.send(ctx, repo, todo, true)
		if !lacks {
			return res
		}
		r.noAtomic = true
	}
	res.Refs.Atomic = !r.noAtomic
	if r.noAtomic {
		done()
	}
	for _, u := range todo {
		res.Outcome, res.Message, res.Err, _ = r.send(ctx, repo, []Update{u}, false)
		if res.Outcome != Landed {
			return res
		}
		if r.noAtomic {
			res.Applied = append(res.Applied, u.Ref)
		}
	}
	return res
}

// prepare puts the new objects where git can push them from.
func (r *cliRemote) prepare(ctx context.Context, refs Refs, todo []Update) (*cliRepo, error) {
	tips := map[Hash]bool{}
	for _, h := range refs.Tips {
		tips[h] = true
	}
	var repo *cliRepo
	for _, u := range todo {
		here := r.whole
		if r.isPartial(u.New.Commit()) {
			here = r.trees
		}
		if repo != nil && repo != here {
			return nil, errors.New("one push of commits that were fetched with blobs and of others that were not: push them apart")
		}
		repo = here
		fresh, err := r.objects.NewSince(u.New.Commit(), func(h Hash) bool { return tips[h] })
		if err != nil {
			return nil, err
		}
		if err := repo.write(ctx, r.objects, fresh); err != nil {
			return nil, err
		}
	}
	return repo, nil
}

// isPartial tells whether a commit, or the fetched one that it was built on, is here without blobs.
func (r *cliRemote) isPartial(c Hash) bool {
	for {
		base, built := r.objects.builtOn(c)
		switch {
		case !built:
			return r.partial[c]
		case base == "":
			return false
		}
		c = base
	}
}

// send runs git push once. lacks tells that the remote has no atomic updates, so that nothing was sent.
func (r *cliRemote) send(ctx context.Context, repo *cliRepo, todo []Update, atomic bool) (out Outcome, message string, err error, lacks bool) {
	args := []string{"push", "--porcelain", "--no-verify", "--no-thin", "--no-follow-tags"}
	if atomic {
		args = append(args, "--atomic")
	}
	for _, u := range todo {
		args = append(args, "--force-with-lease="+u.Ref+":"+string(u.Old))
	}
	args = append(args, "--", r.target())
	for _, u := range todo {
		args = append(args, string(u.New.Commit())+":"+u.Ref)
	}
	if err := ctx.Err(); err != nil {
		return NotSent, "", context.Cause(ctx), false
	}
	// on a connection that it uses again curl sends a request twice if that connection is cut, and the answer is then to
	// the second copy, which finds the refs moved by the first
	once := *repo
	once.git = repo.git.with(
		configItem{"http.version", "HTTP/1.1"},
		configItem{"http." + r.target() + ".extraheader", "Connection: close"},
	)
	stdout, err := once.run(ctx, "", args...)
	text := ""
	if ge, ok := errors.AsType[*gitError](err); ok {
		text = ge.text
	}
	if atomic && strings.Contains(text, "does not support --atomic") {
		return NotSent, "", err, true
	}
	out, message, err = judgePorcelain(stdout, text, todo, err)
	if out == LostRace && strings.Contains(stdout, "[remote rejected]") && r.addr.url != nil {
		out, err = settleRace(ctx, err, todo, func(ctx context.Context) (map[string]Hash, error) {
			refs, err := r.list(ctx)
			return refs.Tips, err
		})
	}
	return out, message, err, false
}

// judgePorcelain reads what git push --porcelain said: a line for each ref, of flag, refspec and summary.
func judgePorcelain(stdout, stderr string, todo []Update, runErr error) (Outcome, string, error) {
	message := clip(stderr, 2000)
	status := map[string][2]string{}
	for line := range strings.Lines(stdout) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(f) != 3 || len(f[0]) != 1 {
			continue
		}
		if i := strings.LastIndexByte(f[1], ':'); i >= 0 {
			status[f[1][i+1:]] = [2]string{f[0], f[2]}
		}
	}
	worst, at := Landed, ""
	for _, u := range todo {
		st, ok := status[u.Ref]
		if !ok {
			return judgeSilence(stderr, runErr)
		}
		if strings.Contains(" +*=", st[0]) {
			continue
		}
		out := classifyPorcelain(st[1], stderr, u)
		if worst == Landed || strings.Contains(status[at][1], "atomic") {
			worst, at = out, u.Ref
		}
	}
	if worst == Landed {
		if runErr != nil && at == "" {
			// every ref is reported as updated, and yet git fails: believe neither
			return Unknown, message, fmt.Errorf("%w: %w", ErrUnknownOutcome, runErr)
		}
		return Landed, message, nil
	}
	return worst, message, fmt.Errorf("%w: %s: %s", worst.err(), at, withWords(status[at][1], stderr))
}

func classifyPorcelain(summary, stderr string, u Update) Outcome {
	switch {
	case strings.HasPrefix(summary, "[remote failure]"), strings.Contains(summary, "failed to report status"):
		return Unknown
	case strings.HasPrefix(summary, "[rejected]"):
		return LostRace // git's own check, against the refs that it was shown
	}
	reason := summary
	if i, j := strings.IndexByte(summary, '('), strings.LastIndexByte(summary, ')'); i >= 0 && j > i {
		reason = summary[i+1 : j]
	}
	return classify(reason, stderr, u)
}

// judgeSilence sorts a git push that reported on no ref. Only what git says before it sends anything counts as not sent.
func judgeSilence(stderr string, runErr error) (Outcome, string, error) {
	message := clip(stderr, 2000)
	if runErr == nil {
		return Unknown, message, fmt.Errorf("%w: git did not report on the ref", ErrUnknownOutcome)
	}
	low := strings.ToLower(stderr)
	switch {
	case containsAny(low, "rpc failed", "hung up", "unexpected disconnect", "send-pack"):
		return Unknown, message, fmt.Errorf("%w: %w", ErrUnknownOutcome, runErr)
	case isDeniedGit(stderr):
		return AuthError, message, runErr
	case containsAny(low, "unable to access", "could not resolve", "connection refused", "bad object", "unable to find remote helper",
		"src refspec", "hash algorithm"):
		return NotSent, message, runErr
	}
	return Unknown, message, fmt.Errorf("%w: %w", ErrUnknownOutcome, runErr)
}
