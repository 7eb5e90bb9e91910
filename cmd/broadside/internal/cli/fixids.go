package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/report"
)

// fixIDs writes an id into every post that has none.
func (w *workspace) fixIDs(ctx context.Context, paths []string) error {
	v, err := w.check(ctx, paths...)
	if err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, d := range v.Diagnostics {
		if d.Code == content.CodeMissingID {
			missing[d.File] = true
		}
	}
	for _, p := range v.Tree.Posts {
		// A draft needs no id yet; it gets one all the same, before anybody refers to it.
		if p.ID == "" && !p.Errors {
			missing[p.Path] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	all := v
	if len(paths) > 0 {
		// An id must differ from those of all posts, also of those that were not asked for.
		if all, err = w.check(ctx); err != nil {
			return err
		}
	}
	taken := map[string]bool{}
	for _, p := range slices.Concat(all.Tree.Posts, v.Tree.Posts) {
		if p.ID != "" {
			taken[p.ID] = true
		}
	}
	for _, p := range v.Tree.Posts {
		if !missing[p.Path] {
			continue
		}
		id := freeID(p, taken)
		taken[id] = true
		if err := w.writeID(p.Path, id); err != nil {
			w.a.note(report.Line(fmt.Sprintf("%s: no id could be written: %v", p.Path, err)))
			continue
		}
		w.a.note(report.Line(fmt.Sprintf("%s: wrote id: %s", p.Path, id)))
	}
	return nil
}

// freeID makes an id of a post's title, or else of its file's name, that no other post has.
func freeID(p *pipeline.Post, taken map[string]bool) string {
	base := content.Slug(p.Title)
	if base == "" {
		base = content.Slug(strings.TrimSuffix(path.Base(p.Path), path.Ext(p.Path)))
	}
	if base == "" {
		base = "post"
	}
	id := base
	for n := 2; taken[id]; n++ {
		end := fmt.Sprintf("-%d", n)
		id = strings.TrimRight(base[:min(len(base), pipeline.MaxPostID-len(end))], "-") + end
	}
	return id
}

// writeID rewrites one file: the new bytes are complete before they take the old ones' place.
func (w *workspace) writeID(name, id string) error {
	data, err := w.files.Read(name)
	if err != nil {
		return err
	}
	if data, err = content.AddID(data, id); err != nil {
		return err
	}
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	st, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("it is not a plain file")
	}
	tmp := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is in the way: remove it", tmp)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return root.Rename(tmp, name)
}
