package publish_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/sandbox"
)

// BenchmarkRunNothingDue runs against a real git server with 10,000 posts of 2 KB, all settled, in a fresh process each
// time, and compares with what the git command needs to fetch both branches at depth 1. Once nothing at all has changed
// ("idle"); once the content branch has a new commit that wants nothing ("moved").
func BenchmarkRunNothingDue(b *testing.B) {
	w := newBigRepo(b, 10_000)
	for _, moved := range []bool{false, true} {
		name := map[bool]string{false: "idle", true: "moved"}[moved]
		b.Run(name, func(b *testing.B) {
			var run, git time.Duration
			for i := range b.N {
				if moved {
					w.touch(b, fmt.Sprintf("%s-%d", b.Name(), i))
				}
				start := time.Now()
				res := w.run(b)
				run += time.Since(start)
				if res.Idle == moved || len(res.Outcomes) > 0 || len(res.Troubles) > 0 {
					b.Fatalf("idle %t, outcomes %v, troubles %v", res.Idle, res.Outcomes, res.Troubles)
				}
				start = time.Now()
				w.gitFetch(b)
				git += time.Since(start)
			}
			ratio := float64(run) / float64(git)
			b.ReportMetric(ratio, "ratio")
			b.ReportMetric(float64(run.Milliseconds())/float64(b.N), "run-ms")
			b.ReportMetric(float64(git.Milliseconds())/float64(b.N), "git-ms")
			if b.N > 1 && ratio > 1.5 {
				b.Errorf("a run takes %.2f times git's fetch; the promise is under 1.5", ratio)
			}
		})
	}
}

type bigRepo struct {
	url, dir, bare string
	keys           vault.Keys
	key            vault.SigningKey
	n              int
}

func newBigRepo(b *testing.B, n int) *bigRepo {
	b.Helper()
	dir := b.TempDir()
	w := &bigRepo{dir: dir, bare: gittest.Bare(b, filepath.Join(dir, "repo.git"), "sha1")}
	gittest.AllowPartial(b, w.bare)
	srv := gittest.New(b, dir)
	w.url = srv.URL("repo.git")
	id, err := vault.GenerateIdentity(vault.X25519)
	must(b, err)
	w.keys, err = vault.Identities(vault.Env{Key: id.Secret})
	must(b, err)
	rc, err := vault.ParseRecipients([]string{id.Recipient})
	must(b, err)
	w.key, err = vault.NewSigner()
	must(b, err)
	sealed, err := vault.SealKey(w.key, rc)
	must(b, err)
	config := fmt.Sprintf("version: 1\ntimezone: UTC\nposts: [posts]\nledger: {branch: broadside-ledger, id: %s, signer: %q}\nage: {recipients: [%s]}\n"+
		"destinations:\n  alpha:\n    provider: sandbox\n    server: %s\n    account: alpha\n    target: sandbox:sandbox.test:a1\n", ledgerID, w.key.Line, id.Recipient, network)
	files := map[string][]byte{"broadside.yaml": []byte(config), vault.KeyPath: sealed}
	at := time.Now().Add(-48 * time.Hour).UTC().Truncate(time.Second)
	filler := strings.Repeat("Some words that a post of about two kilobytes is made of, line after line. ", 25)
	for i := range n {
		files[postPath(i)] = fmt.Appendf(nil, "---\nid: p%d\npublish_at: %s\ndestinations: [alpha]\n---\n\nPost %d.\n\n<!-- %s -->\n", i, at.Format(time.RFC3339), i, filler)
	}
	gittest.Commit(b, w.bare, contentRef, "ten thousand posts", files)
	w.settle(b, files, at)
	w.run(b) // brings the tip up to date
	return w
}

func postPath(i int) string { return fmt.Sprintf("posts/2026/%02d/p%d.md", i%12+1, i) }

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (w *bigRepo) remote(b *testing.B) gitstore.Remote {
	b.Helper()
	r, err := gitstore.Open(b.Context(), gitstore.Options{URL: w.url, Env: gittest.Getenv(w.dir), Now: time.Now})
	must(b, err)
	b.Cleanup(func() { _ = r.Close() })
	return r
}

