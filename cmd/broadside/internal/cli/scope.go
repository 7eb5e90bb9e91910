package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// scopeName says what a hold is on, as people call it: by the destination's name, not by its target.
func (w *workspace) scopeName(scope string) string {
	kind, arg, _ := strings.Cut(scope, ":")
	switch kind {
	case ledger.ScopeAll:
		return "everything"
	case "post":
		return "post " + arg
	case "target":
		if d := w.byTarget(pipeline.Target(arg)); d != nil {
			return "destination " + d.Name
		}
		return arg
	}
	return scope
}

// holdWhy is why something is held. That a person said so is told beside it.
func holdWhy(h ledger.Hold) string {
	if h.Reason == string(pipeline.ReasonByPerson) {
		if h.Detail == "held by "+personName(h.By) {
			return ""
		}
		return h.Detail
	}
	return strings.TrimSpace(h.Reason + " " + h.Detail)
}

// heldSince says since when a hold stands, by whom, and why.
func heldSince(h ledger.Hold) string {
	s := "since " + h.At.UTC().Format(time.RFC3339) + " by " + personName(h.By)
	if why := holdWhy(h); why != "" {
		s += ": " + why
	}
	return s
}

// personName is who gave a command, without the ledger's mark for people; a run stays as it is called.
func personName(by string) string {
	if name, ok := strings.CutPrefix(by, ledger.PersonRun("")); ok {
		return name
	}
	return "run " + by
}

// toldBy puts a reason and its detail into one line; that a person said so needs no code.
func toldBy(reason pipeline.Reason, detail string) string {
	if reason == pipeline.ReasonByPerson {
		if detail == "" {
			return "a person said so"
		}
		return detail
	}
	return strings.TrimSpace(string(reason) + " " + detail)
}

// personHold finds a hold that a person has set on a scope, or nil.
func personHold(s *ledger.State, scope string) *ledger.Hold {
	for _, id := range slices.Sorted(maps.Keys(s.Holds)) {
		if h := s.Holds[id]; h.Scope == scope && h.Reason == string(pipeline.ReasonByPerson) {
			return &h
		}
	}
	return nil
}

// knownScope refuses a post that neither the ledger nor this checkout knows.
func (w *workspace) knownScope(ctx context.Context, s *ledger.State, scope string) error {
	post, is := strings.CutPrefix(scope, ledger.ScopePost(""))
	if !is {
		return nil
	}
	ids := ledgerPosts(s)
	if ids[post] {
		return nil
	}
	tree, _ := content.Load(ctx, w.files, w.cfg, w.infos)
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, p := range tree.Posts {
		ids[p.ID] = true
	}
	if ids[post] {
		return nil
	}
	delete(ids, "")
	hint := "`broadside status` lists the posts that are known"
	if n := nearest(post, slices.Sorted(maps.Keys(ids))); n != "" {
		hint = "did you mean " + n + "?"
	}
	return usageError{fmt.Errorf("neither the ledger nor this checkout knows a post %q", post), hint}
}
