package vault_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

func TestIdentitiesReadsKeysInEveryForm(t *testing.T) {
	t.Parallel()
	a, b := agePair(t, vault.X25519), agePair(t, vault.PostQuantum)
	s := sshPair(t, ed25519Key(t), "")
	locked := sshPair(t, ed25519Key(t), passphrase)
	id := vault.Identity{Secret: a.private, Recipient: a.recipient}
	ask := func(string) (string, error) { return passphrase, nil }
	for name, c := range map[string]struct {
		env  vault.Env
		want []string
	}{
		"one":         {vault.Env{Key: a.private}, []string{a.recipient}},
		"two":         {vault.Env{Key: a.private + "\n" + b.private}, []string{a.recipient, b.recipient}},
		"file form":   {vault.Env{Key: string(id.File(time.Unix(0, 0)))}, []string{a.recipient}},
		"crlf, blank": {vault.Env{Key: "\ufeff# key\r\n\r\n " + a.private + " \r\n"}, []string{a.recipient}},
		"ssh":         {vault.Env{Key: s.private}, []string{bare(s)}},
		"ssh, no end": {vault.Env{Key: strings.TrimSpace(s.private)}, []string{bare(s)}},
		"ssh crlf":    {vault.Env{Key: strings.ReplaceAll(s.private, "\n", "\r\n")}, []string{bare(s)}},
		"ssh locked":  {vault.Env{Key: locked.private, Passphrase: ask}, []string{bare(locked)}},
		"file":        {vault.Env{KeyFile: keyFile(t, a.private, 0o600)}, []string{a.recipient}},
		"both":        {vault.Env{KeyFile: keyFile(t, a.private, 0o400), Key: b.private}, []string{a.recipient, b.recipient}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := vault.Identities(c.env)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, k.Public()); d != "" {
				t.Error(d)
			}
			if len(k.Secrets()) == 0 {
				t.Error("nothing to mask")
			}
		})
	}
}

func bare(p pair) string { return strings.TrimSuffix(p.recipient, " someone@host") }

func keyFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestIdentitiesRefusesAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	a := agePair(t, vault.X25519)
	pq := agePair(t, vault.PostQuantum)
	locked := sshPair(t, ed25519Key(t), passphrase)
	ssh := sshPair(t, ed25519Key(t), "")
	for name, c := range map[string]struct {
		env  vault.Env
		want error
		says string
	}{
		"nothing":           {vault.Env{}, vault.ErrNoKey, "BROADSIDE_AGE_KEY"},
		"blank":             {vault.Env{Key: " \n"}, vault.ErrNoKey, "BROADSIDE_AGE_KEY"},
		"comment":           {vault.Env{Key: "# nothing"}, vault.ErrNoKey, "only comments"},
		"missing file":      {vault.Env{KeyFile: filepath.Join(t.TempDir(), "none")}, vault.ErrNoKey, "does not exist"},
		"folder":            {vault.Env{KeyFile: t.TempDir()}, vault.ErrNoKey, "folder"},
		"empty file":        {vault.Env{KeyFile: keyFile(t, "", 0o600)}, vault.ErrNoKey, "empty"},
		"huge file":         {vault.Env{KeyFile: keyFile(t, strings.Repeat("#\n", 50_000), 0o600)}, vault.ErrBadKey, "larger"},
		"recipient":         {vault.Env{Key: a.recipient}, vault.ErrBadKey, "public key"},
		"ssh recipient":     {vault.Env{Key: ssh.recipient}, vault.ErrBadKey, "public key"},
		"cut":               {vault.Env{Key: a.private[:60]}, vault.ErrBadKey, "line 1"},
		"changed":           {vault.Env{Key: "# k\n" + flip(a.private)}, vault.ErrBadKey, "line 2"},
		"pq cut":            {vault.Env{Key: pq.private[:60]}, vault.ErrBadKey, "AGE-SECRET-KEY-PQ-1"},
		"plugin":            {vault.Env{Key: "AGE-PLUGIN-YUBIKEY-1QQQ"}, vault.ErrBadKey, "plugins"},
		"rubbish":           {vault.Env{Key: secret}, vault.ErrBadKey, "no age key"},
		"broken ssh":        {vault.Env{Key: ssh.private[:150]}, vault.ErrBadKey, "BEGIN and END"},
		"locked, no prompt": {vault.Env{Key: locked.private}, vault.ErrBadKey, "passphrase"},
		"locked, wrong": {
			vault.Env{Key: locked.private, Passphrase: func(string) (string, error) { return "no", nil }},
			vault.ErrBadKey, "not the passphrase",
		},
		"short rsa": {vault.Env{Key: sshPair(t, rsaKey(t, 1024), "").private}, vault.ErrBadKey, "2048"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := vault.Identities(c.env)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v saying %q", err, c.want, c.says)
			}
			noSecret(t, err, a.private, pq.private, a.private[20:40])
		})
	}
}

// flip changes the last character of a key.
func flip(s string) string {
	c := byte('Q')
	if s[len(s)-1] == c {
		c = 'P'
	}
	return s[:len(s)-1] + string(c)
}

func TestKeyFileThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Log("permission bits mean nothing here; the file is accepted")
		return
	}
	a := agePair(t, vault.X25519)
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o660, 0o601} {
		path := keyFile(t, a.private, mode)
		_, err := vault.Identities(vault.Env{KeyFile: path, Key: a.private})
		var perm *vault.PermissionError
		if !errors.Is(err, vault.ErrKeyPermissions) || !errors.As(err, &perm) || perm.Path != path {
			t.Fatalf("mode %04o: %v", mode, err)
		}
		if want := "chmod 600 " + path; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("%04o", mode)) {
			t.Errorf("%v does not say %q", err, want)
		}
		noSecret(t, err, a.private)
	}
}