// settle writes a ledger in which every post is published.
func (w *bigRepo) settle(b *testing.B, files map[string][]byte, at time.Time) {
	b.Helper()
	jo := journal.Options{
		Remote: w.remote(b), Config: pipeline.LedgerConfig{Branch: "broadside-ledger", ID: ledgerID, Signer: w.key.Line},
		Home: journal.Home{URL: w.url, ContentBranch: "main"}, Clock: &fixed{at: at.Add(-time.Minute)}, Sleep: sleep, Rand: rand.Reader, Run: "setup", Actor: "setup",
		Signer: func(context.Context) (ssh.Signer, error) { return w.key.Signer, nil },
	}
	must(b, journal.Create(b.Context(), jo, w.key.Line, nil))
	j, err := journal.Open(b.Context(), jo)
	must(b, err)
	hash := sha256Hex(files["broadside.yaml"])
	clock := jo.Clock.(*fixed)
	clock.at = at.Add(time.Second)
	must(b, j.Append(b.Context(), nil, func(tx *journal.Tx) error {
		for i := range len(files) - 2 {
			id := pipeline.DeliveryID{Post: fmt.Sprintf("p%d", i), Target: "sandbox:sandbox.test:a1"}
			attempt := fmt.Sprintf("%016x", i)
			src := sha256Hex(fmt.Append(nil, i))
			if err := tx.Add(tx.State.Schedule(tx.Stamp, ledger.ScheduleInput{
				ID: id, Dest: "alpha", Due: at, By: at.Add(24 * time.Hour), Path: postPath(i),
				Blob: string(publish.BlobID(files[postPath(i)], 40)), Config: hash, Source: src,
			})); err != nil {
				return err
			}
			if err := tx.Add(tx.State.Claim(tx.Stamp, ledger.ClaimInput{
				ID: id, Attempt: attempt, LeaseUntil: tx.Now.Add(time.Minute), Content: strings.Repeat("a", 40), Source: src,
				Rendition: src, Parts: []ledger.ClaimPart{{Key: src, Payload: []byte(`{"text":"Post."}`)}}, Login: "login",
			})); err != nil {
				return err
			}
			if err := tx.Add(tx.State.RecordReceipt(tx.Stamp, ledger.ReceiptInput{ID: id, Attempt: attempt, Network: fmt.Sprint(i), URL: network + fmt.Sprint("/p/", i), SentAt: tx.Now, ByWhom: ledger.ByResponse})); err != nil {
				return err
			}
		}
		return nil
	}))
	clock.at = at.Add(time.Minute)
	must(b, j.Append(b.Context(), nil, func(tx *journal.Tx) error {
		ch, err := ledger.Compact(tx.State, j.Files(), tx.Now)
		for _, c := range ch {
			tx.File(gitstore.Change{Path: c.Path, Data: c.Data, Remove: c.Remove})
		}
		return err
	}))
}

type fixed struct{ at time.Time }

func (f *fixed) Wall() time.Time     { return f.at }
func (f *fixed) Mono() time.Duration { return time.Since(epoch) }

func (w *bigRepo) run(b *testing.B) publish.Result {
	b.Helper()
	res, err := publish.Run(b.Context(), nil, publish.Options{
		Remote: w.remote(b), Branch: "main", Home: journal.Home{URL: w.url, ContentBranch: "main"},
		Hint:      &pipeline.Config{Ledger: pipeline.LedgerConfig{Branch: "broadside-ledger", ID: ledgerID, Signer: w.key.Line}},
		Providers: map[string]providers.Info{sandbox.Name: sandbox.Info()}, Keys: func(context.Context) (vault.Keys, error) { return w.keys, nil },
		Transport: func(pipeline.Destination) http.RoundTripper { return http.DefaultTransport }, Clock: bubble{}, Sleep: sleep, Rand: rand.Reader,
		Nonce: "bench", Fence: publish.DefaultFence(), Grace: time.Second, Mask: func(...string) {}, Log: slog.New(slog.DiscardHandler),
	})
	must(b, err)
	return res
}

// touch moves the content branch by a file that is no post.
func (w *bigRepo) touch(b *testing.B, s string) {
	b.Helper()
	w.n++
	gittest.Commit(b, w.bare, contentRef, "touch", map[string][]byte{"NEWS": []byte(s)})
}

// gitFetch is the git command's work for the same: both branches at depth 1 into an empty repository.
func (w *bigRepo) gitFetch(b *testing.B) {
	b.Helper()
	dir := filepath.Join(w.dir, "clone")
	gittest.Git(b, w.dir, "init", "-q", "--bare", dir)
	gittest.Git(b, dir, "fetch", "-q", "--depth", "1", w.url, contentRef, "refs/heads/broadside-ledger")
	must(b, os.RemoveAll(dir))
}
