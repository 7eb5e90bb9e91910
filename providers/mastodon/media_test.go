package mastodon_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/mastodon/mastodontest"
)

const uploads = "POST /api/v2/media"

// bubble runs a test whose waits cost nothing; the fake's clock is the bubble's.
func bubble(t *testing.T, o mastodontest.Options, run func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Now = time.Now
		run(t, newWorld(t, o))
	})
}

func TestUploadWaitsUntilTheServerIsDone(t *testing.T) {
	t.Parallel()
	bubble(t, mastodontest.Options{Processing: 4}, func(t *testing.T, w *world) {
		began := time.Now()
		able := w.adapter(func(c *providers.Config) { c.Now = time.Now })
		m := picture(1, "A chart")
		m.Focus = &[2]float64{-0.5, 1.25}
		h, err := able.Upload.Upload(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 1*time.Second+2*time.Second+4*time.Second+8*time.Second {
			t.Errorf("it took %v", took)
		}
		if d := time.Until(h.Expires); d != 20*time.Hour || h.ID == "" || h.Warning != "" {
			t.Errorf("got %+v, which expires in %v", h, d)
		}
		for _, want := range []string{`name="description"`, "A chart", `name="focus"`, "-0.5,1", `.png"`, "Content-Type: image/png"} {
			if !strings.Contains(w.body, want) {
				t.Errorf("the upload does not hold %q", want)
			}
		}
	})
}

// TestUploadsOfDifferentMediaHaveDifferentNames is for servers that know a file by its name.
func TestUploadsOfDifferentMediaHaveDifferentNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mastodontest.Options{})
	filename := regexp.MustCompile(`filename="([0-9a-f]{32}\.png)"`)
	seen := map[string]int{}
	for i, m := range []providers.Media{picture(1, "A chart"), picture(2, "A chart"), picture(1, "Another text"), picture(1, "A chart")} {
		if _, err := w.adapter().Upload.Upload(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		name := filename.FindStringSubmatch(w.body)
		if name == nil {
			t.Fatalf("the upload names no file of the form %s", filename)
		}
		if other, ok := seen[name[1]]; ok != (i == 3) {
			t.Errorf("upload %d has the name %s of upload %d", i, name[1], other)
		}
		seen[name[1]] = i
	}
}

func TestUploadGivesUpInTime(t *testing.T) {
	t.Parallel()
	bubble(t, mastodontest.Options{Processing: 1 << 30}, func(t *testing.T, w *world) {
		began := time.Now()
		_, err := w.adapter().Upload.Upload(t.Context(), picture(1, "x"))
		wantError(t, err, providers.Unavailable, "media/picture.png is still being processed")
		if took := time.Since(began); took > 5*time.Minute+time.Second || took < 4*time.Minute {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began = time.Now()
		_, err = w.adapter().Upload.Upload(ctx, picture(1, "x"))
		wantError(t, err, providers.Unavailable)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("with 3 s it took %v", took)
		}
	})
}

func TestUploadSaysWhatTheServerMakesOfIt(t *testing.T) {
	t.Parallel()
	bubble(t, mastodontest.Options{Corrupt: true, Processing: 2}, func(t *testing.T, w *world) {
		_, err := w.adapter().Upload.Upload(t.Context(), picture(1, "x"))
		wantError(t, err, providers.Invalid, "media/picture.png could not be processed", "Error processing thumbnail")
	})
	bubble(t, mastodontest.Options{}, func(t *testing.T, w *world) {
		m := picture(1, "x")
		m.MIME = "application/pdf"
		_, err := w.adapter().Upload.Upload(t.Context(), m)
		wantError(t, err, providers.Invalid, "content type is invalid")
		m.Open = func() ([]byte, error) { return nil, errors.New("it is gone") }
		_, err = w.adapter().Upload.Upload(t.Context(), m)
		wantError(t, err, providers.Invalid, "it is gone")
		m.Open = nil
		_, err = w.adapter().Upload.Upload(t.Context(), m)
		if e := errorOf(t, err, providers.Invalid); e.Reach != providers.NotSent {
			t.Errorf("reach %s", e.Reach)
		}
		w.answer[uploads] = answering(200, nil, `{"id":"","type":"image"}`)
		_, err = w.adapter().Upload.Upload(t.Context(), picture(1, "x"))
		wantError(t, err, providers.Unknown, "names no medium")
	})
	bubble(t, mastodontest.Options{DropAlt: true}, func(t *testing.T, w *world) {
		h, err := w.adapter().Upload.Upload(t.Context(), picture(1, "A chart"))
		if err != nil || !strings.Contains(h.Warning, "alternative text of media/picture.png") {
			t.Errorf("got %+v, %v", h, err)
		}
	})
}

func TestUploadFallsBackToV1(t *testing.T) {
	t.Parallel()
	bubble(t, mastodontest.Options{NoMediaV2: true, NoMediaStatus: true, Processing: 5}, func(t *testing.T, w *world) {
		if _, err := w.adapter().Upload.Upload(t.Context(), picture(1, "x")); err != nil {
			t.Fatal(err)
		}
		if w.count("POST /api/v1/media") != 1 || w.count(uploads) != 1 {
			t.Errorf("sent %v", w.requests)
		}
	})
}

func TestUploadOutlivesABadLook(t *testing.T) {
	t.Parallel()
	bubble(t, mastodontest.Options{Processing: 2}, func(t *testing.T, w *world) {
		looks := 0
		w.next = func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v1/media/") {
					if looks++; looks == 1 {
						return answering(502, nil, "")(r)
					}
				}
				return next.RoundTrip(r)
			})
		}(w.next)
		if _, err := w.adapter().Upload.Upload(t.Context(), picture(1, "x")); err != nil || looks != 3 {
			t.Errorf("%v after %d looks", err, looks)
		}
	})
	// Where media cannot be asked for, an accepted file that has an address is taken for ready.
	bubble(t, mastodontest.Options{NoMediaStatus: true}, func(t *testing.T, w *world) {
		w.answer[uploads] = answering(202, nil, `{"id":"7","type":"image","url":"https://x.test/7","description":"x"}`)
		if h, err := w.adapter().Upload.Upload(t.Context(), picture(1, "x")); err != nil || h.ID != "7" {
			t.Errorf("got %+v, %v", h, err)
		}
		w.answer[uploads] = answering(202, nil, `{"id":"7","type":"image","url":null}`)
		_, err := w.adapter().Upload.Upload(t.Context(), picture(1, "x"))
		wantError(t, err, providers.NotFound)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
