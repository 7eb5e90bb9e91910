//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

// clone clones the remote as git does, with the credential in the checkout's configuration.
func (w *world) clone(dir string, flags ...string) {
	w.t.Helper()
	args := append([]string{"clone", "-q", "-c", w.headerKey() + "=" + w.header()}, flags...)
	gittest.Git(w.t, w.dir, append(args, w.url, dir)...)
}

// checkouts are the places that a run has to work from; each is made before the post that it is to publish.
func checkouts() []struct {
	name string
	make func(w *world, dir string) place
} {
	return []struct {
		name string
		make func(w *world, dir string) place
	}{
		{"shallow and detached", func(w *world, dir string) place { return w.checkout() }},
		{"sparse", func(w *world, dir string) place {
			w.clone(dir, "--sparse", "--depth=1")
			gittest.Git(w.t, dir, "sparse-checkout", "set", "--cone", "docs")
			if _, err := os.Stat(filepath.Join(dir, "credentials")); err == nil {
				w.t.Error("the checkout is not sparse")
			}
			return place{dir: dir}
		}},
		{"linked worktree", func(w *world, dir string) place {
			w.clone(dir)
			gittest.Git(w.t, dir, "worktree", "add", "-q", "-b", "elsewhere", dir+"-linked")
			return place{dir: dir + "-linked"}
		}},
		{"partial clone", func(w *world, dir string) place {
			w.clone(dir, "--filter=blob:none")
			return place{dir: dir}
		}},
		{"no checkout", func(w *world, dir string) place { return w.nowhere() }},
		{"a folder of a checkout", func(w *world, dir string) place {
			w.clone(dir)
			return place{dir: filepath.Join(dir, "docs")}
		}},
		{"edited and on another branch", func(w *world, dir string) place {
			w.clone(dir)
			gittest.Git(w.t, dir, "switch", "-q", "-c", "wip")
			check(w.t, os.WriteFile(filepath.Join(dir, "posts", "early.md"), []byte("not what was approved"), 0o600))
			return place{dir: dir}
		}},
		{"the job's token", func(w *world, dir string) place {
			w.clone(dir)
			gittest.Git(w.t, dir, "config", "--unset", w.headerKey())
			return place{dir: dir, env: []string{
				"CI=true", "GITHUB_ACTIONS=true", "GITHUB_TOKEN=" + w.token, "GITHUB_SERVER_URL=" + w.proxy.URL,
				"GITHUB_REPOSITORY=me/posts", "GITHUB_REPOSITORY_ID=4711", "GITHUB_RUN_ID=1", "GITHUB_ACTOR=me",
				"GITHUB_STEP_SUMMARY=" + dir + "-summary", "GITHUB_OUTPUT=" + dir + "-output",
			}}
		}},
	}
}

// TestRunWorksFromEveryCheckout publishes from each kind of checkout, on both transports. Every checkout is behind the
// remote, which has a newer text of the post than the checkout may have.
func TestRunWorksFromEveryCheckout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ transport, format string }{{"go", "sha1"}, {"git", "sha1"}, {"git", "sha256"}} {
		t.Run(c.transport+"/"+c.format, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{dests: kinds()[:1], format: c.format, divisor: 10})
			w.files["docs/notes.txt"] = []byte("Nothing to publish.\n")
			w.post("early", "A post that every checkout has.")
			w.push("an early post")
			w.do(w.nowhereBy(c.transport), []int{0}, "run")
			want := []string{"A post that every checkout has."}
			for i, k := range checkouts() {
				id := "post-" + string(rune('a'+i))
				w.postDraft(id)
				w.push("a draft")
				at := k.make(w, filepath.Join(w.dir, "c-"+id))
				text := "Published from: " + k.name + "."
				w.post(id, text)
				w.push("a post")
				at.flags = append(at.flags, "--git-transport", c.transport)
				p := w.do(at, []int{0}, "run")
				want = append(want, text)
				d := delivery(w.sound(), id, "both")
				if d == nil || d.State != pipeline.Published {
					t.Errorf("%s: %+v; the process said\n%s", k.name, d, p.said())
				}
			}
			summaries, err := filepath.Glob(filepath.Join(w.dir, "*-summary"))
			check(t, err)
			if len(summaries) != 1 {
				t.Errorf("the job wrote the summaries %v", summaries)
			}
			if got := w.texts("both"); len(got) != len(want) {
				t.Errorf("the network shows %q, want %q", got, want)
			}
			for i, text := range w.texts("both") {
				if text != want[i] {
					t.Errorf("post %d is %q, want %q", i, text, want[i])
				}
			}
		})
	}
}

// nowhereBy is nowhere with a transport.
func (w *world) nowhereBy(transport string) place {
	at := w.nowhere()
	at.flags = append(at.flags, "--git-transport", transport)
	return at
}

// postDraft writes a post without a time, which is not to go out as it is.
func (w *world) postDraft(id string) {
	w.files["posts/"+id+".md"] = []byte("---\nid: " + id + "\ndestinations: [both]\n---\n\nNot this text.\n")
}
