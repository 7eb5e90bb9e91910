package all_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
	"github.com/broadside-pub/broadside/providers/providertest"
)

func names() []string {
	var out []string
	for _, i := range all.All() {
		out = append(out, i.Name)
	}
	return out
}

func TestAllIsSortedAndUnique(t *testing.T) {
	t.Parallel()
	got := names()
	want := slices.Compact(slices.Sorted(slices.Values(got)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestAllHoldsEveryFolder compares the list with the folders beside it: one that declares an Info is a provider.
func TestAllHoldsEveryFolder(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files beside this folder: %v", err)
	}
	var want []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Base(filepath.Dir(f))
		if strings.Contains(string(src), "\nfunc Info() providers.Info") {
			want = append(want, folder)
			if parsed.Name.Name != folder {
				t.Errorf("%s holds package %s", folder, parsed.Name.Name)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), names()); diff != "" {
		t.Errorf("folders and list (-folders +list):\n%s", diff)
	}
}

func TestEveryInfoIsComplete(t *testing.T) {
	t.Parallel()
	for _, i := range all.All() {
		for _, err := range providertest.CheckInfo(i) {
			t.Error(err)
		}
		if strings.TrimSpace(i.Title) != i.Title || !strings.HasSuffix(i.About, ".") {
			t.Errorf("%s: title %q or about %q is not written as a title and sentences", i.Name, i.Title, i.About)
		}
		for _, s := range slices.Concat(i.Settings, i.Secrets) {
			if !strings.HasSuffix(s.Help, ".") {
				t.Errorf("%s: %s: the help is no sentence: %q", i.Name, s.Name, s.Help)
			}
			checkDefault(t, i, s)
		}
	}
}

func checkDefault(t *testing.T, i providers.Info, s providers.Setting) {
	t.Helper()
	if s.Type == providers.Object && !json.Valid([]byte(s.Schema)) {
		t.Errorf("%s: %s: the schema is not JSON", i.Name, s.Name)
	}
	if s.Default == nil {
		return
	}
	fits := false
	switch v := s.Default.(type) {
	case string:
		fits = s.Type == providers.String && (len(s.Enum) == 0 || slices.Contains(s.Enum, v))
	case bool:
		fits = s.Type == providers.Boolean
	case int:
		fits = s.Type == providers.Integer && (s.Max == 0 || v <= s.Max)
	case []string:
		fits = s.Type == providers.Strings
	case map[string]any:
		fits = s.Type == providers.Object
	}
	if !fits {
		t.Errorf("%s: %s: the default %v is not of its type", i.Name, s.Name, s.Default)
	}
}

func TestLookupFindsEachAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, n := range names() {
		if i, ok := all.Lookup(n); !ok || i.Name != n {
			t.Errorf("Lookup(%q) = %q, %v", n, i.Name, ok)
		}
	}
	for _, n := range []string{"", "Bluesky", "blueskyx", "zzz"} {
		if i, ok := all.Lookup(n); ok {
			t.Errorf("Lookup(%q) = %q", n, i.Name)
		}
	}
}
