package cli

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/schedule"
)

// shaky is the account on the server that loses an answer. Its network recognises no repeated posts either.
const shaky = "foghorn"

// demoAccounts are the sandbox's accounts, and the destinations of the same names.
var demoAccounts = []string{"harbour", "lighthouse", shaky}

// demoWant is how many posts of the network each account must show at the end: parts of threads count.
var demoWant = map[string]int{"harbour": 4, "lighthouse": 2, shaky: 3}

// demoDeliveries is how many deliveries the posts make.
const demoDeliveries = 7

// setUp makes the repository and its remote, and does what a newcomer does: init, destinations, logins.
func (d *demo) setUp(ctx context.Context) error {
	if err := os.MkdirAll(d.repo, 0o700); err != nil {
		return err
	}
	for _, c := range [][]string{
		{"init", "-q", "--bare", d.bare},
		{"init", "-q", d.repo},
		{"remote", "add", "origin", d.bare},
		{"commit", "-q", "--allow-empty", "-m", "Start"},
		{"push", "-q", "-u", "origin", "main"},
	} {
		if err := d.gitQuiet(ctx, d.repo, c...); err != nil {
			return err
		}
	}
	if err := d.run(ctx, 0, "init", "--workflow=false"); err != nil {
		return err
	}
	if err := d.writeDestinations(); err != nil {
		return err
	}
	for i, name := range demoAccounts {
		out := io.Writer(d.out)
		var said bytes.Buffer
		if i > 0 {
			out = &said
		}
		if err := d.runIn(ctx, 0, d.tokens[name]+"\n", out, "auth", "add", name); err != nil {
			return fmt.Errorf("%w\n%s", err, said.String())
		}
	}
	d.shown("broadside auth add " + strings.Join(demoAccounts[1:], " && broadside auth add ") + "  # likewise")
	return d.commit(ctx, "Set up broadside")
}

// commit brings everything to the remote.
func (d *demo) commit(ctx context.Context, message string) error {
	d.shown("git add -A && git commit -m \"" + message + "\" && git push")
	for _, c := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", message}, {"push", "-q"}} {
		if err := d.gitQuiet(ctx, d.repo, c...); err != nil {
			return err
		}
	}
	return nil
}

// writeDestinations adds the three accounts to broadside.yaml.
func (d *demo) writeDestinations() error {
	path := filepath.Join(d.repo, compose.ConfigPath)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var said strings.Builder
	for _, name := range slices.Backward(demoAccounts) { // each comes before those that are there
		lines := []string{"provider: sandbox", "server: " + d.net.url, "allow_private: true # it is on this machine"}
		if name == shaky {
			lines = append(lines, "disable: [key] # and recognises no repeated posts")
		}
		if data, err = setYAML(data, []string{"destinations"}, name, yamlValue{Lines: lines}); err != nil {
			return err
		}
	}
	d.shown("edit broadside.yaml")
	text := string(data)
	if i := strings.Index(text, "\ndestinations:"); i >= 0 {
		for l := range strings.Lines(text[i+1:]) {
			if strings.HasPrefix(l, "#") {
				break
			}
			said.WriteString(l)
		}
	}
	_, _ = io.WriteString(d.out, said.String())
	return os.WriteFile(path, data, 0o600) //nolint:gosec // a file in the folder that the demo has made
}

// writePosts writes the posts and commits them.
func (d *demo) writePosts(ctx context.Context) error {
	zone, err := d.zone()
	if err != nil {
		return err
	}
	just := schedule.Format(d.a.now().Add(-time.Minute).Truncate(time.Minute), zone)
	picture, err := demoPicture()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
		show bool
	}{
		{"posts/hello.md", []byte(demoPlain), true},
		{"posts/tour.md", fmt.Appendf(nil, demoThread, just), true},
		{"posts/harbour-notes.md", []byte(demoOverrides), true},
		{"media/chart.png", picture, false},
	} {
		path := filepath.Join(d.repo, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return err
		}
		if f.show {
			d.shown("cat " + f.name)
			_, _ = d.out.Write(f.data)
		}
	}
	return d.commit(ctx, "Three posts")
}

// zone is the one that init has found.
func (d *demo) zone() (*time.Location, error) {
	w, err := d.child(strings.NewReader("")).open(true)
	if err != nil {
		return nil, err
	}
	return w.cfg.Location, nil
}

const demoPlain = `---
id: hello
publish_at: now
destinations: [harbour, lighthouse, foghorn]
---

Hello from **broadside**: this post went out by a [commit](https://example.com/how). #firstlight
`

const demoThread = `---
id: tour
publish_at: %s
destinations: [harbour, foghorn]
---

A thread has several parts. This one has a picture, and words for those who cannot see it.

![A chart of a harbour at dusk: dark water below, a band of orange light above](/media/chart.png)

---

A line of dashes begins the next part.
`

const demoOverrides = `---
id: harbour-notes
publish_at: now
destinations:
  harbour:
    tags: [notes]
  lighthouse:
    visibility: unlisted
    content_warning: harbour talk
---

Each place can have its own settings.

::: only harbour

Only the harbour sees this line.

:::
`

// demoPicture paints a harbour at dusk.
func demoPicture() ([]byte, error) {
	const w, h = 640, 360
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{R: uint8(40 + y*200/h), G: uint8(30 + y*90/h), B: uint8(90 - y*60/h), A: 255}
			if y > h*2/3 { // water, with the light's reflection
				glow := max(0, 60-abs(x-w/2)/4)
				c = color.RGBA{R: uint8(10 + glow*2), G: uint8(20 + glow), B: 60, A: 255} //nolint:gosec // glow is at most 60
			}
			img.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// verify checks what the demo is there to show: every delivery published, every post on the network once.
func (d *demo) verify(ctx context.Context) error {
	a := d.child(strings.NewReader(""))
	_, j, done, err := a.openLedger(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	var wrong []string
	s := j.State()
	for _, del := range s.Deliveries {
		if del.State != pipeline.Published {
			wrong = append(wrong, fmt.Sprintf("%s at %s is %s", del.ID.Post, del.Dest, del.State))
		}
	}
	if n := len(s.Deliveries); n != demoDeliveries {
		wrong = append(wrong, fmt.Sprintf("the ledger has %d deliveries, not %d", n, demoDeliveries))
	}
	for _, name := range demoAccounts {
		if n := len(d.net.server.Posts(name)); n != demoWant[name] {
			wrong = append(wrong, fmt.Sprintf("@%s shows %d posts, not %d", name, n, demoWant[name]))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the demo did not end as it should: %s: this is a fault in broadside", strings.Join(wrong, "; "))
	}
	d.say(fmt.Sprintf("All %d deliveries are published, each exactly once - the one whose answer was lost, too.", demoDeliveries))
	return nil
}
