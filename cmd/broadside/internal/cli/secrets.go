package cli

import (
	"net/url"
	"strings"
)

// minSecretPart is the shortest part of a secret address that is a secret of its own: shorter ones are words.
const minSecretPart = 8

// hide keeps secrets out of all output. Of an address that is a secret, as a webhook's is, also every spelling and every
// part that could be the secret in it.
func (a *app) hide(secrets ...string) {
	for _, s := range secrets {
		a.mask.Add(s)
		a.mask.Add(addressParts(s)...)
	}
}

// addressParts lists the spellings and the secret parts of an http(s) address, nil for any other text.
func addressParts(s string) []string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil
	}
	out := []string{}
	add := func(parts ...string) {
		for _, p := range parts {
			if len(p) >= minSecretPart {
				out = append(out, p)
			}
		}
	}
	if password, ok := u.User.Password(); ok {
		add(password)
	}
	add(u.User.Username())
	bare := *u
	bare.User, bare.Fragment, bare.RawFragment = nil, "", ""
	query := bare.Query()
	for _, q := range []string{bare.RawQuery, query.Encode()} { // as it is given, and as a client may order it
		bare.RawQuery = q
		if q != "" || len(strings.Trim(bare.Path, "/")) > 0 {
			add(bare.String(), bare.RequestURI())
		}
	}
	for _, path := range []string{u.EscapedPath(), u.Path} {
		if strings.Trim(path, "/") != "" {
			add(path)
		}
		for seg := range strings.SplitSeq(path, "/") {
			add(seg)
		}
	}
	for _, values := range query {
		add(values...)
	}
	return out
}
