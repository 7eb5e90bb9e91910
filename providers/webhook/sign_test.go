package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/providers"
)

// The first vector is the one that the specification's own libraries are tested with. All three were computed with
// openssl 3.0 (dgst -sha256 -mac HMAC -macopt hexkey:...), not with this code.
func TestSignGivesTheSpecifiedSignatures(t *testing.T) {
	t.Parallel()
	const (
		one = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		two = "whsec_YSBzZWNvbmQga2V5IG9mIHRoaXJ0eS10d28gYnl0ZXM="
	)
	for _, c := range []struct {
		name, secret, id string
		at               int64
		body, want       string
	}{
		{
			"specification", one, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`,
			"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
		{
			"beyond ASCII", one, "msg_5d41402abc4b2a76b9719d911017c592aaaaaaaa", 1796040000,
			`{"data":{"text":"Grüße 🎉"},"type":"post.published"}`, "v1,hAFfN3XqL/5fDPnZxM5viOOwoKj1I7I2WMHgoPE1FqY=",
		},
		{
			"two keys", one + " " + two, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`,
			"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,yWP9ceMG87tJDF4otadb9KLX7fmHMbg6wMt8pAZJB20=",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			keys, err := parseKeys(c.secret)
			if err != nil {
				t.Fatal(err)
			}
			if got := sign(keys, c.id, time.Unix(c.at, 0), []byte(c.body)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRenderHTMLIsSafe(t *testing.T) {
	t.Parallel()
	text := func(s string) []providers.Span { return []providers.Span{{Text: s}} }
	for _, c := range []struct {
		name  string
		block providers.Block
		want  string
	}{
		{"escapes", providers.Block{Spans: text(`<script>"&'`)}, `<p>&lt;script&gt;&#34;&amp;&#39;</p>`},
		{"no script links", providers.Block{Spans: []providers.Span{{Text: "x", URL: "javascript:alert(1)"}}}, `<p>x</p>`},
		{"quoted links", providers.Block{Spans: []providers.Span{{Text: "x", URL: `https://a.test/"><b>`}}}, `<p><a href="https://a.test/&#34;&gt;&lt;b&gt;">x</a></p>`},
		{
			"styles",
			providers.Block{Spans: []providers.Span{{Text: "x", Style: providers.Bold | providers.Italic | providers.Strike | providers.Code}}},
			`<p><strong><em><del><code>x</code></del></em></strong></p>`,
		},
		{"breaks", providers.Block{Spans: []providers.Span{{Text: "a"}, {Kind: providers.LineBreak}, {Text: "b"}}}, `<p>a<br>b</p>`},
		{"heading", providers.Block{Kind: providers.Heading, Level: 9, Spans: text("h")}, `<h6>h</h6>`},
		{"code", providers.Block{Kind: providers.CodeBlock, Text: "a<b\n", Lang: "go"}, "<pre><code>a&lt;b\n</code></pre>"},
		{"quote", providers.Block{Kind: providers.Quote, Blocks: []providers.Block{{Spans: text("q")}}}, `<blockquote><p>q</p></blockquote>`},
		{"rule", providers.Block{Kind: providers.Rule}, `<hr>`},
		{
			"lists",
			providers.Block{Kind: providers.List, Ordered: true, Start: 3, Items: [][]providers.Block{
				{{Spans: text("a")}, {Kind: providers.List, Items: [][]providers.Block{{{Spans: text("b")}}}}}, {},
			}},
			`<ol start="3"><li>a<ul><li>b</li></ul></li><li></li></ol>`,
		},
		{"images are their alternative text", providers.Block{Spans: []providers.Span{{Kind: providers.Image, Text: "alt", URL: "x.png"}}}, `<p>alt</p>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := renderHTML(providers.Doc{Blocks: []providers.Block{c.block}}); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func FuzzParseKeysNeverShowsThem(f *testing.F) {
	for _, s := range []string{"", "whsec_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a b", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_====="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		keys, err := parseKeys(s)
		if err != nil {
			if word := strings.TrimPrefix(s, keyPrefix); len(word) > 20 && strings.Contains(err.Error(), word) {
				t.Fatalf("%q shows the secret", err)
			}
			return
		}
		for _, k := range keys {
			if len(k) < shortestKey || len(k) > longestKey {
				t.Fatalf("a key of %d bytes", len(k))
			}
		}
	})
}

func FuzzOpenTakesSealedPayloadsOnly(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"id":"msg_1","timestamp":"x","data":{}}`, `{"id":1,"timestamp":1,"data":[]}`, `{"id":"a","timestamp":"b","data":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, up := range []*parent{nil, {ID: "msg_0"}} {
			id, body, err := open(raw, up)
			if err == nil && (id == "" || len(body) == 0) {
				t.Fatalf("%q became id %q and body %q", raw, id, body)
			}
		}
	})
}
