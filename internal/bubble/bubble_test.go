package bubble

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestTimersThatFireAtOnce: the race detector survives timers that fire at once on many goroutines
// of a bubble; after the last bubble the process has its processors again.
func TestTimersThatFireAtOnce(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	enter()
	for range 10 {
		Test(t, func(t *testing.T) {
			if n := runtime.GOMAXPROCS(0); n != 1 {
				t.Errorf("%d processors", n)
			}
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 100 {
						fired := make(chan struct{})
						time.AfterFunc(0, func() { close(fired) })
						<-fired
						<-time.NewTimer(0).C
					}
				})
			}
			all.Wait()
		})
	}
	leave()
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("%d processors, want %d", n, before)
	}
}
