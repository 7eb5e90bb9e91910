package richtext_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/richtext"
)

func TestHiddenCharsLetsWritingSystemsAndEmojiBe(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"plain":              "Plain text, with tab\tand\nnewline.",
		"accents":            "Ünïcödé é e\u0301 ñ",
		"nbsp":               "10\u00a0000\u202fkm",
		"heart":              "❤\ufe0f",
		"text style":         "☎\ufe0e ©\ufe0f",
		"keycaps":            "1\ufe0f\u20e3 #\ufe0f\u20e3 *\ufe0f\u20e3",
		"family":             "👨\u200d👩\u200d👧\u200d👦",
		"skin":               "👩🏽\u200d💻 🤷🏿\u200d♂\ufe0f",
		"rainbow flag":       "🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f",
		"heart on fire":      "❤\ufe0f\u200d🔥",
		"directions":         "🏃\u200d➡\ufe0f",
		"country":            "🇩🇪🇫🇷",
		"scotland":           "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
		"scotland and wales": "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
		"persian":            "می\u200cخواهم کتاب\u200cها",
		"arabic initial":     "ه\u200d",
		"hindi":              "क्\u200dष क्\u200cष",
		"sinhala":            "ශ්\u200dරී ලංකා",
		"malayalam":          "ന്\u200d",
		"kannada":            "ರ್\u200dಕ",
		"bengali":            "র\u200c্যা",
		"arabic":             "مرحبا بالعالم",
		"hebrew":             "שלום עולם",
		"japanese":           "日本語のテキスト。",
		"ideograph variant":  "葛\U000E0100城",
		"mongolian":          "ᠮᠣᠩᠭᠣᠯ\u180e",
		"khmer":              "ភាសា\u200bខ្មែរ",
		"thai":               "ภาษา\u200bไทย",
		"braille":            "⠓⠑\u2800⠇⠇⠕",
		"math variant":       "∩\ufe00",
	} {
		if got := richtext.HiddenChars(s); len(got) != 0 {
			t.Errorf("%s: %+q: %+v", name, s, got)
		}
		if got := richtext.Visible(s); got != s {
			t.Errorf("%s: shown as %q", name, got)
		}
	}
}

