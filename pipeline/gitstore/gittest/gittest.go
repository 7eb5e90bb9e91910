// Package gittest makes real git remotes for tests: bare repositories, a smart-HTTP server over git http-backend and an ssh
// server in this process, with faults at will. It needs the git command.
package gittest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// Env is an environment for git that no configuration of the machine reaches. home may be empty.
func Env(home string) []string {
	if home == "" {
		home = os.DevNull
	}
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "TMPDIR=" + os.TempDir(),
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
	}
}

// Getenv is Env as a function, for gitstore.Options.Env; more are further NAME=value pairs, which win.
func Getenv(home string, more ...string) func(string) string {
	m := map[string]string{}
	for _, kv := range append(Env(home), more...) {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return func(name string) string { return m[name] }
}

// Run runs git in dir and returns what it printed.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	return run(ctx, dir, nil, args...)
}

func run(ctx context.Context, dir string, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = Env("")
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimRight(stdout.String(), "\n"), nil
}

// Git is Run for a test, which it fails on an error.
func Git(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	out, err := Run(tb.Context(), dir, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Bare makes a bare repository at dir, with its directories; format is "sha1" or "sha256".
func Bare(tb testing.TB, dir, format string) string {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	Git(tb, dir, "init", "-q", "--bare", "-b", "main", "--object-format="+format, ".")
	Git(tb, dir, "config", "http.receivepack", "true")
	return dir
}

// AllowPartial lets clients leave out blobs and ask for them by id, as the large forges do.
func AllowPartial(tb testing.TB, repo string) {
	tb.Helper()
	Git(tb, repo, "config", "uploadpack.allowFilter", "true")
	Git(tb, repo, "config", "uploadpack.allowAnySHA1InWant", "true")
}

// Commit adds a commit to a branch of a repository as another user's push would, and returns its id. A nil content removes
// the file. ref is a full name.
func Commit(tb testing.TB, repo, ref, message string, files map[string][]byte) string {
	tb.Helper()
	id, err := TryCommit(tb.Context(), repo, ref, message, files)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// TryCommit is Commit outside of a test's goroutine.
func TryCommit(ctx context.Context, repo, ref, message string, files map[string][]byte) (string, error) {
	var b bytes.Buffer
	old, _ := Run(ctx, repo, "rev-parse", "--verify", "-q", ref)
	fmt.Fprintf(&b, "commit %s\ncommitter Other <other@example.com> now\ndata %d\n%s\n", ref, len(message), message)
	if old != "" {
		fmt.Fprintf(&b, "from %s\n", old)
	}
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, p := range paths {
		if files[p] == nil {
			fmt.Fprintf(&b, "D %s\n", p)
			continue
		}
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", p, len(files[p]), files[p])
	}
	if _, err := run(ctx, repo, b.Bytes(), "fast-import", "--quiet", "--force", "--date-format=now"); err != nil {
		return "", err
	}
	return Run(ctx, repo, "rev-parse", ref)
}

// Tip is the commit of a ref, "" if there is none.
func Tip(tb testing.TB, repo, ref string) string {
	tb.Helper()
	out, _ := Run(tb.Context(), repo, "rev-parse", "--verify", "-q", ref)
	return out
}

// Hook writes an executable hook script into a bare repository.
func Hook(tb testing.TB, repo, name, script string) {
	tb.Helper()
	file := filepath.Join(repo, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		tb.Fatal(err)
	}
}
