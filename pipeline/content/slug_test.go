package content_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/content"
)

func TestSlugMakesAnID(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Launch 1.0": "launch-1-0", "  Hello,   World!  ": "hello-world", "Über die Straße": "uber-die-strasse",
		"It's the author’s": "its-the-authors", "Łódź, Øre & Æon": "lodz-ore-aeon", "日本語": "", "日本語 2026": "2026", "": "", "---": "",
		"-a-": "a", strings.Repeat("ab ", 40): strings.TrimSuffix(strings.Repeat("ab-", 21), "-"), "naïve café": "naive-cafe",
	} {
		got := content.Slug(title)
		if got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
		if got != "" && !pipeline.ValidPostID(got) {
			t.Errorf("%q is no id", got)
		}
	}
}

func TestAddIDChangesNothingElse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"---\ntitle: x\n---\nHi":         "---\nid: new\ntitle: x\n---\nHi",
		"---\r\ntitle: x\r\n---\r\nHi":   "---\r\nid: new\r\ntitle: x\r\n---\r\nHi",
		"\xef\xbb\xbf---\ntitle: x\n---": "\xef\xbb\xbf---\nid: new\ntitle: x\n---",
		"---\n---\n":                     "---\nid: new\n---\n",
		"---\n# c\n\n---\n\n\n":          "---\nid: new\n# c\n\n---\n\n\n",
		"---\ntitle: x\nid:\n---\n":      "---\ntitle: x\nid: new\n---\n",
		"---\r\nid: \r\n---\r\n":         "---\r\nid: new \r\n---\r\n",
		"---\nid: # later\n---\n":        "---\nid: new # later\n---\n",
		"---\n{id: , a: b}\n---\n":       "---\n{id: new , a: b}\n---\n",
		"---\n\"id\":\n---\n":            "---\n\"id\": new\n---\n",
	} {
		got, err := content.AddID([]byte(in), "new")
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
		if _, err := content.AddID(got, "new"); !errors.Is(err, content.ErrHasID) {
			t.Errorf("%q has an id: %v", got, err)
		}
	}
	for _, in := range []string{
		"", "Hello", "---\ntitle: x\n", "---\n- a\n---\n", "---\na: *b\n---\n", "---\nid: null\n---\n", "---\nid: ~\n---\n",
		"---\na\x00\n---\n",
	} {
		if got, err := content.AddID([]byte(in), "new"); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
	if _, err := content.AddID([]byte("---\n---\n"), "No Id"); err == nil {
		t.Error("a bad id was written")
	}
}
