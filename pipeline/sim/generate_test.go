package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

// kinds are what a network can lack, by the destination's key `disable`.
var kinds = map[string][]string{"both": nil, "finder": {"key"}, "key": {"find"}, "neither": {"find", "key"}}

var kindNames = []string{"both", "finder", "key", "neither"}

// generator makes a plan out of random numbers.
type generator struct {
	*rand.Rand
	p     *plan
	posts []string
	// on are the families of faults that this seed has.
	on map[string]bool
}

// generate makes the plan of a seed.
func generate(seed uint64) *plan {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x6272_6f61_6473_6964)), p: &plan{Seed: seed}, on: map[string]bool{}}
	for family, often := range map[string]float64{
		"kill": 0.6, "freeze": 0.5, "network": 0.75, "git": 0.5, "people": 0.7, "decisions": 0.6, "attack": 0.2, "tokens": 0.4,
		"clocks": 0.5, "compact": 0.4, "fork": 0.15, "outage": 0.25, "checkout": 0.25, "late": 0.2, "accounts": 0.15, "trap": 0.3,
	} {
		// Map order is random: each family has random numbers of its own.
		r := rand.New(rand.NewPCG(seed, hash(family)))
		g.on[family] = r.Float64() < often
	}
	g.world()
	n := 3 + g.IntN(6)
	for i := range n {
		g.post(i)
	}
	g.runs()
	if g.on["network"] {
		for range 2 + g.IntN(8) {
			g.network()
		}
	}
	if g.on["late"] {
		for range 1 + g.IntN(3) {
			g.add(step{Do: "wire", Kind: "late", Op: "publish", Dests: g.oneDest(), Skip: g.IntN(2), Dur: g.pick(5*time.Second, 20*time.Second, 5*time.Minute, 20*time.Minute, 70*time.Minute)})
		}
	}
	if g.on["trap"] {
		g.trap()
	}
	if g.on["git"] {
		for range 2 + g.IntN(8) {
			g.git()
		}
	}
	if g.on["outage"] {
		g.add(step{Do: "git", Kind: []string{"before", "auth", "lost", "after"}[g.IntN(4)], Dur: g.pick(5*time.Minute, 40*time.Minute, 2*time.Hour, 3*time.Hour)})
	}
	if g.on["people"] {
		for range 2 + g.IntN(8) {
			g.people()
		}
	}
	if g.on["decisions"] {
		for range 1 + g.IntN(6) {
			g.decision()
		}
	}
	if g.on["accounts"] {
		g.account()
	}
	if g.on["attack"] {
		g.attack()
	}
	if g.on["fork"] {
		for range 1 + g.IntN(3) {
			g.add(step{Do: []string{"fork", "newledger", "branch"}[g.IntN(3)], Who: g.IntN(len(g.p.Runners))})
		}
	}
	slices.SortStableFunc(g.p.Steps, func(a, b step) int { return cmp.Compare(a.At, b.At) })
	return g.p
}

// horizon is when the last step happens.
const horizon = 4 * time.Hour

func (g *generator) world() {
	p := g.p
	first := g.IntN(4)
	for i := range 2 + g.IntN(3) {
		kind := kindNames[(first+i)%4]
		d := dest{Name: string(rune('a' + i)), Kind: kind, Disable: slices.Clone(kinds[kind]), Expiring: g.on["tokens"] && g.IntN(2) == 0}
		if g.IntN(5) == 0 {
			d.Disable = append(d.Disable, "stage")
		}
		p.Dests = append(p.Dests, d)
	}
	p.Date, p.Atomic = g.IntN(4) > 0, g.IntN(4) > 0
	p.KeyWindow = []time.Duration{time.Hour, time.Hour, 30 * time.Minute, 4 * time.Hour, -1}[g.IntN(5)]
	p.TokenLife = g.pick(40*time.Minute, time.Hour, 2*time.Hour)
	if g.on["compact"] {
		p.CompactAfter = 3 + g.IntN(10)
	}
	for range 2 + g.IntN(3) {
		r := runner{Checkout: g.on["checkout"] && g.IntN(2) == 0, Hint: g.IntN(3) > 0}
		if g.on["clocks"] {
			// Without the remote's time nothing sets a clock right: two of them may be four minutes apart.
			most := 4 * time.Minute
			if p.Date {
				most = 8 * time.Minute
			}
			r.Offset = time.Duration(g.Int64N(int64(most))) - most/2
		}
		p.Runners = append(p.Runners, r)
	}
}

