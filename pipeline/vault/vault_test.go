package vault_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/broadside-pub/broadside/pipeline"
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
		"locked, wrong": {vault.Env{Key: locked.private, Passphrase: func(string) (string, error) { return "no", nil }},
			vault.ErrBadKey, "not the passphrase"},
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

func TestOpenNamesWhoCanOpenTheFile(t *testing.T) {
	t.Parallel()
	a, mine := agePair(t, vault.X25519), agePair(t, vault.X25519)
	s := sshPair(t, ed25519Key(t), "")
	data := seal(t, credential(), recipients(t, a.recipient, s.recipient))
	_, err := vault.Open(data, "credentials/bluesky.age", keys(t, mine.private))
	var wrong *vault.WrongKeyError
	if !errors.Is(err, vault.ErrWrongKey) || !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	if len(wrong.Encrypted) != 2 || !slices.Contains(wrong.Encrypted, "an age1 key") ||
		!slices.ContainsFunc(wrong.Encrypted, func(s string) bool { return strings.HasPrefix(s, "an ssh-ed25519 key with tag ") }) {
		t.Errorf("encrypted to %q", wrong.Encrypted)
	}
	if d := cmp.Diff([]string{mine.recipient}, wrong.Have); d != "" {
		t.Error(d)
	}
	noSecret(t, err, mine.private)
}

func TestOpenRefusesWhatWasChanged(t *testing.T) {
	t.Parallel()
	a := agePair(t, vault.X25519)
	k := keys(t, a.private)
	good := seal(t, credential(), recipients(t, a.recipient))
	lines := strings.Split(strings.TrimSpace(string(good)), "\n")
	body := func(i int, change func(string) string) []byte {
		c := slices.Clone(lines)
		c[i] = change(c[i])
		return []byte(strings.Join(c, "\n") + "\n")
	}
	swap := func(s string) string {
		if s[10] == 'A' {
			return s[:10] + "B" + s[11:]
		}
		return s[:10] + "A" + s[11:]
	}
	for name, data := range map[string][]byte{
		"empty":       {},
		"plain JSON":  []byte(`{"secrets":{"password":"` + secret + `"}}`),
		"bare secret": []byte(secret),
		"header":      body(2, swap),
		"payload":     body(len(lines)-3, swap),
		"cut":         good[:len(good)-60],
		"trailing":    append(slices.Clone(good), "more"...),
		"no end":      []byte(strings.Join(lines[:len(lines)-1], "\n")),
		"too large":   make([]byte, vault.MaxFile+1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := vault.Open(data, "credentials/x.age", k)
			if !errors.Is(err, vault.ErrDamaged) && !errors.Is(err, vault.ErrWrongKey) {
				t.Errorf("got %v", err)
			}
			noSecret(t, err)
		})
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

func TestOpenIsStrict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plain string
		want  error
	}{
		"unknown field": {`{"v":1,"provider":"x","login":"l","seq":0,"secrets":{"a":"` + secret + `"},"` + secret + `":1}`, vault.ErrDamaged},
		"duplicate":     {`{"v":1,"v":1,"provider":"x","login":"l","secrets":{"a":"b"}}`, vault.ErrDamaged},
		"newer":         {`{"v":2,"provider":"x"}`, vault.ErrVersion},
		"no version":    {`{"provider":"x","login":"l","secrets":{"a":"b"}}`, vault.ErrDamaged},
		"wrong type":    {`{"v":1,"provider":"x","login":"l","secrets":"` + secret + `"}`, vault.ErrDamaged},
		"no secrets":    {`{"v":1,"provider":"x","login":"l","secrets":{}}`, vault.ErrDamaged},
		"no login":      {`{"v":1,"provider":"x","secrets":{"a":"b"}}`, vault.ErrDamaged},
		"no provider":   {`{"v":1,"login":"l","secrets":{"a":"b"}}`, vault.ErrDamaged},
		"negative":      {`{"v":1,"provider":"x","login":"l","seq":-1,"secrets":{"a":"b"}}`, vault.ErrDamaged},
		"not JSON":      {secret, vault.ErrDamaged},
		"two":           {`{"v":1} {"v":1}`, vault.ErrDamaged},
		"array":         {`["` + secret + `"]`, vault.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := vault.DecodeForTest([]byte(c.plain), "credentials/x.age")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "credentials/x.age") {
				t.Errorf("got %v, want %v", err, c.want)
			}
			noSecret(t, err)
		})
	}
}

