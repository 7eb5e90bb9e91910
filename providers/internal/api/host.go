package api

import (
	"net"
	"net/url"
	"strings"
)

// Host returns u's host as credentials hold it: lower case, without a final dot, with the port where it is not the
// scheme's own.
func Host(u *url.URL) string {
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if port == "" || port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return net.JoinHostPort(host, port)
}

// SameHost tells whether host, of a credential, is u's, whichever way both are spelled.
func SameHost(host string, u *url.URL) bool {
	return Host(&url.URL{Scheme: u.Scheme, Host: host}) == Host(u)
}
