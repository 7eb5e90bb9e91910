package gitstore_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
	"github.com/broadside-pub/broadside/pipeline/gitstore/memgit"
)

func signers(t testing.TB) map[string]ssh.Signer {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]ssh.Signer{}
	for name, key := range map[string]any{"ed25519": ed, "ecdsa": ec, "rsa": rs} {
		if out[name], err = ssh.NewSignerFromKey(key); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func signedCommit(t testing.TB, signer ssh.Signer, message string) gitstore.Snapshot {
	t.Helper()
	r := memgit.NewServer().Remote(memgit.RemoteOptions{})
	s, err := r.Build(t.Context(), gitstore.Commit{
		Changes: []gitstore.Change{{Path: "a", Data: []byte("1")}}, Message: message, Name: "T <x>", Email: "t@example.com",
		When: time.Unix(1_790_000_000, 0).In(time.FixedZone("", -90*60)),
		Sign: func(p []byte) (string, error) { return gitstore.SignSSH(signer, p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSignedCommitIsGoodForGit checks our signatures with git and ssh-keygen, and git's with ours.
func TestSignedCommitIsGoodForGit(t *testing.T) {
	t.Parallel()
	keys := signers(t)
	keys["sha256"] = keys["ed25519"]
	for name, signer := range keys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt, format := gitstore.Options{}, "sha1"
			if name == "sha256" {
				opt.Transport, format = gitstore.TransportGit, name
			}
			dir := gittest.Bare(t, filepath.Join(t.TempDir(), "r.git"), format)
			opt.URL = dir
			r := opening(t, opt)
			defer closing(t, r)
			s, err := r.Build(t.Context(), gitstore.Commit{
				Changes: []gitstore.Change{{Path: "a", Data: []byte("1")}}, Message: "subject\n\nbody\n", Name: "T", Email: "t@example.com",
				When: time.Unix(1_790_000_000, 0),
				Sign: func(p []byte) (string, error) { return gitstore.SignSSH(signer, p) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Landed {
				t.Fatal(res.Err)
			}
			allowed := filepath.Join(t.TempDir(), "allowed")
			line := "t@example.com namespaces=\"git\" " + string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
			if err := os.WriteFile(allowed, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			gittest.Git(t, dir, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", ledger)
		})
	}
}

func TestVerifyAcceptsWhatGitSigned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "id")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	gittest.Git(t, dir, "init", "-q", "repo")
	repo := filepath.Join(dir, "repo")
	gittest.Git(t, repo, "-c", "gpg.format=ssh", "-c", "user.signingKey="+key, "commit", "-q", "-S", "--allow-empty", "-m", "signed by git")
	raw := gittest.Git(t, repo, "cat-file", "commit", "HEAD") + "\n"
	pub, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	want, _, _, _, err := ssh.ParseAuthorizedKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gitstore.VerifySSH([]byte(raw), []ssh.PublicKey{want})
	if err != nil || !bytes.Equal(got.Marshal(), want.Marshal()) {
		t.Fatalf("verify: %v", err)
	}
}

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	keys := signers(t)
	mine, other := keys["ed25519"], keys["ecdsa"]
	raw := string(signedCommit(t, mine, "hello\n").Raw())
	foreign := string(signedCommit(t, other, "hello\n").Raw())
	head, _, _ := strings.Cut(raw, "gpgsig ")
	_, body, _ := strings.Cut(raw, "-----END SSH SIGNATURE-----\n")
	sig := strings.TrimSuffix(strings.TrimPrefix(raw, head), body)
	for _, c := range []struct {
		name, raw string
		is        error
	}{
		{"good", raw, nil},
		{"unsigned", head + body, gitstore.ErrUnsigned},
		{"other signer", foreign, gitstore.ErrWrongSigner},
		{"message changed", strings.Replace(raw, "hello", "jello", 1), gitstore.ErrBadSignature},
		{"tree changed", strings.Replace(raw, "tree ", "tree 0", 1), gitstore.ErrBadSignature},
		{"parent added", strings.Replace(raw, "\nauthor", "\nparent "+strings.Repeat("1", 40)+"\nauthor", 1), gitstore.ErrBadSignature},
		{"two signatures", head + sig + sig + body, gitstore.ErrBadSignature},
		{"signature of another kind", head + "gpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n" + body, gitstore.ErrBadSignature},
		{"signature cut", strings.Replace(raw, "\n -----END", "", 1), gitstore.ErrBadSignature},
		{"signature emptied", head + "gpgsig \n" + body, gitstore.ErrBadSignature},
		{"in the message only", head + "\n" + sig + body, gitstore.ErrUnsigned},
		{"no commit", "nothing", gitstore.ErrBadSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key, err := gitstore.VerifySSH([]byte(c.raw), []ssh.PublicKey{nil, mine.PublicKey()})
			if !errors.Is(err, c.is) {
				t.Errorf("error %v, want %v", err, c.is)
			}
			if (key != nil) != (c.is == nil || errors.Is(c.is, gitstore.ErrWrongSigner)) {
				t.Errorf("key %v", key)
			}
		})
	}
}

func TestVerifyRefusesAnotherNamespace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "id")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := memgit.NewServer().Remote(memgit.RemoteOptions{}).Build(t.Context(), gitstore.Commit{
		Message: "m", Name: "T", Email: "t@example.com", When: time.Unix(1, 0),
		Sign: func(p []byte) (string, error) {
			cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", key)
			cmd.Stdin = bytes.NewReader(p)
			out, err := cmd.Output()
			return string(out), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gitstore.VerifySSH(s.Raw(), nil); !errors.Is(err, gitstore.ErrBadSignature) || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("error %v", err)
	}
}

func FuzzVerifySSH(f *testing.F) {
	keys := signers(f)
	for _, k := range keys {
		f.Add(signedCommit(f, k, "m").Raw())
	}
	allowed := []ssh.PublicKey{keys["ed25519"].PublicKey()}
	f.Add([]byte("tree x\n\nm"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		key, err := gitstore.VerifySSH(raw, allowed)
		if err == nil && key == nil {
			t.Error("accepted without a key")
		}
		for _, is := range []error{gitstore.ErrUnsigned, gitstore.ErrBadSignature, gitstore.ErrWrongSigner} {
			if errors.Is(err, is) {
				return
			}
		}
		if err != nil {
			t.Errorf("untyped error %v", err)
		}
	})
}
