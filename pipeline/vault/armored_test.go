package vault_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

// lockedFile is an age key file encrypted with a passphrase, as `age -p` writes it.
func lockedFile(t *testing.T, text string) string {
	t.Helper()
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	r.SetWorkFactor(10)
	var buf bytes.Buffer
	a := armor.NewWriter(&buf)
	w, err := age.Encrypt(a, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestIdentitiesOpensAKeyFileWithAPassphrase(t *testing.T) {
	t.Parallel()
	a := agePair(t, vault.X25519)
	file := lockedFile(t, a.private)
	ask := func(answer string) func(string) (string, error) {
		return func(what string) (string, error) {
			if !strings.Contains(what, "BROADSIDE_AGE_KEY") {
				t.Errorf("asked for %q", what)
			}
			return answer, nil
		}
	}
	k, err := vault.Identities(vault.Env{Key: file, Passphrase: ask(passphrase)})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{a.recipient}, k.Public()); d != "" {
		t.Error(d)
	}
	for name, env := range map[string]vault.Env{
		"wrong":  {Key: file, Passphrase: ask("no")},
		"none":   {Key: file},
		"empty":  {Key: file, Passphrase: ask("")},
		"nested": {Key: lockedFile(t, file), Passphrase: ask(passphrase)},
	} {
		if _, err := vault.Identities(env); !errors.Is(err, vault.ErrBadKey) {
			t.Errorf("%s: %v", name, err)
		} else {
			noSecret(t, err, a.private)
		}
	}
}

func TestResealNeverFollowsAnotherRecipientSet(t *testing.T) {
	t.Parallel()
	mine, other := agePair(t, vault.X25519), agePair(t, vault.X25519)
	got, err := vault.Open(seal(t, credential(), recipients(t, mine.recipient)), "x", keys(t, mine.private))
	if err != nil {
		t.Fatal(err)
	}
	data, err := vault.Reseal(got, keys(t, mine.private))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(data, "x", keys(t, mine.private)); err != nil {
		t.Error(err)
	}
	if _, err := vault.Open(data, "x", keys(t, other.private)); !errors.Is(err, vault.ErrWrongKey) {
		t.Errorf("another key opens it: %v", err)
	}
	got.Recipients = nil
	if _, err := vault.Reseal(got, vault.Keys{}); !errors.Is(err, vault.ErrBadRecipient) {
		t.Errorf("resealed to nobody: %v", err)
	}
}
