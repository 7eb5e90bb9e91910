package gitstore

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// setting is one line of git's configuration. Section and key are in lower case.
type setting struct{ section, sub, key, value string }

// gitConfig is git's configuration in the order in which git reads it: a later setting wins.
type gitConfig struct{ settings []setting }

// get returns the last value of section.sub.key.
func (c *gitConfig) get(section, sub, key string) (string, bool) {
	for _, v := range slices.Backward(c.settings) {
		if s := v; s.section == section && s.sub == sub && s.key == key {
			return s.value, true
		}
	}
	return "", false
}

// bool reads a value as git does; a key without "=" is true.
func (c *gitConfig) bool(section, sub, key string) bool {
	v, ok := c.get(section, sub, key)
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return ok
	}
	return false
}

// subs lists the subsections of a section in order of appearance.
func (c *gitConfig) subs(section string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range c.settings {
		if s.section == section && s.sub != "" && !seen[s.sub] {
			seen[s.sub] = true
			out = append(out, s.sub)
		}
	}
	return out
}

// rewrite applies url.<base>.insteadOf: the longest prefix wins.
func (c *gitConfig) rewrite(url string) string {
	best, base := "", ""
	for _, s := range c.settings {
		if s.section == "url" && s.key == "insteadof" && s.value != "" && strings.HasPrefix(url, s.value) && len(s.value) > len(best) {
			best, base = s.value, s.sub
		}
	}
	if best == "" {
		return url
	}
	return base + url[len(best):]
}

// configScope is what reading configuration files depends on.
type configScope struct {
	env    func(string) string
	gitDir string // for includeIf; "" outside of a repository
	branch string
}

func (s configScope) home() string {
	if h := s.env("HOME"); h != "" {
		return h
	}
	if runtime.GOOS == "windows" {
		return s.env("USERPROFILE")
	}
	return ""
}

// userFiles are the system-wide and the user's configuration files, in git's order.
func (s configScope) userFiles() []string {
	var out []string
	if v := strings.ToLower(s.env("GIT_CONFIG_NOSYSTEM")); v == "" || v == "0" || v == "false" || v == "no" {
		if f := s.env("GIT_CONFIG_SYSTEM"); f != "" {
			out = append(out, f)
		} else if runtime.GOOS != "windows" {
			out = append(out, "/etc/gitconfig")
		}
	}
	if f := s.env("GIT_CONFIG_GLOBAL"); f != "" {
		return append(out, f)
	}
	home := s.home()
	if x := s.env("XDG_CONFIG_HOME"); x != "" {
		out = append(out, filepath.Join(x, "git", "config"))
	} else if home != "" {
		out = append(out, filepath.Join(home, ".config", "git", "config"))
	}
	if home != "" {
		out = append(out, filepath.Join(home, ".gitconfig"))
	}
	return out
}

const (
	maxIncludes   = 10
	maxConfigFile = 4 << 20
)

// readFile adds a file's settings with those of the files that it includes. A file that does not exist adds nothing.
func (c *gitConfig) readFile(s configScope, file string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: git configuration files include each other more than %d deep", file, maxIncludes)
	}
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	if st.Size() > maxConfigFile {
		return fmt.Errorf("%s: larger than a git configuration can be", file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	settings, err := parseConfig(string(data))
	if err != nil {
		return fmt.Errorf("%s:%w", file, err)
	}
	for _, x := range settings {
		c.settings = append(c.settings, x)
		if x.key != "path" || x.value == "" {
			continue
		}
		if x.section == "include" && x.sub == "" || x.section == "includeif" && s.applies(x.sub, file) {
			if err := c.readFile(s, s.resolve(x.value, file), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve makes an include path absolute.
func (s configScope) resolve(path, from string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(s.home(), rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(from), path)
}

// applies evaluates the condition of an includeIf.
func (s configScope) applies(condition, from string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	switch kind {
	case "gitdir", "gitdir/i":
		return s.gitDir != "" && s.matchGitDir(pattern, from, kind == "gitdir/i")
	case "onbranch":
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		return s.branch != "" && wildmatch(pattern, s.branch)
	}
	return false
}

func (s configScope) matchGitDir(pattern, from string, fold bool) bool {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		pattern = filepath.ToSlash(realPath(s.home())) + "/" + rest
	} else if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = filepath.ToSlash(realPath(filepath.Dir(from))) + "/" + rest
	} else if !filepath.IsAbs(pattern) && !strings.HasPrefix(pattern, "/") {
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	for _, dir := range []string{realPath(s.gitDir), s.gitDir} {
		text := filepath.ToSlash(dir)
		p := pattern
		if fold {
			p, text = strings.ToLower(p), strings.ToLower(text)
		}
		if wildmatch(p, text) {
			return true
		}
	}
	return false
}

// realPath resolves symbolic links where it can.
func realPath(p string) string {
	if r, err := filepath.EvalSymlinks(p); err == nil {
		return r
	}
	return p
}
