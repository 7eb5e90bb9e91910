package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
)

// verbs name the events in commit messages; the order is that of importance, for the subject.
var verbs = []struct {
	verb string
	is   func(*Event) bool
}{
	{"bind", func(e *Event) bool { return e.Kind == Bound }},
	{"claim", func(e *Event) bool { return e.Kind == Claimed && e.Purpose == PurposePublish }},
	{"claim edit", func(e *Event) bool { return e.Kind == Claimed && e.Purpose == PurposeEdit }},
	{"claim retract", func(e *Event) bool { return e.Kind == Claimed && e.Purpose == PurposeRetract }},
	{"receipt", func(e *Event) bool { return e.Kind == Receipt }},
	{"uncertain", ended(pipeline.Uncertain)},
	{"fail", ended(pipeline.Failed)},
	{"queue", ended(pipeline.Queued)},
	{"cancel", ended(pipeline.Canceled)},
	{"retract", ended(pipeline.Retracted)},
	{"edit", ended(edited)},
	{"adopt", func(e *Event) bool { return e.Kind == AdoptedEv }},
	{"hold", func(e *Event) bool { return e.Kind == Held }},
	{"release", func(e *Event) bool { return e.Kind == Released }},
	{"refresh", func(e *Event) bool { return e.Kind == Refreshing || e.Kind == Refreshed }},
	{"schedule", func(e *Event) bool { return e.Kind == Scheduled }},
	{"prepare", func(e *Event) bool { return e.Kind == Prepared }},
	{"renew", func(e *Event) bool { return e.Kind == Renewed }},
}

func ended(s pipeline.State) func(*Event) bool {
	return func(e *Event) bool { return e.Kind == Ended && e.State == string(s) }
}

const (
	maxSubject = 100 // characters, before " [skip ci]"
	maxBody    = 200 // lines
)

// Message builds the commit message of a file of events: `claim launch-1-0 -> bluesky, fosstodon [skip ci]`, further lines
// where there is more to say, and trailers that name the run and, where there is one, its page.
func Message(events []Event, run, url string) string {
	lines := messageLines(events)
	if len(lines) == 0 {
		lines = []string{"tip"}
	}
	subject, body := lines[0], lines[1:]
	more := ""
	if len(body) > 0 {
		more = fmt.Sprintf(" (+%d more)", len(body))
	}
	if len(subject)+len(more) > maxSubject {
		body = lines
		subject = clip(subject, maxSubject-len(more)-3)
	}
	var b strings.Builder
	b.WriteString(subject + more + " [skip ci]\n\n")
	for i, l := range body {
		if i == maxBody {
			fmt.Fprintf(&b, "... and %d more\n", len(body)-i)
			break
		}
		b.WriteString(l + "\n")
	}
	if len(body) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("Broadside-Run: " + oneLine(run) + "\n")
	if url != "" {
		b.WriteString("Broadside-Run-URL: " + oneLine(url) + "\n")
	}
	return b.String()
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)), " ")
}

// messageLines has one line per verb and post, with the destinations.
func messageLines(events []Event) []string {
	type key struct {
		verb          int
		about, object string
	}
	dests := map[key][]string{}
	var keys []key
	for i := range events {
		e := &events[i]
		v := slices.IndexFunc(verbs, func(v struct {
			verb string
			is   func(*Event) bool
		},
		) bool {
			return v.is(e)
		})
		if v < 0 {
			continue
		}
		k := key{verb: v, about: e.Post}
		switch e.Kind {
		case Bound:
			k.about = oneLine(e.Why + " " + e.HomeURL)
		case Held, Released:
			k.about = e.Scope
		case Refreshing, Refreshed:
			k.about = "credential " + e.Login
		case Ended:
			k.object = " (" + string(e.Reason) + ")"
		case Scheduled, Prepared, Claimed, Renewed, Receipt, AdoptedEv, TipEv:
		}
		if _, ok := dests[k]; !ok {
			keys = append(keys, k)
			dests[k] = nil
		}
		if d := oneLine(e.Dest); d != "" && !slices.Contains(dests[k], d) {
			dests[k] = append(dests[k], d)
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int { return cmp.Compare(a.verb, b.verb) })
	var out []string
	for _, k := range keys {
		line := verbs[k.verb].verb + " " + k.about
		if len(dests[k]) > 0 {
			line += " -> " + strings.Join(dests[k], ", ")
		}
		out = append(out, line+k.object)
	}
	return out
}

// Readme is the text of README.md on the ledger branch.
func Readme() string {
	return `# The ledger of broadside

This branch is written by broadside. It records what was published from
this repository, where, when, and by which run, so that every post goes out once. **Do not edit, rebase, force-push or
delete it**: without it nobody knows what is out already, and every run refuses to publish.

- ` + "`events/`" + ` has one file per commit, each line one event in JSON. Events are never changed.
- ` + "`archive/`" + ` has what older events came to.
- ` + "`credentials/`" + ` has refreshed credentials, encrypted with age.
- ` + "`format`" + ` is the version of all this.

Nothing here is secret unless your posts are. To read it: ` + "`broadside status`" + `, ` + "`broadside ledger show POST`" + `. To check
it: ` + "`broadside ledger verify`" + `. To change what happens: ` + "`broadside hold`" + `, ` + "`release`" + `, ` + "`cancel`" + `, ` + "`resolve`" + `. If this branch
was lost, rewound or damaged: ` + "`broadside ledger restore`" + `.
`
}

// Skeleton is what a new ledger consists of beside its first event file.
func Skeleton() []FileChange {
	return []FileChange{
		{Path: "README.md", Data: []byte(Readme())},
		{Path: FormatPath, Data: FormatFile()},
	}
}
