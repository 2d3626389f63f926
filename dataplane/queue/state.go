package queue

import (
	"iter"
	"maps"
	"slices"
)

// State is one priority queue of a port at a moment.
type State struct {
	Port     uint32
	Priority int
	Packets  int    // that wait
	Depth    int    // how many may wait; 0 is no limit
	Rate     uint64 // packets a second that may leave; 0 is no limit
	Counts
}

// Counts count the packets of a queue by their fate, since the start of the switch.
type Counts struct {
	Sent, SentOctets       uint64 // left the switch, as they did
	Dropped, DroppedOctets uint64 // found no room, as received
	Longest                uint64 // octets that waited at once, as received
}

func (c *Counts) refused(octets uint32) {
	c.Dropped++
	c.DroppedOctets += uint64(octets)
}

// States yields the queues of the ports that have sent something or were set up, by port and
// priority.
func (m *Manager[P]) States() iter.Seq[State] {
	return func(yield func(State) bool) {
		for _, port := range slices.Sorted(maps.Keys(m.ports)) {
			for prio, q := range m.ports[port].q {
				if !yield(State{port, prio, q.size, q.depth, q.rate, q.counts}) {
					return
				}
			}
		}
	}
}

// SetDepth limits the packets in a queue, 0 is no limit. A negative priority is all of them,
// AllPorts every port.
func (m *Manager[P]) SetDepth(port uint32, priority, packets int) {
	for i := range m.chosen(priority) {
		if port == AllPorts {
			m.depth[i] = packets
		}
		for p := range m.portsOf(port) {
			p.q[i].depth = packets
		}
	}
}

// SetRate limits the packets a second that leave a queue, 0 is no limit. A negative priority is all
// of them, AllPorts every port.
func (m *Manager[P]) SetRate(port uint32, priority int, packetsPerSecond uint64) {
	for i := range m.chosen(priority) {
		if port == AllPorts {
			m.rate[i] = packetsPerSecond
		}
		for p := range m.portsOf(port) {
			p.q[i].rate = packetsPerSecond
		}
	}
}

// chosen yields a priority, or all of them for a negative one.
func (m *Manager[P]) chosen(priority int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range m.prios {
			if (priority < 0 || i == priority) && !yield(i) {
				return
			}
		}
	}
}

// portsOf yields the queues of a port or, for AllPorts, of all ports with queues.
func (m *Manager[P]) portsOf(port uint32) iter.Seq[*portQueues[P]] {
	if port == AllPorts {
		return maps.Values(m.ports)
	}
	return func(yield func(*portQueues[P]) bool) { yield(m.port(port)) }
}
