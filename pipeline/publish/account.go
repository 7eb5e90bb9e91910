package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/ledger"
	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

// account is one destination with its opened credential, for as long as one look at the content lasts.
type account struct {
	dest *pipeline.Destination
	info providers.Info
	cred providers.Credential
	able providers.Able
	// limits are the instance's own, nil where Info's hold.
	limits *providers.Limits
	// verified tells that the network has said whose credential this is.
	verified bool
}

// accountError is why a destination cannot be used. Its deliveries stay as they are.
type accountError struct {
	Code string // no_credential, wrong_key, bound_elsewhere, no_target, ...
	Dest string
	Err  error
	Hint string
}

func (e *accountError) Error() string { return e.Err.Error() }
func (e *accountError) Unwrap() error { return e.Err }

// asAccount is errors.As for an accountError.
func asAccount(err error, to **accountError) bool { return errors.As(err, to) }

// keys opens the age keys once.
func (r *run) keys(ctx context.Context) (vault.Keys, error) {
	r.keyOnce.Do(func() {
		r.key, r.keyErr = r.opt.Keys(ctx)
		if r.keyErr == nil {
			r.opt.Mask(r.key.Secrets()...)
		}
	})
	return r.key, r.keyErr
}

// signer opens the ledger's signing key from the content tip.
func (r *run) signer(ctx context.Context) (ssh.Signer, error) {
	if r.content() == nil {
		// Nothing was due, so that nothing was read; now something must be written.
		if err := r.look(ctx, r.j.Refs()); err != nil {
			return nil, err
		}
	}
	data, err := r.content().Read(vault.KeyPath)
	if err != nil {
		return nil, fmt.Errorf("the ledger's signing key %s is not on the content branch: restore it from its history: %w", vault.KeyPath, err)
	}
	keys, err := r.keys(ctx)
	if err != nil {
		return nil, err
	}
	k, err := vault.OpenKey(data, vault.KeyPath, keys)
	if err != nil {
		return nil, err
	}
	r.opt.Mask(k.Secrets()...)
	if !vault.SameSigner(k.Line, r.view.Config.Ledger.Signer) {
		return nil, fmt.Errorf("%s is not the signer that broadside.yaml names: restore one of them", vault.KeyPath)
	}
	return k.Signer, nil
}

// open reads, decrypts and checks a destination's newest credential and makes its adapter.
func (r *run) open(ctx context.Context, d *pipeline.Destination) (*account, error) {
	fail := func(code, hint string, err error) (*account, error) {
		return nil, &accountError{Code: code, Dest: d.Name, Err: err, Hint: hint}
	}
	info, ok := r.opt.Providers[d.Provider]
	if !ok {
		return fail("unknown_provider", "", fmt.Errorf("destination %s: no provider %q", d.Name, d.Provider))
	}
	if d.Target == "" {
		return nil, noTarget(d)
	}
	cred, err := r.credential(ctx, d)
	if err != nil {
		return nil, err
	}
	r.opt.Mask(vault.SecretStrings(*cred)...)
	server := d.Server
	if server == "" {
		server = info.DefaultServer
	}
	host, err := vault.Host(hostOf(server, *cred))
	if err != nil {
		return fail("bad_server", "", err)
	}
	if err := vault.Bound(*cred, *d, host, r.view.Config.Ledger.ID); err != nil {
		return fail("bound_elsewhere", "", err)
	}
	a := &account{dest: d, info: info, cred: *cred, limits: d.Limits}
	return a, r.adapt(a, server)
}

// noTarget is why nothing goes out at a destination whose account is not known.
func noTarget(d *pipeline.Destination) *accountError {
	return &accountError{
		Code: "no_target", Dest: d.Name, Hint: "`broadside auth add " + d.Name + "` writes it; commit it",
		Err: fmt.Errorf("nothing goes out at %s: it has no target, so that its account is not known", d.Name),
	}
}

// hostOf is the server whose host a credential must be bound to: a webhook's address is a secret, so that the
// credential itself names it.
func hostOf(server string, c providers.Credential) string {
	if server == "" {
		return "https://" + c.Host
	}
	return server
}

// adapt makes the adapter anew for the credential at hand.
func (r *run) adapt(a *account, server string) error {
	_, _, id, _ := a.dest.Target.Split()
	pub, err := a.info.New(providers.Config{
		Server: server, Account: a.dest.Account, TargetID: id, Settings: a.dest.Settings, Credential: a.cred,
		Transport: fenced{r.opt.Transport(*a.dest)}, Now: r.clock.Wall, Private: a.dest.Private,
	})
	if err != nil {
		return &accountError{Code: "bad_destination", Dest: a.dest.Name, Err: fmt.Errorf("destination %s: %w", a.dest.Name, err)}
	}
	a.able = providers.Abilities(pub, a.dest.Disable...)
	return nil
}

// credential returns the newer of the content branch's and the ledger branch's.
func (r *run) credential(ctx context.Context, d *pipeline.Destination) (*providers.Credential, error) {
	path, err := vault.Path(d.Name)
	if err != nil {
		return nil, &accountError{Code: "bad_destination", Dest: d.Name, Err: err}
	}
	add := "`broadside auth add " + d.Name + "` makes one; commit it"
	data, err := r.content().Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &accountError{
			Code: "no_credential", Dest: d.Name, Hint: add,
			Err: fmt.Errorf("destination %s has no credential: %s is not on the content branch", d.Name, path),
		}
	}
	if err != nil {
		return nil, err
	}
	keys, err := r.keys(ctx)
	if err != nil {
		return nil, err
	}
	mine, err := vault.Open(data, path, keys)
	if err != nil {
		return nil, &accountError{Code: "wrong_key", Dest: d.Name, Err: err}
	}
	best := &mine
	data, ok, err := r.j.Read(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s on the ledger: %w", path, err)
	}
	if ok {
		refreshed, err := vault.Open(data, path+" (ledger)", keys)
		if err != nil {
			return nil, &accountError{Code: "wrong_key", Dest: d.Name, Err: err, Hint: add}
		}
		best = vault.Newest(&mine, &refreshed)
	}
	return best, nil
}

