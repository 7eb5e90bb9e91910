//go:build unix

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRunPublishesOnce publishes a plain post, a thread and an image on every kind of network; a second run finds nothing
// to do and changes nothing.
func TestRunPublishesOnce(t *testing.T) {
	t.Parallel()
	w, at := killWorld(t)
	w.do(at, []int{0}, "run")
	for _, d := range w.sound().Deliveries {
		if !published(d) {
			t.Errorf("%s is %s", d.ID, d.State)
		}
	}
	for _, d := range w.dests {
		want := []string{"Plain words.", "First part.", "Second part.", "With a picture."}
		got := w.texts(d.name)
		if len(got) != len(want) {
			t.Errorf("%s shows %q", d.name, got)
		}
		for _, p := range w.net.Posts(d.name) {
			if p.Label != "image" {
				continue
			}
			if len(p.Media) != 1 || p.Media[0].Alt != "a few dots" || !cmp.Equal(p.Media[0].Data, w.files["media/image-1.png"]) {
				t.Errorf("%s shows the media %+v", d.name, p.Media)
			}
		}
	}
	tip, asked := w.tip(), len(w.net.Requests())
	w.do(at, []int{0}, "run")
	if w.tip() != tip {
		t.Error("a second run changed the ledger")
	}
	if n := len(w.net.Requests()) - asked; n != 0 {
		t.Errorf("a second run made %d requests to the network", n)
	}
}
