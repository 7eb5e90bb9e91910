package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/richtext"
)

// Style colours text for a terminal; the zero Style colours nothing.
type Style struct{ Color bool }

func (s Style) paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Good marks what is well.
func (s Style) Good(t string) string { return s.paint("32", t) }

// Bad marks what is wrong.
func (s Style) Bad(t string) string { return s.paint("31", t) }

// Warn marks what needs attention.
func (s Style) Warn(t string) string { return s.paint("33", t) }

// Dim marks what matters less.
func (s Style) Dim(t string) string { return s.paint("2", t) }

// Bold marks what matters most.
func (s Style) Bold(t string) string { return s.paint("1", t) }

// State paints a delivery's state.
func (s Style) State(st pipeline.State) string {
	switch st {
	case pipeline.Published, pipeline.Adopted:
		return s.Good(string(st))
	case pipeline.Failed:
		return s.Bad(string(st))
	case pipeline.Uncertain, pipeline.Queued, pipeline.Publishing:
		return s.Warn(string(st))
	case pipeline.Scheduled, pipeline.Canceled, pipeline.Retracted:
		return s.Dim(string(st))
	}
	return Line(string(st))
}

// Line makes text from strangers safe for one line of a terminal or of a CI log: control characters are shown as code
// points, and nothing in it is a workflow command any more. A runner takes "::" for one where a line begins with it, and
// "##[" wherever it stands (actions/runner, ActionCommand.TryParseV2 and TryParse, 2026).
func Line(s string) string {
	s = richtext.Visible(strings.NewReplacer("\r", " ", "\n", " ").Replace(s))
	s = strings.ReplaceAll(s, "##[", "##\u2063[")
	if strings.HasPrefix(strings.TrimSpace(s), "::") {
		return "\u2063" + s
	}
	return s
}

// EncodeJSON writes one indented JSON value that no CI runner reads a workflow command in: "##[" stands only in strings,
// where an escape says the same.
func EncodeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("##["), []byte(`#\u0023[`)))
	return err
}

// JSON writes a result as one indented JSON object.
func JSON(w io.Writer, res publish.Result) error {
	if res.Outcomes == nil {
		res.Outcomes = []publish.Outcome{}
	}
	if res.Troubles == nil {
		res.Troubles = []publish.Trouble{}
	}
	if res.Diagnostics == nil {
		res.Diagnostics = []pipeline.Diagnostic{}
	}
	return EncodeJSON(w, res)
}

// Text writes a result for people.
func Text(w io.Writer, res publish.Result, st Style) {
	if res.DryRun {
		fmt.Fprintln(w, st.Dim("dry run: nothing was sent and nothing was recorded"))
	}
	for _, o := range res.Outcomes {
		// What comes from outside is made safe before our own colours are put around it.
		line := st.State(o.State) + "  " + Line(o.Post+" -> "+o.Destination)
		if len(o.URLs) > 0 {
			line += "  " + Line(o.URLs[0])
		}
		if o.Reason != "" {
			line += "  " + Line(fmt.Sprintf("(%s) %s", o.Reason, o.Detail))
		}
		if !o.NotBefore.IsZero() {
			line += "  not before " + o.NotBefore.UTC().Format(time.RFC3339)
		}
		fmt.Fprintln(w, line)
	}
	for _, t := range res.Troubles {
		mark := st.Bad("trouble")
		if !t.New {
			mark = st.Dim("standing")
		}
		fmt.Fprintf(w, "%s  %s\n", mark, Line(t.Message))
		if t.Hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", Line(t.Hint))
		}
	}
	if res.Unrecorded != "" {
		fmt.Fprintf(w, "%s\n  hint: `broadside ledger apply %s` brings it in\n",
			st.Bad("what happened could not be pushed; it is kept in "+Line(res.Unrecorded)), Line(res.Unrecorded))
	}
	fmt.Fprintln(w, Line(Closing(res)))
}

// Closing is the last line of a run: what it comes to.
func Closing(res publish.Result) string {
	var n struct{ published, other int }
	for _, o := range res.Outcomes {
		if o.State == pipeline.Published {
			n.published++
		} else {
			n.other++
		}
	}
	var b strings.Builder
	switch {
	case res.Idle:
		b.WriteString("nothing due")
	case n.published == 0 && n.other == 0:
		b.WriteString("nothing was due")
	default:
		fmt.Fprintf(&b, "%d published", n.published)
		if n.other > 0 {
			fmt.Fprintf(&b, ", %d not", n.other)
		}
	}
	if res.Waiting > 0 {
		fmt.Fprintf(&b, ", %d waiting", res.Waiting)
	}
	if res.Drafts > 0 {
		fmt.Fprintf(&b, "; %d %s (no publish_at) will not go out", res.Drafts, plural(res.Drafts, "draft", "drafts"))
	}
	if !res.Next.IsZero() {
		fmt.Fprintf(&b, "; next at %s", res.Next.UTC().Format(time.RFC3339))
	}
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
