// Package damping computes when a failed object may be used again, so that flapping causes few
// changes.
package damping

import "time"

// Backoff is how long a failed object must be well before it is used again: the time doubles with
// every failure, up to a limit, and starts again after a calm. So a flapping object causes few
// changes, however fast it flaps (as in RFC 2439 for routes, with the exponential back-off of RFC
// 8405 instead of a penalty). The zero value has no failures.
type Backoff struct {
	fails int
	last  time.Duration // the last failure
}

// Failed records a failure. After a calm time without failures, the failure counts as the first
// again.
func (b *Backoff) Failed(now, calm time.Duration) {
	if b.Calm(now, calm) {
		b.fails = 0
	}
	b.fails++
	b.last = now
}

// Hold returns the time after the last failure: first, doubled with every failure, at most most. It
// is 0 without a failure.
func (b *Backoff) Hold(first, most time.Duration) time.Duration {
	if b.fails == 0 {
		return 0
	}
	d := first
	for i := 1; i < b.fails && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// Calm reports whether the last failure is so long ago that it no longer counts.
func (b *Backoff) Calm(now, calm time.Duration) bool { return b.fails > 0 && now-b.last >= calm }

// Failures returns the number of failures without a calm between them.
func (b *Backoff) Failures() int { return b.fails }
