package fabric

import (
	"maps"
	"testing"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// TestPortCounters: port_rx counts what comes in once, port_tx what leaves egress, recirculated
// copies at their own port. (On BMv2 the probes of the test are counted too.)
func TestPortCounters(t *testing.T) {
	e := newEmbedded()
	tr := tree{group: newGroup(70, 2), children: []uint32{7}, inband: true}
	request := tr.onTree(tr.request(packet.OpWriteOnly, 1, 8),
		inbandTLVs(edge(node, tr.asTLV(0, 1)...))...)
	frame := plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1),
		Dst: host(2)}, nil)
	for _, c := range []struct {
		name   string
		in     wire
		rx, tx map[int]int
	}{
		{"forwarded", wire{1, frame}, map[int]int{1: 1}, map[int]int{2: 1}},
		{"dropped in ingress", patch(wire{1, frame}, offOuter+7, 1), map[int]int{1: 1}, map[int]int{}},
		{"packet-out", packetOut(p4.PacketOutOpSend, 3, 0, 0, frame...), map[int]int{p4.CpuPort: 1},
			map[int]int{3: 1}},
		{"packet-in", packetOut(p4.PacketOutOpSend, p4.CpuPort, 0, 0, frame...),
			map[int]int{p4.CpuPort: 1}, map[int]int{p4.CpuPort: 1}},
		{
			"replicated: to a child, for the TLVs, for each receiver, to each receiver", in(6, request),
			map[int]int{6: 1},
			map[int]int{7: 1, p4.RecirculationPort: 3, 2: 1, 3: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.reset(t)
			e.write(t, baseEntries())
			e.write(t, append(tr.downward(), fanOut()...))
			e.inject(t, c.in)
			if got := e.counters(t, p4.CounterPortRxID); !maps.Equal(got, c.rx) {
				t.Errorf("port_rx %v, want %v", got, c.rx)
			}
			if got := e.counters(t, p4.CounterPortTxID); !maps.Equal(got, c.tx) {
				t.Errorf("port_tx %v, want %v", got, c.tx)
			}
		})
	}
}
