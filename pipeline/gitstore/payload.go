package gitstore

import (
	"bytes"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// VerifySSHPayload checks a signature that SignSSH made over a payload that is no commit. signer is an authorized-key
// line. The errors are those of VerifySSH.
func VerifySSHPayload(payload []byte, armored, signer string) error {
	if armored == "" {
		return ErrUnsigned
	}
	want, _, _, _, err := ssh.ParseAuthorizedKey([]byte(signer))
	if err != nil {
		return fmt.Errorf("the signer is not a public key: %w", err)
	}
	key, err := verifySSHSig(payload, armored)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadSignature, err)
	}
	if !bytes.Equal(want.Marshal(), key.Marshal()) {
		return fmt.Errorf("%w: %s", ErrWrongSigner, ssh.FingerprintSHA256(key))
	}
	return nil
}
