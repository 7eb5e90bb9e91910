//go:build unix && realservers

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/all"
	"github.com/broadside-pub/broadside/providers/transport"
	"github.com/broadside-pub/broadside/test/faultproxy"
	"github.com/broadside-pub/broadside/test/servers"
)

// network is a real server with an account for one test, behind a proxy of its own.
type network struct {
	dest  destination
	proxy *faultproxy.Proxy
	write string // the path of the one call that makes something public
	// there lists what the server shows whose text holds mark, the oldest first.
	there func(t *testing.T, mark string) []shown
}

// shown is one post as a real server stores it.
type shown struct {
	id, text     string
	root, parent string // ids, empty for the first of a thread
	alts         []string
	images       [][]byte
}

func pds(t *testing.T) network {
	t.Helper()
	s := servers.PDS(t)
	a := s.NewAccount(t)
	p := faultproxy.New(t, s.URL)
	return network{
		dest: destination{
			name: "bluesky", provider: "bluesky", server: p.URL, account: a.Handle, id: a.DID,
			secrets: map[string]string{"app_password": a.AppPassword},
		},
		proxy: p, write: "/xrpc/com.atproto.repo.putRecord",
		there: func(t *testing.T, mark string) []shown {
			t.Helper()
			var out []shown
			for _, r := range s.Records(t, a.DID) {
				if strings.Contains(r.Text(), mark) {
					out = append(out, showRecord(t, s, a, r))
				}
			}
			return out
		},
	}
}

func showRecord(t *testing.T, s *servers.PDSServer, a servers.Account, r servers.Record) shown {
	t.Helper()
	var v struct {
		Reply struct{ Root, Parent struct{ URI, CID string } }
		Embed struct {
			Images []struct {
				Alt   string
				Image struct {
					Ref struct {
						Link string `json:"$link"`
					}
				}
				AspectRatio struct{ Width, Height int }
			}
		}
	}
	check(t, json.Unmarshal(r.Value, &v))
	out := shown{id: r.URI, text: r.Text(), root: v.Reply.Root.URI, parent: v.Reply.Parent.URI}
	for _, i := range v.Embed.Images {
		if i.AspectRatio.Width != 16 || i.AspectRatio.Height != 9 {
			t.Errorf("the image's ratio is %+v", i.AspectRatio)
		}
		out.alts = append(out.alts, i.Alt)
		out.images = append(out.images, download(t, s.URL+"/xrpc/com.atproto.sync.getBlob?did="+url.QueryEscape(a.DID)+"&cid="+url.QueryEscape(i.Image.Ref.Link)))
	}
	return out
}

func mastodon(t *testing.T) network {
	t.Helper()
	s := servers.MastodonOther(t)
	p := faultproxy.New(t, s.URL)
	return network{
		dest: destination{
			name: "mastodon", provider: "mastodon", server: p.URL, account: s.User, id: s.AccountID(t),
			secrets: map[string]string{"access_token": s.Token(t)},
		},
		proxy: p, write: "/api/v1/statuses",
		there: func(t *testing.T, mark string) []shown {
			t.Helper()
			var out []shown
			for _, st := range slices.Backward(s.Statuses(t)) {
				if !strings.Contains(st.Content, mark) {
					continue
				}
				v := shown{id: st.ID, text: st.Content, parent: st.InReplyTo}
				for _, m := range st.Media {
					v.alts = append(v.alts, m.Description)
					u, err := url.Parse(m.URL)
					check(t, err)
					v.images = append(v.images, download(t, s.URL+u.EscapedPath()))
				}
				out = append(out, v)
			}
			return out
		},
	}
}

func download(t *testing.T, from string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from, nil)
	check(t, err)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	check(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	check(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", from, resp.Status)
	}
	return data
}

// realWorld has a text of its own, since accounts of real servers may be shared.
type realWorld struct {
	*world
	mark string
	nets []network
	at   place
}

func newRealWorld(t *testing.T, divisor int, nets ...network) *realWorld {
	t.Helper()
	s := setup{divisor: divisor}
	for _, n := range nets {
		s.dests = append(s.dests, n.dest)
	}
	w := &realWorld{world: newWorld(t, s), mark: "mark" + rand.Text(), nets: nets}
	w.at = w.checkout()
	return w
}

// send writes a post that is due, each of its texts with the mark, and pushes it.
func (w *realWorld) send(id string, parts ...string) {
	w.t.Helper()
	marked := make([]string, len(parts))
	for i, p := range parts {
		marked[i] = p
		if !strings.HasPrefix(p, "IMAGE ") {
			marked[i] = w.mark + " " + id + ": " + p
		}
	}
	w.post(id, marked...)
	w.push("a post")
}

