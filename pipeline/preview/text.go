package preview

import (
	"fmt"
	"io"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/report"
	"github.com/broadside-pub/broadside/pipeline/richtext"
	"github.com/broadside-pub/broadside/providers"
)

// Text writes posts for a terminal. Characters that a reader would not see are shown as code points, and nothing in a
// post can act on the terminal or on a CI runner.
func Text(w io.Writer, posts []Post, st report.Style) {
	for i, p := range posts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		name := p.ID
		if name == "" {
			name = "(no id)"
		}
		head := st.Bold(report.Line(name)) + "  " + st.Dim(report.Line(p.Path))
		if p.Draft {
			head += "  " + st.Warn("draft: will not go out")
		}
		fmt.Fprintln(w, head)
		diagnostics(w, p.Diagnostics, "  ", st)
		for _, d := range p.Destinations {
			fmt.Fprintln(w)
			d.text(w, st)
		}
		if len(p.Destinations) == 0 {
			fmt.Fprintln(w, "  "+st.Dim("no destination to show"))
		}
	}
}

func (d Destination) text(w io.Writer, st report.Style) {
	where := d.Provider
	if d.Account != "" {
		where += ", " + d.Account
	}
	fmt.Fprintf(w, "  %s %s\n", st.Bold(report.Line(d.Name)), st.Dim("("+report.Line(where)+")"))
	switch {
	case d.Skip:
		fmt.Fprintln(w, "    "+st.Dim("skipped: the post wants nothing here"))
		return
	case d.Invalid:
		fmt.Fprintln(w, "    "+st.Bad("nothing goes out here until this is dealt with:"))
	}
	for i, p := range d.Parts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		p.text(w, i, len(d.Parts), st)
	}
	diagnostics(w, d.Diagnostics, "    ", st)
}

func (p Part) text(w io.Writer, i, n int, st report.Style) {
	var head []string
	if n > 1 {
		head = append(head, fmt.Sprintf("part %d of %d", i+1, n))
	}
	for _, l := range p.Lengths {
		head = append(head, length(l, st))
	}
	if len(head) > 0 {
		fmt.Fprintln(w, "    "+strings.Join(head, st.Dim(" · ")))
	}
	if p.Text != "" {
		for line := range strings.SplitSeq(richtext.Visible(strings.TrimRight(p.Text, "\n")), "\n") {
			fmt.Fprintln(w, strings.TrimRight("    "+st.Dim("│")+" "+line, " "))
		}
	}
	for _, m := range p.Media {
		fmt.Fprintf(w, "    %s %s\n", st.Dim("media"), report.Line(m.describe()))
		alt := st.Dim("alt") + " " + report.Line(m.Alt)
		if m.Alt == "" {
			alt = st.Dim("no alt text: marked as decoration")
		}
		fmt.Fprintln(w, "      "+alt)
	}
	for _, s := range p.Settings {
		fmt.Fprintf(w, "    %s %s\n", st.Dim(report.Line(s.Name)+":"), report.Line(s.Value))
	}
	if len(p.Mentions) > 0 {
		fmt.Fprintf(w, "    %s %s\n", st.Dim("looked up when sent:"), report.Line(strings.Join(p.Mentions, ", ")))
	}
}

// length is a measured length against its limit.
func length(l providers.Length, st report.Style) string {
	if l.Limit <= 0 {
		return fmt.Sprintf("%d %s", l.Count, l.Unit)
	}
	s := fmt.Sprintf("%d/%d %s", l.Count, l.Limit, l.Unit)
	switch {
	case l.Count > l.Limit:
		return st.Bad(s)
	case l.Count*10 > l.Limit*9:
		return st.Warn(s)
	}
	return st.Good(s)
}

func (m Media) describe() string {
	s := m.Path + "  " + m.MIME
	if m.Width > 0 && m.Height > 0 {
		s += fmt.Sprintf(", %d×%d", m.Width, m.Height)
	}
	s += ", " + Size(m.Bytes)
	if m.Changed {
		s += " (made to fit; the file in the repository stays as it is)"
	}
	return s
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

func diagnostics(w io.Writer, ds []pipeline.Diagnostic, indent string, st report.Style) {
	for _, d := range ds {
		mark := st.Dim("note")
		switch d.Severity {
		case pipeline.Error:
			mark = st.Bad("error")
		case pipeline.Warning:
			mark = st.Warn("warning")
		case pipeline.Note:
		}
		place := ""
		if d.Line > 0 {
			place = fmt.Sprintf("line %d: ", d.Line)
		}
		fmt.Fprintf(w, "%s%s  %s%s [%s]\n", indent, mark, place, report.Line(d.Message), d.Code)
		if d.Hint != "" {
			fmt.Fprintf(w, "%s  hint: %s\n", indent, report.Line(d.Hint))
		}
	}
}
