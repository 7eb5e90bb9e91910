package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// copy is one part on the network.
type copy struct {
	server.Post
	part int
	id   pipeline.DeliveryID
	sent *sent // nil where it was made by hand
}

// check holds what the network recorded, and all that was ever pushed, against the promises.
func (w *world) check() {
	h := w.readHistory()
	copies := w.copies()
	w.happenedTimes("parts on the networks", len(copies))
	w.happenedTimes("commits on the ledger", h.commits)
	w.checkOnce(h, copies)
	w.checkClaims(h, copies)
	w.checkFlight()
	w.checkTokens(h)
	w.checkEnds(h, copies)
}

// copies joins the network's posts with the requests that made them.
func (w *world) copies() []copy {
	log := w.net.Requests()
	if len(log) > 1900 {
		w.breakf("the sandbox's log is too short for this plan")
	}
	made := map[string]server.Request{}
	for _, r := range log {
		if r.Made != "" {
			made[r.Made] = r
		}
	}
	ids := map[string]string{}
	for _, l := range w.net.Logins() {
		ids[l.Handle] = l.ID
	}
	var out []copy
	for _, p := range w.net.EveryPost("") {
		c := copy{Post: p, part: max(made[p.ID].Part-1, 0), id: pipeline.DeliveryID{Post: p.Label, Target: target(ids[p.Handle])}}
		for _, s := range w.sent {
			if p.Label != "" && s.Arrived.Equal(made[p.ID].At) && s.Post == p.Label && s.Part-1 == c.part {
				s.Made, c.sent = p.ID, s
			}
		}
		if p.Label != "" && c.sent == nil && len(made) > 0 {
			// A slow request is recorded when it is answered.
			for _, s := range w.sent {
				if s.Post == p.Label && s.Part-1 == c.part && !s.Arrived.IsZero() && !s.Arrived.After(p.At.Add(time.Millisecond)) && s.Made == "" && s.Account == p.Handle {
					c.sent = s
				}
			}
			if c.sent != nil {
				c.sent.Made = p.ID
			}
		}
		out = append(out, c)
	}
	return out
}

// loose tells that a request arrived when its sender had no right to it any more, whatever the sender did: it was on its
// way when its sender gave up, or its sender was frozen between its last check and the request; and it took so long that
// others could hold it for lost, or the network had forgotten its key.
func (w *world) loose(h *history, c copy) bool {
	if c.sent == nil || !c.sent.Late && !c.sent.Frozen {
		return false
	}
	cl := h.claimOf(c.sent.Proc, c.id, c.sent.Entered)
	if cl == nil {
		return false
	}
	fence := publish.DefaultFence()
	over := cl.LeaseUntil.Add(fence.Stale(sandbox.Info().LongestRequest) - 2*w.slack(c.sent.Proc))
	forgotten := cl.Sent.Add(max(w.plan.KeyWindow, 0) - 2*w.slack(c.sent.Proc))
	return c.sent.Arrived.After(over) || slices.Contains([]string{"key", "both"}, w.kindOf(c.sent.Dest)) && c.sent.Arrived.After(forgotten)
}

func (w *world) kindOf(dest string) string { return w.dest(dest).Kind }

// checkOnce: no part exists twice, unless a person chose to try again, or the ledger reports the copy and one of the two
// faults that nothing holds off has made it.
func (w *world) checkOnce(h *history, copies []copy) {
	type key struct {
		id   pipeline.DeliveryID
		part int
	}
	groups := map[key][]copy{}
	var keys []key
	for _, c := range copies {
		if c.Label == "" || c.Deleted && w.restored {
			continue // who deletes a post and loses its ledger is asked again
		}
		k := key{c.id, c.part}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], c)
	}
	for _, k := range keys {
		g := groups[k]
		allowed := 1
		for _, at := range h.retries[k.id] {
			if at.Before(g[len(g)-1].At.Add(time.Hour)) {
				allowed++
			}
		}
		if len(g) <= allowed {
			if len(g) > 1 {
				w.happened("copies that a person's retry made")
			}
			continue
		}
		var ids []string
		loose, reported := false, false
		for _, c := range g {
			ids = append(ids, c.ID)
			loose = loose || w.loose(h, c)
			reported = reported || h.extra[c.ID]
		}
		if !loose {
			w.breakf("part %d of %s is there %d times (%s), %d allowed, reported=%t", k.part+1, k.id, len(g), strings.Join(ids, ", "), allowed, reported)
			continue
		}
		switch {
		case reported:
			w.happened("extra copies under the two faults, reported")
		case *strict:
			w.breakf("an extra copy under the two faults is not reported: part %d of %s (%s)", k.part+1, k.id, strings.Join(ids, ", "))
		default:
			w.happened("extra copies under the two faults, NOT reported")
		}
	}
}

