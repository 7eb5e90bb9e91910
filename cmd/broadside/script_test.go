package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/broadside-pub/broadside/cmd/broadside/internal/cli"
	"github.com/broadside-pub/broadside/providers/sandbox/server"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"broadside": func() { os.Exit(cli.Main(os.Args[1:])) },
	})
}

// scripts is where the scripts are. The first line of each says which promise it keeps.
const scripts = "testdata/script"

func TestScripts(t *testing.T) {
	found, err := filepath.Glob(scripts + "/*.txtar")
	if err != nil || len(found) == 0 {
		t.Fatalf("no scripts in %s: %v", scripts, err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		Setup:               setUp,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready":    cmdReady,
			"sandbox":  cmdSandbox,
			"account":  cmdAccount,
			"fault":    cmdFault,
			"posts":    cmdPosts,
			"postid":   cmdPostID,
			"revoke":   cmdRevoke,
			"exit":     cmdExit,
			"mode":     cmdMode,
			"ago":      cmdAgo,
			"repo":     cmdRepo,
			"commit":   cmdCommit,
			"jsonpath": cmdJSONPath,
		},
	})
}

// setUp gives a script a home of its own and a git that knows nobody else's configuration.
func setUp(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	config := filepath.Join(home, "gitconfig")
	const text = "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n[advice]\n\tdetachedHead = false\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_TERMINAL_PROMPT": "0", "USER": "tester", "TZ": "UTC", "NO_COLOR": "1", "CI": "", "GITHUB_ACTIONS": "",
	} {
		e.Setenv(k, v)
	}
	return nil
}

// network is the sandbox of one script.
type network struct {
	*server.Server
	http *httptest.Server
}

// nets holds the sandbox of every running script, by its working directory.
var nets sync.Map

func netOf(ts *testscript.TestScript) *network {
	n, ok := nets.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no sandbox runs: start one with `sandbox HANDLE...`")
	}
	return n.(*network)
}

// cmdSandbox starts a sandbox: sandbox HANDLE... It sets $SANDBOX to its address and writes each account's token to
// $WORK/HANDLE.token. A handle with a leading ~ gets a token that expires.
func cmdSandbox(ts *testscript.TestScript, neg bool, handles []string) {
	if neg || len(handles) == 0 {
		ts.Fatalf("usage: sandbox HANDLE...")
	}
	n := &network{Server: server.New(server.Options{Now: time.Now})}
	n.http = httptest.NewServer(n.Server)
	ts.Defer(n.http.Close)
	nets.Store(ts.Getenv("WORK"), n)
	ts.Setenv("SANDBOX", n.http.URL)
	for _, h := range handles {
		cmdAccount(ts, false, []string{h})
	}
}

// cmdAccount makes an account, or gives one that is there a new token after revoke: account HANDLE.
func cmdAccount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: account HANDLE")
	}
	handle, expiring := strings.CutPrefix(args[0], "~")
	n := netOf(ts)
	var l server.Login
	var err error
	if expiring {
		l, err = n.AddExpiring(handle)
	} else {
		l, err = n.AddAccount(handle)
	}
	ts.Check(err)
	writeLogin(ts, l)
}

func writeLogin(ts *testscript.TestScript, l server.Login) {
	text := l.Token + "\n"
	if l.RefreshToken != "" {
		text += l.RefreshToken + "\n" + l.Expires.UTC().Format(time.RFC3339) + "\n"
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), l.Handle+".token"), []byte(text), 0o600))
}

// cmdRevoke makes an account's token invalid and writes a new one to its file: revoke HANDLE.
func cmdRevoke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: revoke HANDLE")
	}
	n := netOf(ts)
	ts.Check(n.Revoke(args[0]))
	l, err := n.Renew(args[0])
	ts.Check(err)
	writeLogin(ts, l)
}