// once wants each network to show every part of a post exactly once, in its place, and the ledger to know which they are.
func (w *realWorld) once(id string, alts ...[]string) {
	w.t.Helper()
	s := w.state()
	for _, n := range w.nets {
		for name, secret := range w.credential(n).Secrets { // also of a session that a run has begun
			if name != "identifier" { // a handle, which is no secret
				w.secret(secret)
			}
		}
	}
	texts := w.posts[id]
	for _, n := range w.nets {
		got := n.there(w.t, w.mark+" "+id+": ")
		if len(got) != len(texts) {
			w.t.Errorf("%s shows %d parts of %s, want %d: %+v", n.dest.name, len(got), id, len(texts), got)
			continue
		}
		d := delivery(s, id, n.dest.name)
		if d == nil || d.State != pipeline.Published {
			w.t.Errorf("%s at %s is %+v", id, n.dest.name, d)
			continue
		}
		for i, p := range got {
			if !strings.Contains(p.text, texts[i]) || p.id != d.Receipts[i].ID || d.Receipts[i].URL == "" {
				w.t.Errorf("part %d of %s at %s is %+v, the receipt is %+v", i, id, n.dest.name, p, d.Receipts[i])
			}
			if i > 0 && (p.parent != got[i-1].id || p.root != "" && p.root != got[0].id) || i == 0 && p.parent != "" {
				w.t.Errorf("part %d of %s at %s is below %q in %q: %+v", i, id, n.dest.name, p.parent, p.root, got)
			}
			if i < len(alts) && !slices.Equal(p.alts, alts[i]) {
				w.t.Errorf("part %d of %s at %s has the alt texts %q, want %q", i, id, n.dest.name, p.alts, alts[i])
			}
			for _, data := range p.images {
				if !w.ownImage(data) {
					w.t.Errorf("part %d of %s at %s shows another image of %d bytes", i, id, n.dest.name, len(data))
				}
			}
		}
		// The proxy is the only way to the server: what it let through is all that can be there, listed or not.
		if n := w.published(n); n > w.parts() {
			w.t.Errorf("%d writes were answered with success for %d parts", n, w.parts())
		}
	}
	if len(s.Extra) > 0 {
		w.t.Errorf("extra copies: %+v", s.Extra)
	}
}

// ownImage tells whether data is one of the repository's images; a server may strip metadata, which they have none of.
func (w *realWorld) ownImage(data []byte) bool {
	for path, file := range w.files {
		if strings.HasPrefix(path, "media/") && bytes.Equal(file, data) {
			return true
		}
	}
	return false
}

// parts counts those of all posts.
func (w *realWorld) parts() int {
	n := 0
	for _, texts := range w.posts {
		n += len(texts)
	}
	return n
}

// published counts the calls that a network has answered with the success of a new post.
func (w *realWorld) published(n network) int {
	count := 0
	for _, r := range n.proxy.Requests() {
		if r.Method == http.MethodPost && r.Path == n.write && r.Status/100 == 2 {
			count++
		}
	}
	return count
}

// credential is the newest of a destination, as a run would use it.
func (w *realWorld) credential(n network) providers.Credential {
	w.t.Helper()
	keys, err := vault.Identities(vault.Env{Key: w.age.Secret})
	check(w.t, err)
	path := "credentials/" + n.dest.name + ".age"
	mine, err := vault.Open(w.files[path], path, keys)
	check(w.t, err)
	j, err := journal.Open(w.t.Context(), w.journalOptions())
	check(w.t, err)
	data, ok, err := j.Read(path)
	check(w.t, err)
	if !ok {
		return mine
	}
	refreshed, err := vault.Open(data, path, keys)
	check(w.t, err)
	return *vault.Newest(&mine, &refreshed)
}

// adapter is the network's own, with the credential that runs use.
func (w *realWorld) adapter(n network) providers.Able {
	w.t.Helper()
	rt, err := transport.New(transport.Options{AllowPrivate: true})
	check(w.t, err)
	for _, info := range all.All() {
		if info.Name != n.dest.provider {
			continue
		}
		p, err := info.New(providers.Config{
			Server: n.dest.server, Account: n.dest.account, TargetID: n.dest.id, Credential: w.credential(n),
			Transport: rt, Now: time.Now, Private: true,
		})
		check(w.t, err)
		return providers.Abilities(p)
	}
	w.t.Fatal("no provider " + n.dest.provider)
	return providers.Able{}
}

func receiptOf(d *ledger.Delivery, part int) providers.Receipt {
	r := d.Receipts[part]
	return providers.Receipt{ID: r.ID, URL: r.URL, Ref: r.Ref, SentAt: r.SentAt}
}
