package sim

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	runMutants = flag.Bool("sim.mutants", false, "build every mutant and see that the simulation catches it")
	oneMutant  = flag.String("sim.mutant", "", "only the mutants whose name matches")
)

// edit is one place at which a mutant differs from the program.
type edit struct{ file, old, new string }

// mutant is the program with one protection taken out. It is built from the sources with `go test -overlay`, so that
// nothing of it is in the program.
type mutant struct {
	name  string
	edits []edit
}

var mutants = []mutant{
	{"publish before the claim is pushed", []edit{{
		"pipeline/publish/deliver.go",
		"	err = r.j.Append(ctx, r.expect(), func(tx *journal.Tx) error {\n		c = nil\n",
		"	_, err = journal.Dry(r.j.State().Fork(), r.j.Stamp(), func(tx *journal.Tx) error {\n		c = nil\n",
	}}},
	{"an ambiguous answer is tried again", []edit{{
		"pipeline/publish/outcome.go",
		"		j.verdict, j.reason = doubt, pipeline.ReasonAmbiguous\n		return j\n",
		"		return wait(pipeline.ReasonNotSent, time.Time{})\n",
	}}},
	{"no fence before a write", []edit{
		{"pipeline/publish/fence.go", "	now := l.clock.Wall()\n	switch {\n", "	now := l.clock.Wall()\n	switch {\n	case true:\n		return nil\n"},
		{
			"pipeline/publish/fence.go", "	left := min(l.mono-l.clock.Mono(), l.until.Sub(l.clock.Wall())) - l.fence.CutBefore\n",
			"	left := time.Hour\n",
		},
	}},
	{"no deadline at the fence", []edit{{
		"pipeline/publish/fence.go", "	case !l.by.IsZero() && now.After(l.by):\n", "	case false:\n",
	}}},
	{"the checkout is trusted", []edit{{
		"pipeline/publish/tree.go", "	if err != nil || BlobID(b, len(e.Blob)) != e.Blob {\n", "	if err != nil {\n",
	}}},
	{"a refresh does not take over", []edit{{
		"pipeline/publish/account.go", "			return errSuperseded\n", "			_ = errSuperseded\n",
	}}},
	{"a refreshed token is not pushed", []edit{{
		"pipeline/publish/account.go", "		tx.File(gitstore.Change{Path: path, Data: data})\n", "		_ = gitstore.Change{}\n",
	}}},
	{"another key on every claim", []edit{{
		"pipeline/publish/deliver.go", "Key: c.parts[i].Key, Payload", "Key: c.parts[i].Key + c.attempt, Payload",
	}}},
	{"a finder's single read is believed", []edit{{
		"pipeline/publish/reconcile.go", "		reads = 2\n", "		reads = 1\n",
	}}},
	{"absence is believed before the fence has ended", []edit{{
		"pipeline/publish/reconcile.go", "		case errors.Is(err, providers.ErrNotFound) && fenceOver:\n", "		case errors.Is(err, providers.ErrNotFound):\n",
	}}},
	{"archived events are folded twice", []edit{
		{"pipeline/ledger/compact.go", "		out = append(out, FileChange{Path: e.Path, Remove: true})\n", "		_ = e\n"},
	}},
	{"compaction forgets which deliveries it has archived", []edit{{
		"pipeline/ledger/compact.go", "slices.Concat(rewrite[p], keep[p])", "append(rewrite[p], keep[p]...)",
	}}},
	{"a push's nil is believed", []edit{{
		"pipeline/sim/ledger_test.go", "var lostPush = memgit.Lost\n", "var lostPush = memgit.Lie\n",
	}}},
	{"a lost answer to a push counts as landed", []edit{{
		"pipeline/journal/append.go", "	case gitstore.Landed:\n		j.adopt(prop, prop.snap.Commit())\n", "	case gitstore.Landed, gitstore.Unknown:\n		j.adopt(prop, prop.snap.Commit())\n",
	}, {"pipeline/journal/append.go", "	case gitstore.LostRace, gitstore.Unknown, gitstore.NotSent:\n	}\n	refs, err := j.opt.Remote.Refs(ctx)\n	if err != nil {\n		return false, true", "	case gitstore.LostRace, gitstore.NotSent:\n	}\n	refs, err := j.opt.Remote.Refs(ctx)\n	if err != nil {\n		return false, true"}}},
	{"a mark that is behind is not brought up", []edit{{
		"pipeline/journal/append.go", "			if prop.updates[0].Old != prop.updates[1].Old {\n", "			if prop == nil {\n",
	}}},
	{"a stale lease counts as surely unpublished", []edit{
		{"pipeline/publish/plan.go", "h.tx.State.StaleLease(h.tx.Stamp, d.ID, \"run \"+o.Run+\" did not come back before its lease ended\")", "h.tx.State.Queue(h.tx.Stamp, d.ID, pipeline.ReasonInterrupted, \"run \"+o.Run, now, ledger.ByRun)"},
		{"pipeline/ledger/ending.go", "		if e.Run != open.Run && m != MoveStaleLease {\n", "		if false {\n"},
	}},
	{"a lease is stale as soon as it has ended", []edit{{
		"pipeline/publish/fence.go", "	return f.StaleAfter + longest/max(f.by, 1)\n", "	return 0 * longest / max(f.by, 1) * f.StaleAfter\n",
	}, {"pipeline/publish/fence.go", "StaleAfter: 5 * time.Minute", "StaleAfter: -9 * time.Minute"}}},
	{"receipts are not awaited between parts", []edit{{
		"pipeline/publish/deliver.go", "		stored, err := r.receipt(ctx, c, i, rec, \"response\")\n",
		"		stored := ledger.PartReceipt{Part: i, ID: rec.ID, URL: rec.URL, Ref: rec.Ref}\n		defer func() { _, _ = r.receipt(ctx, c, i, rec, \"response\") }()\n",
	}}},
	{"late on arrival is ignored", []edit{{
		"pipeline/publish/plan.go", "	if moved && open && ", "	if false && moved && open && ",
	}}},
	{"the claim does not ask whether the content has moved", []edit{{
		"pipeline/publish/deliver.go", "	err = r.j.Append(ctx, r.expect(), func(tx *journal.Tx) error {\n		c = nil\n", "	err = r.j.Append(ctx, nil, func(tx *journal.Tx) error {\n		c = nil\n",
	}}},
	{"new times are ignored after a doubt", []edit{{
		"pipeline/publish/deliver.go", "len(d.Receipts) == 0 && (err != nil || !w.Due.Equal(d.Due) || !w.By.Equal(d.By))", "false && (err != nil || !w.Due.Equal(d.Due) || !w.By.Equal(d.By))",
	}}},
	{"the end of a key's window is ignored", []edit{
		{"pipeline/publish/fence.go", "	case !l.keyEnd.IsZero() && !now.Before(l.keyEnd):\n", "	case false:\n"},
		{"pipeline/publish/deliver.go", " || window > 0 && !tx.Now.Before(sent.Add(window))", " || sent.IsZero()"},
		{"pipeline/publish/reconcile.go", "	if rule.Window > 0 && !r.clock.Wall().Add(r.opt.Fence.CutBefore).Before(end) {\n", "	if end.IsZero() {\n"},
	}},
	{"the mark is not looked at", []edit{{
		"pipeline/journal/refusal.go", "	if mark == snap.Commit() {\n		return nil\n	}\n", "	if mark == snap.Commit() || mark != \"\" {\n		return nil\n	}\n",
	}}},
	{"a ledger that is longer is taken for the same", []edit{{
		"pipeline/journal/journal.go", " && goesOn(have, snap) {\n", " && (true || goesOn(have, snap)) {\n",
	}}},
	{"the signature is not looked at", []edit{{
		"pipeline/journal/refusal.go", "gitstore.VerifySSH(snap.Raw(), []ssh.PublicKey{key}); err != nil {", "gitstore.VerifySSH(snap.Raw(), []ssh.PublicKey{key}); err != nil && false {",
	}}},
	{"a ledger may be at home anywhere", []edit{{
		"pipeline/journal/refusal.go", "	if opt.Home.URL == \"\" || opt.AnyHome {\n", "	if opt.Home.URL != \"\" || opt.AnyHome {\n",
	}}},
	{"a credential may belong to any ledger", []edit{{
		"pipeline/vault/bound.go", "		{\"ledger\", cred.Ledger, ledgerID},\n", "		{\"ledger\", ledgerID, ledgerID},\n",
	}}},
	{"a credential may belong to any account", []edit{{
		"pipeline/publish/account.go", "		if acct.ID != \"\" && acct.ID != id {\n", "		if acct.ID == \"\" && acct.ID != id {\n",
	}}},
	{"holds are ignored", []edit{{
		"pipeline/ledger/guards.go", "	if len(s.Holds) == 0 {\n		return Hold{}, false\n	}\n	var found", "	if len(s.Holds) >= 0 {\n		return Hold{}, false\n	}\n	var found",
	}}},
	{"two deliveries of one destination at a time", []edit{{
		"pipeline/ledger/attempt.go", "	if b := s.Busy(d.ID.Target, e.Login); b != nil {\n", "	if b := s.Busy(d.ID.Target, e.Login); b != nil && b.ID == d.ID {\n",
	}}},
	{"the clock is not set right", []edit{{
		"pipeline/publish/run.go", "		r.clock.offset.Store(int64(off))\n", "		_ = off\n",
	}}},
	{"news is noted as told before it is told", []edit{{
		"pipeline/publish/finish.go", "	if r.opt.Tell != nil {\n", "	if false {\n",
	}}},
}

