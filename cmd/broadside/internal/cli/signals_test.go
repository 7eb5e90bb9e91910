package cli

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestASecondSignalOrTheEndOfTheGraceEndsTheProcess(t *testing.T) {
	t.Parallel()
	const grace = 7 * time.Second
	for name, c := range map[string]struct {
		signals                []time.Duration // when they come
		stop, canceled, exited time.Duration
	}{
		"one":   {[]time.Duration{time.Second}, time.Second, time.Second + grace + afterGrace, time.Second + grace + afterGrace + lastWait},
		"two":   {[]time.Duration{time.Second, 2 * time.Second}, time.Second, 2 * time.Second, 2*time.Second + lastWait},
		"three": {[]time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, time.Second, 2 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var out bytes.Buffer
				a := &app{err: &out, getenv: func(string) string { return "" }, stop: make(chan struct{})}
				a.graceLimit.Store(int64(grace))
				asked, quit, exited := make(chan os.Signal, 4), make(chan struct{}), make(chan int, 1)
				var stopped, canceled, ended time.Duration
				go func() { <-a.stop; stopped = time.Since(begin) }()
				go a.endOn(asked, quit, func() { canceled = time.Since(begin) }, func(code int) { ended = time.Since(begin); exited <- code })
				for _, at := range c.signals {
					time.Sleep(at - time.Since(begin))
					asked <- syscall.SIGTERM
				}
				if code := <-exited; code != exitFailed {
					t.Errorf("exit code %d", code)
				}
				synctest.Wait()
				if stopped != c.stop || canceled != c.canceled || ended != c.exited {
					t.Errorf("stop at %s, cancel at %s, exit at %s; want %s, %s, %s", stopped, canceled, ended, c.stop, c.canceled, c.exited)
				}
			})
		})
	}
}

func TestACommandThatEndsInTimeIsNotEndedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &app{err: &bytes.Buffer{}, getenv: func(string) string { return "" }, stop: make(chan struct{})}
		asked, quit := make(chan os.Signal, 4), make(chan struct{})
		go a.endOn(asked, quit, func() { t.Error("canceled") }, func(int) { t.Error("exited") })
		asked <- os.Interrupt
		<-a.stop
		close(quit)
		time.Sleep(time.Hour)
	})
}
