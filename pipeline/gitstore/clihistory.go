package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// History lets git walk first parents, as goRemote does.
func (r *cliRemote) History(ctx context.Context, ref, path string, limit int) ([]FileChange, error) {
	if err := checkRef(ref); err != nil {
		return nil, err
	}
	ctx, end, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	repo := &cliRepo{git: r.git, dir: filepath.Join(r.dir, "history.git"), format: r.objects.format}
	defer func() { _ = os.RemoveAll(repo.dir) }() // Close removes what is left
	for depth := 8; ; depth *= 8 {
		depth = min(depth, deepest)
		tip, err := r.fetchInto(ctx, repo, ref, noBlobs, "--depth="+strconv.Itoa(depth))
		if err != nil {
			return nil, r.failed("read the history of "+path+" on "+ref+" of", err)
		}
		if tip == "" {
			return nil, nil
		}
		changes, more, err := r.log(ctx, repo, tip, path, limit)
		if err != nil {
			return nil, r.failed("read the history of "+path+" on "+ref+" of", err)
		}
		if !more || depth == deepest {
			return changes, nil
		}
	}
}

// log lists the changes of a file in a repository that may be shallow; more tells that older commits could matter.
func (r *cliRemote) log(ctx context.Context, repo *cliRepo, tip Hash, path string, limit int) (out []FileChange, more bool, err error) {
	text, err := repo.run(ctx, "", "--literal-pathspecs", "log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--raw",
		"--no-abbrev", "--format=commit %H %ct", string(tip), "--", path)
	if err != nil {
		return nil, false, err
	}
	edge := map[Hash]bool{}
	if data, err := os.ReadFile(filepath.Join(repo.dir, "shallow")); err == nil {
		for id := range strings.FieldsSeq(string(data)) {
			edge[Hash(id)] = true
		}
	}
	var cur FileChange
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "commit":
			sec, err := strconv.ParseInt(words[2], 10, 64)
			if err != nil {
				return nil, false, fmt.Errorf("git log said %q", clip(line, 80))
			}
			cur = FileChange{Commit: Hash(words[1]), When: time.Unix(sec, 0).UTC()}
		case len(words) >= 6 && strings.HasPrefix(line, ":") && strings.HasSuffix(line, "\t"+path+"\n"):
			if edge[cur.Commit] {
				return out, true, nil // at the edge every file looks new
			}
			if words[4] != "D" {
				cur.Blob = Hash(words[3])
			}
			out = append(out, cur)
			if limit > 0 && len(out) == limit {
				return out, false, nil
			}
		}
	}
	// nothing at the edge touches the file, so it is absent there and may have been removed before
	return out, len(edge) > 0, nil
}
