package vault

import (
	"fmt"
	"time"

	"filippo.io/age"
)

// IdentityKind is a kind of age key.
type IdentityKind string

// The kinds of keys that GenerateIdentity makes.
const (
	X25519      IdentityKind = "x25519"       // AGE-SECRET-KEY-1..., age1...: a short recipient, read by every age
	PostQuantum IdentityKind = "post-quantum" // AGE-SECRET-KEY-PQ-1..., age1pq1...: needs age 1.3 or newer; about 2 KB
)

// Identity is a new age key.
type Identity struct {
	Secret    string // the private half; never printed but to the person it is made for
	Recipient string
}

// GenerateIdentity makes an age key.
func GenerateIdentity(kind IdentityKind) (Identity, error) {
	switch kind {
	case X25519:
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return Identity{}, fmt.Errorf("make an age key: %w", err)
		}
		return Identity{Secret: id.String(), Recipient: id.Recipient().String()}, nil
	case PostQuantum:
		id, err := age.GenerateHybridIdentity()
		if err != nil {
			return Identity{}, fmt.Errorf("make an age key: %w", err)
		}
		return Identity{Secret: id.String(), Recipient: id.Recipient().String()}, nil
	}
	return Identity{}, fmt.Errorf("age key of kind %q: there are %q and %q", kind, X25519, PostQuantum)
}

// File is what a key file holds, in the form that age's own tools write. It belongs into a file of mode 0600.
func (i Identity) File(created time.Time) []byte {
	return fmt.Appendf(nil, "# created: %s\n# public key: %s\n%s\n", created.UTC().Format(time.RFC3339), i.Recipient, i.Secret)
}
