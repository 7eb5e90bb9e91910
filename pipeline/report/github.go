package report

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sethvargo/go-githubactions"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
)

const (
	// maxSummary is the most bytes of a step's summary; GitHub drops a larger one whole (actions/runner, 1 MiB).
	maxSummary = 1 << 20
	// maxAnnotations is how many of one kind GitHub shows for one step; the rest would vanish silently.
	maxAnnotations = 10
	// maxAnnotation is where GitHub cuts one message off.
	maxAnnotation = 4096
)

// GitHub writes annotations, outputs and the job summary of a run, where this is a GitHub runner. hide keeps secrets out.
func GitHub(getenv func(string) string, w io.Writer, hide func(string) string, res publish.Result) error {
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	var anns []annotation
	for _, t := range res.Troubles {
		level := "warning"
		if t.New {
			level = "error"
		}
		msg := t.Message
		if t.Hint != "" {
			msg += "\n" + t.Hint
		}
		anns = append(anns, annotation{level: level, title: "broadside: " + t.Code, message: hide(msg)})
	}
	annotate(getenv, w, anns)
	if err := outputs(getenv, [][2]string{
		{"published", strconv.Itoa(count(res, pipeline.Published))},
		{"failed", strconv.Itoa(count(res, pipeline.Failed))},
		{"uncertain", strconv.Itoa(count(res, pipeline.Uncertain))},
		{"next-due", next(res)},
	}); err != nil {
		return err
	}
	return summary(getenv, hide(Markdown(res)))
}

// Annotations prints diagnostics as annotations on their lines.
func Annotations(getenv func(string) string, w io.Writer, ds []pipeline.Diagnostic) {
	var anns []annotation
	for _, d := range ds {
		level := map[pipeline.Severity]string{pipeline.Error: "error", pipeline.Warning: "warning", pipeline.Note: "notice"}[d.Severity]
		msg := d.Message
		if d.Hint != "" {
			msg += "\n" + d.Hint
		}
		anns = append(anns, annotation{level: level, title: d.Code, message: msg, file: d.File, line: d.Line, col: d.Column})
	}
	annotate(getenv, w, anns)
}

type annotation struct {
	level, title, message, file string
	line, col                   int
}

// annotate prints the worst first; the last place of a kind says how many more there are.
func annotate(getenv func(string) string, w io.Writer, anns []annotation) {
	gha := githubactions.New(githubactions.WithWriter(w), githubactions.WithGetenv(getenv))
	for _, level := range []string{"error", "warning", "notice"} {
		var of []annotation
		for _, a := range anns {
			if a.level == level {
				of = append(of, a)
			}
		}
		for i, a := range of {
			if i == maxAnnotations-1 && len(of) > maxAnnotations {
				a = annotation{title: "broadside", message: fmt.Sprintf("%d more; all of them are in the output", len(of)-i)}
			}
			fields := map[string]string{"title": a.title}
			if a.file != "" {
				fields["file"] = a.file
			}
			if a.line > 0 {
				fields["line"], fields["col"] = strconv.Itoa(a.line), strconv.Itoa(max(a.col, 1))
			}
			act := gha.WithFieldsMap(fields)
			msg := "%s"
			text := cut(visibleLines(a.message), maxAnnotation)
			switch level {
			case "error":
				act.Errorf(msg, text)
			case "warning":
				act.Warningf(msg, text)
			default:
				act.Noticef(msg, text)
			}
			if i == maxAnnotations-1 {
				break
			}
		}
	}
}

// visibleLines is Line for each line of a message of several.
func visibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

func count(res publish.Result, st pipeline.State) int {
	n := 0
	for _, o := range res.Outcomes {
		if o.State == st {
			n++
		}
	}
	return n
}

func next(res publish.Result) string {
	if res.Next.IsZero() {
		return ""
	}
	return res.Next.UTC().Format(time.RFC3339)
}

// outputs appends to the file of step outputs with a delimiter that no value can hold: it is random.
func outputs(getenv func(string) string, kv [][2]string) error {
	path := getenv("GITHUB_OUTPUT")
	if path == "" {
		return nil
	}
	var b strings.Builder
	for _, p := range kv {
		var r [16]byte
		if _, err := rand.Read(r[:]); err != nil {
			return err
		}
		d := "broadside_" + hex.EncodeToString(r[:])
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", p[0], d, p[1], d)
	}
	return appendFile(path, b.String())
}

// summary appends to the job summary; what is too long for it is cut, since a longer one would be dropped whole.
func summary(getenv func(string) string, md string) error {
	path := getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	if st, err := os.Stat(path); err == nil && st.Size()+int64(len(md)) > maxSummary {
		md = cut(md, max(0, int(maxSummary-st.Size())-200)) + "\n\n(cut: the summary is full)\n"
	}
	return appendFile(path, md)
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
