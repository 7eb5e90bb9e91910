package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDiagnosticsDocExplainsEveryCode reads the codes out of the sources of the packages that make diagnostics.
func TestDiagnosticsDocExplainsEveryCode(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	doc, err := os.ReadFile(filepath.Join(root, "docs", "diagnostics.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?:Code: +|failed\(|warned\(|Error, |Warning, )"([a-z]+(?:_[a-z]+)*)"`)
	seen := map[string]bool{}
	for _, dir := range []string{"render", "media", "publish", "journal", "compose"} {
		files, err := filepath.Glob(filepath.Join(root, "pipeline", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in pipeline/%s: %v", dir, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range code.FindAllStringSubmatch(string(src), -1) {
				seen[m[1]] = true
			}
		}
	}
	if len(seen) < 20 {
		t.Fatalf("only %d codes were found: the pattern no longer fits the sources", len(seen))
	}
	for c := range seen {
		// Those of single destinations stand in a trouble with their own words and remedy, not in a file's diagnostic.
		if own := []string{
			"note", "no_target", "no_credential", "wrong_key", "bound_elsewhere", "bad_server", "bad_destination", "unknown_provider",
			"cannot_encrypt", "credential_behind",
		}; strings.Contains(" "+strings.Join(own, " ")+" ", " "+c+" ") {
			continue
		}
		if !strings.Contains(string(doc), "| `"+c+"` |") {
			t.Errorf("docs/diagnostics.md does not explain %s", c)
		}
	}
}
