package gitstore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/broadside-pub/broadside/pipeline/gitstore"
	"github.com/broadside-pub/broadside/pipeline/gitstore/gittest"
)

// TestChildGitIsToldOnlyWhatItNeeds puts a script in git's place that writes down each call.
func TestChildGitIsToldOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the script in git's place is a shell script")
	}
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	argv, environ, temp, marker := filepath.Join(dir, "argv"), filepath.Join(dir, "environ"), filepath.Join(dir, "tmp"), filepath.Join(dir, "marker")
	shim := write(t, filepath.Join(dir, "bin", "git"), "#!/bin/sh\necho \"$@\" >>"+argv+"\nenv >>"+environ+"\nexec "+real+" \"$@\"\n")
	if err := os.Chmod(shim, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	hooks := filepath.Join(home, "hooks")
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = "+hooks+"\n\tfsmonitor = touch "+marker+"\n[init]\n\ttemplateDir = "+home+"\n")
	for _, h := range []string{"pre-push", "reference-transaction", "post-checkout"} {
		if err := os.Chmod(write(t, filepath.Join(hooks, h), "#!/bin/sh\ntouch "+marker+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	srv, _, r := httpRemote(t, gitstore.TransportGit, func(o *gitstore.Options) {
		o.TokenEnv = "TOKEN"
		o.Env = clean(home, "TOKEN="+password, "PATH="+filepath.Dir(shim)+":"+os.Getenv("PATH"), "TMPDIR="+temp,
			"AGE_KEY=AGE-SECRET-KEY-1", "GIT_DIR=/nowhere", "GIT_WORK_TREE=/nowhere")
	})
	srv.SetAuth("x-access-token", password)
	s := built(t, r, nil, "a", "1")
	if res := r.Push(t.Context(), one(ledger, "", s)); res.Outcome != gitstore.Landed {
		t.Fatal(res.Err)
	}
	if _, err := r.Fetch(t.Context(), ledger, gitstore.FetchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.History(t.Context(), ledger, "a", 1); err != nil {
		t.Fatal(err)
	}
	closing(t, r)
	calls, err := os.ReadFile(argv)
	if err != nil {
		t.Fatal(err)
	}
	for call := range strings.Lines(string(calls)) {
		if strings.Contains(call, "s3cret") || strings.Contains(call, strings.TrimPrefix(basic(), "basic ")) {
			t.Errorf("a secret is among the arguments of: %s", call)
		}
		if !strings.HasPrefix(call, "--git-dir=") && !strings.HasPrefix(call, "init ") {
			t.Errorf("no explicit repository: %s", call)
		}
		if strings.Contains(call, " push ") && (!strings.Contains(call, "core.hooksPath=/dev/null") || !strings.Contains(call, "safe.bareRepository=explicit") ||
			!strings.Contains(call, "--force-with-lease="+ledger+": ") || strings.Contains(call, "--force ") || strings.Contains(call, " +")) {
			t.Errorf("push: %s", call)
		}
	}
	env, err := os.ReadFile(environ)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"AGE_KEY", "TOKEN=", "GIT_DIR=", "GIT_WORK_TREE="} {
		if strings.Contains("\n"+string(env), "\n"+bad) {
			t.Errorf("%s reached git", bad)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a hook or a monitor of the user was run")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLocalRemoteKeepsItsOwnHooks(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{gitstore.TransportGo, gitstore.TransportGit} {
		bare := gittest.Bare(t, filepath.Join(t.TempDir(), "repo.git"), "sha1")
		gittest.Hook(t, bare, "pre-receive", "echo 'declined by the house' >&2\nexit 1\n")
		r := opening(t, gitstore.Options{URL: bare, Transport: transport})
		defer closing(t, r)
		res := r.Push(t.Context(), one(ledger, "", built(t, r, nil, "a", "1")))
		if res.Outcome != gitstore.Rejected || !strings.Contains(res.Err.Error(), "declined by the house") {
			t.Errorf("%s: %v: %v", transport, res.Outcome, res.Err)
		}
	}
}