// checkClaims: whatever is out was claimed before it was sent, by the process that sent it, from the content tip, and in
// its time.
func (w *world) checkClaims(h *history, copies []copy) {
	for _, c := range copies {
		if c.Label == "" {
			continue
		}
		if c.sent == nil {
			w.breakf("nobody has sent %s (%s)", c.ID, c.Text)
			continue
		}
		s := c.sent
		if strings.HasPrefix(s.Proc, "fork") {
			w.breakf("%s has published %s from a place that is not the ledger's home", s.Proc, c.id)
			continue
		}
		cl := h.claimOf(s.Proc, c.id, s.Entered)
		if cl == nil {
			w.breakf("%s has sent part %d of %s without a claim of its own on the ledger", s.Proc, c.part+1, c.id)
			continue
		}
		w.checkClaim(h, c, cl)
	}
}

func (w *world) checkClaim(h *history, c copy, cl *claim) {
	s := c.sent
	if c.part >= len(cl.Parts) || textOf(cl.Parts[c.part].Payload) != c.Text {
		w.breakf("%s has sent %q as part %d of %s, which is not what its claim holds", s.Proc, c.Text, c.part+1, c.id)
		return
	}
	content := gitstore.Hash(cl.Content)
	wants, known := w.truths[content][c.id]
	switch {
	case !known:
		w.breakf("%s has published part %d of %s from %.8s, where nobody wants it", s.Proc, c.part+1, c.id, content)
	case c.part >= len(wants.Parts) || wants.Parts[c.part] != c.Text:
		w.breakf("%s has published %q as part %d of %s, %.8s wants %q", s.Proc, c.Text, c.part+1, c.id, content, wants.Parts)
	case c.part == 0 && !wants.Now && !wants.Due.Equal(cl.due):
		w.breakf("%s has published %s due at %s, %.8s says %s", s.Proc, c.id, cl.due, content, wants.Due)
	}
	if !h.wasTip(content, cl.landed) {
		w.breakf("%s has claimed %s from %.8s, which was not the content tip when the claim landed", s.Proc, c.id, content)
	}
	slack := w.slack(s.Proc)
	if early := cl.due.Sub(s.Entered); early > slack {
		w.breakf("%s has sent part %d of %s %s before its time", s.Proc, c.part+1, c.id, early)
	}
	if late := s.Entered.Sub(cl.by); c.part == 0 && late > slack {
		w.breakf("%s has sent %s %s after its deadline", s.Proc, c.id, late)
	}
	if first, ok := h.firstSeen(w, c.id.Post, cl.due); ok && !wants.Now && first.Sub(cl.due) > publish.LateAfter+slack && c.part == 0 && len(h.retries[c.id]) == 0 {
		w.breakf("%s has published %s, which was first on the content branch %s after its time", s.Proc, c.id, first.Sub(cl.due))
	}
	if c.part > 0 && !h.receiptBefore(c.id, c.part-1, s.Entered) {
		w.breakf("%s has sent part %d of %s before the receipt of the part before was on the ledger", s.Proc, c.part+1, c.id)
	}
}

// slack is by how much a process's idea of the time may be off.
func (w *world) slack(name string) time.Duration {
	if w.plan.Date {
		return 4 * time.Second // clocks are set right to within two seconds, and looking takes a moment
	}
	most := time.Duration(0)
	for _, r := range w.plan.Runners {
		most = max(most, r.Offset.Abs())
	}
	return most + 2*time.Second
}