func (g *generator) pick(of ...time.Duration) time.Duration { return of[g.IntN(len(of))] }

// moment is some time of the plan. No two steps have the same one.
func (g *generator) moment() time.Duration { return time.Duration(g.Int64N(int64(horizon))) }

func (g *generator) add(s step) {
	if s.At == 0 {
		s.At = g.moment()
	}
	g.p.Steps = append(g.p.Steps, s)
}

func (g *generator) oneDest() []string { return []string{g.p.Dests[g.IntN(len(g.p.Dests))].Name} }

func (g *generator) onePost() string {
	if len(g.posts) == 0 {
		return "p0"
	}
	return g.posts[g.IntN(len(g.posts))]
}

// window chooses when a post is due, seen from at, and its deadline.
func (g *generator) window(at time.Duration) (due, by time.Duration) {
	due = at + g.pick(-40*time.Minute, -10*time.Minute, 0, time.Minute, 10*time.Minute, 25*time.Minute, time.Hour) + time.Duration(g.IntN(300))*time.Second
	due = max(due, time.Second).Truncate(time.Second)
	if g.IntN(3) == 0 {
		by = due + g.pick(4*time.Minute, 15*time.Minute, 40*time.Minute, 2*time.Hour)
	}
	return due, by
}

func (g *generator) post(i int) {
	at := time.Duration(g.Int64N(int64(horizon * 6 / 10)))
	s := step{At: at, Do: "post", Post: fmt.Sprintf("p%d", i), Kind: []string{"plain", "plain", "plain", "thread", "thread", "image", "album"}[g.IntN(7)]}
	s.Due, s.By = g.window(at)
	s.Flag = g.IntN(8) == 0 // publish_at: now
	for _, d := range g.p.Dests {
		if g.IntN(3) > 0 {
			s.Dests = append(s.Dests, d.Name)
		}
	}
	if len(s.Dests) == 0 {
		s.Dests = g.oneDest()
	}
	if i > 0 && g.IntN(8) == 0 {
		s.Like = g.onePost()
	}
	g.posts = append(g.posts, s.Post)
	g.add(s)
}

// runs starts a run every quarter of an hour or so, and now and then another beside it.
func (g *generator) runs() {
	for at := g.pick(0, 10*time.Minute) + time.Second; at < horizon; at += 6*time.Minute + time.Duration(g.Int64N(int64(18*time.Minute))) {
		g.run(at)
		for g.IntN(3) == 0 {
			g.run(at + time.Duration(g.Int64N(int64(20*time.Second))))
		}
	}
}

var classes = []string{"any", "any", "push", "push", "publish", "publish", "publish", "fetch", "read", "upload", "refresh"}

func (g *generator) run(at time.Duration) {
	s := step{At: at, Do: "run", Who: g.IntN(len(g.p.Runners))}
	if g.on["kill"] && g.IntN(4) == 0 {
		s.Kill = g.hit()
	}
	if g.on["freeze"] && g.IntN(5) == 0 {
		s.Freeze = g.hit()
		s.Freeze.Dur = g.pick(40*time.Second, 4*time.Minute, 12*time.Minute, 25*time.Minute, 50*time.Minute)
		s.Freeze.Force = g.IntN(2) == 0
	}
	if g.IntN(10) == 0 {
		s.Stop = time.Duration(g.Int64N(int64(15 * time.Second)))
	}
	g.add(s)
}

func (g *generator) hit() hit {
	h := hit{Class: classes[g.IntN(len(classes))], After: g.IntN(2) == 0}
	most := map[string]int{"any": 40, "push": 9, "publish": 4, "fetch": 10, "read": 10, "upload": 3, "refresh": 1}[h.Class]
	h.N = 1 + g.IntN(most)
	return h
}

