package queue

import (
	"time"

	"github.com/weft-sdn/weft/p4"
)

// event is something that the program must hear of a queue: a frame for each.
type event struct {
	w        *watch
	op       p4.TargetOp
	upstream uint8
}

// Events returns how many frames there are for the program.
func (m *Manager[P]) Events() int { return m.events.Len() }

// AppendEvent takes the next event, which must exist, and appends the frame that reports the event
// to the program (p4.TargetFrame).
func (m *Manager[P]) AppendEvent(b []byte, now time.Duration) []byte {
	e := m.events.Pop()
	f := p4.TargetFrame{Op: e.op, Direction: e.w.direction, Port: uint16(e.w.port),
		Priority: uint8(e.w.prio), Upstream: e.upstream}
	b = f.Append(b)
	switch e.op {
	case p4.TargetOpState, p4.TargetOpStorm, p4.TargetOpStormOver:
		b = e.w.report(now).Append(b)
	}
	return b
}

// Query makes an event with the state of a queue; ok is false for a missing queue, or for a queue
// without PFC.
func (m *Manager[P]) Query(direction p4.PfcDirection, port uint32, priority int) (ok bool) {
	if !m.hasPFC(priority) {
		return false
	}
	m.events.Push(event{m.watchOf(direction, port, priority), p4.TargetOpState, 0})
	return true
}

// watchOf returns the watch of a queue, or a temporary watch if the queue has none.
func (m *Manager[P]) watchOf(direction p4.PfcDirection, port uint32, prio int) *watch {
	w := &watch{direction: direction, port: port, prio: prio}
	if direction == p4.PfcDirectionIngress {
		if a := m.arrived[port]; a != nil && a[prio] != nil {
			return a[prio]
		}
		return w
	}
	if p := m.ports[port]; p != nil {
		q := &p.q[prio]
		if q.watch != nil {
			return q.watch
		}
		w.packets, w.octets = q.size, q.octets
	}
	return w
}
