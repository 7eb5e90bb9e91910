package api

import (
	"net/url"
	"strings"
)

// maxID is the longest id that a receipt may hold, in bytes.
const maxID = 512

// ValidID tells whether an id that a network sent may be kept: printable ASCII without spaces, 1 to 512 bytes, and not
// a path to elsewhere.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// PathEscape makes s one segment of a path, also where it is "." or "..".
func PathEscape(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

// ValidURL returns s where it is an http or https URL that may be shown and kept: without a password, and at most
// 2,048 printable bytes; else "". Use it for every address that a network sends.
func ValidURL(s string) string {
	if len(s) > longURL {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return ""
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7F {
			return ""
		}
	}
	return u.String()
}