// network makes a network fail.
func (g *generator) network() {
	if g.IntN(3) == 0 {
		kind := []string{"unsent", "lost", "unheard", "hang", "hang-done", "stale", "stale"}[g.IntN(7)]
		s := step{Do: "wire", Kind: kind, Op: "publish", Dests: g.oneDest(), Skip: g.IntN(3), Times: 1 + g.IntN(2)}
		switch {
		case kind == "stale":
			s.Op, s.Times, s.Dur = "list", 1, g.pick(time.Minute, time.Hour)
		case g.IntN(4) == 0:
			s.Op = []string{"refresh", "upload", "read", "any"}[g.IntN(4)]
		}
		g.add(s)
		return
	}
	faults := server.Faults()
	s := step{Do: "fault", Kind: string(faults[g.IntN(len(faults))]), Op: string(server.Publish), Dests: g.oneDest(), Times: 1 + g.IntN(2), Skip: g.IntN(2)}
	if g.IntN(4) == 0 {
		ops := []server.Op{server.Upload, server.Container, server.Process, server.Account, server.Instance, server.Refresh, server.List}
		s.Op = string(ops[g.IntN(len(ops))])
	}
	switch server.Fault(s.Kind) { //nolint:exhaustive // the others need no figures
	case server.RateLimit:
		forms := server.Forms()
		s.Form, s.Dur = string(forms[g.IntN(len(forms))]), g.pick(20*time.Second, 5*time.Minute, 40*time.Minute)
	case server.Slow:
		s.Dur = g.pick(5*time.Second, 25*time.Second, 2*time.Minute)
	case server.Lag:
		s.Dur, s.Op = g.pick(2*time.Second, 30*time.Second, 3*time.Minute), string(server.Publish)
	case server.HalfThread:
		s.Op, s.N = string(server.Publish), g.IntN(2)
	}
	if g.IntN(4) == 0 {
		s.Part = 1 + g.IntN(3)
	}
	g.add(s)
}

// git makes the remote fail.
func (g *generator) git() {
	s := step{Do: "git", Kind: []string{"before", "after", "lost", "late", "race", "race-edit", "reject", "auth", "slow", "stale"}[g.IntN(10)], Op: "push", Skip: g.IntN(6), Times: 1 + g.IntN(3)}
	switch s.Kind {
	case "late":
		s.Dur, s.Times = g.pick(time.Second, 30*time.Second, 10*time.Minute), 1
	case "slow":
		s.Dur, s.Op = g.pick(5*time.Second, time.Minute, 4*time.Minute), []string{"push", "fetch", "any"}[g.IntN(3)]
	case "stale":
		s.Op, s.N = []string{"refs", "fetch"}[g.IntN(2)], 1+g.IntN(6)
	case "before", "auth", "lost":
		s.Op = []string{"push", "push", "fetch", "refs", "any", "blobs"}[g.IntN(6)]
		if s.Op == "blobs" {
			s.Dur = g.pick(10*time.Minute, 30*time.Minute)
		}
	case "race-edit":
		s.Post = g.onePost()
	}
	g.add(s)
}

// people is a person who changes files.
func (g *generator) people() {
	s := step{Post: g.onePost()}
	s.Do = []string{"edit", "edit", "move", "deadline", "remove", "restore", "restore", "rename", "copy", "uncopy", "draft", "spoil", "mend", "rewrite", "drop", "breakconfig", "mendconfig", "media"}[g.IntN(18)]
	s.At = g.moment()
	switch s.Do {
	case "move":
		s.Due, s.By = g.window(s.At)
	case "deadline":
		s.By = s.At + g.pick(5*time.Minute, 30*time.Minute, 2*time.Hour)
	case "breakconfig":
		g.add(step{Do: "mendconfig", At: s.At + g.pick(10*time.Minute, 40*time.Minute)})
	case "spoil":
		if g.IntN(2) == 0 {
			g.add(step{Do: "mend", Post: s.Post, At: s.At + g.pick(10*time.Minute, 40*time.Minute)})
		}
	case "copy":
		if g.IntN(3) > 0 {
			g.add(step{Do: "uncopy", Post: s.Post, At: s.At + g.pick(10*time.Minute, 40*time.Minute)})
		}
	}
	g.add(s)
}

// decision is a person who speaks to the ledger, or does something on the network.
func (g *generator) decision() {
	s := step{Post: g.onePost(), Dests: g.oneDest()}
	s.Do = []string{"hold", "release", "cancel", "resolve", "resolve", "resolve", "retry", "apply", "apply", "manual", "manual", "delete"}[g.IntN(12)]
	if s.Do == "hold" {
		s.Kind = []string{"all", "post", "destination"}[g.IntN(3)]
		s.At = g.moment()
		g.add(step{Do: "release", At: s.At + g.pick(15*time.Minute, time.Hour)})
	}
	g.add(s)
}

