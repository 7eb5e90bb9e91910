package mastodon

import (
	"html"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStripHTMLGivesTheTextOfAStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, want string }{
		{"Mastodon: paragraphs and breaks", "<p>one<br />two</p><p>three</p>", "one\ntwo\n\nthree"},
		{
			"Mastodon: link", `<p>x <a href="https://www.example.com/a/very/long/path/that/is/cut?b=c&amp;d" target="_blank" rel="nofollow noopener noreferrer">` +
				`<span class="invisible">https://www.</span><span class="ellipsis">example.com/a/very/long/path/t</span>` +
				`<span class="invisible">hat/is/cut?b=c&amp;d</span></a></p>`,
			"x https://www.example.com/a/very/long/path/that/is/cut?b=c&d",
		},
		{
			"Mastodon: mention", `<p><span class="h-card" translate="no"><a href="https://b.example/@alice" class="u-url mention">@<span>alice</span></a></span> hi</p>`,
			"@alice hi",
		},
		{"Mastodon: hashtag", `<p><a href="https://x/tags/go" class="mention hashtag" rel="tag">#<span>go</span></a></p>`, "#go"},
		{"Mastodon: escapes", "<p>a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;</p>", `a <b> & "c" 'd'`},
		{"Mastodon: quoting", `<p class="quote-inline">RE: <a href="https://x/1">https://x/1</a></p><p>text</p>`, "text"},
		{
			"snac: breaks at the end, links, tags", `Hello <i>world</i> <a href="http://localhost?t=go" class="mention hashtag" rel="tag">#go</a> ` +
				`<a href="https://example.com" target="_blank">https://example.com</a><br>`,
			"Hello world #go https://example.com",
		},
		{"snac: quote", "a<br><blockquote>quote<br></blockquote>b<br>", "a\nquote\n\n\nb"},
		{"custom emoji as an image", `<p>a <img class="emoji" alt=":b:" src="x"> c</p>`, "a :b: c"},
		{"lists", "<ul><li>a</li><li>b</li></ul>", "a\nb"},
		{"scripts are no text", "a<script>alert(1)</script>b<style>x</style>c", "abc"},
		{"broken", "<p>a<", "a<"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := stripHTML(c.content); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLookSeesThroughWhatServersDoToAText(t *testing.T) {
	t.Parallel()
	const sent = "Release *1.0* is out, thanks @alice@example.org! #golang\nhttps://example.com/a_b 🎉"
	for _, c := range []struct {
		name, shown string
		want        likeness
	}{
		{"as it is", sent, sameText},
		{"mention without host, marks gone", "Release 1.0 is out, thanks @alice! #golang https://example.com/a_b 🎉", sameText},
		{"white space", strings.ReplaceAll(sent, " ", "\n\n"), sameText},
		{"a word more", sent + " and more", alike},
		{"cut", sent[:50], alike},
		{"something else", "What a fine day it is for a walk in the woods behind the house", unlike},
		{"something short", "ok", unlike},
		{"only marks and emoji", "🎉 ***", alike},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := look(c.shown, sent); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	if got := look("🎉", "🚀"); got != alike {
		t.Errorf("two emoji: got %d", got)
	}
}

func FuzzStripHTMLGivesBackWhatWasEscaped(f *testing.F) {
	for _, s := range []string{"", "a <b> & \"c\"", "line\nbreak\n\npara", "&amp;lt;", "<script>", "é\u0301", "\x00", "]]>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stripHTML(s) // must not fail, whatever it is given
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\x00\r") {
			return
		}
		shown := "<p>" + strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), "\n\n", "</p><p>"), "\n", "<br />") + "</p>"
		if got := stripHTML(shown); collapse(got) != collapse(s) {
			t.Fatalf("%q came back as %q", s, got)
		}
		if v := look(stripHTML(shown), s); v != sameText {
			t.Fatalf("%q does not look like itself: %d", s, v)
		}
	})
}
