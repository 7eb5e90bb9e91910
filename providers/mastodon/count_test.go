package mastodon

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/broadside-pub/broadside/providers/internal/text"
)

// The cases marked "spec" are the facts that spec/validators/status_length_validator_spec.rb in mastodon/mastodon holds
// for a limit of 500 (read 2026-11-30); those marked "twitter-text" follow from the expressions for links and mentions
// in config/initializers/twitter_regex.rb there and in twitter-text; the others from app/models/account.rb.
func TestLengthFollowsMastodonsRule(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("b", 30)
	for _, c := range []struct {
		name, warning, status string
		want                  int
	}{
		{"empty", "", "", 0},
		{"spec: warning alone", strings.Repeat("a", 520), "", 520},
		{"spec: text alone", "", strings.Repeat("a", 520), 520},
		{"spec: warning and text together", strings.Repeat("a", 250), strings.Repeat("b", 251), 501},
		{"spec: a link is 23 long", "", strings.Repeat("a", 476) + " http://" + long + ".com/example", 500},
		{"spec: a link that is none is not", "", strings.Repeat("a", 476) + "http://" + long + ".com/example", 476 + 49},
		{"spec: nor is one that is too long", "", "http://example.com/valid?" + strings.Repeat("#foo?", 1000), 25 + 5000},
		{"spec: a mention counts without its host", "", strings.Repeat("a", 475) + " @alice@" + long + ".com", 482},
		{"spec: not one with an endless host", "", "@alice@" + strings.Repeat("b", 500) + ".com", 511},
		{"spec: an emoji is one", "", strings.Repeat("✨", 500), 500},
		{"spec: so is a joined one", "", strings.Repeat("🏳️\u200d⚧️", 500), 500},
		{"links in the warning count as they are", "http://example.com/a/long/way/to/go", "", 35},
		{"a short link counts 23 too", "", "http://t.co", 23},
		{"https and upper case", "", "HTTPS://Example.COM/x", 23},
		{"two links", "", "https://example.com https://example.org", 47},
		{"with port, path, query and fragment", "", "https://example.com:8443/a/b?c=d&e=%20#f end", 27},
		{"twitter-text: closing punctuation stays outside", "", "See https://example.com/a. And", 4 + 23 + 5},
		{"twitter-text: parentheses around", "", "(https://example.com/a)", 25},
		{"twitter-text: parentheses inside", "", "https://example.com/Primer_(film) x", 25},
		{"twitter-text: nested parentheses", "", "https://example.com/a_(b_(c)) x", 25},
		{"twitter-text: after a letter, digit, @, # or $", "", "1https://example.com @https://example.com #https://example.com", 62},
		{"twitter-text: after other letters", "", "日https://example.com", 24},
		{"twitter-text: before other letters", "", "https://example.comです", 25},
		{"twitter-text: unknown top-level domains", "", "http://localhost:8080/path http://a.invalid/x", 45},
		{"twitter-text: the longest known domain", "", "http://example.com.invalid/x", 23 + 10},
		{"twitter-text: no user in front of the host", "", "http://user@example.com/x", 12 + 13},
		{"twitter-text: an international name", "", "https://пример.рф/страница", 23},
		{"twitter-text: an encoded name", "", "https://xn--e1afmkfd.xn--p1ai/", 23},
		{"twitter-text: hyphens", "", "https://my-site.example-shop.com/", 23},
		{"twitter-text: query ends at a closing character", "", "https://example.com/?a=b! x", 25 + 1},
		{"links without a scheme count as they are", "", "example.com/abc", 15},
		{"other schemes Mastodon links", "", "gemini://example.com/a", 23},
		{"other schemes it does not", "", "ftp://example.com/abc", 21},
		{"a link with an account in it is one link", "", "https://mastodon.social/@Gargron@example.com", 23},
		{"local mention", "", "@alice hi", 9},
		{"mention with dots", "", "@a.b-c@ex-am.ple.org!", 7},
		{"mention and a full stop", "", "@alice@example.com.", 7},
		{"mention at the end of a word", "", "mail alice@example.com", 22},
		{"mention after = or /", "", "=@alice@example.com /@alice@example.com", 39},
		{"mention before another at", "", "@alice@example.com@b", 20},
		{"mention before an accented letter", "", "@alicé@example.com", 18},
		{"CR LF counts as one character", "", "a\r\nb", 3},
		{"combining marks", "", "e\u0301e\u0301", 2},
		{"flags and skin tones", "", "🇩🇪👍🏽👨‍👩‍👧‍👦", 3},
		{"the border of warning and text", "e", "\u0301", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := length(c.warning, c.status, 23); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestLengthLeavesLinksWhereTheServerGivesNoLength(t *testing.T) {
	t.Parallel()
	const s = "https://example.com/abc @alice@example.com"
	if got := length("", s, 0); got != 23+7 {
		t.Errorf("got %d", got)
	}
	if got := length("", s, 5); got != 5+7 {
		t.Errorf("got %d", got)
	}
}

func FuzzLengthIsSoundForAnyText(f *testing.F) {
	for _, s := range []string{
		"", "plain", "https://example.com/a_(b)?c=d#e", "@a@b.c @", "http://", "http://.com", "https://日本.jp/です。", "\xff@\xff",
		"http://a.com@b.c", "https://example.com:", "@a@b.", "((((", "http://xn--", "http://a.b/(()", "👨‍👩‍👧‍👦@x@y.z",
	} {
		f.Add(s, 23)
	}
	f.Fuzz(func(t *testing.T, s string, urlLength int) {
		urlLength = max(0, min(urlLength, 100))
		got := length("", s, urlLength)
		if got < 0 {
			t.Fatalf("%q counts %d", s, got)
		}
		last := 0
		links := 0
		for _, e := range entities(s) {
			if e.start < last || e.end <= e.start || e.end > len(s) {
				t.Fatalf("entity %+v after %d in %q", e, last, s)
			}
			if utf8.ValidString(s) && !utf8.ValidString(s[e.start:e.end]) {
				t.Fatalf("entity %+v cuts a character of %q", e, s)
			}
			last = e.end
			if e.link {
				links++
			}
		}
		if !strings.Contains(s, "://") && !strings.Contains(s, "@") && got != text.Graphemes(s) {
			t.Fatalf("%q counts %d, has %d graphemes", s, got, text.Graphemes(s))
		}
		if most := utf8.RuneCountInString(s) + links*urlLength; got > most {
			t.Fatalf("%q counts %d, more than %d", s, got, most)
		}
	})
}
