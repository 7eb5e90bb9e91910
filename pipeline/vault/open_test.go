package vault_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

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
