package content

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/broadside-pub/broadside/providers"
)

// inliner turns the inline nodes of one block into spans.
type inliner struct {
	*converter
	spans []providers.Span
	// The text of the span that is being built is the source from from to to, or, once that is not enough, buf.
	from, to int
	buf      []byte
	style    providers.Style
	url      string
	prev     rune // the rune before, 0 at the start
}

func (c *converter) inline(parent ast.Node) []providers.Span {
	in := inliner{converter: c, spans: c.mem.spans[:0], buf: c.mem.text[:0]}
	in.children(parent, 0, "")
	in.flush()
	c.mem.spans, c.mem.text = in.spans, in.buf
	return slices.Clone(trimSpans(in.spans))
}

// trimSpans drops line breaks at both ends, which comments and media leave behind.
func trimSpans(s []providers.Span) []providers.Span {
	for len(s) > 0 && s[0].Kind == providers.LineBreak {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1].Kind == providers.LineBreak {
		s = s[:len(s)-1]
	}
	return s
}

func (in *inliner) flush() {
	switch {
	case len(in.buf) > 0:
		in.spans = append(in.spans, providers.Span{Text: string(in.buf), Style: in.style, URL: in.url})
		in.buf = in.buf[:0]
	case in.to > in.from:
		in.spans = append(in.spans, providers.Span{Text: in.whole[in.from:in.to], Style: in.style, URL: in.url})
		in.from = in.to
	}
}

// write appends text that is not as in the source.
func (in *inliner) write(s ...byte) {
	if in.to > in.from {
		in.buf = append(in.buf, in.text[in.from:in.to]...)
		in.from = in.to
	}
	in.buf = append(in.buf, s...)
}

// copy appends the source from from to to, as it is.
func (in *inliner) copy(from, to int) {
	switch {
	case len(in.buf) > 0:
		in.buf = append(in.buf, in.text[from:to]...)
	case in.to == in.from:
		in.from, in.to = from, to
	case in.to == from:
		in.to = to
	default:
		in.write(in.text[from:to]...)
	}
}

func (in *inliner) empty() bool { return len(in.spans) == 0 && len(in.buf) == 0 && in.from == in.to }

// set makes the style and link of the text that follows.
func (in *inliner) set(style providers.Style, link string) {
	if style != in.style || link != in.url {
		in.flush()
		in.style, in.url = style, link
	}
}

func (in *inliner) span(s providers.Span) {
	in.flush()
	in.spans = append(in.spans, s)
	in.prev = 'x' // a tag or mention is a word to what follows
}

func (in *inliner) children(parent ast.Node, style providers.Style, link string) {
	for n := parent.FirstChild(); n != nil; {
		n = in.node(n, style, link)
	}
}

// node converts n and returns the node to go on with.
func (in *inliner) node(n ast.Node, style providers.Style, link string) ast.Node {
	next := n.NextSibling()
	switch v := n.(type) {
	case *ast.Text:
		return in.textNodes(v, style, link)
	case *ast.String:
		in.set(style, link)
		in.write(v.Value...)
	case *ast.Emphasis:
		s := providers.Italic
		if v.Level >= 2 {
			s = providers.Bold
		}
		in.children(v, style|s, link)
	case *east.Strikethrough:
		in.children(v, style|providers.Strike, link)
	case *ast.CodeSpan:
		in.code(v, style, link)
	case *ast.Link:
		in.link(v, style)
	case *ast.AutoLink:
		in.autoLink(v, style)
	case *ast.Image:
		in.error(CodeInlineImage, in.pos(v.Pos()), "an image inside running text cannot be sent",
			"put the image into a paragraph of its own")
	case *ast.RawHTML:
		in.rawHTML(v)
	default:
		in.children(n, style, link)
	}
	return next
}

// textNodes converts t with the nodes that continue it in the source: an underscore that turned out to be no emphasis
// splits a text, but not a tag or a handle.
func (in *inliner) textNodes(t *ast.Text, style providers.Style, link string) ast.Node {
	in.set(style, link)
	segment := t.Segment
	next := t.NextSibling()
	for !t.SoftLineBreak() && !t.HardLineBreak() {
		n, ok := next.(*ast.Text)
		if !ok || n.Segment.Start != segment.Stop || n.Segment.Padding != 0 || n.IsRaw() != t.IsRaw() {
			break
		}
		segment.Stop = n.Segment.Stop
		t, next = n, n.NextSibling()
	}
	switch {
	case t.IsRaw():
		in.copy(segment.Start, segment.Stop)
	default:
		in.decode(in.text[segment.Start:segment.Stop], segment.Start, link != "")
	}
	switch {
	case t.HardLineBreak():
		in.lineBreak("\n")
	case t.SoftLineBreak() && in.join:
		if !in.empty() {
			in.write(' ')
			in.prev = ' '
		}
	case t.SoftLineBreak():
		in.lineBreak("")
	}
	return next
}

