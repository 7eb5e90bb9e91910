package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/pipeline/compose"
	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/journal"
	"github.com/broadside-pub/broadside/pipeline/schedule"
	"github.com/broadside-pub/broadside/pipeline/vault"
)

func (a *app) cmdInit() *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:     "init",
		GroupID: "manage",
		Short:   "Set a repository up: configuration, first post, workflow, key, and the ledger on the remote",
		Long: `init writes what is missing and keeps what is there, so that it may be run again at any time:

  broadside.yaml                     configuration, with examples of destinations
  posts/welcome.md                   a first post, as a draft
  .github/workflows/broadside.yml    the job that publishes
  credentials/ledger.age             the key that signs the ledger, encrypted
  a key file outside the repository  the private key that opens credentials/ (mode 0600)
  the branches broadside-ledger and broadside-ledger-mark on the remote

It commits nothing to the content branch: look at the files, then commit and push them yourself.

The age key is of the kind x25519: its public half is one short line in broadside.yaml and every age program reads it.
--key-kind post-quantum makes one that also withstands quantum computers; its public half has 2,000 characters and it needs
age 1.3 or newer. --recipient takes a key that you have, and makes none.

Where broadside.yaml names a ledger that the remote does not have, init refuses: a lost ledger must never look like a new
one. ` + "`broadside ledger restore`" + ` brings it back from any clone. If it is lost for good, --new-ledger makes another and counts
every post whose time has come as published.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.initRepo(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.zone, "timezone", "", "zone for times without an offset (default: this machine's)")
	f.StringVar(&o.keyFile, "key-file", "", "where the private age key goes (default: broadside/LEDGER-ID.key in your configuration folder)")
	f.StringVar(&o.keyKind, "key-kind", string(vault.X25519), "kind of the age key: x25519 or post-quantum")
	f.StringArrayVar(&o.recipients, "recipient", nil, "a public key to encrypt to instead of making one; may be given several times")
	f.BoolVar(&o.newLedger, "new-ledger", false, "the old ledger is lost for good: make another, and count what is due as published")
	f.BoolVar(&o.workflow, "workflow", true, "write the workflow for GitHub Actions")
	return c
}

type initOptions struct {
	zone, keyFile, keyKind string
	recipients             []string
	newLedger, workflow    bool
}

// initResult is what `init --json` prints.
type initResult struct {
	Created       []string `json:"created"`
	Kept          []string `json:"kept"`
	Changed       []string `json:"changed"`
	Ledger        string   `json:"ledger"` // its id
	LedgerBranch  string   `json:"ledger_branch"`
	ContentBranch string   `json:"content_branch"`
	Remote        string   `json:"remote"`
	KeyFile       string   `json:"key_file,omitempty"`
	Recipients    []string `json:"recipients"`
	Adopted       int      `json:"adopted"` // deliveries that --new-ledger counts as published
	Next          []string `json:"next"`
}

// setup is one execution of init.
type setup struct {
	*workspace
	o      initOptions
	remote gitstore.Remote
	refs   gitstore.Refs
	branch string // of the content
	ledger pipeline.LedgerConfig
	// there tells that the remote has the ledger already, known that its content branch names it.
	there, known bool
	recipient    []string
	rcpts        vault.Recipients
	key          vault.SigningKey
	// keyFile is the private key's file, as far as it is known here; keyMade tells that it is new.
	keyFile string
	keyMade bool
	oldID   string // of the ledger that --new-ledger replaces
	res     initResult
}

func (a *app) initRepo(ctx context.Context, o initOptions) error {
	w, err := a.open(false)
	if err != nil {
		return err
	}
	if w.repo == nil {
		return usageError{fmt.Errorf("%s is not inside a git repository", w.root), "broadside keeps its record in git: `git init`, add a remote, push a branch, then run this again"}
	}
	if w.cfg == nil && len(w.diags) > 0 {
		for _, d := range w.diags {
			a.printDiagnostic(a.err, d)
		}
		return errInvalidContent
	}
	s := &setup{workspace: w, o: o}
	if err := s.check(); err != nil {
		return err
	}
	if s.remote, err = w.remote(ctx); err != nil {
		return err
	}
	defer func() { _ = s.remote.Close() }()
	if err := s.inspect(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.keys, s.signer, s.config, s.sealSigner, s.starters, s.createLedger} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return s.say()
}

// check looks at the options.
func (s *setup) check() error {
	if s.o.zone != "" {
		if _, err := schedule.LoadZone(s.o.zone); err != nil {
			hint := ""
			if te := new(schedule.Error); errors.As(err, &te) {
				hint = te.Hint
			}
			return usageError{fmt.Errorf("--timezone: %w", err), hint}
		}
	}
	if k := vault.IdentityKind(s.o.keyKind); k != vault.X25519 && k != vault.PostQuantum {
		return usageError{fmt.Errorf("--key-kind: there is no kind %q", s.o.keyKind), "there are x25519 and post-quantum"}
	}
	if len(s.o.recipients) > 0 && s.o.keyFile != "" {
		return usageError{errors.New("--recipient makes no key, --key-file says where to put one"), "give one of them"}
	}
	if s.cfg != nil && len(s.cfg.Recipients) > 0 && len(s.o.recipients) > 0 {
		return usageError{errors.New("broadside.yaml names recipients already"), "change age.recipients there"}
	}
	return nil
}

// inspect finds out what the remote has, and refuses where a new ledger could forget what went out.
func (s *setup) inspect(ctx context.Context) error {
	var err error
	if s.refs, err = s.remote.Refs(ctx); err != nil {
		return hinted{fmt.Errorf("cannot read the refs of %s: %w", s.remote.URL(), err), "check the network, the URL, and the credentials that git would use"}
	}
	s.branch = s.contentBranch(s.refs, "")
	s.ledger = pipeline.LedgerConfig{Branch: pipeline.DefaultLedgerBranch}
	if s.cfg != nil {
		s.ledger = s.cfg.Ledger
	}
	if _, ok := s.refs.Tips["refs/heads/"+s.branch]; !ok {
		return hinted{
			fmt.Errorf("%s has no branch %s, from which posts are to be published", s.remote.URL(), s.branch),
			fmt.Sprintf("push it first: `git commit --allow-empty -m Start && git push -u origin %s`; or name another with --branch", s.branch),
		}
	}
	_, s.there = s.refs.Tips[s.ledger.Ref()]
	_, marked := s.refs.Tips[s.ledger.MarkRef()]
	switch {
	case s.there && s.o.newLedger:
		return usageError{fmt.Errorf("%s has a ledger: a new one would forget what went out", s.remote.URL()), "`broadside ledger verify` says whether it is sound, `broadside ledger restore` mends it"}
	case s.there && s.ledger.ID == "":
		return &journal.Refusal{
			Code:    "ledger_elsewhere",
			Message: fmt.Sprintf("%s has a branch %s already, and broadside.yaml here names no ledger", s.remote.URL(), s.ledger.Branch),
			Hint:    "pull the branch whose broadside.yaml belongs to it; to use another branch for a ledger of its own, write `ledger: {branch: NAME}`",
		}
	case s.there:
		// Somebody else's, rewound, or without our signature: the error says which.
		j, err := s.journal(ctx, s.remote, false)
		if err != nil {
			return err
		}
		s.branch = j.State().Binding.ContentBranch
		if s.known, err = s.onRemote(ctx); err != nil {
			return err
		}
		s.kept("branches " + s.ledger.Branch + " and " + s.ledger.Branch + "-mark on the remote")
		return nil
	case marked:
		return &journal.Refusal{
			Code:    "ledger_rewound",
			Message: fmt.Sprintf("%s has %s-mark and no %s: the ledger was deleted", s.remote.URL(), s.ledger.Branch, s.ledger.Branch),
			Hint:    "bring it back with `broadside ledger restore` from any clone that has it; if it is lost for good, delete the mark branch on the remote and use --new-ledger",
		}
	}
	return s.choose(ctx)
}

// choose settles which id a new ledger gets.
func (s *setup) choose(ctx context.Context) error {
	if s.ledger.ID != "" && !s.o.newLedger {
		used, err := s.onRemote(ctx)
		if err != nil {
			return err
		}
		if used {
			return &journal.Refusal{
				Code:    "no_ledger",
				Message: fmt.Sprintf("broadside.yaml on branch %s of %s names the ledger %s, which is not there", s.branch, s.remote.URL(), s.ledger.ID),
				Hint:    "bring it back with `broadside ledger restore` from any clone that has it; if it is lost for good, or init was interrupted and nothing was ever published: `broadside init --new-ledger`",
			}
		}
		return nil // an earlier init did not come to its end: no run has ever seen this id
	}
	s.oldID = s.ledger.ID
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	s.ledger.ID = hex.EncodeToString(b[:])
	return nil
}

// onRemote tells whether the content branch on the remote names this ledger: then runs may have used it.
func (s *setup) onRemote(ctx context.Context) (bool, error) {
	snap, err := s.remote.Fetch(ctx, "refs/heads/"+s.branch, gitstore.FetchOptions{TreesOnly: true})
	if err != nil || snap == nil {
		return false, err
	}
	e, ok, err := snap.Entry(compose.ConfigPath)
	if err != nil || !ok {
		return false, err
	}
	data, err := snap.Read(e.Blob)
	if errors.Is(err, gitstore.ErrBlobAbsent) {
		if err = s.remote.FetchBlobs(ctx, snap, []gitstore.Hash{e.Blob}); err == nil {
			data, err = snap.Read(e.Blob)
		}
	}
	return strings.Contains(string(data), s.ledger.ID), err
}

// keys settles who can open what is encrypted.
func (s *setup) keys(context.Context) error {
	switch {
	case s.cfg != nil && len(s.cfg.Recipients) > 0:
		s.recipient = s.cfg.Recipients
	case len(s.o.recipients) > 0:
		s.recipient = s.o.recipients
	default:
		path := s.o.keyFile
		if path == "" {
			path = s.a.keyHome(s.ledger.ID)
		}
		if path == "" {
			return usageError{errors.New("neither XDG_CONFIG_HOME nor HOME says where the private key can go"), "name a file with --key-file"}
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		r, created, err := s.a.ageKey(path, s.root, vault.IdentityKind(s.o.keyKind))
		if err != nil {
			return err
		}
		s.recipient, s.keyFile, s.keyMade = []string{r}, path, created
		if created {
			s.made(path)
		} else {
			s.kept(path)
		}
	}
	var err error
	if s.rcpts, err = s.a.recipients(s.recipient); err != nil {
		return usageError{err, "see `broadside init --help` on keys"}
	}
	return nil
}

// signer opens the key that signs the ledger, or makes one for a ledger that is still to be made.
func (s *setup) signer(ctx context.Context) error {
	if s.there {
		if !s.has(vault.KeyPath) {
			return hinted{fmt.Errorf("%s is missing: without it nothing can be recorded", vault.KeyPath), "restore it from the history of the content branch"}
		}
		s.kept(vault.KeyPath)
		return nil
	}
	var err error
	if !s.has(vault.KeyPath) {
		s.key, err = vault.NewSigner()
	} else {
		err = s.openSigner()
	}
	if err != nil {
		return err
	}
	s.a.mask.Add(s.key.Secrets()...)
	s.ledger.Signer = s.key.Line
	return nil
}

func (s *setup) openSigner() error {
	data, err := s.files.Read(vault.KeyPath)
	if err != nil {
		return err
	}
	keys, err := s.a.keys()
	if errors.Is(err, vault.ErrNoKey) && s.keyFile != "" {
		keys, err = vault.Identities(vault.Env{KeyFile: s.keyFile})
	}
	if err != nil {
		return err
	}
	s.a.mask.Add(keys.Secrets()...)
	if s.key, err = vault.OpenKey(data, vault.KeyPath, keys); err != nil {
		return err
	}
	if s.ledger.Signer != "" && !vault.SameSigner(s.key.Line, s.ledger.Signer) {
		return hinted{fmt.Errorf("%s is not the signer that broadside.yaml names", vault.KeyPath), "restore one of them from the history"}
	}
	return nil
}

// sealSigner writes the signing key, encrypted.
func (s *setup) sealSigner(context.Context) error {
	if s.there {
		return nil
	}
	if s.has(vault.KeyPath) {
		s.kept(vault.KeyPath)
		return s.rebind()
	}
	data, err := vault.SealKey(s.key, s.rcpts)
	if err != nil {
		return err
	}
	if err := s.create(vault.KeyPath, data); err != nil {
		return err
	}
	s.made(vault.KeyPath)
	return s.rebind()
}

func (s *setup) made(what string)    { s.res.Created = append(s.res.Created, what) }
func (s *setup) kept(what string)    { s.res.Kept = append(s.res.Kept, what) }
func (s *setup) changed(what string) { s.res.Changed = append(s.res.Changed, what) }

// hasPosts tells whether there is a post already.
func (s *setup) hasPosts(folder string) bool {
	files, err := s.files.List(folder)
	return err != nil || slices.ContainsFunc(files, func(f fileOf) bool { return strings.HasSuffix(f.Path, ".md") })
}
