package content_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// codesIn lists the values of the constants named Code... in a file.
func codesIn(t *testing.T, name string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Names) != 1 || !strings.HasPrefix(v.Names[0].Name, "Code") {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		return true
	})
	if len(out) == 0 {
		t.Fatalf("%s has no codes", name)
	}
	return out
}

// TestDiagnosticsAreDocumented compares the codes of this package and of schedule with their section in the docs.
func TestDiagnosticsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/diagnostics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(raw), "\n## Posts and broadside.yaml\n")
	if !ok {
		t.Fatal("the docs have no section on posts and broadside.yaml")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_0-9]+)` \\| .{10,} \\|$").FindAllStringSubmatch(section, -1) {
		documented = append(documented, m[1])
	}
	used := append(codesIn(t, "codes.go"), codesIn(t, "../schedule/errors.go")...)
	slices.Sort(used)
	used = slices.Compact(used)
	if !slices.IsSorted(documented) {
		t.Error("the section is not sorted")
	}
	slices.Sort(documented)
	if diff := cmp.Diff(used, documented); diff != "" {
		t.Errorf("codes (-used +documented):\n%s", diff)
	}
}