// account is what befalls an account.
func (g *generator) account() {
	d := g.oneDest()
	at := g.moment() / 2
	s := step{Do: []string{"revoke", "swap", "retarget", "mixup", "login"}[g.IntN(5)], Dests: d, At: at}
	g.add(s)
	if g.IntN(4) > 0 {
		g.add(step{Do: "login", Dests: d, At: at + g.pick(15*time.Minute, time.Hour)})
	}
}

// attack is somebody with a mere write token.
func (g *generator) attack() {
	at := g.moment()
	if g.IntN(2) == 0 {
		g.add(step{Do: "backup", At: at * 3 / 4})
	}
	g.add(step{Do: "attack", At: at, N: 1 + g.IntN(8), Kind: []string{"rewind", "rewind-mark", "delete", "delete-mark", "delete-both", "forge", "forge-ledger", "forge-mark", "replay", "revert"}[g.IntN(10)]})
	if g.IntN(4) > 0 {
		g.add(step{Do: "mendledger", At: at + g.pick(time.Minute, 10*time.Minute, 40*time.Minute)})
	}
}

// trap puts steps together that seldom meet by chance.
func (g *generator) trap() {
	d := g.oneDest()
	which := g.IntN(6)
	if i := slices.IndexFunc(g.p.Dests, func(d dest) bool { return d.Kind == "finder" }); which < 2 && i >= 0 {
		d = []string{g.p.Dests[i].Name}
	}
	at := time.Hour + time.Duration(g.Int64N(int64(horizon-2*time.Hour)))
	soon := func() time.Duration { return at + time.Duration(g.Int64N(int64(3*time.Minute))) }
	post := step{At: at - 20*time.Minute, Do: "post", Post: "trap", Kind: []string{"plain", "thread", "image"}[g.IntN(3)], Dests: d, Due: (at - 5*time.Minute).Truncate(time.Second)}
	g.add(post)
	run := step{At: at, Do: "run", Who: g.IntN(len(g.p.Runners))}
	switch which {
	case 0: // it is out, nobody knows, and the first who looks sees an old list
		run.Kill = hit{Class: "publish", N: 1, After: true}
		g.add(step{At: at + 30*time.Second, Do: "wire", Kind: "stale", Op: "list", Dests: d, Times: 1, Dur: 2 * time.Hour})
		g.run(at + 17*time.Minute + time.Duration(g.IntN(100))*time.Second)
	case 1: // it is on its way while others look
		g.add(step{At: at - time.Second, Do: "wire", Kind: "late", Op: "publish", Dests: d, Dur: g.pick(20*time.Second, 2*time.Minute, 5*time.Minute)})
		g.run(soon())
		g.run(soon())
	case 2: // its sender is frozen, and others look
		run.Freeze = hit{Class: "publish", N: 1 + g.IntN(2), After: g.IntN(2) == 0, Dur: g.pick(20*time.Second, 3*time.Minute, 9*time.Minute, 17*time.Minute), Force: g.IntN(2) == 0}
		g.run(soon())
		g.run(at + 16*time.Minute)
	case 3: // a refresh is on its way while others need one
		run.Freeze = hit{Class: []string{"refresh", "push"}[g.IntN(2)], N: 1 + g.IntN(2), After: true, Dur: g.pick(time.Minute, 5*time.Minute)}
		g.run(soon())
		g.run(soon())
	case 4: // the answer is lost twice, and the network forgets its keys in between
		g.add(step{At: at - time.Second, Do: "wire", Kind: "unheard", Op: "publish", Dests: d, Times: 3})
		g.add(step{At: at, Do: "fault", Kind: "server_error", Op: "list", Dests: d, Times: 2})
		g.add(step{At: at + time.Minute, Do: "git", Kind: "before", Dur: g.pick(25*time.Minute, 55*time.Minute)})
	case 5: // the ledger is replaced while a run is frozen
		run.Freeze = hit{Class: "push", N: 1 + g.IntN(3), After: g.IntN(2) == 0, Dur: g.pick(6*time.Minute, 20*time.Minute)}
		g.add(step{At: at + time.Minute, Do: "attack", N: 1 + g.IntN(5), Kind: []string{"rewind", "delete", "delete-both", "revert"}[g.IntN(4)]})
		g.add(step{At: at + 2*time.Minute, Do: "mendledger"})
		g.run(at + 3*time.Minute)
		g.run(at + 4*time.Minute)
	}
	g.add(run)
}
