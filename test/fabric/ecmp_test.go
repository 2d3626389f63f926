package fabric

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

func TestECMPEmbedded(t *testing.T) { testECMP(t, newEmbedded()) }

// testECMP sends flows that differ in one field each through a group of four ports: each flow keeps
// to one port, and no port is left out.
func testECMP(t *testing.T, target target) {
	const flows = 200
	dst := addr("fd00:77::1")
	target.reset(t)
	target.write(t, baseEntries())
	target.write(t, append(ecmpGroup(9, 1, 2, 3, 4, 5),
		entry(p4.TableIpv6Route, []any{0, exactly(dst)}, p4.ActionEcmpGroup, 9)))
	tcp := func(ports uint32) []byte {
		return append(binary.BigEndian.AppendUint32(nil, ports), pattern(16)...)
	}
	base := packet.IPv6{NextHeader: 6, HopLimit: 9, Src: host(1), Dst: dst}
	for _, c := range []struct {
		name  string
		frame func(i int) []byte
	}{
		{"flow label", func(i int) []byte {
			h := base
			h.FlowLabel = uint32(i)
			return plain(h, tcp(0))
		}},
		{"source address", func(i int) []byte {
			h := base
			h.Src = addr(fmt.Sprintf("fd00:1::%x", i))
			return plain(h, tcp(0))
		}},
		{"source port", func(i int) []byte { return plain(base, tcp(uint32(i)<<16)) }},
		{"destination port", func(i int) []byte { return plain(base, tcp(uint32(i))) }},
		{"RoCEv2 source port", func(i int) []byte {
			p := arriving(host(1), dst, packet.BTH{Opcode: packet.OpWriteMiddle})
			p.UDP.SrcPort = uint16(i)
			return p.Append(nil)
		}},
		{"outer flow label", func(i int) []byte {
			p := arriving(host(1), host(2), packet.BTH{Opcode: packet.OpWriteMiddle})
			p.Encapsulated, p.Outer = true, packet.IPv6{FlowLabel: uint32(i), HopLimit: 9, Src: node,
				Dst: dst}
			return p.Append(nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// All of them at once, then again: what leaves a port must be the same both times.
			var first map[string]uint32
			for range 2 {
				var in []wire
				for i := range flows {
					in = append(in, wire{1, c.frame(i)})
				}
				took, load := map[string]uint32{}, map[uint32]int{}
				for _, w := range target.inject(t, in...) {
					took[string(w.frame[offOuter:])] = w.port
					load[w.port]++
				}
				if len(took) != flows {
					t.Fatalf("%d flows came out, want %d", len(took), flows)
				}
				for port := uint32(2); port <= 5; port++ {
					if load[port] < flows/4/3 {
						t.Errorf("port %d carries %d of %d flows: %v", port, load[port], flows, load)
					}
				}
				for flow, port := range took {
					if first != nil && first[flow] != port {
						t.Errorf("a flow moved from port %d to %d", first[flow], port)
					}
				}
				first = took
			}
		})
	}
}