// lineBreak adds a line break. text is "\n" for one that the author made hard, which articles keep as well.
func (in *inliner) lineBreak(text string) {
	in.flush()
	in.spans = append(in.spans, providers.Span{Kind: providers.LineBreak, Text: text})
	in.prev = 0
}

func (in *inliner) code(v *ast.CodeSpan, style providers.Style, link string) {
	in.set(style|providers.Code, link)
	for n := v.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			in.codeText(t)
		}
	}
	in.prev = '`'
}

// codeText appends a stretch of code, in which a newline is a space.
func (in *inliner) codeText(t *ast.Text) {
	s := t.Segment
	if raw := in.text[s.Start:s.Stop]; bytes.IndexByte(raw, '\n') >= 0 {
		in.write(bytes.ReplaceAll(raw, []byte{'\n'}, []byte{' '})...)
		return
	}
	in.copy(s.Start, s.Stop)
}

func (in *inliner) link(v *ast.Link, style providers.Style) {
	dest, ok := in.target(v.Destination, v.Pos())
	if len(v.Title) > 0 {
		in.note(CodeLinkTitleDropped, in.pos(v.Pos()), "the title of a link is not sent", "say it in the text")
	}
	in.flush()
	before, reported := len(in.spans), len(in.report.list)
	in.children(v, style, dest)
	in.flush()
	if ok && before == len(in.spans) && reported == len(in.report.list) {
		in.error(CodeBadLink, in.pos(v.Pos()), "a link without a text", "put a text between the brackets")
	}
	in.set(style, "")
}

func (in *inliner) autoLink(v *ast.AutoLink, style providers.Style) {
	in.prev = 'x'
	if v.AutoLinkType == ast.AutoLinkEmail {
		in.set(style, "")
		in.write(v.Label(in.text)...)
		return
	}
	dest, _ := in.target(v.URL(in.text), v.Pos())
	label := dest // most often both are one text, and share it
	if string(v.Label(in.text)) != dest {
		label = string(v.Label(in.text))
	}
	in.flush()
	in.spans = append(in.spans, providers.Span{Text: label, Style: style, URL: dest})
}

// target checks where a link leads.
func (in *inliner) target(raw []byte, at int) (string, bool) {
	s := escapeURL(unescape(raw))
	if plainURL(s) {
		return s, true
	}
	u, err := url.Parse(s)
	bad := func(what, hint string) (string, bool) {
		in.error(CodeBadLink, in.pos(at), what, hint)
		return "", false
	}
	switch {
	case s == "":
		return bad("a link that leads nowhere", "write its address, or escape the brackets: \\[")
	case err != nil:
		return bad(fmt.Sprintf("%q is not a URL", short(s)), "")
	case u.Scheme == "":
		return bad(fmt.Sprintf("the link %q is relative, which means nothing on a network", short(s)), "write the whole address, with https://")
	case u.Scheme == "mailto" && u.Opaque != "":
		return s, true
	case u.Scheme != "http" && u.Scheme != "https":
		return bad(fmt.Sprintf("links of the kind %s: are not sent", short(u.Scheme)), "link to an https:// address")
	case u.Host == "":
		return bad(fmt.Sprintf("%q is not a URL", short(s)), "")
	}
	return s, true
}

// plainURL tells at once that s is the URL of a page, for the most frequent form of URLs.
func plainURL(s string) bool {
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		return false
	}
	host := 0
	for host < len(rest) && (util.IsAlphaNumeric(rest[host]) || rest[host] == '.' || rest[host] == '-') {
		host++
	}
	return host > 0 && (host == len(rest) || rest[host] == '/') && strings.IndexByte(rest, '%') < 0
}

// escapeURL percent-encodes what no URL may hold, and leaves the rest as it is written.
func escapeURL(s string) string {
	if !strings.ContainsFunc(s, unsafeInURL) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if unsafeInURL(c) {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func unsafeInURL(c rune) bool {
	return c <= 0x20 || c == 0x7f || strings.ContainsRune("\"<>\\^`{|}", c)
}

// short bounds what is quoted in a message.
func short(s string) string {
	const most = 80
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

func (in *inliner) rawHTML(v *ast.RawHTML) {
	if v.Segments.Len() == 0 {
		return
	}
	first := v.Segments.At(0)
	raw := first.Value(in.text)
	if bytes.HasPrefix(raw, []byte("<!--")) {
		return
	}
	in.html(first.Start, raw)
}

func (c *converter) html(at int, raw []byte) {
	tag := strings.TrimSpace(string(raw))
	hint := "write Markdown; to show it as text, put a backslash before < or use `code`"
	if strings.HasPrefix(strings.ToLower(tag), "<br") {
		hint = "a new line is a line break already"
	}
	line, _, _ := strings.Cut(tag, "\n")
	c.error(CodeHTMLNotSupported, c.pos(at), fmt.Sprintf("HTML is not supported: %s", short(line)), hint)
}
