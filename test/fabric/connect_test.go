package fabric

import (
	"net/netip"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

// connectMessage is a message of RDMA CM from a host to an address.
func connectMessage(from, to netip.Addr) cm.Frame {
	return cm.Frame{Ethernet: packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9}},
		IPv6: packet.IPv6{HopLimit: 64, Src: from, Dst: to}, SrcPort: 0xC001,
		PKey: packet.DefaultPKey, SourceQPN: cm.GSI, MAD: cm.MAD{TID: 1, Message: cm.RTU{LocalID: 2}}}
}

// connect: messages of RDMA CM go to the controller as they came, at a rate, from a host port, from
// who may connect, and to queue pair 1 of a group's proxy address alone.
func connect() []scenario {
	g := newGroup(1020, 1)
	allow := func(from netip.Prefix, spacing, burst uint64) *p4v1.Update {
		return entry(p4.TableMtConnect, []any{g.proxy, from}, p4.ActionSetConnect, g.id, spacing,
			(burst-1)*spacing)
	}
	frame := connectMessage(host(3), g.proxy).Append(nil)
	reported := func(what string, port uint32, frame []byte) step {
		return step{what: what, in: wire{port, frame}, out: []wire{report{port: uint16(port),
			reason: p4.PacketInReasonConnect, group: g.id}.wire(frame...)}}
	}
	refused := func(what string, port uint32, frame []byte, reason p4.DropReason) step {
		return step{what: what, in: wire{port, frame}, ingress: drops{reason: 1}}
	}
	entries := append(hostPort(3, 0, exactly(host(3))), hostPort(4, 0, exactly(host(4)))...)
	entries = append(entries, g.responses()...)
	bth := func(qpn uint32, op packet.Opcode) []byte {
		p := arriving(host(3), g.proxy, packet.BTH{Opcode: op, DestQPN: qpn})
		p.Payload = make([]byte, 264)
		return p.Append(nil)
	}
	on := scenario{name: "connect", entries: append(entries, allow(exactly(host(3)), 1, 1<<20)),
		steps: []step{
			reported("from who may", 3, frame),
			refused("with another's address", 4, frame, p4.DropReasonSourceGuard),
			refused("from who may not", 4, connectMessage(host(4), g.proxy).Append(nil),
				p4.DropReasonMtNotSource),
			refused("another queue pair", 3, bth(2, packet.OpSendOnly), p4.DropReasonMtNotSource),
			refused("a request of RC", 3, bth(cm.GSI, packet.OpSendOnly), p4.DropReasonMtNotSource),
			{what: "out of a port", in: packetOut(p4.PacketOutOpSend, 3, 0, 0, frame...),
				out: []wire{{3, frame}}},
			withWrite(reported("a prefix", 4, connectMessage(host(4), g.proxy).Append(nil)),
				[]*p4v1.Update{allow(netip.PrefixFrom(host(0), 64), 1, 1<<20)}),
		}}
	inside := scenario{name: "connect/inside", entries: append(g.responses(),
		allow(exactly(host(3)), 1, 1<<20)), steps: []step{
		refused("a port of the fabric", 3, frame, p4.DropReasonMtNotSource),
	}}
	limited := scenario{name: "connect/rate", virtual: true, entries: append(entries,
		allow(exactly(host(3)), 250_000, 4))}
	for range 4 {
		limited.steps = append(limited.steps, reported("burst", 3, frame))
	}
	over := refused("over the rate", 3, frame, p4.DropReasonConnectRate)
	later := reported("a quarter of a second later", 3, frame)
	later.after = 250 * time.Millisecond
	limited.steps = append(limited.steps, over, over, later, over)
	return []scenario{on, inside, limited}
}
