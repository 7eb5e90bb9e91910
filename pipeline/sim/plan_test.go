package sim

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// plan is everything that a seed decides.
type plan struct {
	Seed         uint64
	Dests        []dest
	Runners      []runner
	Date         bool // the remote tells its time
	Atomic       bool // the remote updates several refs at once
	KeyWindow    time.Duration
	TokenLife    time.Duration
	CompactAfter int
	Steps        []step
}

// dest is one destination, and what its kind of network lacks.
type dest struct {
	Name     string
	Kind     string // both, finder, key, neither
	Disable  []string
	Expiring bool
}

// runner is one machine that starts runs.
type runner struct {
	Offset   time.Duration // of its clock
	Checkout bool          // it has files of its own, perhaps old ones
	Hint     bool          // it knows broadside.yaml before it looks
}

// hit is an operation of a process at which something befalls the process.
type hit struct {
	Class string // push, fetch, publish, read, upload, refresh, any; "" for never
	N     int    // the n-th of its class, from 1
	After bool   // the operation still happens
	Dur   time.Duration
	Force bool // what a frozen process was about to send leaves when it wakes, whatever its own time limits say
}

// step is one thing that happens.
type step struct {
	At      time.Duration
	Do      string
	Who     int // runner
	Post    string
	Like    string
	Dests   []string
	Kind    string
	Op      string
	Form    string
	Due, By time.Duration // since the start; By 0 for the default
	Dur     time.Duration
	Skip    int
	Times   int
	Part    int
	N       int
	Flag    bool
	Kill    hit
	Freeze  hit
	Stop    time.Duration
}

func (s step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", clock(s.At), s.Do)
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "At" || name == "Do" || v.Field(i).IsZero() {
			continue
		}
		fmt.Fprintf(&b, " %s=%v", strings.ToLower(name), v.Field(i).Interface())
	}
	return b.String()
}

func (h hit) String() string {
	when := "before"
	if h.After {
		when = "after"
	}
	s := fmt.Sprintf("%s-%s-%d", when, h.Class, h.N)
	if h.Dur > 0 {
		s += "-for-" + h.Dur.String()
	}
	if h.Force {
		s += "-and-leaves"
	}
	return s
}

func clock(d time.Duration) string {
	d = d.Truncate(time.Millisecond)
	return fmt.Sprintf("%d:%02d:%06.3f", d/time.Hour, d/time.Minute%60, (d % time.Minute).Seconds())
}

func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: date=%t atomic=%t keyWindow=%s tokenLife=%s compactAfter=%d\n", p.Seed, p.Date, p.Atomic, p.KeyWindow, p.TokenLife, p.CompactAfter)
	for _, d := range p.Dests {
		fmt.Fprintf(&b, "  destination %s %s disable=%v expiring=%t\n", d.Name, d.Kind, d.Disable, d.Expiring)
	}
	for i, r := range p.Runners {
		fmt.Fprintf(&b, "  runner %d offset=%s checkout=%t hint=%t\n", i, r.Offset, r.Checkout, r.Hint)
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}
