package content

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/text"
)

func TestHostileRaw(t *testing.T) {
	md := newMarkdown()
	rep := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	n := 1 << 16
	for name, body := range map[string]string{
		"brackets":   rep("[", n),
		"bracketpair": rep("[", n/2) + rep("]", n/2),
		"links":      rep("[a](b)", n),
		"linkopen":   rep("[a](", n),
		"linkdef":    rep("[a]: b\n", n),
		"img":        rep("![a](b)", n),
		"emph":       rep("*a_ ", n),
		"emph2":      rep("*a **a ", n),
		"emph3":      rep("a**b", n),
		"emphclose":  rep("a* ", n) ,
		"starrun":    rep("*", n/2) + "a" + rep("*", n/2),
		"tick":       rep("`a``b```", n),
		"ticks2":     func() string { var b strings.Builder; for i := 1; b.Len() < n; i++ { b.WriteString(strings.Repeat("`", i) + " ") }; return b.String() }(),
		"lt":         rep("<", n),
		"ltq":        rep("<a b='", n),
		"comment":    rep("<!--", n),
		"pi":         rep("<?", n),
		"cdata":      rep("<![CDATA[", n),
		"tilde":      rep("~~a~ ", n),
		"quote1":     rep("> ", 64) + "a",
		"quotelines": rep(rep(">", 30)+"a\n", n),
		"nestlist":   func() string { var b strings.Builder; for i := 0; b.Len() < n; i++ { b.WriteString(strings.Repeat("  ", i) + "- a\n") }; return b.String() }(),
		"colons":     rep(":::\n", n),
		"colons2":    rep("::: only bluesky\n", n),
		"hash":       rep("#a", n),
		"at":         rep("@{a", n),
		"at2":        rep("@a", n),
		"at3":        rep("@", n),
		"amp":        rep("&amp", n),
		"http":       rep("https://", n),
		"httpsp":     rep(" https://a.b/(((", n),
		"paren":      "[a](" + rep("(", n),
		"newlines":   rep("a\n", n),
		"longline":   rep("a ", n),
		"lazy":       ">" + rep("a\n", n),
		"fence":      rep("```\n", n),
		"bs":         rep("\\", n),
		"entity":     rep("&#0;", n),
	} {
		start := time.Now()
		md.Parse(text.NewReader([]byte(body)))
		raw := time.Since(start)
		start = time.Now()
		p := &Parser{cfg: scratchCfg(), markdown: md}
		p.Parse("a.md", []byte("---\nid: a\n---\n"+body))
		if d := time.Since(start); raw > 50*time.Millisecond || d > 50*time.Millisecond {
			fmt.Printf("%-12s raw %8s ours %8s\n", name, raw.Round(time.Millisecond), d.Round(time.Millisecond))
		}
	}
	for name, y := range map[string]string{
		"flow":    rep("[", n),
		"flowmap": rep("{a: ", n),
		"seq":     rep("- ", n),
		"keys":    func() string { var b strings.Builder; for i := 0; b.Len() < n; i++ { fmt.Fprintf(&b, "k%d: v\n", i) }; return b.String() }(),
		"keysflow": func() string { var b strings.Builder; b.WriteString("a: {"); for i := 0; b.Len() < n-10; i++ { fmt.Fprintf(&b, "k%d: v,", i) }; b.WriteString("}"); return b.String() }(),
		"seqflow": "a: [" + rep("a,", n-10) + "]",
		"seqlines": rep("- a\n", n),
		"seqin":   "a:\n" + rep("  - a\n", n-10),
		"literal": "a: |\n" + rep("  abc\n", n-10),
		"folded":  "a: >\n" + rep("  abc\n", n-10),
		"foldedlong":  "a: >\n  " + rep("abc ", n-10),
		"plain":   "a: b\n" + rep("  abc\n", n-10),
		"plainlong":   "a: " + rep("abc ", n-10),
		"dq":      "a: \"" + rep("abc\n ", n-10) + "\"",
		"dqlong":      "a: \"" + rep("abc ", n-10) + "\"",
		"dqspaces":      "a: \"" + rep(" ", n-10) + "\"",
		"dqnl":      "a: \"" + rep(" \n", n-10) + "\"",
		"dqesc":      "a: \"" + rep("\\u0041", n-10) + "\"",
		"sq":      "a: '" + rep("abc\n ", n-10) + "'",
		"sqnl":      "a: '" + rep(" \n", n-10) + "'",
		"colon":   rep(":", n),
		"colonsp":   rep(": ", n),
		"qm":      rep("? ", n),
		"anchors": rep("&a ", n),
		"comments": rep("# a\n", n),
		"commentsin": "a: b\n"+rep("# a\n", n),
		"blank":   "a: |\n" + rep("\n", n-10),
		"spaces":   "a:" + rep(" ", n-10),
		"bang":    rep("! ", n),
		"pct":     rep("%a\n", n),
		"docs":    rep("--- a\n", n),
		"num":    "a: "+rep("1", n-10),
		"num_":    "a: "+rep("1_", n-10),
	} {
		start := time.Now()
		r := &report{}
		ym := &yamlFile{report: r}
		if len(y) > maxYAML { y = y[:maxYAML] }
		root, _ := ym.parse(y)
		if root != nil { ym.plain(root) }
		d := time.Since(start)
		if d > 30*time.Millisecond {
			fmt.Printf("yaml %-12s %8s %v\n", name, d.Round(time.Millisecond), r.list)
		}
	}
}
