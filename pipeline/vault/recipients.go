package vault

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
)

// Passphrase is the recipient that stands for "encrypted with a passphrase".
const Passphrase = "passphrase"

// maxRecipients bounds a recipient list: every stanza costs work at each opening.
const maxRecipients = 64

// Recipients is a checked set of those who can open a file. The zero Recipients encrypts to nobody.
type Recipients struct {
	list  []age.Recipient
	names []string
}

// Names lists the recipients in their canonical text, sorted.
func (r Recipients) Names() []string { return slices.Clone(r.names) }

// Empty tells that there is nobody to encrypt to.
func (r Recipients) Empty() bool { return len(r.list) == 0 }

// Same tells whether names means the same set, whatever its order and comments.
func (r Recipients) Same(names []string) bool {
	var other []string
	for _, n := range names {
		other = append(other, canonicalRecipient(n))
	}
	slices.Sort(other)
	return slices.Equal(r.names, slices.Compact(other))
}

// ParseRecipients reads age1..., age1pq1..., ssh-ed25519 and ssh-rsa recipients. The whole list must be usable. For
// Passphrase, use Keys.Recipients, which can ask for it.
func ParseRecipients(names []string) (Recipients, error) {
	return Keys{}.Recipients(names)
}

// PassphraseRecipient encrypts with a passphrase alone: age mixes it with no other recipient.
func PassphraseRecipient(passphrase string) (Recipients, error) {
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return Recipients{}, fmt.Errorf("%w: the passphrase is empty", ErrBadRecipient)
	}
	return Recipients{list: []age.Recipient{r}, names: []string{Passphrase}}, nil
}

// Recipients is ParseRecipients for a list that may be Passphrase.
func (k Keys) Recipients(names []string) (Recipients, error) {
	if len(names) == 0 {
		return Recipients{}, fmt.Errorf("%w: the list is empty: put the public key that `broadside init` printed under "+
			"age.recipients in broadside.yaml", ErrBadRecipient)
	}
	if len(names) > maxRecipients {
		return Recipients{}, fmt.Errorf("%w: %d recipients, at most %d are possible", ErrBadRecipient, len(names), maxRecipients)
	}
	var out Recipients
	var pq, classic string
	for i, name := range names {
		name = canonicalRecipient(name)
		if name == Passphrase {
			if len(names) > 1 {
				return Recipients{}, fmt.Errorf("%w: a passphrase cannot be combined with other recipients: whoever knows one of "+
					"them could forge what seems to come from the passphrase", ErrBadRecipient)
			}
			if k.passphrase == nil {
				return Recipients{}, fmt.Errorf("%w: nobody can be asked for the passphrase here", ErrNoKey)
			}
			pass, err := k.passphrase("the credentials")
			if err != nil {
				return Recipients{}, fmt.Errorf("%w: no passphrase for the credentials: %w", ErrNoKey, err)
			}
			return PassphraseRecipient(pass)
		}
		if slices.Contains(out.names, name) {
			continue
		}
		r, isPQ, err := parseRecipient(name)
		if err != nil {
			return Recipients{}, fmt.Errorf("%w: recipient %d: %w", ErrBadRecipient, i+1, err)
		}
		if isPQ {
			pq = name
		} else {
			classic = name
		}
		out.list = append(out.list, r)
		out.names = append(out.names, name)
	}
	if pq != "" && classic != "" {
		return Recipients{}, fmt.Errorf("%w: %s is post-quantum and %s is not; age does not mix them, because the weaker one "+
			"would decide how safe the file is: use only age1pq1... recipients, or none", ErrBadRecipient, short(pq), short(classic))
	}
	slices.Sort(out.names)
	return out, nil
}

func parseRecipient(name string) (r age.Recipient, pq bool, err error) {
	switch {
	case strings.HasPrefix(strings.ToUpper(name), "AGE-SECRET-KEY-"), strings.HasPrefix(name, "-----BEGIN"):
		return nil, false, errors.New("this is a PRIVATE key; take it out of this file, treat it as leaked if it was ever " +
			"pushed, and put the public key (age1...) in its place")
	case strings.HasPrefix(name, "age1pq1"):
		r, err := age.ParseHybridRecipient(name)
		if err != nil {
			return nil, false, fmt.Errorf("%s is not a valid age1pq1 recipient: a character is wrong or missing", short(name))
		}
		return r, true, nil
	case strings.HasPrefix(name, "age1") && strings.Count(name, "1") > 1 && strings.LastIndex(name, "1") > 3:
		return nil, false, fmt.Errorf("%s belongs to an age plugin; plugins are not supported: use a native age1 or age1pq1 "+
			"recipient", short(name))
	case strings.HasPrefix(name, "age1"):
		r, err := age.ParseX25519Recipient(name)
		if err != nil {
			return nil, false, fmt.Errorf("%s is not a valid age1 recipient: a character is wrong or missing", short(name))
		}
		return r, false, nil
	case strings.HasPrefix(name, "ssh-ed25519 "), strings.HasPrefix(name, "ssh-rsa "):
		r, err := agessh.ParseRecipient(name)
		if err != nil {
			return nil, false, fmt.Errorf("%s is not a usable SSH public key (ed25519, or RSA of 2048 bits and more)", short(name))
		}
		return r, false, nil
	case strings.HasPrefix(name, "ecdsa-"), strings.HasPrefix(name, "sk-"):
		return nil, false, fmt.Errorf("%s: age can encrypt to SSH keys of type ed25519 and RSA only", short(name))
	}
	return nil, false, fmt.Errorf("%s is no recipient; one begins with age1, age1pq1, ssh-ed25519 or ssh-rsa", short(name))
}

// canonicalRecipient drops blanks and the comment of an SSH key.
func canonicalRecipient(name string) string {
	name = strings.TrimSpace(name)
	if !strings.HasPrefix(name, "ssh-") {
		return name
	}
	k, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(name))
	if err != nil || len(rest) > 0 {
		return name
	}
	return authorizedLine(k)
}

// short cuts a long recipient for people. What is no recipient at all may be a secret in the wrong place: of that no more
// than its kind is shown.
func short(name string) string {
	for _, p := range []string{"age1", "ssh-", "ecdsa-", "sk-"} {
		if strings.HasPrefix(name, p) {
			if len(name) > 32 {
				return name[:20] + "..." + name[len(name)-6:]
			}
			return name
		}
	}
	return fmt.Sprintf("a text of %d characters", len(name))
}
