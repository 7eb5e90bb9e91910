package gitstore

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

// address is a remote's URL taken apart.
type address struct {
	scheme string // "http", "https", "ssh", "file", or another that only the git command knows
	user   *url.Userinfo
	host   string // without port
	port   string
	path   string // as the far end is to be told it
	// url is the http or https URL without userinfo; nil for the others.
	url *url.URL
	// clean is the whole URL without credentials.
	clean string
	// raw is the whole URL with them.
	raw string
}

// parseAddress understands URLs, user@host:path, and paths, which it makes absolute against dir.
func parseAddress(raw, dir string) (address, error) {
	if raw == "" {
		return address{}, fmt.Errorf("the git remote has no URL")
	}
	if strings.HasPrefix(raw, "-") || hasControl(raw) {
		return address{}, fmt.Errorf("%q cannot be the URL of a git remote", RedactURL(raw))
	}
	if strings.Contains(raw, "://") {
		return parseURL(raw)
	}
	if helper, _, ok := strings.Cut(raw, "::"); ok && helper != "" && !strings.ContainsAny(helper, "/\\") {
		return address{scheme: helper, clean: raw, raw: raw}, nil
	}
	if host, path, ok := strings.Cut(raw, ":"); ok && !strings.ContainsAny(host, "/\\") && host != "" && !isDrive(host) {
		a := address{scheme: "ssh", host: host, path: path, clean: raw, raw: raw}
		if user, h, ok := strings.Cut(host, "@"); ok {
			a.user, a.host = url.User(user), h
		}
		a.host = strings.Trim(a.host, "[]")
		return a, checkHost(a)
	}
	path := raw
	if !filepath.IsAbs(path) {
		if dir == "" {
			return address{}, fmt.Errorf("the path %q of the git remote is relative to nothing known: give an absolute path", raw)
		}
		path = filepath.Join(dir, path)
	}
	return fileAddress(path), nil
}

func isDrive(s string) bool {
	return len(s) == 1 && filepath.VolumeName(s+":") != ""
}

func fileAddress(path string) address {
	path = filepath.ToSlash(path)
	u := url.URL{Scheme: "file", Path: path}
	if !strings.HasPrefix(path, "/") {
		u.Path = "/" + path // C:/x
	}
	return address{scheme: "file", path: filepath.FromSlash(path), clean: u.String(), raw: u.String()}
}

func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// the error of net/url quotes the URL with its password
		return address{}, fmt.Errorf("the URL of the git remote cannot be read: %s", RedactURL(raw))
	}
	a := address{scheme: strings.ToLower(u.Scheme), user: u.User, host: u.Hostname(), port: u.Port(), path: u.Path, raw: raw, clean: RedactURL(raw)}
	switch a.scheme {
	case "http", "https":
		plain := *u
		plain.User = nil
		plain.Fragment = ""
		a.url = &plain
		a.clean = plain.String()
	case "file":
		path := u.Path
		if len(path) > 2 && path[0] == '/' && isDrive(path[1:2]) && path[2] == ':' {
			path = path[1:]
		}
		if hasControl(path) {
			return address{}, controlError(a.clean)
		}
		return fileAddress(path), nil
	case "git+ssh", "ssh+git":
		a.scheme = "ssh"
	}
	if a.scheme == "ssh" && strings.HasPrefix(a.path, "/~") {
		a.path = a.path[1:]
	}
	return a, checkHost(a)
}

// checkHost refuses names that a program could take for an option, and control characters, which a URL may hold encoded:
// in what is told to a credential helper, a line break would name another host.
func checkHost(a address) error {
	if a.hasControl() {
		return controlError(a.clean)
	}
	if strings.HasPrefix(a.host, "-") || strings.HasPrefix(a.path, "-") || a.user != nil && strings.HasPrefix(a.user.Username(), "-") {
		return fmt.Errorf("%q cannot be the URL of a git remote", a.clean)
	}
	if a.host == "" {
		return fmt.Errorf("the URL %q of the git remote names no host", a.clean)
	}
	return nil
}

// hasControl tells whether a decoded field holds a control character.
func (a address) hasControl() bool {
	return hasControl(a.host, a.port, a.path) || a.url != nil && urlHasControl(a.url) || userHasControl(a.user)
}

func urlHasControl(u *url.URL) bool { return hasControl(u.Host, u.Path) || userHasControl(u.User) }

func userHasControl(u *url.Userinfo) bool {
	if u == nil {
		return false
	}
	password, _ := u.Password()
	return hasControl(u.Username(), password)
}

func hasControl(texts ...string) bool {
	for _, s := range texts {
		if strings.ContainsFunc(s, unicode.IsControl) {
			return true
		}
	}
	return false
}

func controlError(clean string) error {
	return fmt.Errorf("the URL %q of the git remote holds a control character (perhaps encoded, as %%0a): remove it", clean)
}