// cmdFault adds a rule: fault key=value... with the keys of the sandbox's rules, fault=drop_after for instance.
func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fault key=value...")
	}
	fields := map[string]any{}
	for _, a := range args {
		k, v, ok := strings.Cut(a, "=")
		if !ok {
			ts.Fatalf("fault: %q is not key=value", a)
		}
		fields[k] = v
		if n, err := strconv.ParseFloat(v, 64); err == nil && k != "post" && k != "account" && k != "text" {
			fields[k] = n
		}
		if v == "true" {
			fields[k] = true
		}
	}
	raw, err := json.Marshal(fields)
	ts.Check(err)
	var r server.Rule
	ts.Check(json.Unmarshal(raw, &r))
	_, err = netOf(ts).AddRule(r)
	ts.Check(err)
}

// cmdPosts checks what an account shows, the oldest first, one line each, line breaks as \n: posts HANDLE TEXT... With no
// text it must show nothing.
func cmdPosts(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: posts HANDLE TEXT...")
	}
	got := []string{}
	for _, p := range netOf(ts).Posts(args[0]) {
		got = append(got, strings.ReplaceAll(p.Text, "\n", `\n`))
	}
	same := strings.Join(got, "\n") == strings.Join(args[1:], "\n") && len(got) == len(args)-1
	if same == neg {
		ts.Fatalf("@%s shows %d posts: %q", args[0], len(got), got)
	}
}

// cmdPostID sets a variable to the id of a post that an account shows, the oldest being 0: postid NAME HANDLE INDEX.
func cmdPostID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: postid NAME HANDLE INDEX")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	posts := netOf(ts).Posts(args[1])
	if n >= len(posts) {
		ts.Fatalf("@%s shows %d posts", args[1], len(posts))
	}
	ts.Setenv(args[0], posts[n].ID)
}

// cmdExit runs a command and wants this exit code: exit CODE PROGRAM ARG... Its output is there for stdout and stderr.
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		coded := interface{ ExitCode() int }(nil)
		if !errors.As(err, &coded) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = coded.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdMode wants a file's permission bits: mode 0600 FILE. A pattern must find one file.
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mode OCTAL FILE")
	}
	found, err := filepath.Glob(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s finds %d files", args[1], len(found))
	}
	st, err := os.Stat(found[0])
	ts.Check(err)
	if got := fmt.Sprintf("%04o", st.Mode().Perm()); (got == args[0]) == neg {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}

// cmdAgo sets a variable to a time from now, RFC 3339 in UTC: ago NAME DURATION (negative: to come).
func cmdAgo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ago NAME DURATION")
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	ts.Setenv(args[0], time.Now().Add(-d).UTC().Format(time.RFC3339))
}

// cmdRepo makes a bare remote $WORK/NAME.git and a checkout $WORK/NAME with one commit on main, and goes there: repo NAME.
func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo NAME")
	}
	work := ts.Getenv("WORK")
	bare, dir := filepath.Join(work, args[0]+".git"), filepath.Join(work, args[0])
	for _, c := range [][]string{
		{"init", "-q", "--bare", bare},
		{"init", "-q", dir},
		{"-C", dir, "remote", "add", "origin", bare},
		{"-C", dir, "commit", "-q", "--allow-empty", "-m", "Start"},
		{"-C", dir, "push", "-q", "-u", "origin", "main"},
	} {
		ts.Check(ts.Exec("git", c...))
	}
	ts.Check(ts.Chdir(dir))
}

// cmdCommit commits and pushes everything in the present directory: commit MESSAGE.
func cmdCommit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: commit MESSAGE")
	}
	ts.Check(ts.Exec("git", "add", "-A"))
	ts.Check(ts.Exec("git", "commit", "-q", "-m", args[0]))
	ts.Check(ts.Exec("git", "push", "-q"))
}

// cmdJSONPath wants a value in the JSON of a file or of stdout: jsonpath FILE PATH VALUE, PATH like a.0.b; "len" counts.
func cmdJSONPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: jsonpath FILE PATH VALUE")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &v); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	for step := range strings.SplitSeq(args[1], ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[step]
		case []any:
			if step == "len" {
				v = float64(len(t))
				continue
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(t) {
				ts.Fatalf("%s: the list has %d items", args[1], len(t))
			}
			v = t[i]
		default:
			ts.Fatalf("%s: %q leads nowhere", args[1], step)
		}
	}
	if got := fmt.Sprint(v); (got == args[2]) == neg {
		ts.Fatalf("%s is %q", args[1], got)
	}
}
