package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

func TestSystemZoneTakesTZFirst(t *testing.T) {
	t.Parallel()
	a := newTestApp(t, nil, nil)
	for tz, want := range map[string]string{"Europe/Berlin": "Europe/Berlin", ":Asia/Tokyo": "Asia/Tokyo"} {
		a.getenv = func(name string) string {
			if name == "TZ" {
				return tz
			}
			return ""
		}
		if got, from := a.systemZone(); got != want || from != "TZ" {
			t.Errorf("TZ=%s: %s from %s", tz, got, from)
		}
	}
	a.getenv = func(string) string { return "CEST-2" } // a rule, not a name of the database
	if got, from := a.systemZone(); from == "TZ" || got == "CEST-2" {
		t.Errorf("a rule is taken for a name: %s from %s", got, from)
	}
}

func TestOutsideRefusesPlacesInTheRepository(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	elsewhere := t.TempDir()
	if err := os.Symlink(root, filepath.Join(elsewhere, "link")); err != nil {
		t.Fatal(err)
	}
	for path, fine := range map[string]bool{
		filepath.Join(elsewhere, "a.key"):                 true,
		filepath.Join(elsewhere, "not", "there", "a.key"): true,
		root + "-beside/a.key":                            true,
		filepath.Join(root, "..", "a.key"):                true,
		filepath.Join(root, "a.key"):                      false,
		filepath.Join(root, "deep", "down", "a.key"):      false,
		filepath.Join(root, "..odd", "a.key"):             false,
		filepath.Join(elsewhere, "link", "a.key"):         false,
		filepath.Join(elsewhere, "link", "x", "a.key"):    false,
	} {
		if err := outside(path, root); (err == nil) != fine {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAgeKeyIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	a := newTestApp(t, nil, nil)
	path := filepath.Join(t.TempDir(), "deep", "my.key")
	first, created, err := a.ageKey(path, t.TempDir(), vault.PostQuantum)
	if err != nil || !created || !strings.HasPrefix(first, "age1pq1") {
		t.Fatalf("%.20s %t %v", first, created, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again, created, err := a.ageKey(path, t.TempDir(), vault.X25519)
	if err != nil || created || again != first {
		t.Errorf("again: %.20s %t %v", again, created, err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the key was overwritten")
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.ageKey(path, t.TempDir(), vault.X25519); !errors.Is(err, vault.ErrKeyPermissions) {
		t.Errorf("a key that others can read is taken: %v", err)
	}
}

func TestIndentedSetsOffWholeLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := &indented{w: &b}
	for _, s := range []string{"one\n", "t", "wo\n\nthree\nfo", "ur\n"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "  one\n  two\n\n  three\n  four\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

func TestNearestFindsWhatWasMeant(t *testing.T) {
	t.Parallel()
	words := []string{"bluesky", "fosstodon", "x"}
	for in, want := range map[string]string{"blusky": "bluesky", "Fostodon": "fosstodon", "mastodonix": "", "": "", "bluesky": "bluesky", "zzzz": ""} {
		if got := nearest(in, words); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
