package gitstore

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// extraHeaders are the headers of http.extraheader and http.<url>.extraheader that git would send to u.
func (c *gitConfig) extraHeaders(u *url.URL) []header {
	var out []header
	for _, v := range c.urlValues("http", "extraheader", u) {
		if v == "" {
			out = nil // an empty value takes back what was set before
			continue
		}
		if h, ok := parseHeader(v); ok {
			out = append(out, h)
		}
	}
	return out
}

func parseHeader(v string) (header, bool) {
	key, value, ok := strings.Cut(v, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" || value == "" || strings.ContainsAny(v, "\r\n") {
		return header{}, false
	}
	return header{key, value}, true
}

// urlValues lists the values of section.key and section.<url>.key that apply to u, in git's way (git-config(1),
// "http.<url>.*"): a setting that fits less well than an earlier one is passed over.
func (c *gitConfig) urlValues(section, key string, u *url.URL) []string {
	if u == nil {
		return nil
	}
	var out []string
	var best urlMatch
	for _, s := range c.settings {
		if s.section != section || s.key != key {
			continue
		}
		m := urlMatch{}
		if s.sub != "" {
			var ok bool
			if m, ok = matchURL(s.sub, u); !ok {
				continue
			}
		}
		if m.less(best) {
			continue
		}
		best = m
		out = append(out, s.value)
	}
	return out
}

// urlMatch says how well a pattern fits: by host, then path, then user.
type urlMatch struct {
	host, path int
	user       bool
}

func (m urlMatch) less(than urlMatch) bool {
	if m.host != than.host {
		return m.host < than.host
	}
	if m.path != than.path {
		return m.path < than.path
	}
	return !m.user && than.user
}

func matchURL(pattern string, u *url.URL) (urlMatch, bool) {
	p, err := url.Parse(pattern)
	if err != nil || !strings.EqualFold(p.Scheme, u.Scheme) || portOf(p) != portOf(u) {
		return urlMatch{}, false
	}
	host, ok := matchHost(strings.ToLower(p.Hostname()), strings.ToLower(u.Hostname()))
	if !ok {
		return urlMatch{}, false
	}
	m := urlMatch{host: host}
	if p.User != nil {
		if u.User == nil || u.User.Username() != p.User.Username() {
			return urlMatch{}, false
		}
		m.user = true
	}
	want := strings.TrimSuffix(p.EscapedPath(), "/")
	got := strings.TrimSuffix(u.EscapedPath(), "/")
	if want != "" && got != want && !strings.HasPrefix(got, want+"/") {
		return urlMatch{}, false
	}
	m.path = len(want) + 1
	return m, true
}

// matchHost compares label by label; a "*" stands for one label. The result is longer the better it fits.
func matchHost(pattern, host string) (int, bool) {
	ps, hs := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(ps) != len(hs) {
		return 0, false
	}
	for i := range ps {
		if ps[i] != "*" && ps[i] != hs[i] {
			return 0, false
		}
	}
	return len(pattern) + 1, true
}

// netrcCredentials reads the user's netrc file, as curl does for git.
func (o *opener) netrcCredentials() (credentials, bool) {
	file := o.env("NETRC")
	if file == "" {
		home := configScope{env: o.env}.home()
		if home == "" {
			return credentials{}, false
		}
		name := ".netrc"
		if runtime.GOOS == "windows" {
			name = "_netrc"
		}
		file = filepath.Join(home, name)
	}
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() || st.Size() > 1<<20 {
		return credentials{}, false
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return credentials{}, false
	}
	user := ""
	if o.addr.user != nil {
		user = o.addr.user.Username()
	}
	login, password, ok := parseNetrc(string(data), o.addr.host, user)
	if !ok {
		return credentials{}, false
	}
	return o.tokenCredentials("netrc", login, password), true
}

// parseNetrc finds the login for a host; user, if not empty, must fit too.
func parseNetrc(text, host, user string) (login, password string, ok bool) {
	var clean strings.Builder
	inMacro := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case inMacro:
			inMacro = trimmed != ""
		case strings.HasPrefix(trimmed, "macdef"):
			inMacro = true
		case strings.HasPrefix(trimmed, "#"):
		default:
			clean.WriteString(line + "\n")
		}
	}
	words := strings.Fields(clean.String())
	here := false
	flush := func() bool {
		fits := here && password != "" && (user == "" || login == user)
		if !fits {
			login, password = "", ""
		}
		return fits
	}
	for i := 0; i < len(words); i++ {
		arg := ""
		if i+1 < len(words) {
			arg = words[i+1]
		}
		switch words[i] {
		case "machine":
			if flush() {
				return login, password, true
			}
			here = strings.EqualFold(arg, host)
			i++
		case "default":
			if flush() {
				return login, password, true
			}
			here = true
		case "login":
			if here {
				login = arg
			}
			i++
		case "password":
			if here {
				password = strings.Trim(arg, `"`)
			}
			i++
		case "account":
			i++
		}
	}
	ok = flush()
	return login, password, ok
}

// nullDevice is a path that is surely no repository.
func nullDevice() string {
	if runtime.GOOS == "windows" {
		return "NUL"
	}
	return "/dev/null"
}
