package vault

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/broadside-pub/broadside/pipeline"
	"github.com/broadside-pub/broadside/providers"
)

// BindingError says in what a credential and its destination differ.
type BindingError struct {
	Destination string
	Field       string // "provider", "host", "target" or "ledger"
	Sealed      string // what the credential was made for
	Wanted      string // what the destination asks for; "" for a target that is not set
}

func (e *BindingError) Error() string {
	d := e.Destination
	switch e.Field {
	case "provider":
		return fmt.Sprintf("destination %s is a %s account and its credential is for %s: the file was swapped or the provider "+
			"changed; nothing is sent. Run `broadside auth add %s`", d, e.Wanted, e.Sealed, d)
	case "host":
		return fmt.Sprintf("destination %s: its credential may be sent to %s only, broadside.yaml now says %s; nothing is sent. "+
			"Set `server:` back, or log in to the new server with `broadside auth add %s`",
			d, e.Sealed, e.Wanted, d)
	case "target":
		if e.Wanted == "" {
			return fmt.Sprintf("destination %s has no `target:` and its credential is for %s; if that is where its posts belong, "+
				"write `target: %s` under it in broadside.yaml", d, e.Sealed, e.Sealed)
		}
		return fmt.Sprintf("destination %s posts to %s and its credential is for %s: another account; nothing is sent. Set "+
			"`target:` back, or log in as the right account with `broadside auth add %s`",
			d, e.Wanted, e.Sealed, d)
	}
	return fmt.Sprintf("destination %s: its credential belongs to the ledger %s, this repository's ledger is %s: the file was "+
		"copied from another repository; nothing is sent. Run `broadside auth add %s` here",
		d, e.Sealed, e.Wanted, d)
}

// Is makes errors.Is(err, ErrBinding) hold.
func (e *BindingError) Is(target error) bool { return target == ErrBinding }

// Bound checks that cred was made for dest, at host, in the ledger with ledgerID. host is the server's host as Host
// returns it. The first difference is a *BindingError.
func Bound(cred providers.Credential, dest pipeline.Destination, host, ledgerID string) error {
	for _, c := range []struct{ field, sealed, wanted string }{
		{"provider", cred.Provider, dest.Provider},
		{"ledger", cred.Ledger, ledgerID},
		{"host", strings.ToLower(cred.Host), strings.ToLower(host)},
		{"target", cred.Target, string(dest.Target)},
	} {
		if c.sealed != c.wanted || c.sealed == "" {
			return &BindingError{Destination: dest.Name, Field: c.field, Sealed: c.sealed, Wanted: c.wanted}
		}
	}
	return nil
}

// Host returns a server's host as credentials hold it: lower case, with the port where it is not the scheme's own.
func Host(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("server %q is not a URL with https and a host", server)
	}
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if port == "" || port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		if strings.Contains(host, ":") {
			return "[" + host + "]", nil
		}
		return host, nil
	}
	return net.JoinHostPort(host, port), nil
}
