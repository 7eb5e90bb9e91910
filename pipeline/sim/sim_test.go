package sim

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	seeds   = flag.Int("sim.seeds", fewSeeds, "how many seeds TestSim lives through")
	from    = flag.Uint64("sim.from", 1, "the first of them")
	oneSeed = flag.Uint64("sim.seed", 0, "live through this seed alone")
	verbose = flag.Bool("sim.v", false, "with -sim.seed: say everything that happens")
	strict  = flag.Bool("sim.strict", false, "an extra copy that nobody can know of breaks a promise too")
	most    = flag.Int("sim.most", 5, "stop after so many failing seeds")
	repeats = flag.Int("sim.repeats", 8, "how many seeds TestSeedsRepeatExactly lives through twice")
	shrinks = flag.Int("sim.shrink", 400, "how many tries to make a failing plan smaller")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // worlds are small and many
	m.Run()
}

// TestSim lives through many seeds. A failing one is made as small as it goes and printed with the command that repeats it.
func TestSim(t *testing.T) {
	if *oneSeed != 0 {
		out := carryOut(t, generate(*oneSeed), *verbose)
		if *verbose {
			t.Logf("%s\n%s", out.plan, strings.Join(out.lines, "\n"))
		}
		report(t, out)
		return
	}
	start := time.Now()
	total := tally(t, *from, *seeds)
	if *figures != "" && !t.Failed() {
		writeFigures(t, "seeds", seedFigures(total, time.Since(start)))
	}
}

// tally lives through n seeds on all cores.
func tally(t *testing.T, from uint64, n int) map[string]int {
	t.Helper()
	start := time.Now()
	var next atomic.Uint64
	var mu sync.Mutex
	total := map[string]int{}
	var bad []outcome
	t.Run("seeds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for {
					i := next.Add(1) - 1
					mu.Lock()
					stop := len(bad) >= *most
					mu.Unlock()
					if i >= uint64(n) || stop {
						return
					}
					out := carryOut(t, generate(from+i), false)
					mu.Lock()
					for k, v := range out.counts {
						total[k] += v
					}
					total["seeds"]++
					if len(out.broken) > 0 {
						bad = append(bad, out)
					}
					mu.Unlock()
				}
			})
		}
	})
	took := time.Since(start)
	t.Logf("%d seeds in %s, %s for 1,000", total["seeds"], took.Round(time.Millisecond), (took * 1000 / time.Duration(max(total["seeds"], 1))).Round(time.Millisecond))
	slices.SortFunc(bad, func(a, b outcome) int { return int(int64(a.plan.Seed) - int64(b.plan.Seed)) })
	for _, out := range bad {
		report(t, out)
	}
	if testing.Verbose() {
		for _, k := range slices.Sorted(maps.Keys(total)) {
			t.Logf("%7d  %s", total[k], k)
		}
	}
	return total
}

// report fails the test with what a seed has broken, and the smallest plan that still breaks something.
func report(t *testing.T, out outcome) {
	t.Helper()
	if len(out.broken) == 0 {
		return
	}
	t.Errorf("seed %d breaks: %s\nrepeat it with: go test ./pipeline/sim -run TestSim -sim.seed=%d -sim.v", out.plan.Seed, list(out.broken), out.plan.Seed)
	if *shrinks > 0 {
		small := shrink(t, out)
		t.Logf("the smallest plan found: %s\n  breaks: %s\n%s", small.plan, list(small.broken), strings.Join(small.lines, "\n"))
	}
}

func list(all []broken) string {
	var lines []string
	for _, b := range all {
		lines = append(lines, b.text)
	}
	return strings.Join(lines, "\n  ")
}

// shrink drops steps, and what befalls runs, while the same promise is still broken.
func shrink(t *testing.T, bad outcome) outcome {
	tries, kind := *shrinks, bad.broken[0].kind
	try := func(p *plan) bool {
		if tries--; tries < 0 {
			return false
		}
		out := carryOut(t, p, false)
		if !slices.ContainsFunc(out.broken, func(b broken) bool { return b.kind == kind }) {
			return false
		}
		bad = out
		return true
	}
	for size := len(bad.plan.Steps) / 2; size > 0; {
		dropped := false
		for i := 0; i+size <= len(bad.plan.Steps); {
			p := *bad.plan
			p.Steps = slices.Delete(slices.Clone(p.Steps), i, i+size)
			if try(&p) {
				dropped = true
			} else {
				i += size
			}
		}
		if !dropped || size > 1 {
			size /= 2
		}
	}
	for i := range bad.plan.Steps {
		for _, simpler := range []func(*step){
			func(s *step) { s.Kill = hit{} }, func(s *step) { s.Freeze = hit{} }, func(s *step) { s.Stop = 0 },
			func(s *step) { s.Dests = s.Dests[:min(1, len(s.Dests))] }, func(s *step) { s.Kind = map[string]string{"post": "plain"}[s.Do] },
		} {
			p := *bad.plan
			p.Steps = slices.Clone(p.Steps)
			simpler(&p.Steps[i])
			if fmt.Sprint(p.Steps[i]) != fmt.Sprint(bad.plan.Steps[i]) && (p.Steps[i].Kind != "" || bad.plan.Steps[i].Kind == "") {
				try(&p)
			}
		}
	}
	return carryOut(t, bad.plan, true)
}

// TestSeedsRepeatExactly lives through seeds twice: what is printed for a failure would be worth nothing otherwise.
func TestSeedsRepeatExactly(t *testing.T) {
	t.Parallel()
	for seed := *from; seed < *from+uint64(*repeats); seed++ {
		a, b := carryOut(t, generate(seed), false), carryOut(t, generate(seed), false)
		if d := cmp.Diff(a.trace, b.trace); d != "" {
			t.Errorf("seed %d goes another way the second time (-first +second):\n%.900s", seed, d)
		}
	}
}