// refreshLease bounds how long a refresh keeps others from refreshing the same login.
const refreshLease = 2 * time.Minute

// refreshCut is how long before the end of that lease the request is cut off.
const refreshCut = 30 * time.Second

// errSuperseded tells that the ledger holds a newer credential of the same login.
var errSuperseded = errors.New("the credential was refreshed meanwhile")

// errBusy tells that another run is at the same login or target.
var errBusy = errors.New("another run is at it")

// refresh makes the credential usable, in the order that loses nothing: the intent is pushed, the network is asked,
// the answer is encrypted and pushed, and only then used.
func (r *run) refresh(ctx context.Context, a *account) error {
	if a.able.Refresh == nil || !a.able.Refresh.NeedsRefresh(a.cred, r.clock.Wall()) {
		return nil
	}
	keys, err := r.keys(ctx)
	if err != nil {
		return err
	}
	if _, err := vault.Reseal(a.cred, keys); err != nil {
		return &accountError{Code: "cannot_encrypt", Dest: a.dest.Name, Err: err}
	}
	path, err := vault.Path(a.dest.Name)
	if err != nil {
		return err
	}
	login, seq := a.cred.Login, a.cred.Seq+1
	var begun *lease
	err = r.j.Append(ctx, nil, func(tx *journal.Tx) error {
		begun = &lease{clock: r.clock, fence: Fence{CutBefore: refreshCut}, until: tx.Now.Add(refreshLease), mono: r.clock.Mono() + refreshLease}
		if tx.State.Credentials[login].Seq >= seq {
			return errSuperseded
		}
		return tx.Add(tx.State.BeginRefresh(tx.Stamp, login, tx.Now.Add(refreshLease)))
	})
	var illegal *ledger.IllegalError
	switch {
	case errors.Is(err, errSuperseded):
		return r.takeOver(ctx, a)
	case errors.As(err, &illegal):
		return errBusy
	case err != nil:
		return err
	}
	r.progress("preparing", "", a.dest.Name, "refreshing the credential")
	// A token that is good for one use must not be used by a run that was held up until another has taken over.
	rctx, cancel := begun.context(withLease(ctx, begun))
	defer cancel()
	next, err := a.able.Refresh.Refresh(rctx, a.cred)
	if err != nil {
		// The lease is given back; if that cannot be pushed it ends by itself.
		_ = r.j.Append(context.WithoutCancel(ctx), nil, func(tx *journal.Tx) error { return tx.Add(tx.State.GiveUpRefresh(tx.Stamp, login)) })
		return err
	}
	r.opt.Mask(vault.SecretStrings(next)...)
	next.Seq = seq
	data, err := vault.Reseal(next, keys)
	if err != nil {
		return &accountError{Code: "cannot_encrypt", Dest: a.dest.Name, Err: err}
	}
	err = r.record(ctx, func(tx *journal.Tx) error {
		tx.File(gitstore.Change{Path: path, Data: data})
		return tx.Add(tx.State.EndRefresh(tx.Stamp, login, path, sha256Hex(data)))
	}, savedFile{Path: path, Data: data})
	if err != nil {
		return err
	}
	return r.use(a, next)
}

// takeOver uses the credential that another run has refreshed meanwhile: a token good for one use is never used twice.
func (r *run) takeOver(ctx context.Context, a *account) error {
	newer, err := r.credential(ctx, a.dest)
	if err != nil {
		return err
	}
	if newer.Seq <= a.cred.Seq || newer.Login != a.cred.Login {
		return &accountError{
			Code: "credential_behind", Dest: a.dest.Name, Hint: "`broadside auth add " + a.dest.Name + "` makes a new one; commit it",
			Err: fmt.Errorf("destination %s: the ledger tells of a newer credential than it holds", a.dest.Name),
		}
	}
	r.opt.Mask(vault.SecretStrings(*newer)...)
	if err := r.use(a, *newer); err != nil {
		return err
	}
	return r.refresh(ctx, a)
}

// use goes on with another credential of the same login.
func (r *run) use(a *account, c providers.Credential) error {
	a.cred = c
	server := a.dest.Server
	if server == "" {
		server = a.info.DefaultServer
	}
	return r.adapt(a, server)
}

// verify asks the network once who the credential belongs to, and reads the instance's limits.
func (r *run) verify(ctx context.Context, a *account) error {
	if a.verified {
		return nil
	}
	if a.able.Check != nil {
		acct, err := a.able.Check.Check(ctx)
		if err != nil {
			return err
		}
		_, _, id, _ := a.dest.Target.Split()
		if acct.ID != "" && acct.ID != id {
			return &providers.Error{
				Kind: providers.Forbidden, Reach: providers.Answered, Op: a.info.Name + ": check",
				Message: fmt.Sprintf("the credential of %s belongs to account %s, the target is %s: nothing is sent", a.dest.Name, acct.ID, a.dest.Target),
			}
		}
		if acct.Limits != nil {
			a.limits = acct.Limits
		}
	}
	a.verified = true
	return nil
}
