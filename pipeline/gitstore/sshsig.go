package gitstore

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	sshsigMagic     = "SSHSIG"
	sshsigVersion   = 1
	sshsigNamespace = "git"
	sshsigArmor     = "SSH SIGNATURE"
	sshsigHash      = "sha512"
)

// sshsigBlob is the wire form of an SSH signature after its magic (PROTOCOL.sshsig of OpenSSH).
type sshsigBlob struct {
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  []byte
	HashAlg   string
	Signature []byte
}

// sshsigSigned is what is signed, after the magic.
type sshsigSigned struct {
	Namespace string
	Reserved  []byte
	HashAlg   string
	Hash      []byte
}

// SignSSH signs payload as `ssh-keygen -Y sign -n git` does and returns the armored signature.
func SignSSH(signer ssh.Signer, payload []byte) (string, error) {
	sum := sha512.Sum512(payload)
	data := append([]byte(sshsigMagic), ssh.Marshal(sshsigSigned{
		Namespace: sshsigNamespace, HashAlg: sshsigHash, Hash: sum[:],
	})...)
	var sig *ssh.Signature
	var err error
	if signer.PublicKey().Type() == ssh.KeyAlgoRSA {
		// plain ssh-rsa means SHA-1, which ssh-keygen refuses in signatures
		as, ok := signer.(ssh.AlgorithmSigner)
		if !ok {
			return "", errors.New("ssh signature: this RSA key can only sign with SHA-1; use an ed25519 key")
		}
		sig, err = as.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
	} else {
		sig, err = signer.Sign(rand.Reader, data)
	}
	if err != nil {
		return "", fmt.Errorf("ssh signature: %w", err)
	}
	blob := append([]byte(sshsigMagic), ssh.Marshal(sshsigBlob{
		Version: sshsigVersion, PublicKey: signer.PublicKey().Marshal(), Namespace: sshsigNamespace,
		HashAlg: sshsigHash, Signature: ssh.Marshal(*sig),
	})...)
	return armor(blob), nil
}

func armor(blob []byte) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + sshsigArmor + "-----\n")
	text := base64.StdEncoding.EncodeToString(blob)
	for len(text) > 0 {
		n := min(70, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	b.WriteString("-----END " + sshsigArmor + "-----\n")
	return b.String()
}

// VerifySSH checks the SSH signature of a commit object, as Snapshot.Raw gives it, and returns the key that made it. The
// errors are ErrUnsigned, ErrBadSignature (unreadable, of another kind, or not over this commit), and ErrWrongSigner: the
// signature is good, but none of the allowed keys made it; the key that did is returned with it.
func VerifySSH(raw []byte, allowed []ssh.PublicKey) (ssh.PublicKey, error) {
	payload, sig, err := splitSignature(raw)
	if err != nil {
		return nil, err
	}
	key, err := verifySSHSig(payload, sig)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadSignature, err)
	}
	for _, a := range allowed {
		if a != nil && bytes.Equal(a.Marshal(), key.Marshal()) {
			return key, nil
		}
	}
	return key, fmt.Errorf("%w: %s", ErrWrongSigner, ssh.FingerprintSHA256(key))
}

// verifySSHSig checks an armored signature over payload.
func verifySSHSig(payload []byte, armored string) (ssh.PublicKey, error) {
	block, rest := pem.Decode([]byte(armored))
	if block == nil || block.Type != sshsigArmor || len(block.Headers) != 0 || len(bytes.TrimSpace(rest)) != 0 {
		return nil, errors.New("not an armored SSH signature")
	}
	body, ok := bytes.CutPrefix(block.Bytes, []byte(sshsigMagic))
	if !ok {
		return nil, errors.New("not an SSH signature")
	}
	var blob sshsigBlob
	if err := ssh.Unmarshal(body, &blob); err != nil {
		return nil, errors.New("malformed SSH signature")
	}
	if blob.Version != sshsigVersion {
		return nil, fmt.Errorf("SSH signature of version %d", blob.Version)
	}
	if blob.Namespace != sshsigNamespace {
		return nil, fmt.Errorf("SSH signature for namespace %q, not %q", blob.Namespace, sshsigNamespace)
	}
	var sum []byte
	switch blob.HashAlg {
	case "sha512":
		s := sha512.Sum512(payload)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(payload)
		sum = s[:]
	default:
		return nil, fmt.Errorf("SSH signature over unknown hash %q", blob.HashAlg)
	}
	key, err := ssh.ParsePublicKey(blob.PublicKey)
	if err != nil {
		return nil, errors.New("malformed key in the SSH signature")
	}
	if _, cert := key.(*ssh.Certificate); cert {
		return nil, errors.New("SSH certificates are not accepted as signers")
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(blob.Signature, &sig); err != nil {
		return nil, errors.New("malformed SSH signature")
	}
	if sig.Format == ssh.KeyAlgoRSA {
		return nil, errors.New("SSH signature by RSA with SHA-1")
	}
	data := append([]byte(sshsigMagic), ssh.Marshal(sshsigSigned{
		Namespace: blob.Namespace, Reserved: blob.Reserved, HashAlg: blob.HashAlg, Hash: sum,
	})...)
	if err := key.Verify(data, &sig); err != nil {
		return nil, errors.New("the signature does not fit the commit")
	}
	return key, nil
}

// splitSignature takes a commit object apart into what was signed and the signature.
func splitSignature(raw []byte) (payload []byte, sig string, err error) {
	head, body, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		return nil, "", fmt.Errorf("%w: malformed commit", ErrBadSignature)
	}
	var keep bytes.Buffer
	found := 0
	inSig := false
	var b strings.Builder
	for line := range strings.SplitSeq(string(head), "\n") {
		if inSig {
			if cont, ok := strings.CutPrefix(line, " "); ok {
				b.WriteString(cont + "\n")
				continue
			}
			inSig = false
		}
		key, value, _ := strings.Cut(line, " ")
		if key == "gpgsig" || key == "gpgsig-sha256" {
			found++
			inSig = true
			b.WriteString(value + "\n")
			continue
		}
		keep.WriteString(line + "\n")
	}
	switch {
	case found == 0:
		return nil, "", ErrUnsigned
	case found > 1:
		return nil, "", fmt.Errorf("%w: more than one signature", ErrBadSignature)
	}
	keep.WriteString("\n")
	keep.Write(body)
	return keep.Bytes(), b.String(), nil
}