func TestHiddenCharsFindsWhatDeceives(t *testing.T) {
	t.Parallel()
	h := func(at int, r rune, name string, k richtext.HiddenKind) richtext.Hidden {
		return richtext.Hidden{Offset: at, Rune: r, Name: name, Kind: k}
	}
	for name, c := range map[string]struct {
		in      string
		want    []richtext.Hidden
		visible string
	}{
		"override": {"a\u202eb", []richtext.Hidden{h(1, 0x202e, "RIGHT-TO-LEFT OVERRIDE", richtext.Bidi)}, "a<U+202E>b"},
		"isolate": {"\u2066x\u2069", []richtext.Hidden{
			h(0, 0x2066, "LEFT-TO-RIGHT ISOLATE", richtext.Bidi),
			h(4, 0x2069, "POP DIRECTIONAL ISOLATE", richtext.Bidi),
		}, "<U+2066>x<U+2069>"},
		"marks": {"א\u200f", []richtext.Hidden{h(2, 0x200f, "RIGHT-TO-LEFT MARK", richtext.Bidi)}, "א<U+200F>"},
		"zwsp":  {"pay\u200bpal", []richtext.Hidden{h(3, 0x200b, "ZERO WIDTH SPACE", richtext.Invisible)}, "pay<U+200B>pal"},
		"zwj":   {"a\u200db", []richtext.Hidden{h(1, 0x200d, "ZERO WIDTH JOINER", richtext.Invisible)}, "a<U+200D>b"},
		"zwnj":  {"Auf\u200clage", []richtext.Hidden{h(3, 0x200c, "ZERO WIDTH NON-JOINER", richtext.Invisible)}, "Auf<U+200C>lage"},
		"bom":   {"a\ufeff", []richtext.Hidden{h(1, 0xfeff, "ZERO WIDTH NO-BREAK SPACE", richtext.Invisible)}, "a<U+FEFF>"},
		"shy":   {"a\u00adb", []richtext.Hidden{h(1, 0xad, "SOFT HYPHEN", richtext.Invisible)}, "a<U+00AD>b"},
		"vs on a letter": {
			"a\ufe0f",
			[]richtext.Hidden{h(1, 0xfe0f, "VARIATION SELECTOR-16", richtext.Invisible)},
			"a<U+FE0F>",
		},
		"vs twice": {"❤\ufe0f\ufe0f", []richtext.Hidden{h(6, 0xfe0f, "VARIATION SELECTOR-16", richtext.Invisible)}, "❤\ufe0f<U+FE0F>"},
		"smuggled": {"😀\U000E0120\U000E0121", []richtext.Hidden{
			h(4, 0xe0120, "VARIATION SELECTOR-49", richtext.Invisible),
			h(8, 0xe0121, "VARIATION SELECTOR-50", richtext.Invisible),
		}, "😀<U+E0120><U+E0121>"},
		"bare keycap": {"1\ufe0f", []richtext.Hidden{h(1, 0xfe0f, "VARIATION SELECTOR-16", richtext.Invisible)}, "1<U+FE0F>"},
		"zwj at the end": {
			"👩\u200d",
			[]richtext.Hidden{h(4, 0x200d, "ZERO WIDTH JOINER", richtext.Invisible)},
			"👩<U+200D>",
		},
		"tags": {"x\U000E0041", []richtext.Hidden{h(1, 0xe0041, "TAG CHARACTER", richtext.Invisible)}, "x<U+E0041>"},
		"tags without end": {"🏴\U000E0067\U000E0062", []richtext.Hidden{
			h(4, 0xe0067, "TAG CHARACTER", richtext.Invisible),
			h(8, 0xe0062, "TAG CHARACTER", richtext.Invisible),
		}, "🏴<U+E0067><U+E0062>"},
		"hangul filler":  {"\u3164", []richtext.Hidden{h(0, 0x3164, "HANGUL FILLER", richtext.Invisible)}, "<U+3164>"},
		"escape":         {"\x1b[31mred", []richtext.Hidden{h(0, 0x1b, "ESCAPE", richtext.Control)}, "<U+001B>[31mred"},
		"c1":             {"\u009b31m", []richtext.Hidden{h(0, 0x9b, "CONTROL SEQUENCE INTRODUCER", richtext.Control)}, "<U+009B>31m"},
		"return":         {"safe\rover", []richtext.Hidden{h(4, '\r', "CARRIAGE RETURN", richtext.Control)}, "safe<U+000D>over"},
		"line separator": {"a\u2028b", []richtext.Hidden{h(1, 0x2028, "LINE SEPARATOR", richtext.Control)}, "a<U+2028>b"},
		"not utf8":       {"a\xffb", []richtext.Hidden{h(1, utf8.RuneError, "a byte that is not UTF-8", richtext.Control)}, "a<0xFF>b"},
		"zwnj doubled": {"می\u200c\u200cخ", []richtext.Hidden{
			h(4, 0x200c, "ZERO WIDTH NON-JOINER", richtext.Invisible),
			h(7, 0x200c, "ZERO WIDTH NON-JOINER", richtext.Invisible),
		}, "می<U+200C><U+200C>خ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, richtext.HiddenChars(c.in)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.visible, richtext.Visible(c.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMismatchWarnsWhenTextNamesAnotherHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, link, want string }{
		{"https://bank.com/login", "https://evil.example/x", "evil.example"},
		{"paypal.com", "https://paypa1.example", "paypa1.example"},
		{"see www.paypal.com now", "https://evil.example", "evil.example"},
		{"HTTPS://Bank.com", "https://evil.example", "evil.example"},
		{"(bank.co.uk)", "https://other.co.uk", "other.co.uk"},
		{"alice.github.io", "https://bob.github.io/", "bob.github.io"},
		{"bücher.de", "https://evil.example/", "evil.example"},
		{"https://user@bank.com", "https://evil.example/", "evil.example"},
		{"https://bank.com@evil.example", "https://evil.example/", ""},
		{"bank.com", "https://bank.com@evil.example/", "evil.example"},
		{"Read the notes", "https://example.com", ""},
		{"example.com", "https://www.example.com/deep", ""},
		{"https://example.com/1.0", "https://example.com/1.0", ""},
		{"blog.example.com", "https://example.com", ""},
		{"bücher.de", "https://xn--bcher-kva.de/", ""},
		{"README.md", "https://github.com/x/y", ""},
		{"main.go", "https://github.com/x/y", ""},
		{"v1.2.3", "https://example.com", ""},
		{"me@example.com", "mailto:me@example.com", ""},
		{"node.js rocks", "https://example.org", ""},
		{"...", "https://example.org", ""},
		{"bank.com", "/relative", ""},
	} {
		if got := richtext.Mismatch(c.text, c.link); got != c.want {
			t.Errorf("%q to %s: got %q, want %q", c.text, c.link, got, c.want)
		}
	}
}

func TestMixedScriptFindsLookAlikes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"alice.dev": false, "@alice@hachyderm.io": false, "раураl.com": true, "gооgle.com": true, "αpple.com": true,
		"пример.com": false, "日本語テキスト.jp": false, "helloこんにちは": false, "한국漢字": false, "xn--80ak6aa92e.com": false,
		"xn--gogle-rce.com": true, "ελλάς.gr": false, "ерα": true, "": false, "user_1": false, "مثال.com": false,
	} {
		if got := richtext.MixedScript(s); got != want {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a\u202eb", "👨\u200d👩", "\x1b[2J", "\xff\xfe", "🏴\U000E0067\U000E007F", "می\u200cخ", "क्\u200dष"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := richtext.Visible(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\u202e\u2066\u009b") {
			t.Fatalf("%q is shown as %q", s, got)
		}
		last := -1
		for _, h := range richtext.HiddenChars(s) {
			if h.Offset <= last || h.Offset >= len(s) || h.Name == "" || h.Kind == "" {
				t.Fatalf("%q: %+v", s, h)
			}
			last = h.Offset
		}
		richtext.MixedScript(s)
		richtext.Mismatch(s, "https://example.com")
		richtext.Mismatch("example.com", s)
	})
}
