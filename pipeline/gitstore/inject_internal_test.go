package gitstore

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestHelpersAreNotAskedWithALineBreak asks a helper that has a credential for every host.
func TestHelpersAreNotAskedWithALineBreak(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	config := "[credential]\n\thelper = \"!f() { echo username=u; echo password=s3cret-p4ss; }; f\"\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1"}[name]
	}
	o, err := newOpener(Options{URL: "https://evil.example/r", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := o.askHelpers(t.Context()); !ok {
		t.Fatal("the helper has no answer for a plain address")
	}
	o.addr.url.Path = "/r\nhost=github.com"
	if _, ok := o.askHelpers(t.Context()); ok {
		t.Error("a helper was asked with a line break in the path")
	}
	o.addr.url.Path, o.addr.user = "/r", url.User("u\nhost=github.com")
	if _, ok := o.askHelpers(t.Context()); ok {
		t.Error("a helper was asked with a line break in the user's name")
	}
}

func TestRedirectWithAControlCharacterIsRefused(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/r/info/refs" {
			t.Errorf("the redirect to %q was followed", r.URL.Path)
		}
		w.Header().Set("Location", "/x%0ahost=github.com/info/refs?service=git-upload-pack")
		w.WriteHeader(http.StatusFound)
	}))
	defer srv.Close()
	base, err := url.Parse(srv.URL + "/r")
	if err != nil {
		t.Fatal(err)
	}
	w := newHTTPWire(base, http.DefaultTransport, time.Now)
	w.more = func(context.Context) (credentials, bool) { t.Error("a helper was asked"); return credentials{}, false }
	if _, err := w.open(t.Context(), uploadPack); err == nil {
		t.Error("no error")
	}
}
