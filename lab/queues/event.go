package queues

import "time"

// event is a frame that has come over a link, a link that is free again, a host to advance, or a function to call.
type event struct {
	at    time.Duration
	order uint64 // of those at one time
	kind  eventKind
	link  *Link
	frame []byte
	host  int
	call  func()
}

type eventKind uint8

const (
	arrives eventKind = iota
	free
	wake
	call
)

// eventHeap is a heap by time. It is container/heap's without an allocation for each event.
type eventHeap []event

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

func (h *eventHeap) push(e event) {
	*h = append(*h, e)
	l := *h
	for i := len(l) - 1; i > 0; {
		up := (i - 1) / 2
		if !l[i].before(&l[up]) {
			return
		}
		l[i], l[up] = l[up], l[i]
		i = up
	}
}

func (h *eventHeap) pop() event {
	l := *h
	n := len(l) - 1
	e := l[0]
	l[0], l[n] = l[n], event{}
	l = l[:n]
	*h = l
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			return e
		}
		if right := down + 1; right < n && l[right].before(&l[down]) {
			down = right
		}
		if !l[down].before(&l[i]) {
			return e
		}
		l[i], l[down] = l[down], l[i]
		i = down
	}
}