func textOf(payload json.RawMessage) string {
	var p struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(payload, &p)
	return p.Text
}

// checkFlight: no two deliveries are in flight on one destination.
func (w *world) checkFlight() {
	by := map[string][]*sent{}
	for _, s := range w.sent {
		if s.Frozen || s.Arrived.IsZero() {
			continue
		}
		by[s.Account] = append(by[s.Account], s)
	}
	for account, list := range by {
		slices.SortFunc(list, func(a, b *sent) int { return cmp.Compare(a.Arrived.UnixNano(), b.Arrived.UnixNano()) })
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			if b.Arrived.Before(a.Left) && (a.Proc != b.Proc || a.Post != b.Post) && !a.Late && !b.Late {
				w.breakf("%s of %s and %s of %s were in flight at once on %s", a.Post, a.Proc, b.Post, b.Proc, account)
			}
		}
	}
}

// checkTokens: a refresh token that is good for one use is not used again once the ledger holds its successor.
func (w *world) checkTokens(h *history) {
	if w.restored || w.attacked {
		return // the successor may have been lost with the ledger
	}
	for i, u := range w.uses {
		for _, before := range w.uses[:i] {
			if before.Token != u.Token || !before.Worked || u.Frozen {
				continue
			}
			if at, ok := h.refreshed[before.Proc+" credentials/"+before.Dest+".age"]; ok && at.Before(u.At) && !at.Before(before.At) {
				w.breakf("%s has used a refresh token that %s had used, %s after its successor was on the ledger", u.Proc, before.Proc, u.At.Sub(at))
			}
		}
	}
}

// checkEnds: every delivery that was due has come to an end, and whatever a person must know was told.
func (w *world) checkEnds(h *history, copies []copy) {
	opt := w.journalOptions("reader")
	j, err := journal.Open(w.t.Context(), opt)
	if err != nil {
		w.breakf("the ledger cannot be read in the end: %v", err)
		return
	}
	rep, err := ledger.Verify(j.Files())
	if err != nil || !rep.OK() {
		w.breakf("the ledger's history is not legal: %v %v", err, rep.Problems)
	}
	s, now := j.State(), time.Now()
	if h.state != nil {
		w.checkSame(h.state, s, "the state folded commit by commit", "the state loaded at the end")
	}
	for _, t := range s.Troubles(now) {
		if !w.told[t.Fingerprint] {
			w.breakf("nobody was told of %s: %s %s %s", t.Delivery, t.State, t.Reason, t.Detail)
		}
	}
	for _, id := range ids(s) {
		w.checkEnd(h, s, s.Deliveries[id], copies)
	}
	for id, want := range w.model.truth() {
		if d := s.Deliveries[id]; d == nil && (want.Now || want.Due.Before(now)) {
			if slices.ContainsFunc(ids(s), func(o pipeline.DeliveryID) bool { return o.Post == id.Post }) {
				w.happened("a destination came to a post whose time was over")
				continue
			}
			w.breakf("%s was due at %s, and the ledger does not know it", id, want.Due)
		}
	}
	for _, x := range s.Extra {
		if !slices.ContainsFunc(copies, func(c copy) bool { return c.ID == x.Receipt.ID }) {
			w.breakf("the ledger reports an extra copy %s that is not there", x.Receipt.ID)
		}
	}
}

