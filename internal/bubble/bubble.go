// Package bubble runs tests in bubbles of testing/synctest.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weft-sdn/weft/internal/race"
)

// running is the number of bubbles under the race detector, and the number of processors before the
// first of these.
var running struct {
	sync.Mutex
	bubbles, processors int
}

// Test is [synctest.Test]. Under the race detector the process has one processor meanwhile: timers
// of a bubble that fire at once, as each connection of bufconn has, share a context of the race
// detector, and the process ends with "ThreadSanitizer: CHECK failed" when two processors use the
// context (https://go.dev/issue/78156).
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if race.Enabled() {
		enter()
		defer leave()
	}
	synctest.Test(t, f)
}

func enter() {
	running.Lock()
	defer running.Unlock()
	if running.bubbles++; running.bubbles == 1 {
		running.processors = runtime.GOMAXPROCS(1)
	}
}

func leave() {
	running.Lock()
	defer running.Unlock()
	if running.bubbles--; running.bubbles == 0 {
		runtime.GOMAXPROCS(running.processors)
	}
}
