package vault

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"
)

// maxKeyFile is the most bytes of a key file or of a key in the environment.
const maxKeyFile = 64 << 10

// Env is where keys come from. The caller reads the environment.
type Env struct {
	// Key is the value of BROADSIDE_AGE_KEY: age keys, one a line, or an OpenSSH private key.
	Key string
	// KeyFile is the value of BROADSIDE_AGE_KEY_FILE: a file that holds the same, readable by its owner only.
	KeyFile string
	// Passphrase asks for a passphrase; what says for which thing. Nil where nobody can be asked.
	Passphrase func(what string) (string, error)
}

// Keys opens files. The zero Keys opens none.
type Keys struct {
	ids        []age.Identity
	public     []string
	secrets    []string
	passphrase func(what string) (string, error)
}

// Public lists the recipients that the keys open files for, as far as they are known.
func (k Keys) Public() []string { return k.public }

// Secrets lists what must never be shown: the private keys, longest first.
func (k Keys) Secrets() []string {
	return secretStrings(func(add func(string)) {
		for _, s := range k.secrets {
			add(s)
		}
	})
}

// Empty tells that there is neither a key nor anyone to ask for a passphrase.
func (k Keys) Empty() bool { return len(k.ids) == 0 && k.passphrase == nil }

// PermissionError says that others can read a key file.
type PermissionError struct {
	Path string
	Mode os.FileMode
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("age key file %s has mode %04o: others can read it; run: chmod 600 %s", e.Path, e.Mode.Perm(), e.Path)
}

// Is makes errors.Is(err, ErrKeyPermissions) hold.
func (e *PermissionError) Is(target error) bool { return target == ErrKeyPermissions }

// Identities gathers the keys of env. Without any it returns ErrNoKey. A key file that others can read is refused even
// where another key is at hand.
func Identities(env Env) (Keys, error) {
	var out Keys
	add := func(text, from string) error {
		k, err := ParseIdentity(text, from, env.Passphrase)
		if err != nil {
			return err
		}
		out.ids = append(out.ids, k.ids...)
		out.public = append(out.public, k.public...)
		out.secrets = append(out.secrets, k.secrets...)
		return nil
	}
	if env.KeyFile != "" {
		text, err := readKeyFile(env.KeyFile)
		if err != nil {
			return Keys{}, err
		}
		if err := add(text, env.KeyFile); err != nil {
			return Keys{}, err
		}
	}
	if strings.TrimSpace(env.Key) != "" {
		if err := add(env.Key, "BROADSIDE_AGE_KEY"); err != nil {
			return Keys{}, err
		}
	}
	out.passphrase = env.Passphrase
	if out.Empty() {
		return Keys{}, fmt.Errorf("%w: set BROADSIDE_AGE_KEY to the key that `broadside init` made, or "+
			"BROADSIDE_AGE_KEY_FILE to a file that holds it", ErrNoKey)
	}
	return out, nil
}

func readKeyFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%w: BROADSIDE_AGE_KEY_FILE names %s, which does not exist", ErrNoKey, path)
		}
		return "", fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoKey, err)
	}
	if info.IsDir() {
		return "", fmt.Errorf("%w: BROADSIDE_AGE_KEY_FILE names %s, which is a folder", ErrNoKey, path)
	}
	// Windows reports made-up permission bits; a pipe of a shell has an owner only while it lives.
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return "", &PermissionError{Path: path, Mode: info.Mode()}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return "", fmt.Errorf("%w: %s cannot be read", ErrNoKey, path)
	}
	if len(data) > maxKeyFile {
		return "", fmt.Errorf("%w: %s is larger than %d bytes; that is no age key", ErrBadKey, path, maxKeyFile)
	}
	return string(data), nil
}

// ParseIdentity reads age keys (AGE-SECRET-KEY-1..., AGE-SECRET-KEY-PQ-1..., one a line, '#' for comments), an OpenSSH
// private key (ed25519 or RSA), or either of them in a file encrypted with a passphrase. from names the place in errors.
func ParseIdentity(text, from string, passphrase func(what string) (string, error)) (Keys, error) {
	if len(text) > maxKeyFile {
		return Keys{}, fmt.Errorf("%w: %s: larger than %d bytes", ErrBadKey, from, maxKeyFile)
	}
	// Secrets pasted into a web form often come with CRLF line ends or surrounding blanks.
	text = strings.TrimSpace(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"))
	switch {
	case text == "":
		return Keys{}, fmt.Errorf("%w: %s is empty", ErrNoKey, from)
	case strings.HasPrefix(text, armor.Header):
		plain, err := openWithPassphrase(text, from, passphrase)
		if err != nil {
			return Keys{}, err
		}
		if strings.HasPrefix(strings.TrimSpace(plain), armor.Header) {
			return Keys{}, fmt.Errorf("%w: %s is encrypted more than once", ErrBadKey, from)
		}
		return ParseIdentity(plain, from, passphrase)
	case strings.HasPrefix(text, "-----BEGIN"):
		return parseSSHKey(text, from, passphrase)
	}
	var out Keys
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, public, err := parseAgeKey(line)
		if err != nil {
			return Keys{}, fmt.Errorf("%w: %s, line %d: %w", ErrBadKey, from, n, err)
		}
		out.ids = append(out.ids, id)
		out.public = append(out.public, public)
		out.secrets = append(out.secrets, line)
	}
	if len(out.ids) == 0 {
		return Keys{}, fmt.Errorf("%w: %s holds only comments", ErrNoKey, from)
	}
	return out, nil
}

