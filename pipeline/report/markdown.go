package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/richtext"
)

// Markdown is the job summary of a run.
func Markdown(res publish.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## broadside: %s\n\n", Inline(Closing(res)))
	if len(res.Outcomes) > 0 {
		b.WriteString("| post | destination | state | when | where |\n|---|---|---|---|---|\n")
		for _, o := range res.Outcomes {
			var where strings.Builder
			for i, u := range o.URLs {
				if safeURL(u) {
					fmt.Fprintf(&where, "[%d](%s) ", i+1, u)
				}
			}
			state := string(o.State)
			if o.Reason != "" {
				state += ": " + string(o.Reason)
			}
			when := ""
			if !o.SentAt.IsZero() {
				when = o.SentAt.UTC().Format(time.RFC3339)
			} else if !o.NotBefore.IsZero() {
				when = "not before " + o.NotBefore.UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", Inline(o.Post), Inline(o.Destination), Inline(state), when, where.String())
		}
		b.WriteString("\n")
	}
	for _, t := range res.Troubles {
		mark := "**New:** "
		if !t.New {
			mark = "Still: "
		}
		fmt.Fprintf(&b, "- %s%s", mark, Inline(t.Message))
		if t.Hint != "" {
			fmt.Fprintf(&b, "  \n  %s", Inline(t.Hint))
		}
		b.WriteString("\n")
	}
	if res.Unrecorded != "" {
		fmt.Fprintf(&b, "\n**What happened could not be pushed.** It is kept in %s; bring it in with `broadside ledger apply`.\n", Inline(res.Unrecorded))
	}
	return b.String()
}

// safeURL tells whether a URL can stand in a Markdown link without ending it.
func safeURL(u string) bool {
	return strings.HasPrefix(u, "https://") && !strings.ContainsAny(u, " ()<>|\\\"'\n\r\t`")
}

// Inline makes text from strangers safe inside a line of Markdown: no markup, no mention, no reference, no table cell.
func Inline(s string) string {
	s = richtext.Visible(strings.NewReplacer("\r", " ", "\n", " ").Replace(s))
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]()#+!|<>~&:/", r):
			fmt.Fprintf(&b, "&#%d;", r)
		case r == '@':
			b.WriteString("&#64;&#8203;") // an entity alone would still mention somebody
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
