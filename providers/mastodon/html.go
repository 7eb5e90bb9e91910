package mastodon

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"
)

// maxContent bounds how much of a status's HTML is read, in bytes.
const maxContent = 1 << 20

// stripHTML returns the text of a status's content: line breaks and paragraphs become newlines, marks vanish. The copy
// of a link that Mastodon puts before a quoting status is left out.
func stripHTML(content string) string {
	if len(content) > maxContent {
		content = content[:maxContent]
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(content))
	skip := atom.Atom(0) // the element whose content is left out
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			if skip == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if skip != 0 {
				continue
			}
			switch t.DataAtom {
			case atom.Br:
				b.WriteByte('\n')
			case atom.Img:
				b.WriteString(attribute(t, "alt"))
			case atom.Script, atom.Style:
				skip = t.DataAtom
			case atom.P, atom.Span:
				if strings.Contains(" "+attribute(t, "class")+" ", " quote-inline ") {
					skip = t.DataAtom
				}
			}
		case html.EndTagToken:
			t := z.Token()
			if skip != 0 {
				if t.DataAtom == skip {
					skip = 0
				}
				continue
			}
			switch t.DataAtom {
			case atom.P, atom.Div, atom.Blockquote, atom.Pre, atom.Ul, atom.Ol,
				atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
				b.WriteString("\n\n")
			case atom.Li:
				b.WriteByte('\n')
			}
		}
	}
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// collapse makes texts comparable that differ in white space and Unicode normalization only.
func collapse(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }

// skeleton is what is left of a text when a server has marked it up in its own way: letters and digits in lower case,
// mentions without their hosts.
func skeleton(s string) string {
	s = norm.NFKC.String(s)
	var b strings.Builder
	keep := func(part string) {
		for _, r := range part {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				b.WriteRune(unicode.ToLower(r))
			}
		}
	}
	at := 0
	for _, e := range entities(s) {
		if e.link {
			continue
		}
		keep(s[at:e.start])
		keep(e.short)
		at = e.end
	}
	keep(s[at:])
	return b.String()
}

// likeness says how alike two texts look.
type likeness int

const (
	unlike   likeness = iota // surely two texts
	alike                    // much the same
	sameText                 // the same but for marks
)

// look compares what a server shows with what was sent, by letters and digits.
func look(shown, sent string) likeness {
	a, b := skeleton(shown), skeleton(sent)
	if a == b {
		if a == "" && collapse(shown) != collapse(sent) {
			return alike
		}
		return sameText
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == "" { // nothing to tell by
		return alike
	}
	prefix := 0
	for prefix < len(a) && a[prefix] == b[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < len(a)-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	if (prefix+suffix)*2 >= len(a) {
		return alike
	}
	return unlike
}
