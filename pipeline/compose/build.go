package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/media"
	"github.com/broadside-pub/broadside/pipeline/render"
	"github.com/broadside-pub/broadside/providers"
)

// ConfigPath is where the configuration lies.
const ConfigPath = "broadside.yaml"

// Input is what Build works from.
type Input struct {
	Files  content.FS
	Config *pipeline.Config
	// ConfigDiagnostics are taken over into the view.
	ConfigDiagnostics []pipeline.Diagnostic
	Providers         map[string]providers.Info
	// Paths narrow what is read to files or folders; empty: every folder of the configuration.
	Paths []string
	// Settled names the post of a file that need not be read; nil: read all.
	Settled func(content.File) (id string, ok bool)
	// Lean keeps nothing but diagnostics and counts, for those who only want to know what is wrong.
	Lean bool
}

// ReadConfig reads broadside.yaml. A file that is not there is an error; one that is wrong has diagnostics.
func ReadConfig(files content.FS, infos map[string]providers.Info) (*pipeline.Config, []pipeline.Diagnostic, error) {
	data, err := files.Read(ConfigPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no %s here; `broadside init` writes one: %w", ConfigPath, err)
	}
	if err != nil {
		return nil, nil, err
	}
	list := slices.SortedFunc(maps.Values(infos), func(a, b providers.Info) int { return cmp.Compare(a.Name, b.Name) })
	cfg, diags := content.LoadConfig(ConfigPath, data, list)
	return cfg, diags, nil
}

// Build reads the content and works out every delivery that it wants, on all cores: each file is read, parsed and rendered
// once. Files that are wrong have diagnostics; an error means that the content could not be read at all.
func Build(ctx context.Context, in Input) (*View, error) {
	v := &View{Config: in.Config, byID: map[pipeline.DeliveryID]*Item{}}
	b := &builder{in: in, media: media.NewLoader(in.Files, in.Config.Media), items: map[*pipeline.Post][]*Item{}}
	loader := content.Loader{Config: in.Config, Infos: in.Providers, Settled: in.Settled, Check: b.check, Release: in.Lean}
	tree, diags := loader.Load(ctx, in.Files, in.Paths...)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.Tree, v.Drafts = tree, int(b.drafts.Load())
	for _, p := range tree.Posts {
		for _, it := range b.items[p] {
			it.Errors = it.Errors || p.Errors // two files with one id show only when all are read
			v.Items = append(v.Items, it)
			if it.ID.Target != "" && it.ID.Post != "" {
				v.byID[it.ID] = it
			}
		}
	}
	diags = append(slices.Clone(in.ConfigDiagnostics), diags...)
	pipeline.SortDiagnostics(diags)
	v.Diagnostics = slices.Compact(diags)
	return v, nil
}

type builder struct {
	in     Input
	media  *media.Loader
	drafts atomic.Int64

	mu    sync.Mutex
	items map[*pipeline.Post][]*Item
}

// check renders a post for all its destinations, right after it was parsed.
func (b *builder) check(p *pipeline.Post) []pipeline.Diagnostic {
	var items []*Item
	var diags []pipeline.Diagnostic
	draft := p.Draft() && !p.Errors
	seen := map[pipeline.Diagnostic]bool{}
	for _, at := range p.Destinations {
		dest, ok := b.in.Config.Destination(at.Name)
		if !ok {
			continue // content has said so
		}
		it, ds := b.item(p, at, dest)
		for _, d := range ds {
			if !seen[d] {
				seen[d] = true
				diags = append(diags, d)
			}
		}
		draft = draft && it.Draft()
		items = append(items, it)
	}
	if draft {
		b.drafts.Add(1)
	}
	if !b.in.Lean {
		b.mu.Lock()
		b.items[p] = items
		b.mu.Unlock()
	}
	return diags
}

func (b *builder) item(p *pipeline.Post, at pipeline.PostDestination, dest *pipeline.Destination) (*Item, []pipeline.Diagnostic) {
	info := b.in.Providers[dest.Provider]
	it := &Item{
		Post: p, At: at, Destination: dest, Info: info, Skip: at.Skip,
		ID: pipeline.DeliveryID{Post: p.ID, Target: dest.Target}, Errors: p.Errors || at.Errors,
	}
	if it.Skip || p.Errors {
		return it, nil
	}
	resolved, diags := content.Resolve(p, at, *dest, b.in.Config, info)
	it.Again = func(limits *providers.Limits) (pipeline.Rendition, providers.Encoded, []pipeline.Diagnostic) {
		return b.render(it, resolved, limits)
	}
	rend, enc, ds := it.Again(dest.Limits)
	diags = append(diags, ds...)
	if pipeline.HasErrors(diags) {
		it.Errors = true
	}
	if !it.Errors {
		it.Rendition, it.Encoded = rend, enc
	}
	return it, diags
}

func (b *builder) render(it *Item, resolved content.Resolved, limits *providers.Limits) (pipeline.Rendition, providers.Encoded, []pipeline.Diagnostic) {
	lim := render.EffectiveLimits(limits, *it.Destination, it.Info)
	var diags []pipeline.Diagnostic
	parts := make([]render.Part, len(resolved.Parts))
	for i, p := range resolved.Parts {
		parts[i] = render.Part{Doc: p.Doc, Pos: p.Pos}
		for _, use := range p.Media {
			m, ds := b.medium(it.Post, use, lim)
			diags = append(diags, ds...)
			if m != nil {
				parts[i].Media = append(parts[i].Media, *m)
			}
		}
	}
	for i := range diags {
		diags[i].Destination = it.Destination.Name
	}
	out, ds := render.Render(render.Input{
		Post: it.Post, Dest: it.At, Destination: *it.Destination, Info: it.Info, Limits: limits,
		Title: resolved.Title, Lang: resolved.Lang, Parts: parts, CheckOnly: b.in.Lean,
	})
	return out.Rendition, out.Encoded, append(diags, ds...)
}

// medium describes one file as it will be sent within the limits; nil where it cannot be.
func (b *builder) medium(p *pipeline.Post, use pipeline.MediaUse, lim providers.Limits) (*providers.Media, []pipeline.Diagnostic) {
	m, diags, ok := b.media.Load(p, use)
	if !ok {
		return nil, diags
	}
	fitted, err := b.media.Fit(m, lim)
	var problem *media.Problem
	switch {
	case errors.As(err, &problem):
		return nil, append(diags, media.Diagnostic(problem, p, use.Pos))
	case err != nil:
		return nil, append(diags, pipeline.Diagnostic{
			Code: "media_unreadable", Severity: pipeline.Error, File: p.Path, Line: use.Pos.Line,
			Column: use.Pos.Column, Message: err.Error(), Post: p.ID,
		})
	}
	fitted.Source = m.SHA256
	return &fitted, diags
}
