package mrc

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// repeating is a RoundRobin whose paths may be taken again.
type repeating struct {
	*RoundRobin
	again int
	no    bool
}

func (r *repeating) Again(PathID) bool {
	r.again++
	return !r.no
}

// TestBurst: a queue pair sends so many packets by a path in its turn, and then another queue pair
// has its turn. A path that may not be taken again or whose port is busy ends with the packet.
func TestBurst(t *testing.T) {
	const ports = 2
	for _, c := range []struct {
		name  string
		burst int
		edit  func(h *Host, s *repeating)
		want  string // by packet, the queue pair and the last digit of the entropy value
	}{
		{"none", 0, nil, "A1 B1 A2 B2 A3 B3 A0 B0 A1 B1"},
		{"of three", 3, nil, "A1 A1 A1 B1 B1 B1 A2 A2 B2 B2"},
		{"not again", 3, func(_ *Host, s *repeating) { s.no = true },
			"A1 A2 A3 B1 B1 B1 A0 A1 B2 B2"},
		{"busy port", 3, func(h *Host, _ *repeating) { h.cfg.PacingSlack = 0 },
			"A1 A2 B1 B2 A2 A3 B2 B3 A3 B0"},
	} {
		var got string
		h := newTestHost(t, 0, ports, func(_ time.Duration, _ int, frame []byte) {
			p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf(" %c%d", 'A'+p.BTH.DestQPN-0x100, p.EV()&3)
		})
		h.cfg.Burst, h.cfg.PacingSlack = c.burst, time.Second
		for i := range 2 {
			q := testQPConfig(0, 1, ports)
			q.QPN, q.RemoteQPN = 0x200+uint32(i), 0x100+uint32(i)
			s := &repeating{RoundRobin: NewRoundRobin(testPaths(4, ports)...)}
			q.Sprayer = s
			if c.edit != nil && i == 0 {
				c.edit(h, s)
			}
			qp, err := h.CreateQP(q)
			if err != nil {
				t.Fatal(err)
			}
			if err := qp.PostSend(time.Second, verbs.WorkRequest{Op: verbs.OpWrite,
				Data: make([]byte, 5*4096)}); err != nil {
				t.Fatal(err)
			}
		}
		for now, pending := 2*time.Second, true; pending && now < 2*time.Second+100*time.Microsecond; {
			now, pending = h.Advance(now)
		}
		if got[1:] != c.want {
			t.Errorf("%s: %s, want %s", c.name, got[1:], c.want)
		}
	}
}
