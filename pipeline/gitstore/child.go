package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// passedOn are the variables that a child git gets. Everything else stays here: a child has no use for other secrets, and
// variables such as GIT_DIR or GIT_WORK_TREE would lead it astray.
func passedOn() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH",
		"SYSTEMROOT", "SystemRoot", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA",
		"LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
		"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
		"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_EXEC_PATH",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_PARAMETERS", "GIT_ASKPASS",
		"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "GIT_PROXY_SSL_CAINFO",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	}
}

// gitCommand runs git without prompts and, except for the variables above, without the caller's environment.
type gitCommand struct {
	bin string
	env []string
	// config is passed as GIT_CONFIG_COUNT, where no other process can read it, unlike arguments.
	config []configItem
}

// configItem is one setting of git.
type configItem struct{ key, value string }

func newGitCommand(bin string, env func(string) string) (*gitCommand, error) {
	bin, err := findGit(bin, env)
	if err != nil {
		return nil, err
	}
	g := &gitCommand{bin: bin}
	for _, name := range passedOn() {
		if v := env(name); v != "" {
			g.env = append(g.env, name+"="+v)
		}
	}
	g.env = append(g.env, "LC_ALL=C", "LANGUAGE=C", "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_ALLOW_PROTOCOL=file:http:https:ssh", "GIT_OPTIONAL_LOCKS=0")
	g.config = envConfig(env)
	return g, nil
}

// with adds settings for some runs.
func (g *gitCommand) with(items ...configItem) *gitCommand {
	c := *g
	c.config = append(append([]configItem{}, g.config...), items...)
	return &c
}

// envConfig reads the settings that the environment passes to git.
func envConfig(env func(string) string) []configItem {
	n, err := strconv.Atoi(env("GIT_CONFIG_COUNT"))
	if err != nil || n < 0 || n > 1000 {
		return nil
	}
	var out []configItem
	for i := range n {
		if key := env("GIT_CONFIG_KEY_" + strconv.Itoa(i)); key != "" {
			out = append(out, configItem{key, env("GIT_CONFIG_VALUE_" + strconv.Itoa(i))})
		}
	}
	return out
}

// findGit looks git up on the PATH of env, not on that of this process.
func findGit(bin string, env func(string) string) (string, error) {
	if bin != "" && filepath.IsAbs(bin) {
		return bin, nil
	}
	name := "git"
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	for _, dir := range filepath.SplitList(env("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // never a git out of the checkout
		}
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && (runtime.GOOS == "windows" || st.Mode()&0o111 != 0) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w on PATH", ErrNoGit)
}

// command prepares git with these arguments; it is killed with all its children when ctx ends.
func (g *gitCommand) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.bin, args...) //nolint:gosec // git itself, with arguments of this package and no shell
	cmd.Env = append([]string{}, g.env...)
	if len(g.config) > 0 {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(g.config)))
		for i, c := range g.config {
			cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c.value))
		}
	}
	cmd.Dir = filepath.Dir(g.bin) // any directory outside of a repository
	setGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// output runs git and returns what it printed.
func (g *gitCommand) output(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := g.command(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), &gitError{args: args, text: stderr.String(), err: causeOf(ctx, err)}
	}
	return string(out), nil
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// gitError is a failure of the git command with its own words.
type gitError struct {
	args []string
	text string
	err  error
}

func (e *gitError) Error() string {
	name := "git"
	for _, a := range e.args {
		if !strings.HasPrefix(a, "-") && !strings.Contains(a, "=") {
			name = "git " + a
			break
		}
	}
	if e.text == "" {
		return fmt.Sprintf("%s: %v", name, e.err)
	}
	return fmt.Sprintf("%s: %s", name, clip(e.text, 600))
}

func (e *gitError) Unwrap() error { return e.err }

// startLocal serves a repository on this machine. The repository's own hooks and settings apply: it is the remote, and
// whether it may be trusted is for git's safe.directory to say.
func (g *gitCommand) startLocal(ctx context.Context, svc service, path string) (*process, error) {
	cmd := g.command(context.WithoutCancel(ctx), strings.TrimPrefix(string(svc), "git-"), path)
	p := &process{stderr: &tail{}}
	cmd.Stderr = p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	p.stdin, p.stdout = stdin, stdout
	p.kill = func() { _ = killGroup(cmd) }
	p.wait = func() error {
		err := cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return err
	}
	return p, nil
}
