package fabric

import (
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// lldpFrame returns another switch's LLDP frame, with some octets of payload behind the data unit.
func lldpFrame(padding int) []byte {
	b := packet.Ethernet{Dst: packet.LLDPAddress, Src: macBehind(2),
		EtherType: packet.EtherTypeLLDP}.Append(nil)
	b = packet.LLDP{
		Chassis: packet.LLDPID{Subtype: packet.LLDPChassisLocal, Value: "n2"},
		Port:    packet.LLDPID{Subtype: packet.LLDPPortLocal, Value: "7"}, TTL: 4,
	}.Append(b)
	return append(b, make([]byte, padding)...)
}

// discovery: LLDP frames reach the controller unchanged, at a limited rate, and only where the
// configuration enables LLDP.
func discovery() []scenario {
	frame := lldpFrame(0)
	rate := func(spacing, burst uint64) *p4v1.Update {
		return entry(p4.TableDiscovery, []any{packet.LLDPAddress}, p4.ActionSetDiscovery, spacing,
			(burst-1)*spacing)
	}
	reported := func(what string, port uint32, frame []byte) step {
		return step{what: what, in: wire{port, frame},
			out: []wire{report{port: uint16(port), reason: p4.PacketInReasonLldp}.wire(frame...)}}
	}
	refused := func(what string, frame []byte, reason p4.DropReason) step {
		return step{what: what, in: wire{3, frame}, ingress: drops{reason: 1}}
	}
	on := scenario{name: "lldp", entries: []*p4v1.Update{rate(1, 1<<30)}}
	for port := uint32(1); port <= ports; port++ {
		on.steps = append(on.steps, reported("each port", port, lldpFrame(int(port)*100)))
	}
	elsewhere := patch(wire{3, frame}, 5, 0x03).frame
	on.steps = append(on.steps,
		reported("whatever follows the header", 4, frame[:packet.EthernetLen]),
		refused("to another group address", elsewhere, p4.DropReasonNotIpv6),
		refused("to the switch itself", patch(wire{3, frame}, 0, nodeMAC[:]...).frame,
			p4.DropReasonNotIpv6),
		refused("another EtherType", patch(wire{3, frame}, 12, 0x88, 0xcd).frame, p4.DropReasonNotIpv6),
		step{what: "out of a port", in: packetOut(p4.PacketOutOpSend, 5, 0, 0, frame...),
			out: []wire{{5, frame}}},
	)
	host := scenario{
		name: "lldp/host port", entries: append(modify(entry(p4.TablePort, []any{3}, p4.ActionSetPort, 1,
			0)), rate(1, 1<<30)),
		steps: []step{reported("the controller decides", 3, frame)},
	}
	off := scenario{name: "lldp/off", steps: []step{refused("no entry", frame, p4.DropReasonNotIpv6)}}
	limited := scenario{name: "lldp/rate", virtual: true, entries: []*p4v1.Update{rate(250_000, 4)}}
	for range 4 {
		limited.steps = append(limited.steps, reported("burst", 3, frame))
	}
	over := refused("over the rate", frame, p4.DropReasonLldpRate)
	later := reported("a quarter of a second later", 3, frame)
	later.after = 250 * time.Millisecond
	limited.steps = append(limited.steps, over, over, reported("another port", 4, frame), later, over)
	return []scenario{on, host, off, limited}
}
