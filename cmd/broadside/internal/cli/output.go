package cli

import (
	"fmt"
	"io"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/report"
)

// style colours what is printed for a person at a terminal, unless NO_COLOR is set (no-color.org) or the terminal is dumb.
func (a *app) style() report.Style {
	return report.Style{Color: a.tty && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"}
}

// printDiagnostic writes one diagnostic, and its hint, for people.
func (a *app) printDiagnostic(w io.Writer, d pipeline.Diagnostic) {
	line := d.String()
	if d.Destination != "" {
		line += " (" + d.Destination + ")"
	}
	fmt.Fprintln(w, report.Line(line))
	if d.Hint != "" {
		fmt.Fprintln(w, "  hint: "+report.Line(d.Hint))
	}
}

// printJSON writes one indented JSON value.
func (a *app) printJSON(v any) error {
	return report.EncodeJSON(a.out, v)
}
