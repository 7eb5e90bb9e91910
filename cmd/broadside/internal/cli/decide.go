package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/report"
)

// The commands by which a person decides: each is one commit on the ledger.

func (a *app) cmdCancel() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel POST [DESTINATION]",
		GroupID: "publish",
		Short:   "Cancel what of a post has not gone out",
		Args:    between("POST", 1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.decide(c.Context(), func(s *ledger.State) ([]pipeline.DeliveryID, error) { return openOf(s, args) },
				func(tx *journal.Tx, id pipeline.DeliveryID) error {
					return tx.Add(tx.State.CancelByPerson(tx.Stamp, id, ""))
				}, saying("is canceled"))
		},
	}
}

func (a *app) cmdHold() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:     "hold [POST | destination NAME | all]",
		GroupID: "publish",
		Short:   "Keep a post, a destination or everything from going out",
		Example: "  broadside hold launch-1-0\n  broadside hold destination fosstodon\n  broadside hold all --reason incident",
		Args:    between("what to hold: a post, `destination NAME`, or `all`", 1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.hold(c.Context(), args, reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the others")
	return c
}

func (a *app) hold(ctx context.Context, args []string, reason string) error {
	w, j, done, err := a.openLedger(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	scope, err := w.scope(args)
	if err != nil {
		return err
	}
	if err := w.knownScope(ctx, j.State(), scope); err != nil {
		return err
	}
	id, err := nonce()
	if err != nil {
		return err
	}
	if reason == "" {
		reason = "held by " + personName(a.person())
	}
	var stands *ledger.Hold
	err = j.Append(ctx, nil, func(tx *journal.Tx) error {
		if stands = personHold(tx.State, scope); stands != nil {
			return nil
		}
		return tx.Add(tx.State.Hold(tx.Stamp, ledger.HoldInput{Hold: id, Scope: scope, Reason: pipeline.ReasonByPerson, Detail: reason}))
	})
	if err != nil {
		return err
	}
	text := w.scopeName(scope) + " is held"
	if stands != nil {
		text += " already, " + heldSince(*stands)
	}
	fmt.Fprintln(a.out, report.Line(text+"; `broadside release "+strings.Join(args, " ")+"` lifts it"))
	return nil
}

func (a *app) cmdRelease() *cobra.Command {
	return &cobra.Command{
		Use:     "release [POST | destination NAME | all]",
		GroupID: "publish",
		Short:   "Lift a hold",
		Args:    between("what to release: a post, `destination NAME`, or `all`", 1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.release(c.Context(), args)
		},
	}
}

func (a *app) release(ctx context.Context, args []string) error {
	w, j, done, err := a.openLedger(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	scope, err := w.scope(args)
	if err != nil {
		return err
	}
	n := 0
	err = j.Append(ctx, nil, func(tx *journal.Tx) error {
		n = 0
		for id, h := range tx.State.Holds {
			if h.Scope != scope && !w.loginHold(tx.State, h, args) {
				continue
			}
			n++
			if err := tx.Add(tx.State.Release(tx.Stamp, id, pipeline.ReasonByPerson, "")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n == 0 {
		if err := w.knownScope(ctx, j.State(), scope); err != nil {
			return err
		}
		return hinted{fmt.Errorf("%s is not held", w.scopeName(scope)), "`broadside status` lists what is"}
	}
	fmt.Fprintln(a.out, report.Line(w.scopeName(scope)+" is released"))
	return nil
}

// loginHold tells that releasing a destination also lifts a hold that a refused credential of it caused.
func (w *workspace) loginHold(s *ledger.State, h ledger.Hold, args []string) bool {
	if len(args) != 2 || args[0] != "destination" || !strings.HasPrefix(h.Scope, "login:") {
		return false
	}
	d, ok := w.cfg.Destination(args[1])
	if !ok {
		return false
	}
	for _, del := range s.Deliveries {
		if last := del.Last(); del.ID.Target == d.Target && last != nil && ledger.ScopeLogin(last.Login) == h.Scope {
			return true
		}
	}
	return strings.HasPrefix(h.Detail, args[1]+":")
}

// scope reads what a hold is about.
func (w *workspace) scope(args []string) (string, error) {
	switch {
	case len(args) == 1 && args[0] == "all":
		return ledger.ScopeAll, nil
	case len(args) == 2 && args[0] == "destination":
		d, ok := w.cfg.Destination(args[1])
		if !ok {
			return "", w.unknownDestination(args[1])
		}
		if d.Target == "" {
			return "", hinted{fmt.Errorf("destination %s has no target yet", d.Name), "`broadside auth add " + d.Name + "` writes it"}
		}
		return ledger.ScopeTarget(d.Target), nil
	case len(args) == 1 && pipeline.ValidPostID(args[0]):
		return ledger.ScopePost(args[0]), nil
	}
	return "", usageError{fmt.Errorf("%q is neither a post id, nor `destination NAME`, nor `all`", strings.Join(args, " ")), ""}
}

func (w *workspace) destinationNames() []string {
	var out []string
	for _, d := range w.cfg.Destinations {
		out = append(out, d.Name)
	}
	return out
}

// decide applies one decision to the deliveries that pick names, in one commit.
func (a *app) decide(ctx context.Context, pick func(*ledger.State) ([]pipeline.DeliveryID, error), apply func(*journal.Tx, pipeline.DeliveryID) error, said func(*ledger.State, *ledger.Delivery) []string) error {
	_, j, done, err := a.openLedger(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	var ids []pipeline.DeliveryID
	err = j.Append(ctx, nil, func(tx *journal.Tx) error {
		var err error
		if ids, err = pick(tx.State); err != nil {
			return err
		}
		for _, id := range ids {
			if err := apply(tx, id); err != nil {
				return inPeoplesWords(err, tx.State)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s := j.State()
	for _, id := range ids {
		for _, line := range said(s, s.Deliveries[id]) {
			fmt.Fprintln(a.out, report.Line(line))
		}
	}
	return nil
}

// saying is what is said of a delivery in one line.
func saying(what string) func(*ledger.State, *ledger.Delivery) []string {
	return func(_ *ledger.State, d *ledger.Delivery) []string {
		return []string{d.ID.Post + " at " + d.Dest + " " + what}
	}
}

// openLedger opens workspace, remote and ledger for a command.
func (a *app) openLedger(ctx context.Context, write bool) (*workspace, *journal.Journal, func(), error) {
	w, err := a.open(true)
	if err != nil {
		return nil, nil, nil, err
	}
	remote, err := w.remote(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	j, err := w.journal(ctx, remote, write)
	if err != nil {
		_ = remote.Close()
		return nil, nil, nil, err
	}
	return w, j, func() { _ = remote.Close() }, nil
}

// findDelivery finds a delivery by post id and destination name.
func findDelivery(s *ledger.State, post, dest string) (*ledger.Delivery, error) {
	var known []string
	for _, d := range s.Deliveries {
		if d.ID.Post != post {
			continue
		}
		if d.Dest == dest {
			return d, nil
		}
		known = append(known, d.Dest)
	}
	slices.Sort(known)
	if len(known) == 0 {
		return nil, unknownPost(s, post, "`broadside status` lists those it knows; a post is known once a run has seen it")
	}
	return nil, usageError{fmt.Errorf("%s has no delivery at %q", post, dest), "it has " + strings.Join(known, ", ")}
}

// unknownPost says what an id may have been meant to be.
func unknownPost(s *ledger.State, post, hint string) error {
	if n := nearest(post, slices.Sorted(maps.Keys(ledgerPosts(s)))); n != "" {
		hint = "did you mean " + n + "? " + hint
	}
	return usageError{fmt.Errorf("the ledger knows no post %q", post), hint}
}

// ledgerPosts are the ids that the ledger knows.
func ledgerPosts(s *ledger.State) map[string]bool {
	out := map[string]bool{}
	for id := range s.Deliveries {
		out[id.Post] = true
	}
	return out
}

// openOf lists what of a post, or of one delivery of it, has not gone out.
func openOf(s *ledger.State, args []string) ([]pipeline.DeliveryID, error) {
	if len(args) == 2 {
		d, err := findDelivery(s, args[0], args[1])
		if err != nil {
			return nil, err
		}
		return []pipeline.DeliveryID{d.ID}, nil
	}
	var out []pipeline.DeliveryID
	known := false
	for _, d := range s.Deliveries {
		if d.ID.Post != args[0] {
			continue
		}
		known = true
		switch d.State {
		case pipeline.Scheduled, pipeline.Queued, pipeline.Failed, pipeline.Uncertain:
			out = append(out, d.ID)
		case pipeline.Publishing, pipeline.Published, pipeline.Canceled, pipeline.Adopted, pipeline.Retracted:
		}
	}
	if !known {
		return nil, unknownPost(s, args[0], "a post is known once a run has seen it; before that, delete its file or its publish_at")
	}
	if len(out) == 0 {
		return nil, hinted{fmt.Errorf("nothing of %s can be canceled any more", args[0]), "`broadside status " + args[0] + "` shows where it stands"}
	}
	slices.SortFunc(out, func(x, y pipeline.DeliveryID) int { return strings.Compare(string(x.Target), string(y.Target)) })
	return out, nil
}

// between wants from least to most arguments.
func between(name string, least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return usageError{fmt.Errorf("%q needs %s", c.CommandPath(), name), "`" + c.CommandPath() + " --help` shows its use"}
	}
}