func (w *world) checkEnd(h *history, s *ledger.State, d *ledger.Delivery, copies []copy) {
	now := time.Now()
	out := map[int][]copy{}
	n := 0
	for _, c := range copies {
		if c.id == d.ID && c.Label != "" && (!c.Deleted || !w.restored) {
			out[c.part] = append(out[c.part], c)
			n++
		}
	}
	w.happened("ends: " + string(d.State))
	if d.Due.After(now) {
		return
	}
	switch d.State {
	case pipeline.Published:
		w.checkPublished(h, d, copies)
	case pipeline.Publishing:
		w.breakf("%s is publishing in the end", d.ID)
	case pipeline.Scheduled, pipeline.Queued:
		_, held := s.Blocked(d.ID, d.Login)
		want, wanted := w.model.truth()[d.ID]
		switch {
		case held || !wanted && w.unclear(d):
		case now.After(d.By) && len(d.Receipts) == 0:
			w.breakf("%s is %s (%s %s) long after its deadline", d.ID, d.State, d.Reason, d.Detail)
		default:
			w.breakf("%s is stuck as %s (%s %s), receipts %d, wanted %t %v", d.ID, d.State, d.Reason, d.Detail, len(d.Receipts), wanted, want)
		}
	case pipeline.Failed, pipeline.Canceled, pipeline.Uncertain, pipeline.Adopted, pipeline.Retracted:
	}
	if d.State == pipeline.Uncertain || d.State == pipeline.Published || d.Reason == pipeline.ReasonByPerson || d.Doubt {
		return
	}
	// What the ledger calls not out must not be out.
	for part, cs := range out {
		known := 0
		for _, c := range cs {
			if _, _, ok := s.Taken(d.ID.Target, c.ID); ok || h.extra[c.ID] || w.loose(h, c) {
				known++
			}
		}
		if known == 0 && len(h.retries[d.ID]) == 0 && len(h.personCanceled[d.ID]) == 0 {
			w.breakf("%s is %s (%s %s), but part %d is out (%s)", d.ID, d.State, d.Reason, d.Detail, part+1, cs[0].ID)
		}
	}
}

// unclear tells that the file of a delivery is there and cannot be read, so that it waits for its author.
func (w *world) unclear(d *ledger.Delivery) bool {
	p := w.model.posts[d.ID.Post]
	return p != nil && !p.Gone && (p.Bad || p.Copied || !p.By.IsZero() && !p.By.After(p.Due))
}

// checkPublished: the receipts of what is published are posts of that account with that text.
func (w *world) checkPublished(h *history, d *ledger.Delivery, copies []copy) {
	if n := max(d.Parts(), 1); len(d.Receipts) < n {
		w.breakf("%s is published with %d of %d receipts", d.ID, len(d.Receipts), n)
	}
	for part, r := range d.Receipts {
		i := slices.IndexFunc(copies, func(c copy) bool { return c.ID == r.ID && c.id.Target == d.ID.Target })
		switch {
		case i < 0:
			w.breakf("%s is published, but part %d (%s) is not there", d.ID, part+1, r.ID)
		case copies[i].Label != "" && (copies[i].id != d.ID || copies[i].part != part):
			w.breakf("%s is published, but its receipt %s is part %d of %s", d.ID, r.ID, copies[i].part+1, copies[i].id)
		case copies[i].Label == "":
			w.happened("a post made by hand was taken for the delivery")
		}
	}
}

// checkSame compares two states in all that decides.
func (w *world) checkSame(a, b *ledger.State, nameA, nameB string) {
	for _, id := range ids(a) {
		if x, y := sumOf(a.Deliveries[id]), sumOf(b.Deliveries[id]); x != y {
			w.breakf("%s in %s is\n  %s\nand in %s\n  %s", id, nameA, x, nameB, y)
		}
	}
	if len(a.Deliveries) != len(b.Deliveries) || len(a.Holds) != len(b.Holds) || len(a.Extra) != len(b.Extra) || fmt.Sprint(a.Credentials) != fmt.Sprint(b.Credentials) {
		w.breakf("%s and %s differ: %d and %d deliveries, %d and %d holds, %d and %d extra copies", nameA, nameB,
			len(a.Deliveries), len(b.Deliveries), len(a.Holds), len(b.Holds), len(a.Extra), len(b.Extra))
	}
}

func sumOf(d *ledger.Delivery) string {
	if d == nil {
		return "unknown"
	}
	return fmt.Sprint(d.State, d.Reason, d.Due, d.By, d.Source, d.Path, d.Blob, d.Gen, d.Absent, d.Doubt, d.NotBefore, d.Login, d.FirstSeen, len(d.Attempts), d.Receipts)
}
