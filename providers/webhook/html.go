package webhook

import (
	"html"
	"net/url"
	"strconv"
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

// renderHTML renders a document as HTML without scripts, styles or classes. Links lead to http, https and mailto only.
func renderHTML(d providers.Doc) string {
	var b strings.Builder
	renderBlocks(&b, d.Blocks)
	return b.String()
}

func renderBlocks(b *strings.Builder, blocks []providers.Block) {
	for _, block := range blocks {
		switch block.Kind {
		case providers.Paragraph:
			b.WriteString("<p>")
			renderSpans(b, block.Spans)
			b.WriteString("</p>")
		case providers.Heading:
			tag := "h" + strconv.Itoa(min(max(block.Level, 1), 6))
			b.WriteString("<" + tag + ">")
			renderSpans(b, block.Spans)
			b.WriteString("</" + tag + ">")
		case providers.Quote:
			b.WriteString("<blockquote>")
			renderBlocks(b, block.Blocks)
			b.WriteString("</blockquote>")
		case providers.List:
			renderList(b, block)
		case providers.CodeBlock:
			b.WriteString("<pre><code>" + escape(block.Text) + "</code></pre>")
		case providers.Rule:
			b.WriteString("<hr>")
		}
	}
}

func renderList(b *strings.Builder, list providers.Block) {
	open, end := "<ul>", "</ul>"
	if list.Ordered {
		open, end = "<ol>", "</ol>"
		if list.Start != 1 {
			open = `<ol start="` + strconv.Itoa(list.Start) + `">`
		}
	}
	b.WriteString(open)
	for _, item := range list.Items {
		b.WriteString("<li>")
		if len(item) > 0 && item[0].Kind == providers.Paragraph {
			renderSpans(b, item[0].Spans)
			item = item[1:]
		}
		renderBlocks(b, item)
		b.WriteString("</li>")
	}
	b.WriteString(end)
}

// styles are the elements of each style, the outermost first.
var styles = [...]struct {
	style providers.Style
	tag   string
}{{providers.Bold, "strong"}, {providers.Italic, "em"}, {providers.Strike, "del"}, {providers.Code, "code"}}

func renderSpans(b *strings.Builder, spans []providers.Span) {
	for _, s := range spans {
		if s.Kind == providers.LineBreak {
			b.WriteString("<br>")
			continue
		}
		if s.Kind == providers.Image {
			b.WriteString(escape(s.Text)) // its source is a path of the repository
			continue
		}
		end := ""
		if href := safeLink(s.URL); href != "" {
			b.WriteString(`<a href="` + escape(href) + `">`)
			end = "</a>"
		}
		for _, st := range styles {
			if s.Style&st.style != 0 {
				b.WriteString("<" + st.tag + ">")
				end = "</" + st.tag + ">" + end
			}
		}
		b.WriteString(escape(s.Text) + end)
	}
}

func escape(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// safeLink returns s where a reader may be led there.
func safeLink(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return s
	}
	return ""
}
