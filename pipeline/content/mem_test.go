package content_test

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/broadside-pub/broadside/pipeline/content"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func BenchmarkMem(b *testing.B) {
	folder := benchRepository(b)
	cfg, infos := testConfig(b)
	root, _ := os.OpenRoot(folder)
	for b.Loop() {
		c := cpu()
		tree, _ := content.Load(b.Context(), content.Dir(root), cfg, infos)
		c2 := cpu()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Printf("sys %d MB heapalloc %d total %d cpu %v\n", m.Sys>>20, m.HeapAlloc>>20, m.TotalAlloc>>20, c2-c)
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Printf("live %d\n", m.HeapAlloc>>20)
		runtime.KeepAlive(tree)
		c = cpu()
		libraries(b, folder)
		fmt.Println("libs cpu", cpu()-c)
	}
}
