package gitstore

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cliRepo is a temporary bare repository that the git command works in.
type cliRepo struct {
	git    *gitCommand
	dir    string
	format ObjectFormat
	made   bool
}

// args are what every git run in the repository begins with: no hook, no daemon, no housekeeping, no surprise from the
// user's settings.
func (r *cliRepo) args(more ...string) []string {
	base := []string{"--git-dir=" + r.dir}
	for _, c := range []string{
		"safe.bareRepository=explicit", "core.hooksPath=" + nullDevice(), "core.fsmonitor=false", "gc.auto=0",
		"maintenance.auto=false", "fetch.writeCommitGraph=false", "fetch.recurseSubmodules=false", "push.recurseSubmodules=no",
		"push.followTags=false", "push.gpgSign=false", "push.negotiate=false", "fetch.prune=false", "log.showRoot=true",
		"log.showSignature=false", "core.commitGraph=false", "credential.interactive=false", "fetch.unpackLimit=100",
		"fetch.bundleURI=",
	} {
		base = append(base, "-c", c)
	}
	return append(base, more...)
}

func (r *cliRepo) run(ctx context.Context, stdin string, args ...string) (string, error) {
	if err := r.init(ctx); err != nil {
		return "", err
	}
	return r.git.output(ctx, stdin, r.args(args...)...)
}

func (r *cliRepo) init(ctx context.Context) error {
	if r.made {
		return nil
	}
	if _, err := r.git.output(ctx, "", "init", "-q", "--bare", "--template=", "--object-format="+string(r.format), r.dir); err != nil {
		return err
	}
	r.made = true
	return nil
}

// localRef is where a ref of the remote is kept.
func localRef(ref string) string { return "refs/remote/" + strings.TrimPrefix(ref, "refs/") }

// read brings objects from the repository into o, all that are there; it does not fetch.
func (r *cliRepo) read(ctx context.Context, o *Objects, ids []Hash) error {
	if len(ids) == 0 {
		return nil
	}
	if err := r.init(ctx); err != nil {
		return err
	}
	var in strings.Builder
	for _, id := range ids {
		in.WriteString(string(id) + "\n")
	}
	cmd := r.git.command(ctx, r.args("cat-file", "--batch")...)
	cmd.Stdin = strings.NewReader(in.String())
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	staged := map[Hash]object{}
	perr := parseBatch(bufio.NewReaderSize(out, 1<<16), o.format, staged)
	if perr != nil {
		_ = killGroup(cmd)
	}
	if err := cmd.Wait(); err != nil || perr != nil {
		if perr == nil {
			perr = err
		}
		return &gitError{args: []string{"cat-file"}, text: stderr.String(), err: causeOf(ctx, perr)}
	}
	o.merge(staged)
	return nil
}

// parseBatch reads the output of git cat-file --batch and checks each object against its id.
func parseBatch(r *bufio.Reader, f ObjectFormat, into map[Hash]object) error {
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) == 2 && words[1] == "missing" {
			continue
		}
		if len(words) != 3 {
			return fmt.Errorf("git cat-file said %q", clip(line, 80))
		}
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || size < 0 || size > maxPack {
			return fmt.Errorf("git cat-file said %q", clip(line, 80))
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
		id := Hash(words[0])
		if f.HashObject(ObjectKind(words[1]), data) != id {
			return fmt.Errorf("object %s is corrupt", id)
		}
		into[id] = object{ObjectKind(words[1]), data}
	}
}

// readCommit brings a commit with its trees and, if asked, its blobs into o.
func (r *cliRepo) readCommit(ctx context.Context, o *Objects, commit Hash, blobs bool) error {
	missing := func(ids []Hash) []Hash {
		var out []Hash
		for _, id := range ids {
			if !o.Has(id) {
				out = append(out, id)
			}
		}
		return out
	}
	if err := r.read(ctx, o, missing([]Hash{commit})); err != nil {
		return err
	}
	root, err := o.rootTree(commit)
	if err != nil {
		return err
	}
	// a tree that is present has all trees below it: they come together
	for level := missing([]Hash{root}); len(level) > 0; {
		if err := r.read(ctx, o, level); err != nil {
			return err
		}
		var next []Hash
		for _, id := range level {
			entries, err := o.tree(id)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if e.isTree() {
					next = append(next, e.id)
				}
			}
		}
		level = missing(next)
	}
	if !blobs {
		return nil
	}
	var all []Hash
	err = o.Walk(commit, func(kind ObjectKind, id Hash) bool {
		if kind == KindBlob {
			all = append(all, id)
		}
		return true
	})
	if err != nil {
		return err
	}
	return r.read(ctx, o, missing(all))
}

// write stores objects of o as loose objects, which needs no process for each.
func (r *cliRepo) write(ctx context.Context, o *Objects, ids []Hash) error {
	if err := r.init(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		kind, data, ok := o.Get(id)
		if !ok {
			return fmt.Errorf("object %s: %w", id, ErrObjectAbsent)
		}
		dir := filepath.Join(r.dir, "objects", string(id[:2]))
		file := filepath.Join(dir, string(id[2:]))
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		if _, err := z.Write(append(kind.header(len(data)), data...)); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		// a half-written object must never carry the name of a whole one
		if err := os.WriteFile(file+".tmp", b.Bytes(), 0o400); err != nil {
			return err
		}
		if err := os.Rename(file+".tmp", file); err != nil {
			return err
		}
	}
	return nil
}
