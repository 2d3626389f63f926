// Package timers runs functions at given times of a clock that its user advances.
package timers

import (
	"time"

	"github.com/weft-sdn/weft/internal/heap"
)

// Timers runs functions at their times: the earliest first, and functions with equal times in the
// order in which they were set. The zero value has no timers.
type Timers struct {
	heap []timer
	seq  uint64
}

type timer struct {
	at  time.Duration
	seq uint64
	do  func()
}

// Set runs a function at a time, or with the next Run if that time has passed.
func (t *Timers) Set(at time.Duration, do func()) {
	t.seq++
	heap.Push(&t.heap, timer{at, t.seq, do}, (*timer).before)
}

// Run runs the functions that are due, including those that become due meanwhile.
func (t *Timers) Run(now time.Duration) {
	for len(t.heap) > 0 && t.heap[0].at <= now {
		heap.Pop(&t.heap, (*timer).before).do()
	}
}

// Next returns the time of the first function; ok is false when there is none.
func (t *Timers) Next() (at time.Duration, ok bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].at, true
}

func (t *timer) before(o *timer) bool { return t.at < o.at || t.at == o.at && t.seq < o.seq }
