package gitstore

import (
	"path/filepath"
	"strings"
)

// config reads the configuration that applies to the checkout; env nil leaves out all but the repository's own files.
func (r *Repo) config(env func(string) string) (*gitConfig, error) {
	scope := configScope{env: env, gitDir: r.GitDir, branch: r.Branch}
	c := &gitConfig{}
	if env == nil {
		scope.env = func(string) string { return "" }
	} else {
		for _, f := range scope.userFiles() {
			if err := c.readFile(scope, f, 0); err != nil {
				return nil, err
			}
		}
	}
	if err := c.readFile(scope, filepath.Join(r.CommonDir, "config"), 0); err != nil {
		return nil, err
	}
	if c.bool("extensions", "", "worktreeconfig") {
		if err := c.readFile(scope, filepath.Join(r.GitDir, "config.worktree"), 0); err != nil {
			return nil, err
		}
	}
	c.addEnv(scope.env)
	return c, nil
}

// userConfig reads the configuration that applies outside of any checkout.
func userConfig(env func(string) string) (*gitConfig, error) {
	scope := configScope{env: env}
	c := &gitConfig{}
	for _, f := range scope.userFiles() {
		if err := c.readFile(scope, f, 0); err != nil {
			return nil, err
		}
	}
	c.addEnv(env)
	return c, nil
}

// addEnv adds the settings of GIT_CONFIG_COUNT, which outrank all files.
func (c *gitConfig) addEnv(env func(string) string) {
	for _, item := range envConfig(env) {
		section, rest, ok := strings.Cut(item.key, ".")
		if !ok {
			continue
		}
		s := setting{section: strings.ToLower(section), value: item.value}
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			s.sub, rest = rest[:i], rest[i+1:]
		}
		s.key = strings.ToLower(rest)
		c.settings = append(c.settings, s)
	}
}
