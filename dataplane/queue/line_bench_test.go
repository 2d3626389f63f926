package queue

import (
	"testing"
	"time"
)

// BenchmarkPorts passes packets over the wires of a switch with 32 mostly idle ports.
func BenchmarkPorts(b *testing.B) {
	m := New[int](Config{Priorities: 8, Depth: 100})
	for port := range uint32(32) {
		m.SetSpeed(port, 1e9)
	}
	now := time.Duration(0)
	for i := range b.N {
		m.Push(Place[int]{Port: uint32(i * 5 % 32), Priority: 3, Octets: 1000}, now)
		for e, _, ok := m.Pop(now); ok; e, _, ok = m.Pop(now) {
			m.Sent(e.Port, e.Priority, now, int(e.Octets))
		}
		now, _ = m.Due()
		now += time.Microsecond
	}
}
