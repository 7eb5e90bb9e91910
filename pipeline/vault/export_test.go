package vault

import "filippo.io/age"

// DecodeForTest reads a credential's plain text.
var DecodeForTest = decode

// CheapPassphrase is PassphraseRecipient with a derivation that costs next to nothing.
func CheapPassphrase(passphrase string) (Recipients, error) {
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return Recipients{}, err
	}
	r.SetWorkFactor(10)
	return Recipients{list: []age.Recipient{r}, names: []string{Passphrase}}, nil
}
