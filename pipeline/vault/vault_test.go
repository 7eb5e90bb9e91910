package vault_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline/vault"
	"github.com/broadside-pub/broadside/providers"
)

const (
	secret     = "s3cr3t-access-token-Zm9v"
	passphrase = "correct horse battery staple"
)

func credential() providers.Credential {
	return providers.Credential{
		Version: 1, Provider: "bluesky", Host: "bsky.social", Target: "bluesky:bsky.social:did:plc:abc", Account: "example.com",
		Ledger: "7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a", Login: "login-1", Seq: 2, Scopes: []string{"atproto"},
		Obtained: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC), Expires: time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC),
		Secrets: map[string]string{"password": secret, "refresh": "another-one"},
	}
}

// pair is a private key with its recipient.
type pair struct{ private, recipient string }

func agePair(t *testing.T, kind vault.IdentityKind) pair {
	t.Helper()
	id, err := vault.GenerateIdentity(kind)
	if err != nil {
		t.Fatal(err)
	}
	return pair{id.Secret, id.Recipient}
}

func sshPair(t *testing.T, key any, pass string) pair {
	t.Helper()
	var block *pem.Block
	var err error
	if pass == "" {
		block, err = ssh.MarshalPrivateKey(key, "someone@host")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "someone@host", []byte(pass))
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))) + " someone@host"
	return pair{string(pem.EncodeToMemory(block)), line}
}

func ed25519Key(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func recipients(t *testing.T, names ...string) vault.Recipients {
	t.Helper()
	r, err := vault.ParseRecipients(names)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func keys(t *testing.T, text string) vault.Keys {
	t.Helper()
	k, err := vault.Identities(vault.Env{Key: text})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t *testing.T, c providers.Credential, r vault.Recipients) []byte {
	t.Helper()
	data, err := vault.Seal(c, r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSealOpensForEveryKindOfRecipient(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]pair{
		"x25519":       agePair(t, vault.X25519),
		"post-quantum": agePair(t, vault.PostQuantum),
		"ssh-ed25519":  sshPair(t, ed25519Key(t), ""),
		"ssh-rsa":      sshPair(t, rsaKey(t, 2048), ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := seal(t, credential(), recipients(t, p.recipient))
			if !strings.HasPrefix(string(data), "-----BEGIN AGE ENCRYPTED FILE-----\n") || strings.Contains(string(data), secret) {
				t.Fatalf("not an armored file: %s", data)
			}
			k := keys(t, p.private)
			got, err := vault.Open(data, "credentials/bluesky.age", k)
			if err != nil {
				t.Fatal(err)
			}
			want := credential()
			want.Recipients = []string{strings.TrimSuffix(p.recipient, " someone@host")}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(want.Recipients, k.Public()); d != "" {
				t.Errorf("public halves: %s", d)
			}
			again, err := vault.Reseal(got, vault.Keys{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err = vault.Open(again, "x", k); err != nil || !cmp.Equal(want, got) {
				t.Errorf("resealed: %v, %v", got, err)
			}
		})
	}
}

func TestSealOpensWithAPassphrase(t *testing.T) {
	t.Parallel()
	r, err := vault.CheapPassphrase(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	data := seal(t, credential(), r)
	ask := func(answer string) vault.Keys {
		k, err := vault.Identities(vault.Env{Passphrase: func(string) (string, error) { return answer, nil }})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	got, err := vault.Open(data, "credentials/x.age", ask(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{vault.Passphrase}, got.Recipients); d != "" {
		t.Error(d)
	}
	if _, err := vault.Open(data, "credentials/x.age", ask("wrong-"+passphrase)); !errors.Is(err, vault.ErrWrongKey) {
		t.Errorf("wrong passphrase: %v", err)
	} else {
		noSecret(t, err)
	}
	if _, err := vault.Open(data, "credentials/x.age", keys(t, agePair(t, vault.X25519).private)); !errors.Is(err, vault.ErrNoKey) {
		t.Errorf("nobody to ask: %v", err)
	}
	again, err := vault.Reseal(got, ask(passphrase))
	if err != nil {
		t.Fatalf("reseal: %v", err)
	}
	if _, err := vault.Open(again, "credentials/x.age", ask(passphrase)); err != nil {
		t.Errorf("resealed: %v", err)
	}
}

// noSecret fails where an error's text holds a secret, whole or in part.
func noSecret(t *testing.T, err error, more ...string) {
	t.Helper()
	if err == nil {
		return
	}
	for _, s := range append(more, secret, secret[:12], passphrase, "another-one", "PRIVATE KEY-----\n") {
		if strings.Contains(err.Error(), s) {
			t.Errorf("the error holds a secret: %v", err)
		}
	}
}
