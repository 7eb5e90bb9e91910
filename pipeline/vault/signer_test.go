package vault_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

func TestSignerSurvivesTheVault(t *testing.T) {
	t.Parallel()
	key, err := vault.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	a := agePair(t, vault.X25519)
	data, err := vault.SealKey(key, recipients(t, a.recipient))
	if err != nil {
		t.Fatal(err)
	}
	got, err := vault.OpenKey(data, vault.KeyPath, keys(t, a.private))
	if err != nil {
		t.Fatal(err)
	}
	if got.Line != key.Line || !strings.HasPrefix(got.Line, "ssh-ed25519 AAAA") || strings.Count(got.Line, " ") != 1 {
		t.Errorf("line %q, was %q", got.Line, key.Line)
	}
	sig, err := got.Signer.Sign(rand.Reader, []byte("commit"))
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Signer.PublicKey().Verify([]byte("commit"), sig); err != nil {
		t.Error(err)
	}
	if len(got.Secrets()) < 3 {
		t.Errorf("only %d strings to mask", len(got.Secrets()))
	}
	if _, err := vault.OpenKey(data, vault.KeyPath, keys(t, agePair(t, vault.X25519).private)); !errors.Is(err, vault.ErrWrongKey) {
		t.Errorf("wrong key: %v", err)
	}
	swapped := seal(t, credential(), recipients(t, a.recipient))
	if _, err := vault.OpenKey(swapped, vault.KeyPath, keys(t, a.private)); !errors.Is(err, vault.ErrDamaged) {
		t.Errorf("a credential passed as a signing key: %v", err)
	} else {
		noSecret(t, err)
	}
	if _, err := vault.Open(data, "credentials/x.age", keys(t, a.private)); !errors.Is(err, vault.ErrDamaged) {
		t.Errorf("a signing key passed as a credential: %v", err)
	} else {
		noSecret(t, err)
	}
	if _, err := vault.SealKey(vault.SigningKey{}, recipients(t, a.recipient)); err == nil {
		t.Error("an empty key was sealed")
	}
}

func TestSameSignerIgnoresComments(t *testing.T) {
	t.Parallel()
	a, b := sshPair(t, ed25519Key(t), ""), sshPair(t, ed25519Key(t), "")
	if !vault.SameSigner(a.recipient, bare(a)+"  other comment\n") {
		t.Error("the comment counts")
	}
	if vault.SameSigner(a.recipient, b.recipient) || vault.SameSigner("", "") || vault.SameSigner(a.recipient, "rubbish") ||
		vault.SameSigner(a.recipient, a.recipient+"\n"+b.recipient) {
		t.Error("different signers pass as the same")
	}
}
