package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strconv"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

// look reads the content at the tip that refs show: trees first, then only the files that are not settled.
func (r *run) look(ctx context.Context, refs gitstore.Refs) error {
	tip, ok := refs.Tips[r.ref()]
	if !ok {
		return fmt.Errorf("%s has no branch %s to publish from", r.opt.Remote.URL(), r.opt.Branch)
	}
	if t := r.content(); t != nil && t.snap.Commit() == tip && r.view != nil {
		return r.build(ctx, t)
	}
	old := r.content()
	snap, err := r.opt.Remote.Fetch(ctx, r.ref(), gitstore.FetchOptions{At: tip, TreesOnly: true})
	if err != nil {
		return fmt.Errorf("cannot fetch %s from %s: %w", r.opt.Branch, r.opt.Remote.URL(), err)
	}
	if snap == nil {
		return fmt.Errorf("%s has no branch %s to publish from", r.opt.Remote.URL(), r.opt.Branch)
	}
	t, err := newTree(ctx, r.opt.Remote, snap, r.opt.Local)
	if err != nil {
		return err
	}
	if old != nil {
		t.blobs = old.blobs
		old.Close()
	}
	r.mu.Lock()
	r.files = t
	r.mu.Unlock()
	return r.build(ctx, t)
}

// build reads what is not settled and works out every delivery that it wants.
func (r *run) build(ctx context.Context, t *tree) error {
	t.settled = nil
	if err := t.prefetch(vault.Dir+"/", compose.ConfigPath); err != nil {
		return err
	}
	cfg, diags, err := compose.ReadConfig(t, r.opt.Providers)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("branch %s of %s has no %s: commit it and push it; a run publishes what the remote has", r.opt.Branch, r.opt.Remote.URL(), compose.ConfigPath)
	}
	if err != nil {
		return err
	}
	if pipeline.HasErrors(diags) {
		return &InvalidConfigError{Diagnostics: diags}
	}
	if r.j != nil {
		t.settled = settledPaths(r.j.State(), cfg.Hash, t, r.clock.Wall())
	}
	for _, dir := range cfg.Posts {
		if err := t.prefetch(dirPrefix(dir)); err != nil {
			return err
		}
	}
	view, err := compose.Build(ctx, compose.Input{
		Files: t, Config: cfg, Providers: r.opt.Providers, ConfigDiagnostics: diags,
		Settled: func(f content.File) (string, bool) { id, ok := t.settled[f.Path]; return id, ok },
	})
	if err != nil {
		return err
	}
	view.Commit = string(t.snap.Commit())
	r.mu.Lock()
	r.view = view
	r.result.Content, r.result.Drafts = view.Commit, view.Drafts
	r.mu.Unlock()
	return nil
}

// InvalidConfigError stops everything: broadside.yaml cannot be used.
type InvalidConfigError struct{ Diagnostics []pipeline.Diagnostic }

func (e *InvalidConfigError) Error() string {
	for _, d := range e.Diagnostics {
		if d.Severity == pipeline.Error {
			return d.String()
		}
	}
	return "broadside.yaml is not valid"
}

// settledPaths are the files whose every delivery is settled in exactly the state that the content has, with the ids of
// their posts: they are not read again.
func settledPaths(s *ledger.State, config string, t *tree, now time.Time) map[string]string {
	open := map[string]bool{}
	blob, post := map[string]string{}, map[string]string{}
	for _, d := range s.Deliveries {
		if d.Path == "" {
			continue
		}
		// What was canceled because its file was gone is open again when the file is there.
		gone := d.State == pipeline.Canceled && d.Reason == pipeline.ReasonRemoved
		// After a change of broadside.yaml all is read once more; then what is past its deadline can want nothing new.
		read := d.Config == config || s.Tip.Config == config && now.After(d.By)
		if d.Blob == "" || !read || gone || !s.Settled(d, now) {
			open[d.Path] = true
			continue
		}
		if b, ok := blob[d.Path]; ok && b != d.Blob {
			open[d.Path] = true
		}
		blob[d.Path], post[d.Path] = d.Blob, d.ID.Post
	}
	out := map[string]string{}
	for path, b := range blob {
		if open[path] {
			continue
		}
		if e, ok := t.entry(path); ok && string(e.Blob) == b {
			out[path] = post[path]
		}
	}
	return out
}

// committed reads the committer's time out of a commit object.
func committed(raw []byte) (time.Time, bool) {
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		if len(line) == 0 {
			break
		}
		rest, ok := bytes.CutPrefix(line, []byte("committer "))
		if !ok {
			continue
		}
		f := bytes.Fields(rest[bytes.LastIndexByte(rest, '>')+1:])
		if len(f) == 0 {
			break
		}
		sec, err := strconv.ParseInt(string(f[0]), 10, 64)
		return time.Unix(sec, 0).UTC(), err == nil
	}
	return time.Time{}, false
}

// rerender renders an item once more when the instance says other limits than those it was reviewed with.
func (r *run) rerender(a *account, it *compose.Item) error {
	if a.limits == nil || a.dest.Limits != nil && reflect.DeepEqual(*a.dest.Limits, *a.limits) || it.Again == nil {
		return nil
	}
	rend, enc, diags := it.Again(a.limits)
	for _, d := range diags {
		if d.Severity == pipeline.Error {
			return &providers.Error{Kind: providers.Invalid, Reach: providers.NotSent, Op: a.info.Name + ": limits of " + a.dest.Name, Message: d.Message}
		}
	}
	it.Rendition, it.Encoded = rend, enc
	return nil
}
