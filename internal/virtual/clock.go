// Package virtual has the clock of tests that drive state machines in virtual time, as lab does
// for whole networks. Code that waits on the clock of the machine is tested with testing/synctest
// instead.
package virtual

import (
	"time"

	"github.com/weft-sdn/weft/internal/timers"
)

// Clock is a time that Run moves from one event to the next. The zero value is at 0. It is for
// one goroutine.
type Clock struct {
	now    time.Duration
	timers timers.Timers
}

// Now returns the time.
func (c *Clock) Now() time.Duration { return c.now }

// At runs a function at a time, or with the next event if that time has passed. Functions with
// equal times run in the order of their setting.
func (c *Clock) At(at time.Duration, do func()) { c.timers.Set(at, do) }

// After is At, counted from now.
func (c *Clock) After(d time.Duration, do func()) { c.At(c.now+d, do) }

// Advance does what is due at a time, and returns when something is due next; pending is false
// when nothing is.
type Advance func(now time.Duration) (next time.Duration, pending bool)

// Run lets time pass until done, which may be nil, returns true, or the time is limit. It goes from
// event to event: advance is called at the time of each, after the functions of At. Run reports
// whether done did. Without anything left to do the time is limit at once.
func (c *Clock) Run(limit time.Duration, advance Advance, done func() bool) bool {
	for {
		next, pending := advance(c.now)
		if done != nil && done() {
			return true
		}
		if at, ok := c.timers.Next(); ok && (!pending || at < next) {
			next, pending = at, true
		}
		if !pending || next > limit {
			c.now = max(c.now, limit)
			return false
		}
		c.now = max(c.now, next)
		c.timers.Run(c.now)
	}
}

// Idle has nothing to do: with it, only the functions of At run.
func Idle(time.Duration) (next time.Duration, pending bool) { return 0, false }

// All advances several machines, and returns the earliest time of theirs.
func All[M interface {
	Advance(now time.Duration) (next time.Duration, pending bool)
}](machines ...M) Advance {
	return func(now time.Duration) (next time.Duration, pending bool) {
		for _, m := range machines {
			if at, ok := m.Advance(now); ok && (!pending || at < next) {
				next, pending = at, true
			}
		}
		return next, pending
	}
}
