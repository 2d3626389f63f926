package controller

import (
	"container/heap"
	"time"
)

// timers run functions when their time has come, those of the same time in the
// order they were set.
type timers struct {
	heap timerHeap
	seq  uint64
}

type timer struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (t *timers) set(at time.Duration, do func()) {
	t.seq++
	heap.Push(&t.heap, timer{at, t.seq, do})
}

// run runs what is due, also what becomes due meanwhile.
func (t *timers) run(now time.Duration) {
	for len(t.heap) > 0 && t.heap[0].at <= now {
		heap.Pop(&t.heap).(timer).do()
	}
}

// next returns the time of the first one.
func (t *timers) next() (time.Duration, bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].at, true
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return t
}
