package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestTurns: a queue pair with only one usable port sends when the port is free, because the queue
// pair keeps its turn while waiting. If the queue pair lost its turn, it would never send here:
// each time the port is free, another queue pair has the turn.
func TestTurns(t *testing.T) {
	const qps, packets, firstQPN = 3, 600, 0x100
	var sent [qps]int
	h := newTestHost(t, 0, 2, func(_ time.Duration, _ int, frame []byte) {
		p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
		if err != nil {
			t.Fatal(err)
		}
		sent[p.BTH.DestQPN-firstQPN]++
	})
	data := make([]byte, packets*4096)
	for i := range qps {
		c := testQPConfig(0, 1, 2)
		c.QPN, c.RemoteQPN = uint32(0x100+i), uint32(firstQPN+i)
		c.Congestion = FixedWindow(2 * len(data))
		if i == 0 {
			c.Sprayer = NewRoundRobin(testPaths(16, 2)[1], testPaths(16, 2)[3])
		}
		q, err := h.CreateQP(c)
		if err != nil {
			t.Fatal(err)
		}
		wr := verbs.WorkRequest{Op: verbs.OpWrite, Data: data, RKey: testRKey}
		if err := q.PostSend(0, wr); err != nil {
			t.Fatal(err)
		}
	}
	for i := range packets { // the ports are free in turn
		h.ports[i%2].free, h.ports[1-i%2].free = 0, time.Second
		if !h.sendOne(0) {
			t.Fatalf("no queue pair sent packet %d", i)
		}
	}
	for i, s := range sent {
		if s < packets/5 {
			t.Errorf("queue pair %d sent %d of %d packets; of all: %v, want a fifth at least", i, s, packets,
				sent)
		}
	}
}
