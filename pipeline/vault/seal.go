package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/broadside-pub/broadside/providers"
	"github.com/broadside-pub/broadside/providers/canon"
)

// Seal encrypts cred to r, whose names are sealed in with it, and returns the ASCII-armored file. It is for people's
// commands (add); a run uses Reseal.
func Seal(cred providers.Credential, r Recipients) ([]byte, error) {
	cred = cred.Clone()
	cred.Version = Version
	cred.Recipients = r.Names()
	plain, err := canon.Marshal(cred)
	if err != nil {
		// the cause could quote a secret
		return nil, fmt.Errorf("credential for %s cannot be encoded", cred.Target)
	}
	return encrypt(plain, r)
}

// Reseal encrypts a refreshed credential to exactly the recipients that were sealed into it, whatever broadside.yaml
// says now.
func Reseal(cred providers.Credential, k Keys) ([]byte, error) {
	r, err := k.Recipients(cred.Recipients)
	if err != nil {
		return nil, fmt.Errorf("credential for %s: the recipients sealed into it cannot be used; run `broadside auth add` for it again: %w",
			cred.Target, err)
	}
	return Seal(cred, r)
}

// Open decrypts a credential. name is the file, for errors. Unknown fields, duplicate names and versions it does not
// know are refused. It does not check where the credential belongs: Bound does.
func Open(data []byte, name string, k Keys) (providers.Credential, error) {
	plain, err := decrypt(data, name, k)
	if err != nil {
		return providers.Credential{}, err
	}
	return decode(plain, name)
}

// decode reads a credential's plain text. The decoder's errors quote what they read, so they are replaced.
func decode(plain []byte, name string) (providers.Credential, error) {
	damaged := func(what string) (providers.Credential, error) {
		return providers.Credential{}, fmt.Errorf("%w: %s: %s; run `broadside auth add` for it again", ErrDamaged,
			name, what)
	}
	if _, err := canon.Transform(plain); err != nil {
		return damaged("the decrypted content is not JSON")
	}
	var head struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal(plain, &head); err != nil || head.V == nil {
		return damaged("the decrypted content is no credential")
	}
	if *head.V != Version {
		return providers.Credential{}, fmt.Errorf("%w: %s has version %d, this broadside knows version %d; use a newer one",
			ErrVersion, name, *head.V, Version)
	}
	var c providers.Credential
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return damaged("the decrypted content is no credential of this version")
	}
	switch {
	case c.Provider == "":
		return damaged("the credential names no provider")
	case c.Login == "":
		return damaged("the credential names no login")
	case c.Seq < 0:
		return damaged("the credential has a negative sequence number")
	case len(c.Secrets) == 0:
		return damaged("the credential holds no secrets")
	}
	return c, nil
}

func encrypt(plain []byte, r Recipients) ([]byte, error) {
	if r.Empty() {
		return nil, fmt.Errorf("%w: there is nobody to encrypt to", ErrBadRecipient)
	}
	var buf bytes.Buffer
	a := armor.NewWriter(&buf)
	w, err := age.Encrypt(a, r.list...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadRecipient, err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if err := errors.Join(w.Close(), a.Close()); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if buf.Len() > MaxFile {
		return nil, fmt.Errorf("encrypted file would have %d bytes, at most %d are allowed", buf.Len(), MaxFile)
	}
	return buf.Bytes(), nil
}

func decrypt(data []byte, name string, k Keys) ([]byte, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", ErrDamaged, name, len(data), MaxFile)
	}
	h, err := readHeader(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not an armored age file", ErrDamaged, name)
	}
	ids := k.ids
	if h.passphrase() {
		id, err := k.scrypt(name)
		if err != nil {
			return nil, err
		}
		ids = []age.Identity{id}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: %s is encrypted to %s: set BROADSIDE_AGE_KEY or BROADSIDE_AGE_KEY_FILE", ErrNoKey, name,
			h.describe(nil))
	}
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(data)), ids...)
	if err != nil {
		var none *age.NoIdentityMatchError
		if errors.As(err, &none) || errors.Is(err, age.ErrIncorrectIdentity) {
			return nil, &WrongKeyError{Name: name, Encrypted: h.list(k.public), Have: k.public, passphrase: h.passphrase()}
		}
		return nil, fmt.Errorf("%w: %s has been changed since it was encrypted, or is cut off", ErrDamaged, name)
	}
	plain, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil || len(plain) > MaxFile {
		return nil, fmt.Errorf("%w: %s has been changed since it was encrypted, or is cut off", ErrDamaged, name)
	}
	return plain, nil
}

func (k Keys) scrypt(name string) (age.Identity, error) {
	if k.passphrase == nil {
		return nil, fmt.Errorf("%w: %s is encrypted with a passphrase and nobody can be asked for it here", ErrNoKey, name)
	}
	pass, err := k.passphrase(name)
	if err != nil {
		return nil, fmt.Errorf("%w: no passphrase for %s: %w", ErrNoKey, name, err)
	}
	id, err := age.NewScryptIdentity(pass)
	if err != nil {
		return nil, fmt.Errorf("%w: the passphrase for %s is empty", ErrNoKey, name)
	}
	id.SetMaxWorkFactor(maxWorkFactor)
	return id, nil
}

// maxWorkFactor is the costliest passphrase derivation that is tried, as a power of two: 20 takes seconds and 1 GiB.
const maxWorkFactor = 20
