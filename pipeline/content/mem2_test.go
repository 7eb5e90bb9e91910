package content_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano()) + time.Duration(r.Stime.Nano())
}

func BenchmarkCPU(b *testing.B) {
	cfg, infos := testConfig(b)
	for b.Loop() {
		u := cpu()
		benchValidate(b, "/tmp/benchrepo", cfg, infos)
		u2 := cpu()
		libraries(b, "/tmp/benchrepo")
		u3 := cpu()
		fmt.Println("ours", u2-u, "libs", u3-u2, float64(u2-u)/float64(u3-u2))
	}
}
