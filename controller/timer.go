package controller

import (
	"time"

	"github.com/weft-sdn/weft/internal/heap"
)

// timers run functions when their time has come, those of the same time in the
// order they were set.
type timers struct {
	heap []timer
	seq  uint64
}

type timer struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (t *timers) set(at time.Duration, do func()) {
	t.seq++
	heap.Push(&t.heap, timer{at, t.seq, do}, (*timer).before)
}

// run runs what is due, also what becomes due meanwhile.
func (t *timers) run(now time.Duration) {
	for len(t.heap) > 0 && t.heap[0].at <= now {
		heap.Pop(&t.heap, (*timer).before).do()
	}
}

// next returns the time of the first one.
func (t *timers) next() (time.Duration, bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].at, true
}

func (t *timer) before(o *timer) bool { return t.at < o.at || t.at == o.at && t.seq < o.seq }
