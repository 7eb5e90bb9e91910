package vault

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"
)

// maxHeader bounds an age header: no set of recipients that Recipients allows comes near it.
const maxHeader = 256 << 10

// header is what an age file says in the clear about who can open it: "-> type arguments" for each recipient
// (age-encryption.org/v1, section on the header).
type header struct {
	stanzas [][]string
}

func readHeader(data []byte) (header, error) {
	raw, err := age.ExtractHeader(io.LimitReader(armor.NewReader(bytes.NewReader(data)), maxHeader))
	if err != nil {
		return header{}, errors.New("no age header")
	}
	var h header
	for line := range strings.SplitSeq(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, "-> "); ok {
			h.stanzas = append(h.stanzas, strings.Fields(rest))
		}
	}
	if len(h.stanzas) == 0 {
		return header{}, errors.New("no recipients")
	}
	return h, nil
}

func (h header) passphrase() bool {
	return slices.ContainsFunc(h.stanzas, func(s []string) bool { return len(s) > 0 && s[0] == "scrypt" })
}

// list says for each recipient what the file tells. SSH keys are named by a short id, native ones are anonymous.
func (h header) list(public []string) []string {
	known := map[string]string{}
	for _, p := range public {
		if k, _, _, _, err := ssh.ParseAuthorizedKey([]byte(p)); err == nil {
			known[sshTag(k)] = p
		}
	}
	var out []string
	for _, s := range h.stanzas {
		switch {
		case len(s) == 0:
			out = append(out, "an unnamed recipient")
		case s[0] == "X25519":
			out = append(out, "an age1 key")
		case s[0] == "mlkem768x25519":
			out = append(out, "an age1pq1 key")
		case s[0] == "scrypt":
			out = append(out, "a passphrase")
		case strings.HasPrefix(s[0], "ssh-") && len(s) > 1:
			if p, ok := known[s[1]]; ok {
				out = append(out, p)
			} else {
				out = append(out, fmt.Sprintf("an %s key with tag %s", printable(s[0]), printable(s[1])))
			}
		case strings.HasSuffix(s[0], "-grease"):
			// age adds a stanza that means nothing now and then
		default:
			out = append(out, "a recipient of type "+printable(s[0]))
		}
	}
	return out
}

func (h header) describe(public []string) string { return strings.Join(h.list(public), ", ") }

// sshTag is the short id that age writes for an SSH recipient: the first four bytes of the key's SHA-256.
func sshTag(k ssh.PublicKey) string {
	sum := sha256.Sum256(k.Marshal())
	return base64.RawStdEncoding.EncodeToString(sum[:4])
}

// printable bounds what a foreign file says about itself.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), 40)]
}

// WrongKeyError says that none of the keys at hand opens a file.
type WrongKeyError struct {
	Name string
	// Encrypted says to whom, as far as the file tells.
	Encrypted []string
	// Have lists the public halves of the keys that were tried.
	Have       []string
	passphrase bool
}

func (e *WrongKeyError) Error() string {
	if e.passphrase {
		return fmt.Sprintf("that passphrase does not open %s", e.Name)
	}
	have := make([]string, len(e.Have))
	for i, p := range e.Have {
		have[i] = short(p)
	}
	return fmt.Sprintf("wrong age key for %s: it is encrypted to %s; the key at hand is %s. Use the key whose public half is "+
		"under age.recipients in broadside.yaml, or have the file encrypted to yours as well: add it there, then let someone "+
		"who has the login run `broadside auth add`",
		e.Name, strings.Join(e.Encrypted, ", "), strings.Join(have, ", "))
}

// Is makes errors.Is(err, ErrWrongKey) hold.
func (e *WrongKeyError) Is(target error) bool { return target == ErrWrongKey }

// EncryptedTo says who can open a file, as far as it tells in the clear: SSH keys by the recipients among public that they
// are, native keys by their kind only. name is the file, for errors.
func EncryptedTo(data []byte, name string, public []string) ([]string, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not an armored age file", ErrDamaged, name)
	}
	return h.list(public), nil
}
