// Package vault keeps credentials and the ledger's signing key encrypted with age.
//
// It reads and writes files' bytes only; where they lie, and who may see the environment, is the caller's business.
// No text of an error holds a secret, a key or a passphrase. age plugins are never started.
package vault

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/broadside-pub/broadside/providers"
)

const (
	// Version of a credential's plain text.
	Version = 1
	// MaxFile is the most bytes of an encrypted file.
	MaxFile = 1 << 20
	// Dir holds the encrypted files, on the content branch and on the ledger branch.
	Dir = "credentials"
	// KeyPath is where the ledger's signing key lies on the content branch.
	KeyPath = Dir + "/ledger.age"
)

// The errors that callers tell apart.
var (
	// ErrNoKey means that neither the environment nor a prompt gave an age key.
	ErrNoKey = errors.New("no age key")
	// ErrWrongKey means that no key at hand opens the file; the error is a *WrongKeyError.
	ErrWrongKey = errors.New("wrong age key")
	// ErrKeyPermissions means that others can read the key file; the error is a *PermissionError.
	ErrKeyPermissions = errors.New("age key file is readable by others")
	// ErrBadKey means that a key cannot be read.
	ErrBadKey = errors.New("unusable age key")
	// ErrBadRecipient means that a recipient cannot be used.
	ErrBadRecipient = errors.New("unusable age recipient")
	// ErrDamaged means that the file is no age file, was changed, or does not hold what it should.
	ErrDamaged = errors.New("damaged vault file")
	// ErrVersion means that a newer broadside wrote the credential.
	ErrVersion = errors.New("credential of an unknown version")
	// ErrBinding means that a credential belongs elsewhere; the error is a *BindingError.
	ErrBinding = errors.New("credential belongs elsewhere")
)

var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Path is the file of a destination's credential on both branches. The name "ledger" is the signing key's own.
func Path(destination string) (string, error) {
	if !fileName.MatchString(destination) {
		return "", fmt.Errorf("destination %q cannot name a credential file: use letters, digits, '-' and '_'", destination)
	}
	if strings.EqualFold(destination, "ledger") {
		return "", fmt.Errorf("destination %q: %s holds the ledger's signing key; give the destination another name",
			destination, KeyPath)
	}
	return Dir + "/" + destination + ".age", nil
}

// Newest picks the credential to use from the content branch's and the ledger branch's, nil where there is none.
// Within one login the higher Seq wins. Of two logins the content branch's wins: a login that is no longer there is
// superseded, whatever its Seq, and so is one whose file was removed.
func Newest(content, ledger *providers.Credential) *providers.Credential {
	switch {
	case content == nil:
		return nil
	case ledger == nil || ledger.Login != content.Login || ledger.Seq <= content.Seq:
		return content
	}
	return ledger
}

// SecretStrings lists what must never be shown, each once, longest first, so that masking a short one never leaves the
// rest of a longer one. Lines of a secret of several lines are listed too: logs are masked line by line.
func SecretStrings(c providers.Credential) []string {
	return secretStrings(func(add func(string)) {
		for _, s := range c.Secrets {
			add(s)
		}
	})
}

func secretStrings(each func(add func(string))) []string {
	seen := map[string]bool{}
	var out []string
	add := func(s string) {
		if strings.TrimSpace(s) != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	each(func(s string) {
		add(s)
		if strings.ContainsAny(s, "\r\n") {
			for line := range strings.SplitSeq(s, "\n") {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
					add(line)
				}
			}
		}
	})
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return out
}
