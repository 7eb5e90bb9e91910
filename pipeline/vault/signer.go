package vault

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// SigningKey signs the ledger's commits.
type SigningKey struct {
	Signer ssh.Signer
	// Line is the public half as an authorized-key line without a comment: `ledger.signer` in broadside.yaml.
	Line string
	pem  string
}

// Secrets lists what must never be shown, longest first.
func (k SigningKey) Secrets() []string {
	return secretStrings(func(add func(string)) { add(k.pem) })
}

// NewSigner makes an ed25519 key.
func NewSigner() (SigningKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return SigningKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "broadside ledger")
	if err != nil {
		return SigningKey{}, errors.New("the new signing key cannot be encoded")
	}
	return parseSigner(string(pem.EncodeToMemory(block)))
}

func parseSigner(text string) (SigningKey, error) {
	raw, err := ssh.ParseRawPrivateKey([]byte(text))
	if err != nil {
		return SigningKey{}, errors.New("no private key in it")
	}
	private, ok := raw.(*ed25519.PrivateKey)
	if !ok {
		return SigningKey{}, errors.New("the key in it is not ed25519")
	}
	s, err := ssh.NewSignerFromSigner(*private)
	if err != nil {
		return SigningKey{}, errors.New("the key in it cannot sign")
	}
	return SigningKey{Signer: s, Line: authorizedLine(s.PublicKey()), pem: text}, nil
}

// SealKey encrypts a signing key to r, for KeyPath.
func SealKey(key SigningKey, r Recipients) ([]byte, error) {
	if key.pem == "" {
		return nil, errors.New("there is no signing key to encrypt")
	}
	return encrypt([]byte(key.pem), r)
}

// OpenKey decrypts a signing key. name is the file, for errors. Whether it is the signer that broadside.yaml names is
// for SameSigner to say.
func OpenKey(data []byte, name string, k Keys) (SigningKey, error) {
	plain, err := decrypt(data, name, k)
	if err != nil {
		return SigningKey{}, err
	}
	key, err := parseSigner(string(plain))
	if err != nil {
		return SigningKey{}, fmt.Errorf("%w: %s does not hold a signing key: %w", ErrDamaged, name, err)
	}
	return key, nil
}

// SameSigner tells whether two authorized-key lines name the same key, whatever their comments.
func SameSigner(a, b string) bool {
	x, errX := parseLine(a)
	y, errY := parseLine(b)
	return errX == nil && errY == nil && x == y
}

func parseLine(line string) (string, error) {
	k, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(line)))
	if err != nil {
		return "", err
	}
	if len(rest) > 0 {
		return "", errors.New("more than one line")
	}
	return authorizedLine(k), nil
}
