package bubble

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestTimersThatFireAtOnce: the race detector survives timers that fire at once on many goroutines
// of a bubble.
func TestTimersThatFireAtOnce(t *testing.T) {
	for range 10 {
		Test(t, func(*testing.T) {
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
}

// TestProcessors: the process has one processor until the last bubble has ended, then all again.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	for i, step := range []func(){enter, enter, leave, leave} {
		want := 1
		if step(); i == 3 {
			want = before
		}
		if n := runtime.GOMAXPROCS(0); n != want {
			t.Errorf("step %d: %d processors, want %d", i, n, want)
		}
	}
}
