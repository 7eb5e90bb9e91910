package vault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

func TestParseRecipientsRefusesAndSaysWhy(t *testing.T) {
	t.Parallel()
	a, pq := agePair(t, vault.X25519), agePair(t, vault.PostQuantum)
	s := sshPair(t, ed25519Key(t), "")
	for name, c := range map[string]struct {
		in   []string
		says string
	}{
		"none":        {nil, "broadside init"},
		"mixed":       {[]string{a.recipient, pq.recipient}, "post-quantum"},
		"mixed ssh":   {[]string{pq.recipient, s.recipient}, "post-quantum"},
		"private":     {[]string{a.recipient, a.private}, "PRIVATE"},
		"private pq":  {[]string{pq.private}, "PRIVATE"},
		"private ssh": {[]string{s.private}, "PRIVATE"},
		"changed":     {[]string{flip(a.recipient)}, "wrong or missing"},
		"plugin":      {[]string{"age1yubikey1q2w3e4r5t6y7u8i9o0"}, "plugin"},
		"ecdsa":       {[]string{"ecdsa-sha2-nistp256 AAAA"}, "ed25519 and RSA only"},
		"rubbish":     {[]string{secret}, "no recipient"},
		"mixed pass":  {[]string{vault.Passphrase, a.recipient}, "passphrase"},
		"many":        {make([]string, 65), "at most"},
		"short rsa":   {[]string{sshPair(t, rsaKey(t, 1024), "").recipient}, "2048"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := vault.ParseRecipients(c.in)
			if !errors.Is(err, vault.ErrBadRecipient) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want it to say %q", err, c.says)
			}
			noSecret(t, err, a.private, pq.private, s.private, a.private[20:40])
		})
	}
	if _, err := vault.ParseRecipients([]string{vault.Passphrase}); !errors.Is(err, vault.ErrNoKey) {
		t.Errorf("a passphrase that nobody can be asked for: %v", err)
	}
}

func TestRecipientsAreASet(t *testing.T) {
	t.Parallel()
	a, s := agePair(t, vault.X25519), sshPair(t, ed25519Key(t), "")
	r := recipients(t, s.recipient, " "+a.recipient, s.recipient)
	if len(r.Names()) != 2 || !r.Same([]string{a.recipient, bare(s)}) || r.Same([]string{a.recipient}) {
		t.Errorf("names %q", r.Names())
	}
}
