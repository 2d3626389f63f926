package mrc

import "time"

// backoff says how long something that failed must be well before it is used
// again: a time that doubles with every failure, up to a limit, and begins anew
// after a calm. So the changes that something which flaps can cause are few,
// however fast it does (as RFC 2439 has it for routes, with the exponential
// back-off of RFC 8405 instead of a penalty).
type backoff struct {
	fails int
	last  time.Duration // the last failure
}

// failed notes a failure.
func (b *backoff) failed(now, calm time.Duration) {
	if b.fails > 0 && now-b.last >= calm {
		b.fails = 0
	}
	b.fails++
	b.last = now
}

// hold is the time after the last failure: 0 without one.
func (b *backoff) hold(first, most time.Duration) time.Duration {
	d := first
	for i := 1; i < b.fails && d < most; i++ {
		d *= 2
	}
	if b.fails == 0 {
		return 0
	}
	return min(d, most)
}
