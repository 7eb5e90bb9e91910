package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/broadside-pub/broadside/pipeline/vault"
)

// keyHome is where the private age key of a ledger lies on this machine unless somebody wants it elsewhere; "" where the
// environment names no home.
func (a *app) keyHome(ledgerID string) string {
	dir := a.getenv("XDG_CONFIG_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = a.getenv("AppData")
	}
	if dir == "" {
		home := a.getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	if ledgerID == "" || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "broadside", ledgerID+".key")
}

// ageKey makes the age key of a new repository, or takes the one that an earlier init left in path. created is false then.
func (a *app) ageKey(path, root string, kind vault.IdentityKind) (recipient string, created bool, err error) {
	if err := outside(path, root); err != nil {
		return "", false, err
	}
	if _, err := os.Lstat(path); err == nil {
		keys, err := vault.Identities(vault.Env{KeyFile: path})
		if err != nil {
			return "", false, hinted{fmt.Errorf("%s is there already and cannot be used: %w", path, err), "it is never overwritten: move it away, or name another file with --key-file"}
		}
		a.mask.Add(keys.Secrets()...)
		if len(keys.Public()) == 0 {
			return "", false, fmt.Errorf("%s is there already and holds no key", path)
		}
		return keys.Public()[0], false, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("cannot look at %s: %w", path, err)
	}
	id, err := vault.GenerateIdentity(kind)
	if err != nil {
		return "", false, err
	}
	a.mask.Add(id.Secret)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", false, hinted{fmt.Errorf("cannot make the folder of the key: %w", err), "name another place with --key-file"}
	}
	if err := writePrivate(path, id.File(a.now())); err != nil {
		return "", false, hinted{fmt.Errorf("cannot write the key: %w", err), "name another place with --key-file"}
	}
	return id.Recipient, true, nil
}

// outside refuses a place for the private key within the repository: one `git add .` would publish it.
func outside(path, root string) error {
	dir, base := filepath.Dir(path), ""
	// The folder may not be there yet: what exists of it decides.
	for {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			dir = filepath.Join(real, base)
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir, base = filepath.Dir(dir), filepath.Join(filepath.Base(dir), base)
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	rel, err := filepath.Rel(root, dir)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return usageError{fmt.Errorf("%s lies inside the repository: the private key must not", path), "name a file elsewhere with --key-file"}
	}
	return nil
}
