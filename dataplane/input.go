package dataplane

import "github.com/weft-sdn/weft/internal/ring"

// inputs holds the received frames that wait, in a queue for each port. Ports take turns: a flood
// on one port neither fills the places of other ports, nor delays their frames by more than one
// frame of each port.
type inputs struct {
	near  []*inputQueue // of low port numbers
	ports map[uint32]*inputQueue
	turns ring.Ring[*inputQueue] // those in which a frame waits
	n     int
}

type inputQueue = ring.Ring[inItem]

// nearPorts is how many port numbers are looked up without a map.
const nearPorts = 1024

func (in *inputs) of(port uint32) *inputQueue {
	if port < uint32(len(in.near)) && in.near[port] != nil {
		return in.near[port]
	}
	q := in.ports[port]
	if q == nil {
		if q = new(inputQueue); in.ports == nil {
			in.ports = map[uint32]*inputQueue{}
		}
		in.ports[port] = q
	}
	if port < nearPorts {
		for uint32(len(in.near)) <= port {
			in.near = append(in.near, nil)
		}
		in.near[port] = q
	}
	return q
}

// push adds a frame to its port's queue, which has room.
func (in *inputs) push(q *inputQueue, it inItem) {
	if q.Len() == 0 {
		in.turns.Push(q)
	}
	q.Push(it)
	in.n++
}

// pop takes a frame of the port whose turn it is. It lies there until the next
// push.
func (in *inputs) pop() *inItem {
	q := in.turns.Pop()
	it := q.Take()
	if q.Len() > 0 {
		in.turns.Push(q)
	}
	in.n--
	return it
}
