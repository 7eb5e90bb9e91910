package ledger

import (
	"os"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestTmpCPU(t *testing.T) {
	tree, s := bigTree(t, 10_000)
	c := cpu()
	w := time.Now()
	for range 10 {
		Load(tree)
	}
	t.Log("events: cpu", (cpu()-c)/10, "wall", time.Since(w)/10)
	changes, _ := Compact(s, tree, t0)
	apply(tree, changes)
	c = cpu()
	w = time.Now()
	for range 10 {
		Load(tree)
	}
	t.Log("archived: cpu", (cpu()-c)/10, "wall", time.Since(w)/10)
	t.Log(treeSize(tree))
}

func TestTmpProf(t *testing.T) {
	tree, s := bigTree(t, 10_000)
	if os.Getenv("ARCH") != "" {
		changes, _ := Compact(s, tree, t0)
		apply(tree, changes)
	}
	f, _ := os.Create("/tmp/load.prof")
	pprof.StartCPUProfile(f)
	for range 30 {
		Load(tree)
	}
	pprof.StopCPUProfile()
	f.Close()
}
