package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// afterGrace is how long a command that was asked to end may still take when its grace is over: a run records then.
	afterGrace = 10 * time.Second
	// lastWait is how long it may take when nothing is waited for any more: a run keeps its results in a file then.
	lastWait = 5 * time.Second
)

// watchSignals turns the first SIGINT or SIGTERM into a request to end, and the second, or the end of the time that is left
// after the first, into the end: at once for all that is under way, and soon after for the process.
func (a *app) watchSignals(cancel context.CancelFunc) (done func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	quit := make(chan struct{})
	go a.endOn(c, quit, cancel, os.Exit)
	return func() { signal.Stop(c); close(quit) }
}

func (a *app) endOn(asked <-chan os.Signal, quit <-chan struct{}, cancel func(), exit func(int)) {
	const waiting, giving, last = 0, 1, 2
	stage := waiting
	var over <-chan time.Time
	for {
		select {
		case <-quit:
			return
		case <-asked:
		case <-over:
		}
		switch stage {
		case waiting:
			close(a.stop)
			over = time.After(a.graceLeft() + afterGrace)
		case giving:
			cancel()
			over = time.After(lastWait)
		case last:
			fmt.Fprintln(a.err, "broadside: ended before it was done")
			exit(exitFailed)
			return
		}
		stage++
	}
}

// graceLeft is how long a write in flight may take after the process was asked to end.
func (a *app) graceLeft() time.Duration {
	if d := a.graceLimit.Load(); d > 0 {
		return time.Duration(d)
	}
	return a.grace()
}
