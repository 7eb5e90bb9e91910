package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var figures = flag.String("sim.figures", "", "write the figures into this file, between its marks")

// writeFigures replaces what stands between <!-- NAME --> and <!-- end of NAME --> in the file of -sim.figures.
func writeFigures(t *testing.T, name, text string) {
	t.Helper()
	data, err := os.ReadFile(*figures)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for %s", *figures, name)
	}
	if err := os.WriteFile(*figures, []byte(before+begin+text+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seedFigures says in tables what the seeds went through.
func seedFigures(total map[string]int, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s seeds, no promise broken, %s on %d cores (%s for 1,000).\n\n", thousands(total["seeds"]), took.Round(time.Second),
		runtime.GOMAXPROCS(0), (took * 1000 / time.Duration(max(total["seeds"], 1))).Round(time.Second))
	table := func(title, prefix string, more ...string) {
		fmt.Fprintf(&b, "| %s | times |\n| --- | ---: |\n", title)
		for _, k := range more {
			fmt.Fprintf(&b, "| %s | %s |\n", k, thousands(total[k]))
		}
		for _, k := range slices.Sorted(maps.Keys(total)) {
			if what, ok := strings.CutPrefix(k, prefix); ok && prefix != "" {
				fmt.Fprintf(&b, "| %s | %s |\n", what, thousands(total[k]))
			}
		}
		b.WriteString("\n")
	}
	table("what there was", "", "run", "killed", "frozen", "run ended by an error", "results saved to a file", "results file applied", "person decided",
		"ledger restored", "commits on the ledger", "parts on the networks")
	table("deliveries that ended as", "ends: ")
	table("copies beyond the first", "", "copies that a person's retry made", "extra copies under the two faults, reported",
		"extra copies under the two faults, NOT reported", "a post made by hand was taken for the delivery")
	table("a network's fault suffered", "network: ")
	table("a fault of the line suffered", "wire: ")
	table("a fault of the remote suffered", "git: ")
	table("a step that was taken", "step: ")
	return b.String()
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// mutantFigures is the table of what was taken out, and where that was seen.
func mutantFigures(rows [][3]string) string {
	var b strings.Builder
	b.WriteString("| taken out | seen at seed | as |\n| --- | ---: | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r[0], r[1], strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(r[2]))
	}
	b.WriteString("\n")
	return b.String()
}
