package pipeline

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity ranks diagnostics.
type Severity string

// The severities. An Error stops the post (or, in broadside.yaml, everything); a Warning does not; a Note is shown
// where renditions are shown.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Diagnostic is one thing to say about a file, at its place.
type Diagnostic struct {
	Code        string   `json:"code"` // stable, snake_case; docs/diagnostics.md explains each
	Severity    Severity `json:"severity"`
	File        string   `json:"file"`             // slash-separated, relative to the repository
	Line        int      `json:"line,omitempty"`   // from 1; 0: the file as a whole
	Column      int      `json:"column,omitempty"` // from 1, in characters
	Message     string   `json:"message"`
	Hint        string   `json:"hint,omitempty"`
	Post        string   `json:"post,omitempty"`
	Destination string   `json:"destination,omitempty"`
}

func (d Diagnostic) String() string {
	pos := d.File
	if d.Line > 0 {
		pos = fmt.Sprintf("%s:%d:%d", d.File, d.Line, max(d.Column, 1))
	}
	return fmt.Sprintf("%s: %s: %s [%s]", pos, d.Severity, d.Message, d.Code)
}

// SortDiagnostics orders by file, line, column and code, so that output is the same on each run.
func SortDiagnostics(ds []Diagnostic) {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Message, b.Message))
	})
}

// HasErrors tells whether any of ds is an Error.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}
