package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Repo is what is known of a checkout from its files alone: no git command is run and nothing is opened for writing.
type Repo struct {
	// Root is the directory that holds .git.
	Root string
	// GitDir is this checkout's own git directory; CommonDir is the one that linked worktrees share with it.
	GitDir    string
	CommonDir string
	// Branch is the short name of HEAD's branch, "" when HEAD is detached.
	Branch string
	// Head is the commit of HEAD; "" where it cannot be told (an unborn branch, an unknown storage of refs).
	Head Hash
	// ObjectFormat is SHA1 unless the repository says otherwise.
	ObjectFormat ObjectFormat
	// Remotes maps names to URLs, insteadOf applied. They may hold credentials: print only RedactURL of them.
	Remotes map[string]string
	// Shallow, Sparse and Partial tell that commits, files or blobs may be missing here.
	Shallow bool
	Sparse  bool
	Partial bool
	// Linked tells of a linked worktree, Submodule of a submodule's checkout.
	Linked    bool
	Submodule bool

	upstream string
	// raw are the URLs before insteadOf, which must be applied only once.
	raw map[string]string
}

// Discover finds the checkout that encloses dir: the nearest directory with a .git directory or file. A bare repository
// that lies about inside a checkout is never taken for one. Without one the error is ErrNoRepository. Only the
// repository's own configuration is read; DiscoverEnv knows the user's as well.
func Discover(dir string) (Repo, error) { return DiscoverEnv(dir, nil) }

// DiscoverEnv is Discover with the user's and the system's configuration, found through env, so that their insteadOf and
// their includes apply to Remotes.
func DiscoverEnv(dir string, env func(string) string) (Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, err
	}
	for at := abs; ; at = filepath.Dir(at) {
		gitDir, err := gitDirAt(at)
		if err != nil {
			return Repo{}, err
		}
		if gitDir != "" {
			return readRepo(at, gitDir, env)
		}
		if at == filepath.Dir(at) {
			return Repo{}, fmt.Errorf("%s: %w", abs, ErrNoRepository)
		}
	}
}

// gitDirAt returns the git directory of a checkout rooted at dir, "" if there is none.
func gitDirAt(dir string) (string, error) {
	dot := filepath.Join(dir, ".git")
	st, err := os.Stat(dot)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if st.IsDir() {
		if !isGitDir(dot) {
			return "", nil // git too looks further up
		}
		return dot, nil
	}
	target, err := readLine(dot)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(target, "gitdir:")
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		return "", fmt.Errorf("%s is not a git file (no \"gitdir:\")", dot)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !isGitDir(path) {
		return "", fmt.Errorf("%s leads to %s, which is not a git repository: was the checkout moved?", dot, path)
	}
	return filepath.Clean(path), nil
}

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common := commonDir(dir)
	for _, sub := range []string{"objects", "refs"} {
		if st, err := os.Stat(filepath.Join(common, sub)); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

func commonDir(gitDir string) string {
	line, err := readLine(filepath.Join(gitDir, "commondir"))
	if err != nil || line == "" {
		return gitDir
	}
	if filepath.IsAbs(line) {
		return filepath.Clean(line)
	}
	return filepath.Join(gitDir, line)
}

// readLine returns the first line of a small file.
func readLine(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // it follows .git as git does, and reads one line
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 4096)
	n, err := f.Read(b)
	if n == 0 && err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return strings.TrimSpace(line), nil
}

func readRepo(root, gitDir string, env func(string) string) (Repo, error) {
	r := Repo{Root: root, GitDir: gitDir, CommonDir: commonDir(gitDir), ObjectFormat: SHA1, Remotes: map[string]string{}, raw: map[string]string{}}
	r.Linked = r.CommonDir != r.GitDir
	r.Submodule = !r.Linked && filepath.Dir(gitDir) != root
	r.readHead()
	cfg, err := r.config(env)
	if err != nil {
		return Repo{}, fmt.Errorf("read the git configuration: %w", err)
	}
	if f, ok := cfg.get("extensions", "", "objectformat"); ok {
		r.ObjectFormat = ObjectFormat(strings.ToLower(f))
	}
	for _, name := range cfg.subs("remote") {
		for _, s := range cfg.settings {
			if s.section == "remote" && s.sub == name && s.key == "url" && s.value != "" {
				r.raw[name], r.Remotes[name] = s.value, cfg.rewrite(s.value)
				break // git fetches from the first
			}
		}
		r.Partial = r.Partial || cfg.bool("remote", name, "promisor")
	}
	if _, ok := cfg.get("extensions", "", "partialclone"); ok {
		r.Partial = true
	}
	r.Sparse = cfg.bool("core", "", "sparsecheckout")
	if st, err := os.Stat(filepath.Join(r.CommonDir, "shallow")); err == nil && st.Size() > 0 {
		r.Shallow = true
	}
	if r.Branch != "" {
		r.upstream, _ = cfg.get("branch", r.Branch, "remote")
	}
	return r, nil
}

// DefaultRemote names the remote that the checkout belongs to: that of HEAD's branch, else "origin", else the only one.
// It is "" where that leaves a choice.
func (r *Repo) DefaultRemote() string {
	if _, ok := r.Remotes[r.upstream]; ok {
		return r.upstream
	}
	if _, ok := r.Remotes["origin"]; ok {
		return "origin"
	}
	if len(r.Remotes) == 1 {
		for name := range r.Remotes {
			return name
		}
	}
	return ""
}

// RemoteNames lists the remotes in alphabetical order.
func (r *Repo) RemoteNames() []string {
	var out []string
	for name := range r.Remotes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// foreign tells that the checkout belongs to another user, whose settings must not make this process run commands or trust
// servers. As for git, safe.directory in the user's own configuration is the way to say otherwise.
func (r *Repo) foreign(user *gitConfig) bool {
	safe := false
	for _, s := range user.settings {
		if s.section != "safe" || s.key != "directory" {
			continue
		}
		dir, below := strings.CutSuffix(s.value, "/*")
		switch {
		case s.value == "":
			safe = false
		case s.value == "*", filepath.Clean(s.value) == r.Root, filepath.Clean(s.value) == r.GitDir,
			below && strings.HasPrefix(r.Root, filepath.Clean(dir)+string(filepath.Separator)):
			safe = true
		}
	}
	if safe {
		return false
	}
	for _, p := range []string{r.CommonDir, r.GitDir, r.Root} {
		if st, err := os.Stat(p); err != nil || !ownedByUs(st) {
			return true
		}
	}
	return false
}