// root is the module's own folder, seen from this package.
const root = "../.."

// apply returns the changed files of a mutant, by path.
func (m mutant) apply() (map[string]string, error) {
	out := map[string]string{}
	for _, e := range m.edits {
		text, ok := out[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%s holds this %d times, not once: %q", e.file, n, e.old)
		}
		out[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return out, nil
}

// TestMutantsFitTheSources fails as soon as a change of the program leaves a mutant behind.
func TestMutantsFitTheSources(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		if _, err := m.apply(); err != nil {
			t.Errorf("mutant %q no longer fits: %v", m.name, err)
		}
	}
}

// mutantSeeds is within how many seeds every mutant must be caught.
const mutantSeeds = 1000

var caughtAt = regexp.MustCompile(`(?m)seed (\d+) breaks: (.*)$`)

// TestMutantsAreCaught builds every mutant and lives through seeds until one breaks a promise.
func TestMutantsAreCaught(t *testing.T) {
	if !*runMutants {
		t.Skip("every mutant is built and run with -sim.mutants")
	}
	only := regexp.MustCompile(*oneMutant)
	var rows [][3]string
	for _, m := range mutants {
		if !only.MatchString(m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			start := time.Now()
			bin := m.build(t)
			run := exec.CommandContext(t.Context(), bin, "-test.run=^TestSim$", fmt.Sprint("-sim.seeds=", mutantSeeds), "-sim.most=1", "-sim.shrink=0")
			out, err := run.CombinedOutput()
			hit := caughtAt.FindSubmatch(out)
			if err == nil || hit == nil {
				t.Fatalf("not caught within %d seeds: %v\n%.3000s", mutantSeeds, err, out)
			}
			rows = append(rows, [3]string{m.name, string(hit[1]), kindOf(string(hit[2]))})
			t.Logf("caught at seed %s after %s: %.160s", hit[1], time.Since(start).Round(time.Second), hit[2])
		})
	}
	if *figures != "" && !t.Failed() {
		writeFigures(t, "mutants", mutantFigures(rows))
	}
}

var particular = regexp.MustCompile(`run\d+|p\d+ -> \S+|\bp\d+\b|"[^"]*"|[0-9a-f]{8,}|\d+h\d+m[\d.]+s|\d+m[\d.]+s|[\d.]+m?s\b|\(\d+(, \d+)*\)|: .*$`)

// kindOf leaves out of a broken promise's text what is only this seed's.
func kindOf(text string) string {
	return strings.TrimSpace(particular.ReplaceAllString(text, "…"))
}

// build makes the mutant's test binary.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	files, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	n := 0
	for file, text := range files {
		from, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		n++
		to := filepath.Join(dir, fmt.Sprintf("%d.go", n))
		if strings.HasSuffix(file, "_test.go") {
			to = filepath.Join(dir, fmt.Sprintf("%d_test.go", n))
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[from] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", bin, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the mutant does not build: %v\n%s", err, out)
	}
	return bin
}
