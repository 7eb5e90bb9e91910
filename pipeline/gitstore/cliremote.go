package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// cliRemote is the Remote that leaves the wire to the git command, and so has its credential helpers, ssh configuration,
// proxies and object formats. It works in temporary repositories of its own.
type cliRemote struct {
	addr    address
	objects *Objects
	now     func() time.Time
	timeout time.Duration
	secrets *secretList
	source  string

	dir string
	git *gitCommand
	// whole holds complete snapshots, trees those without blobs: git takes what its refs reach for present.
	whole, trees *cliRepo

	// turn is held by the one operation that runs git, since git locks parts of a repository and then fails. Everything
	// below it is guarded by it.
	turn     chan struct{}
	closed   bool
	noAtomic bool
	// complete are the commits that were fetched into whole, partial those that are in trees only.
	complete, partial map[Hash]bool
}

var _ Remote = (*cliRemote)(nil)

func (r *cliRemote) URL() string        { return r.addr.clean }
func (r *cliRemote) Secrets() []string  { return r.secrets.all() }
func (r *cliRemote) AuthSource() string { return r.source }

// target is the remote as git is told it, without credentials.
func (r *cliRemote) target() string { return r.addr.clean }

func (r *cliRemote) Close() error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.closed {
		return nil
	}
	r.closed = true
	return os.RemoveAll(r.dir)
}

// begin waits for the turn of an operation and bounds it in time.
func (r *cliRemote) begin(ctx context.Context) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout,
		fmt.Errorf("no end after %v: %w", r.timeout, context.DeadlineExceeded))
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return nil, nil, context.Cause(ctx)
	}
	end := func() { <-r.turn; cancel() }
	if r.closed {
		end()
		return nil, nil, ErrClosed
	}
	return ctx, end, nil
}

func (r *cliRemote) failed(doing string, err error) error {
	var ge *gitError
	if errors.As(err, &ge) && isDeniedGit(ge.text) {
		err = &AuthFailure{URL: r.addr.clean, Source: r.source, Cause: err}
	}
	return fmt.Errorf("%s %s: %w", doing, r.addr.clean, hideSecrets(err, r.secrets.all()))
}

// isDeniedGit recognises git's own words for a refusal.
func isDeniedGit(text string) bool {
	return isDenied(text) || containsAny(strings.ToLower(text), "authentication failed", "could not read username",
		"could not read password", "returned error: 401", "returned error: 403", "returned error: 404", "host key verification failed")
}

func (r *cliRemote) Refs(ctx context.Context) (Refs, error) {
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return Refs{}, err
	}
	defer end()
	refs, err := r.list(ctx)
	if err != nil {
		return Refs{}, r.failed("list the refs of", err)
	}
	return refs, nil
}

func (r *cliRemote) list(ctx context.Context) (Refs, error) {
	out, err := r.git.output(ctx, "", "--git-dir="+nullDevice(), "-c", "core.fsmonitor=false", "ls-remote", "--symref", "--", r.target())
	if err != nil {
		return Refs{}, err
	}
	refs := Refs{Tips: map[string]Hash{}, At: r.now(), Atomic: !r.noAtomic}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(id, "ref: ") && name == "HEAD":
			refs.Head = strings.TrimPrefix(id, "ref: ")
		case strings.HasPrefix(name, "refs/") && !strings.HasSuffix(name, "^{}"):
			refs.Tips[name] = Hash(id)
		}
	}
	if _, ok := refs.Tips[refs.Head]; !ok {
		refs.Head = ""
	}
	return refs, nil
}

// remoteFormat asks the remote for its object format. Only its capabilities tell where there is no ref to look at, and
// git shows those in its packet trace alone.
func (r *cliRemote) remoteFormat(ctx context.Context) (ObjectFormat, error) {
	refs, err := r.list(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range refs.Tips {
		if SHA256.valid(id) {
			return SHA256, nil
		}
		return SHA1, nil
	}
	cmd := r.git.command(ctx, "--git-dir="+nullDevice(), "ls-remote", "--", r.target())
	cmd.Env = append(cmd.Env, "GIT_TRACE_PACKET=1")
	var trace tail
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		return "", causeOf(ctx, err)
	}
	if strings.Contains(trace.String(), "object-format=sha256") {
		return SHA256, nil
	}
	return SHA1, nil
}

func (r *cliRemote) Fetch(ctx context.Context, ref string, opt FetchOptions) (Snapshot, error) {
	if err := checkRef(ref); err != nil {
		return nil, err
	}
	if opt.Have != nil {
		if _, err := r.objects.owned(opt.Have); err != nil {
			return nil, err
		}
	}
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s, err := r.fetch(ctx, ref, opt.TreesOnly)
	if err != nil {
		return nil, r.failed("fetch "+ref+" of", err)
	}
	if s == nil {
		return nil, nil
	}
	return s, nil
}