func TestBoundSaysExactlyWhatDiffers(t *testing.T) {
	t.Parallel()
	cred := credential()
	dest := pipeline.Destination{Name: "bluesky", Provider: "bluesky", Target: "bluesky:bsky.social:did:plc:abc"}
	for name, c := range map[string]struct {
		change func(c *providers.Credential, d *pipeline.Destination, host, ledger *string)
		field  string
		says   string
	}{
		"equal": {func(*providers.Credential, *pipeline.Destination, *string, *string) {}, "", ""},
		"case":  {func(_ *providers.Credential, _ *pipeline.Destination, h, _ *string) { *h = "BSKY.social" }, "", ""},
		"provider": {func(_ *providers.Credential, d *pipeline.Destination, _, _ *string) { d.Provider = "mastodon" },
			"provider", "mastodon account and its credential is for bluesky"},
		"host": {func(_ *providers.Credential, _ *pipeline.Destination, h, _ *string) { *h = "evil.example" },
			"host", "may be sent to bsky.social only, broadside.yaml now says evil.example"},
		"port": {func(_ *providers.Credential, _ *pipeline.Destination, h, _ *string) { *h = "bsky.social:8443" }, "host", "8443"},
		"no host": {func(c *providers.Credential, _ *pipeline.Destination, h, _ *string) { c.Host, *h = "", "" },
			"host", "log in"},
		"target": {func(_ *providers.Credential, d *pipeline.Destination, _, _ *string) { d.Target = "bluesky:bsky.social:did:plc:xyz" },
			"target", "did:plc:xyz"},
		"no target": {func(_ *providers.Credential, d *pipeline.Destination, _, _ *string) { d.Target = "" },
			"target", "write `target: bluesky:bsky.social:did:plc:abc`"},
		"ledger": {func(_ *providers.Credential, _ *pipeline.Destination, _, l *string) { *l = "0000" }, "ledger", "copied from another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cc, d, host, ledger := cred.Clone(), dest, "bsky.social", cred.Ledger
			c.change(&cc, &d, &host, &ledger)
			err := vault.Bound(cc, d, host, ledger)
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var b *vault.BindingError
			if !errors.Is(err, vault.ErrBinding) || !errors.As(err, &b) || b.Field != c.field || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want field %s saying %q", err, c.field, c.says)
			}
			noSecret(t, err)
		})
	}
}

func TestHostIsTheSameForEverySpelling(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://bsky.social": "bsky.social", "https://BSKY.social:443/": "bsky.social", "https://a.example:8443/x": "a.example:8443",
		"http://127.0.0.1:80": "127.0.0.1", "http://127.0.0.1:3000": "127.0.0.1:3000", "https://[::1]:8443": "[::1]:8443",
		"https://[::1]/": "[::1]", "https://a.example./": "a.example", "https://user:pw@a.example/": "a.example",
	} {
		if got, err := vault.Host(in); err != nil || got != want {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "bsky.social", "ftp://a.example", "https://", "::"} {
		if got, err := vault.Host(in); err == nil {
			t.Errorf("%s passed as %q", in, got)
		}
	}
}

func TestNewestFollowsTheLogin(t *testing.T) {
	t.Parallel()
	c := func(login string, seq int) *providers.Credential { return &providers.Credential{Login: login, Seq: seq} }
	for name, x := range map[string]struct{ content, ledger, want *providers.Credential }{
		"only content":    {c("a", 0), nil, c("a", 0)},
		"refreshed":       {c("a", 0), c("a", 3), c("a", 3)},
		"rekeyed since":   {c("a", 4), c("a", 3), c("a", 4)},
		"new login":       {c("b", 0), c("a", 9), c("b", 0)},
		"removed":         {nil, c("a", 9), nil},
		"nothing":         {nil, nil, nil},
		"back to the old": {c("a", 0), c("b", 2), c("a", 0)},
	} {
		if d := cmp.Diff(x.want, vault.Newest(x.content, x.ledger)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestSecretStringsListsEveryLineLongestFirst(t *testing.T) {
	t.Parallel()
	got := vault.SecretStrings(providers.Credential{Secrets: map[string]string{
		"a": "short", "b": "a longer one", "c": "short", "d": "", "e": "-----BEGIN X-----\nline one\nline 2\n-----END X-----\n",
	}})
	want := []string{"-----BEGIN X-----\nline one\nline 2\n-----END X-----\n", "a longer one", "line one", "line 2", "short"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPathNeverMeetsTheLedgersKey(t *testing.T) {
	t.Parallel()
	if got, err := vault.Path("my-site_2"); err != nil || got != "credentials/my-site_2.age" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "ledger", "LEDGER", "../x", "a/b", "a.b", ".hidden", strings.Repeat("a", 65)} {
		if got, err := vault.Path(bad); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

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

func FuzzOpen(f *testing.F) {
	id, err := vault.GenerateIdentity(vault.X25519)
	if err != nil {
		f.Fatal(err)
	}
	r, err := vault.ParseRecipients([]string{id.Recipient})
	if err != nil {
		f.Fatal(err)
	}
	good, err := vault.Seal(credential(), r)
	if err != nil {
		f.Fatal(err)
	}
	k, err := vault.Identities(vault.Env{Key: id.Secret})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(secret))
	f.Add([]byte("-----BEGIN AGE ENCRYPTED FILE-----\n-----END AGE ENCRYPTED FILE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := vault.Open(data, "credentials/x.age", k)
		if err != nil && !errors.Is(err, vault.ErrDamaged) && !errors.Is(err, vault.ErrWrongKey) && !errors.Is(err, vault.ErrNoKey) &&
			!errors.Is(err, vault.ErrVersion) {
			t.Fatalf("an error of no kind: %v", err)
		}
		noSecret(t, err)
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"provider":"x","login":"l","secrets":{"a":"b"}}`))
	f.Add([]byte(`{"v":1,"v":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := vault.DecodeForTest(data, "credentials/x.age")
		if err == nil && (c.Version != 1 || c.Login == "" || len(c.Secrets) == 0) {
			t.Fatalf("accepted %q", data)
		}
		if err != nil && len(data) > 40 && strings.Contains(err.Error(), string(data[:40])) {
			t.Fatalf("the error quotes the content: %v", err)
		}
	})
}
