package journal

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/ledger"
)

// ErrExists tells that the ledger branch is there already.
var ErrExists = errors.New("the ledger branch exists already")

// Create makes a ledger: the root commit with its README, its format and the event that binds it, signed, and the mark
// beside it. It fails with ErrExists when the branch is there, and never touches it then. signer is the authorized-key
// line that later commits are checked against; opt.Signer must give its private half.
func Create(ctx context.Context, opt Options, signer string, first func(*Tx) error) error {
	j := &Journal{opt: opt}
	key, err := opt.Signer(ctx)
	if err != nil {
		return err
	}
	s := ledger.New()
	st := j.Stamp()
	e, err := s.Bind(st, ledger.Binding{
		Ledger: opt.Config.ID, HomeURL: opt.Home.URL, RepoID: opt.Home.RepoID,
		ContentBranch: opt.Home.ContentBranch, Signer: signer,
	}, opt.Actor, ledger.WhyInit)
	if err != nil {
		return err
	}
	events, err := Dry(s.Fork(), st, func(tx *Tx) error {
		if err := tx.Add(e, nil); err != nil {
			return err
		}
		if first == nil {
			return nil
		}
		return first(tx)
	})
	if err != nil {
		return err
	}
	token, err := j.token()
	if err != nil {
		return err
	}
	path, data, _, err := ledger.NextFile(s, events, st.At, token)
	if err != nil {
		return err
	}
	snap, err := opt.Remote.Build(ctx, gitstore.Commit{
		Changes: []gitstore.Change{
			{Path: "README.md", Data: []byte(ledger.Readme())},
			{Path: "format", Data: fmt.Appendf(nil, "%d\n", ledger.FormatVersion)},
			{Path: path, Data: data},
		},
		Message: ledger.Message(events, opt.Run, opt.RunURL), Name: authorName, Email: authorEmail, When: st.At,
		Sign: func(p []byte) (string, error) { return gitstore.SignSSH(key, p) },
	})
	if err != nil {
		return err
	}
	return j.pushFirst(ctx, snap)
}

// pushFirst creates both refs; a doubtful answer is settled by looking.
func (j *Journal) pushFirst(ctx context.Context, snap gitstore.Snapshot) error {
	push := gitstore.Push{Updates: []gitstore.Update{{Ref: j.opt.Config.Ref(), New: snap}, {Ref: j.opt.Config.MarkRef(), New: snap}}}
	var res gitstore.Result
	for try := range 5 {
		res = j.opt.Remote.Push(ctx, push)
		refs, err := j.opt.Remote.Refs(ctx)
		switch {
		case err == nil && refs.Tips[j.opt.Config.Ref()] == snap.Commit() && refs.Tips[j.opt.Config.MarkRef()] == snap.Commit():
			return nil
		case err == nil && refs.Tips[j.opt.Config.Ref()] == snap.Commit():
			push.Updates = push.Updates[len(push.Updates)-1:] // the mark alone is missing
		case err == nil && refs.Tips[j.opt.Config.Ref()] != "":
			return ErrExists
		case res.Outcome == gitstore.Rejected || res.Outcome == gitstore.AuthError:
			return &PushError{Outcome: res.Outcome, Branch: j.opt.Config.Branch, Message: res.Message, Err: res.Err}
		}
		if err := j.opt.Sleep(ctx, j.jitter(try)); err != nil {
			return err
		}
	}
	return &PushError{Outcome: res.Outcome, Branch: j.opt.Config.Branch, Message: res.Message, Err: res.Err}
}

// AuthorizedLine is a signer's public half as broadside.yaml holds it.
func AuthorizedLine(s ssh.Signer) string {
	line := ssh.MarshalAuthorizedKey(s.PublicKey())
	return string(line[:len(line)-1])
}
