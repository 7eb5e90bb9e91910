package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/publish"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
	"github.com/broadside-pub/broadside/providers/transport"
)

// at is an instant of the plan.
func (w *world) at(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return w.start.Add(d).Truncate(time.Second)
}

// do carries out one step.
func (w *world) do(s step) {
	if s.Do != "run" {
		w.logf("%s", s)
		w.happened("step: " + strings.TrimSpace(s.Do+" "+s.Kind))
	}
	switch s.Do {
	case "run":
		w.begin(s)
	case "fork", "newledger", "branch":
		w.foreign(s)
	case "fault":
		w.must2(w.net.AddRule(server.Rule{
			Account: s.Dests[0], Op: server.Op(s.Op), Fault: server.Fault(s.Kind), Skip: s.Skip, Times: s.Times,
			Part: s.Part, Seconds: s.Dur.Seconds(), Form: server.Form(s.Form), Status: []int{0, 408, 504}[s.N%3] * boolInt(server.Fault(s.Kind) == server.ErrorAfter),
		}))
	case "wire":
		w.mu.Lock()
		w.wires = append(w.wires, &armed{s, max(s.Times, 1)})
		w.mu.Unlock()
	case "git":
		w.armGit(s)
	case "attack", "backup", "mendledger":
		w.attackStep(s)
	case "hold", "release", "cancel", "resolve", "retry", "apply", "manual", "delete":
		w.decide(s)
	case "revoke", "swap", "retarget", "mixup", "login":
		w.accounts(s)
	default:
		w.edit(s)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *world) must2(_ any, err error) { must(err) }

// edit changes files.
func (w *world) edit(s step) {
	w.content.Lock()
	defer w.content.Unlock()
	m := w.model
	p := m.posts[s.Post]
	switch s.Do {
	case "post":
		if p != nil {
			return
		}
		p = &post{ID: s.Post, Dests: s.Dests, Kind: s.Kind, Word: s.Post + " v1", Version: 1, Due: w.at(s.Due), By: w.at(s.By), Now: s.Flag}
		if like := m.posts[s.Like]; like != nil {
			p.Word, p.Kind = like.Word, like.Kind
			if like.Kind == "thread" && len(like.ID) != len(p.ID) {
				p.Kind = "plain"
			}
		}
		m.posts[s.Post] = p
	case "rewrite":
		w.rewrite()
		return
	case "drop":
		w.drop()
		return
	case "breakconfig":
		m.broken = true
	case "mendconfig":
		m.broken = false
	case "media":
		m.media++
	default:
		if p == nil {
			return
		}
		p.change(s, w)
	}
	w.commit(strings.TrimSpace(s.Do + " " + s.Post))
}

func (p *post) change(s step, w *world) {
	switch s.Do {
	case "edit":
		p.Version++
		p.Word = fmt.Sprintf("%s v%d", p.ID, p.Version)
	case "move":
		p.Due, p.By, p.Now, p.Draft = w.at(s.Due), w.at(s.By), false, false
	case "deadline":
		p.By = w.at(s.By)
	case "remove":
		p.Gone, p.Copied = true, false
	case "restore":
		p.Gone, p.Draft = false, false
	case "rename":
		p.Folder++
	case "copy":
		p.Copied = !p.Gone
	case "uncopy":
		p.Copied = false
	case "draft":
		p.Draft = true
	case "spoil":
		p.Bad = true
	case "mend":
		p.Bad = false
	default:
		panic("no such step: " + s.Do)
	}
}

// accounts is what befalls an account and its credential.
func (w *world) accounts(s step) {
	w.content.Lock()
	defer w.content.Unlock()
	m, d := w.model, s.place()
	switch s.Do {
	case "revoke":
		must(w.net.Revoke(m.account[d]))
		return
	case "login":
		w.newLogin(d, d)
	case "swap":
		// The token is another account's, though the credential says the right target.
		l, err := w.net.AddAccount("other-" + d)
		must(err)
		m.creds[d] = w.seal(l, m.target[d])
	case "retarget":
		w.newLogin(d, "other-"+d)
	case "mixup":
		i := slices.IndexFunc(w.plan.Dests, func(x dest) bool { return x.Name == d })
		m.creds[d] = m.creds[w.plan.Dests[(i+1)%len(w.plan.Dests)].Name]
	}
	w.commit(s.Do + " " + d)
}

// person opens the ledger as somebody who gives a command.
func (w *world) person() (*journal.Journal, error) {
	return journal.Open(w.t.Context(), w.journalOptions("eve"))
}

// decide is a person's word to the ledger, or deed on the network.
func (w *world) decide(s step) {
	switch s.Do {
	case "manual":
		w.manual(s.Post, s.Dests[0])
		return
	case "delete":
		w.deleteByHand(s.Dests[0])
		return
	}
	j, err := w.person()
	if err != nil {
		return // the ledger is not there, or not ours: the command fails
	}
	id := pipeline.DeliveryID{Post: s.Post, Target: w.model.target[s.place()]}
	switch s.Do {
	case "hold":
		w.say(j, func(tx *journal.Tx) error { return tx.Add(tx.State.Hold(tx.Stamp, w.holdOf(s))) })
	case "release":
		w.releaseAll(j)
	case "cancel":
		w.say(j, func(tx *journal.Tx) error { return tx.Add(tx.State.CancelByPerson(tx.Stamp, id, "")) })
	case "retry":
		w.say(j, func(tx *journal.Tx) error { return tx.Add(tx.State.Retry(tx.Stamp, id, "")) })
	case "resolve":
		w.resolveAll(j)
	case "apply":
		w.applySaved(j)
	}
}

// place is the step's destination, "" for none.
func (s step) place() string {
	if len(s.Dests) == 0 {
		return ""
	}
	return s.Dests[0]
}

func (w *world) say(j *journal.Journal, decide journal.Decide) bool {
	if err := j.Append(w.t.Context(), nil, decide); err != nil {
		w.logf("refused: %v", err)
		return false
	}
	w.happened("person decided")
	return true
}

// manual is a person who posts the very text of a post by hand, before it goes out.
func (w *world) manual(id, dest string) {
	p := w.model.posts[id]
	if p == nil || p.Kind != "plain" {
		return
	}
	w.call(w.model.account[dest], http.MethodPost, "/api/v1/posts", fmt.Sprintf(`{"text":%q,"visibility":"public"}`, p.parts()[0]))
}

// deleteByHand is a person who deletes the newest post of an account on the network.
func (w *world) deleteByHand(dest string) {
	if ps := w.net.Posts(w.model.account[dest]); len(ps) > 0 {
		w.call(w.model.account[dest], http.MethodDelete, "/api/v1/posts/"+ps[len(ps)-1].ID, "")
	}
}

// call is a request by a person's own browser.
func (w *world) call(account, method, path, body string) {
	l, ok := w.loginOf(account)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, network+path, strings.NewReader(body))
	must(err)
	r.Header.Set("Authorization", "Bearer "+l.Token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := transport.Handler(w.net).RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
}

// applySaved brings the oldest results file in.
func (w *world) applySaved(j *journal.Journal) {
	w.mu.Lock()
	if len(w.saved) == 0 {
		w.mu.Unlock()
		return
	}
	data := w.saved[0]
	w.saved = w.saved[1:]
	w.mu.Unlock()
	n, skipped, err := publish.Apply(w.t.Context(), j, data, secrets().signer.Line)
	w.logf("applied %d, skipped %v, %v", n, skipped, err)
	w.happened("results file applied")
}

// foreign is a run where no run belongs: in a fork, in a fork that made a ledger of its own, on another branch.
func (w *world) foreign(s step) {
	w.runs++
	p := w.newProc(fmt.Sprintf("fork%04d", w.runs), s)
	opt := p.options()
	opt.Local = ""
	switch s.Do {
	case "fork":
		opt.Home.URL = "mem://fork"
	case "branch":
		opt.Branch, opt.Home.ContentBranch = "staging", "staging"
		w.git.Force("refs/heads/staging", w.git.Tip(contentRef))
	case "newledger":
		const id = "fedcba9876543210fedcba9876543210"
		git := memgit.NewServer()
		var ch []gitstore.Change
		for path, data := range w.model.files(w) {
			ch = append(ch, gitstore.Change{Path: path, Data: []byte(strings.Replace(data, ledgerID, id, 1))})
		}
		slices.SortFunc(ch, func(a, b gitstore.Change) int { return strings.Compare(a.Path, b.Path) })
		git.CommitAs(contentRef, contentCommit(ch, "fork"))
		cfg := w.ledgerConfig()
		cfg.ID = id
		opt.Remote, opt.Home.URL, opt.Hint = remote{git.Remote(memgit.RemoteOptions{Name: p.name, Now: p.Wall}), p}, "mem://fork", nil
		must(journal.Create(w.t.Context(), journal.Options{
			Remote: git.Remote(memgit.RemoteOptions{Name: "init", Now: p.Wall}), Config: cfg, Home: journal.Home{URL: "mem://fork", ContentBranch: "main"},
			Clock: p, Sleep: p.sleep, Rand: p, Run: "person:thief", Actor: "thief",
			Signer: func(context.Context) (ssh.Signer, error) { return secrets().signer.Signer, nil },
		}, secrets().signer.Line, nil))
	}
	w.wg.Go(func() {
		defer p.kill()
		_, err := publish.Run(p.ctx, p.stop, opt)
		var refused *journal.Refusal
		if err == nil && s.Do != "newledger" {
			w.breakf("%s: a run in a place that is not the ledger's home was not refused", s.Do)
		}
		if err != nil && !errors.As(err, &refused) {
			w.logf("%s ends: %v", p.name, err)
		}
	})
}
