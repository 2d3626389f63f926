package telemetry

import (
	"math"
	"time"
)

// clock relates the clock of a switch to the clock of the controller: it takes the least delay
// among the samples of the last minute or two as zero. So late samples get their proper time, and a
// wrong clock does no harm.
type clock struct {
	began       int64 // of now, in nanoseconds
	now, before int64 // least difference: of this minute, and of the one before
}

const clockWindow = int64(time.Minute)

// place returns when a switch took a sample, by the controller's clock. It is not after arrived.
func (c *clock) place(taken, arrived time.Time) time.Time {
	if taken.IsZero() {
		return arrived
	}
	at := arrived.UnixNano()
	d := at - taken.UnixNano()
	switch {
	case c.began == 0 || at < c.began || at-c.began >= 2*clockWindow:
		c.began, c.now, c.before = at, d, math.MaxInt64
	case at-c.began >= clockWindow:
		c.began, c.now, c.before = at, d, c.now
	default:
		c.now = min(c.now, d)
	}
	return taken.Add(time.Duration(min(c.now, c.before)))
}