// parseAgeKey reads one key. The library's own errors are left out: they may quote the key.
func parseAgeKey(line string) (age.Identity, string, error) {
	upper := strings.ToUpper(line)
	switch {
	case strings.HasPrefix(upper, "AGE-SECRET-KEY-PQ-1"):
		id, err := age.ParseHybridIdentity(line)
		if err != nil {
			return nil, "", errors.New("not a valid AGE-SECRET-KEY-PQ-1 key: a character is wrong or missing; copy it again, whole")
		}
		return id, id.Recipient().String(), nil
	case strings.HasPrefix(upper, "AGE-SECRET-KEY-1"):
		id, err := age.ParseX25519Identity(line)
		if err != nil {
			return nil, "", errors.New("not a valid AGE-SECRET-KEY-1 key: a character is wrong or missing; copy it again, whole")
		}
		return id, id.Recipient().String(), nil
	case strings.HasPrefix(upper, "AGE-PLUGIN-"):
		return nil, "", errors.New("keys of age plugins are not supported; add a native age key to the recipients and use that")
	case strings.HasPrefix(upper, "AGE1"), strings.HasPrefix(line, "ssh-"):
		return nil, "", errors.New("this is a public key (a recipient); the private key is needed here, it begins with AGE-SECRET-KEY-")
	}
	return nil, "", errors.New("this is no age key; one begins with AGE-SECRET-KEY- or -----BEGIN OPENSSH PRIVATE KEY-----")
}

func parseSSHKey(text, from string, passphrase func(string) (string, error)) (Keys, error) {
	pem := []byte(text + "\n")
	raw, err := ssh.ParseRawPrivateKey(pem)
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		if passphrase == nil {
			return Keys{}, fmt.Errorf("%w: the SSH key in %s is protected by a passphrase and nobody can be asked for it here; "+
				"use an age key for unattended runs", ErrBadKey, from)
		}
		pass, perr := passphrase("the SSH key in " + from)
		if perr != nil {
			return Keys{}, fmt.Errorf("%w: no passphrase for the SSH key in %s: %w", ErrNoKey, from, perr)
		}
		raw, err = ssh.ParseRawPrivateKeyWithPassphrase(pem, []byte(pass))
		if err != nil {
			return Keys{}, fmt.Errorf("%w: that is not the passphrase of the SSH key in %s", ErrBadKey, from)
		}
	}
	if err != nil {
		return Keys{}, fmt.Errorf("%w: the private key in %s cannot be read; it must be whole, with its BEGIN and END lines",
			ErrBadKey, from)
	}
	id, err := sshIdentity(raw)
	if err != nil {
		return Keys{}, fmt.Errorf("%w: %s: only SSH keys of type ed25519, and RSA keys of 2048 bits and more, can open age files",
			ErrBadKey, from)
	}
	signer, err := ssh.NewSignerFromKey(raw)
	if err != nil {
		return Keys{}, fmt.Errorf("%w: the SSH key in %s cannot be used", ErrBadKey, from)
	}
	return Keys{ids: []age.Identity{id}, public: []string{authorizedLine(signer.PublicKey())}, secrets: []string{text}}, nil
}

func sshIdentity(raw any) (age.Identity, error) {
	switch k := raw.(type) {
	case *ed25519.PrivateKey:
		return agessh.NewEd25519Identity(*k)
	case ed25519.PrivateKey:
		return agessh.NewEd25519Identity(k)
	case *rsa.PrivateKey:
		if k.N.BitLen() < 2048 {
			return nil, errors.New("RSA key too short")
		}
		return agessh.NewRSAIdentity(k)
	}
	return nil, errors.New("unsupported SSH key")
}

func openWithPassphrase(text, from string, passphrase func(string) (string, error)) (string, error) {
	if passphrase == nil {
		return "", fmt.Errorf("%w: the key in %s is encrypted with a passphrase and nobody can be asked for it here", ErrBadKey, from)
	}
	pass, err := passphrase("the key in " + from)
	if err != nil {
		return "", fmt.Errorf("%w: no passphrase for the key in %s: %w", ErrNoKey, from, err)
	}
	id, err := age.NewScryptIdentity(pass)
	if err != nil {
		return "", fmt.Errorf("%w: the passphrase for %s is empty", ErrBadKey, from)
	}
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(text)), id)
	if err != nil {
		return "", fmt.Errorf("%w: that passphrase does not open the key in %s", ErrBadKey, from)
	}
	var buf bytes.Buffer
	if _, err := io.Copy(&buf, io.LimitReader(r, maxKeyFile)); err != nil {
		return "", fmt.Errorf("%w: the key in %s is damaged", ErrBadKey, from)
	}
	return buf.String(), nil
}

// authorizedLine is a public key in one line without a comment.
func authorizedLine(k ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))
}
