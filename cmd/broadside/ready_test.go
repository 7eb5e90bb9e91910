package main

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdReady makes everything that publishing needs: ready HANDLE... It starts a sandbox with these accounts, makes the
// repository $WORK/home with a destination for each, its ledger and key, pushes it, and goes there. The first post of init
// is left out.
func cmdReady(ts *testscript.TestScript, neg bool, handles []string) {
	if neg || len(handles) == 0 {
		ts.Fatalf("usage: ready HANDLE...")
	}
	cmdSandbox(ts, false, handles)
	cmdRepo(ts, false, []string{"home"})
	key := filepath.Join(ts.Getenv("WORK"), ".home", "age.key")
	ts.Check(ts.Exec("broadside", "init", "--timezone", "Europe/Berlin", "--key-file", key, "--workflow=false"))
	ts.Setenv("BROADSIDE_AGE_KEY_FILE", key)
	ts.Check(os.Remove(ts.MkAbs("posts/welcome.md")))
	for _, h := range handles {
		ts.Check(ts.Exec("sh", "-c", `broadside auth add "$1" --provider sandbox --server "$SANDBOX" --account "$1" --allow-private < "$WORK/$1.token"`, "sh", h))
	}
	cmdCommit(ts, false, []string{"Set up"})
}
