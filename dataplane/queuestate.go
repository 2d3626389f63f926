package dataplane

import (
	"iter"
	"maps"
	"slices"
)

// QueueState is one priority queue of a port at a moment.
type QueueState struct {
	Port     uint32
	Priority int
	Packets  int    // that wait
	Depth    int    // how many may wait; 0 is no limit
	Rate     uint64 // packets a second that may leave; 0 is no limit
}

// Queues yields the queues of the ports that have sent something or were
// configured, by port and priority.
func (s *Switch) Queues() iter.Seq[QueueState] {
	return func(yield func(QueueState) bool) {
		for _, port := range slices.Sorted(maps.Keys(s.queues.ports)) {
			for prio, q := range s.queues.ports[port].q {
				if !yield(QueueState{port, prio, q.size, q.depth, q.rate}) {
					return
				}
			}
		}
	}
}