// fetch brings a ref at depth 1. What is here already, git finds out from the refs that earlier fetches left.
func (r *cliRemote) fetch(ctx context.Context, ref string, treesOnly bool) (*snapshot, error) {
	repo, flags := r.whole, []string{"--depth=1"}
	if treesOnly {
		repo, flags = r.trees, append(flags, noBlobs)
	}
	tip, err := r.fetchInto(ctx, repo, ref, flags...)
	if err != nil || tip == "" {
		return nil, err
	}
	if err := repo.readCommit(ctx, r.objects, tip, !treesOnly); err != nil {
		return nil, err
	}
	if err := r.objects.checkComplete(tip, "", !treesOnly); err != nil {
		return nil, fmt.Errorf("%w: the pack lacks an object: %w", ErrProtocol, err)
	}
	if !treesOnly {
		r.complete[tip] = true
	}
	r.partial[tip] = !r.complete[tip]
	s, err := r.objects.snapshot(tip, !treesOnly)
	if err != nil {
		return nil, err
	}
	s.ref = ref
	return s, nil
}

// fetchInto runs git fetch; it returns "" where the remote has no such ref.
func (r *cliRemote) fetchInto(ctx context.Context, repo *cliRepo, ref string, flags ...string) (Hash, error) {
	args := append(r.origin(slices.Contains(flags, noBlobs)), "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
	args = append(args, flags...)
	_, err := repo.run(ctx, "", append(args, "--", "origin", "+"+ref+":"+localRef(ref))...)
	var ge *gitError
	if errors.As(err, &ge) && strings.Contains(ge.text, "couldn't find remote ref") {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	out, err := repo.run(ctx, "", "rev-parse", "--verify", "-q", localRef(ref)+"^{commit}")
	return Hash(strings.TrimSpace(out)), err
}

const noBlobs = "--filter=blob:none"

// origin describes the remote for one run. Only a remote that promises to have the blobs later may leave them out, and
// from one that does, git always leaves them out.
func (r *cliRemote) origin(promises bool) []string {
	args := []string{"-c", "remote.origin.url=" + r.target()}
	if promises {
		args = append(args, "-c", "remote.origin.promisor=true", "-c", "remote.origin.partialclonefilter=blob:none")
	}
	return args
}

func (r *cliRemote) FetchBlobs(ctx context.Context, s Snapshot, blobs []Hash) error {
	snap, err := r.objects.owned(s)
	if err != nil {
		return err
	}
	for _, b := range blobs {
		if !r.objects.format.valid(b) {
			return fmt.Errorf("%q is not a blob's id", b)
		}
	}
	absent := func() []Hash {
		return slices.DeleteFunc(slices.Clone(blobs), r.objects.Has)
	}
	if len(absent()) == 0 {
		return nil
	}
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := r.trees.read(ctx, r.objects, absent()); err != nil {
		return r.failed("fetch blobs of", err)
	}
	if len(absent()) > 0 {
		if err := r.fetchBlobs(ctx, snap, absent()); err != nil {
			return r.failed("fetch blobs of", err)
		}
	}
	if still := absent(); len(still) > 0 {
		return r.failed("fetch blobs of", fmt.Errorf("%w: %s, %d in all", ErrBlobAbsent, still[0], len(still)))
	}
	return nil
}

// fetchBlobs asks for the blobs by id, and for the whole commit where the remote does not allow that.
func (r *cliRemote) fetchBlobs(ctx context.Context, s *snapshot, ids []Hash) error {
	var in strings.Builder
	for _, id := range ids {
		in.WriteString(string(id) + "\n")
	}
	args := append(r.origin(true), "-c", "fetch.negotiationAlgorithm=noop", "fetch", "-q", "--no-tags", "--no-write-fetch-head",
		"--no-auto-maintenance", noBlobs, "--stdin", "--", "origin")
	_, err := r.trees.run(ctx, in.String(), args...)
	if err == nil {
		return r.trees.read(ctx, r.objects, ids)
	}
	if ctx.Err() != nil || s.ref == "" {
		return err
	}
	tip, ferr := r.fetchInto(ctx, r.whole, s.ref, "--depth=1")
	if ferr != nil || tip == "" {
		return errors.Join(err, ferr)
	}
	return r.whole.read(ctx, r.objects, ids)
}

func (r *cliRemote) Build(ctx context.Context, c Commit) (Snapshot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r.objects.Build(c)
}
