package fabric

import (
	"fmt"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// hostPort makes a port face a host in a VRF, with prefixes that it may send from.
func hostPort(port, vrf uint32, from ...netip.Prefix) []*p4v1.Update {
	updates := modify(entry(p4.TablePort, []any{port}, p4.ActionSetPort, 1, vrf))
	for _, p := range from {
		updates = append(updates, entry(p4.TableSourceGuard, []any{port, p}, p4.ActionAllowSource))
	}
	return updates
}

// anybody is every address.
var anybody = netip.MustParsePrefix("::/0")

// sidsOfDomain are the prefixes of the scenarios' SIDs: locators and uSIDs.
func sidsOfDomain() []*p4v1.Update {
	return []*p4v1.Update{
		entry(p4.TableSidSpace, []any{netip.MustParsePrefix("fd00:b::/32")}, p4.ActionSidOfDomain),
		entry(p4.TableSidSpace, []any{usidBlock(packet.F3216)}, p4.ActionSidOfDomain),
	}
}

// A tunnel is one encapsulation: where from and where to, with the Segment List to visit and
// Segments Left, or without an SRH.
type tunnel struct {
	src, dst netip.Addr
	list     []netip.Addr
	left     uint8
}

// around puts a payload of a protocol into a tunnel, without the Ethernet header.
func (t tunnel) around(protocol uint8, payload []byte) []byte {
	ip := packet.IPv6{NextHeader: protocol, HopLimit: 30, Src: t.src, Dst: t.dst}
	if t.list != nil {
		return routed(ip, t.list, t.left, protocol, payload)[packet.EthernetLen:]
	}
	return plain(ip, payload)[packet.EthernetLen:]
}

// tunneled puts a frame's IPv6 packet into a tunnel.
func tunneled(t tunnel, frame []byte) []byte {
	return t.around(packet.NextHeaderIPv6, frame[packet.EthernetLen:])
}

// hostileHost: a host outside of all groups tries everything that could reach the SID of another
// node or of this node, or that could leave a tunnel as fabric traffic. Hosts may only send plain
// packets to addresses other than SIDs.
func hostileHost() []scenario {
	const v6, ethernet = packet.NextHeaderIPv6, packet.NextHeaderEthernet
	attacker := host(1)
	// Receivers behind ports 2 and 3, a child node behind port 4; the source is behind port 5.
	edge := tree{group: newGroup(70, 2).where(func(g *group) {
		g.up = 5
		g.branches = append(g.branches, branch{index: 2, port: 4, addr: nodeBehind(4), child: true})
		g.live |= 1 << 2
	})}
	downward := edge
	downward.branches = edge.branches[:2]
	downward.children = []uint32{4}
	far := sidBehind(4) // another node's SID: an End.MT, End.DT6 or End.X.PFC, this switch cannot know

	bare := func(p packet.RoCE) []byte { return p.Append(nil)[packet.EthernetLen:] }
	data := edge.request(packet.OpWriteOnly, 5, 64)
	nak := edge.answer(2, 1, packet.NAKSyndrome(packet.NAKRemoteAccess), 0)
	ack := edge.answer(2, 9999, packet.ACKSyndrome(packet.CreditInvalid), 9)
	forged := []struct {
		what     string
		protocol uint8
		octets   []byte
		own      bool // its source is the attacker's own
	}{
		{"data in the source's name", v6, bare(data), false},
		{"data in its own name", v6, bare(with(data, func(p *packet.RoCE) { p.IPv6.Src = attacker })),
			true},
		{"an ACK", v6, bare(ack), false},
		{"an ACK in its own name", v6, bare(with(ack, func(p *packet.RoCE) { p.IPv6.Src = attacker })),
			true},
		{"a NAK", v6, bare(nak), false},
		{"a CNP", v6, bare(edge.cnpPacket(2)), false},
		{"a PFC frame", ethernet, pfcOf(65535, 3).AppendFrame(nil, pfcSource), true},
	}
	container2 := container(packet.F3216, nodeUSID(4), usidHost)
	var paths []tunnel
	for _, to := range []netip.Addr{
		downward.sid(), sidEndDT6, sidEnd, sidEndX, sidEndXPFC, sidEndPFC, far, host(6), nodeBehind(4),
		container(packet.F3216, usidAdj, nodeUSID(4)), container(packet.F3216, usidTable), container2,
	} {
		paths = append(paths, tunnel{src: attacker, dst: to},
			tunnel{attacker, to, []netip.Addr{to, downward.proxy}, 1},
			tunnel{attacker, to, []netip.Addr{to, downward.proxy}, 0},
			tunnel{attacker, to, []netip.Addr{to, far, downward.proxy}, 2},
			tunnel{attacker, to, []netip.Addr{far}, 1})
	}

	entries := slices.Concat(withoutState(edge.responses()), downward.downward(), pfcSIDs(0),
		usidEntries(packet.F3216), sidsOfDomain(),
		hostPort(1, 0, exactly(attacker)), []*p4v1.Update{
			entry(p4.TablePfcTunnel, []any{sidEndXPFC, signaller, 0}, p4.ActionAcceptPfc, 0xff),
			entry(p4.TablePfcTunnel, []any{sidEndXPFC, attacker, 0}, p4.ActionAcceptPfc, 0xff),
			icmpEntry(1, 1<<30),
		})
	sends := func(octets []byte) wire {
		ip := packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9},
			EtherType: packet.EtherTypeIPv6}.Append(nil)
		return wire{1, append(ip, octets...)}
	}
	once := scenario{name: "edge/hostile_once", entries: entries}
	twice := scenario{name: "edge/hostile_twice", entries: entries}
	for _, f := range forged {
		for i, w := range paths {
			reason := p4.DropReasonSidFromOutside
			if !f.own {
				reason = p4.DropReasonSourceGuard
			} else if w.dst == downward.sid() && f.protocol == v6 {
				reason = p4.DropReasonMtNotSource
			}
			what := fmt.Sprintf("%s to %v, segments %v, %d left", f.what, w.dst, w.list, w.left)
			once.steps = append(once.steps, refuses(what, sends(w.around(f.protocol, f.octets)), reason))
			// Past the source guard: the second header is the attacker's own, too.
			for _, second := range []tunnel{{src: attacker, dst: far},
				{attacker, far, []netip.Addr{far, downward.proxy}, uint8(i % 3)}} {
				next := uint8(v6)
				twice.steps = append(twice.steps,
					refuses("twice: "+what, sends(w.around(next, second.around(f.protocol, f.octets))),
						p4.DropReasonSidFromOutside))
			}
		}
	}
	third := tunnel{src: attacker, dst: far}.around(v6, tunnel{src: attacker, dst: far}.around(v6,
		bare(data)))
	twice.steps = append(twice.steps,
		refuses("three times", sends(tunnel{src: attacker, dst: sidEndDT6}.around(v6, third)),
			p4.DropReasonSidFromOutside))

	// What is plain: the source guard, the port of a branch, the port of the source.
	plainly := scenario{name: "edge/hostile_plain", entries: entries, steps: []step{
		refuses("an ACK in the child's name", sends(bare(ack)), p4.DropReasonSourceGuard),
		refuses("an ACK in its own name", in(1, with(ack, func(p *packet.RoCE) {
			p.IPv6.Src = attacker
		})), p4.DropReasonMtNotBranch),
		refuses("a CNP in its own name", in(1, with(edge.cnpPacket(0), func(p *packet.RoCE) {
			p.IPv6.Src = attacker
		})), p4.DropReasonMtNotBranch),
		refuses("data in its own name", in(1, with(data, func(p *packet.RoCE) { p.IPv6.Src = attacker })),
			p4.DropReasonMtNotSource),
		refuses("the tree's SID", in(1, with(data, func(p *packet.RoCE) {
			p.IPv6.Src, p.IPv6.Dst = attacker, downward.sid()
		})), p4.DropReasonSidFromOutside),
		refuses("another node's SID", in(1, with(data, func(p *packet.RoCE) {
			p.IPv6.Src, p.IPv6.Dst = attacker, far
		})), p4.DropReasonSidFromOutside),
		refuses("a link's PFC frame", onLink(1, pfcOf(9, 3)), p4.DropReasonPfcPort),
		{what: "another host", in: wire{1,
			plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: attacker, Dst: host(6)},
				nil)},
			out: []wire{forwarded(6, plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9,
				Src: attacker, Dst: host(6)}, nil))}},
		{
			what:  "a port without an entry faces nobody known",
			write: remove(entry(p4.TablePort, []any{6}, p4.ActionSetPort, 0, 0)),
			in: wire{6, plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(6),
				Dst: host(5)}, nil)},
			ingress: drops{p4.DropReasonSourceGuard: 1},
		},
		// The same octets take effect from inside the fabric: the edge alone stops them.
		{what: "data from the fabric", in: in(7, downward.onTree(data)), out: append(downward.all(data),
			downward.passed(4, downward.onTree(data)))},
		refuses("data from the fabric, of another outer source",
			in(7, with(downward.onTree(data), func(p *packet.RoCE) { p.Outer.Src = attacker })),
			p4.DropReasonMtNotSource),
		absorbed("an ACK of the child", in(4, ack)),
		{
			what: "a PFC frame from the fabric",
			in: wire{4, inTunnel(signaller, sidEndXPFC, 0, 0, nil,
				pfcOf(9, 3).AppendFrame(nil, pfcSource))},
			out: []wire{commanded(3, pfcOf(9, 3))}, pauses: xoffs(3, 3),
		},
	}}
	return []scenario{once, twice, plainly}
}

// mrcHost: an MRC host goes along its own uSIDs, from its own address, and nowhere else.
func mrcHost() []scenario {
	const v6 = packet.NextHeaderIPv6
	const f = packet.F3216
	mrc, beside := host(8), addr("fd00:a::88")
	mask := addr("ffff:ffff::")
	local := netip.PrefixFrom(container(f, 0xe000), 35)
	first, second := container(f, usidAdj, nodeUSID(4), nodeUSID(5)),
		container(f, nodeUSID(6), usidTable)
	inner := packet.IPv6{NextHeader: packet.NextHeaderUDP, HopLimit: 20, Src: mrc, Dst: host(5)}
	payload := plain(inner, append(packet.UDP{SrcPort: 9, DstPort: 99, Length: 16}.Append(nil),
		pattern(8)...))[packet.EthernetLen:]
	own := tunnel{src: mrc, dst: first}
	frame := func(octets []byte) []byte {
		return append(packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9},
			EtherType: packet.EtherTypeIPv6}.Append(nil), octets...)
	}
	outside := func(what string, octets []byte) step {
		return refuses(what, wire{8, frame(octets)}, p4.DropReasonSidFromOutside)
	}
	shifted := func(t tunnel, octets []byte) []byte {
		t.dst = container(f, nodeUSID(4), nodeUSID(5))
		return frame(t.around(v6, octets))
	}
	inside := func(change func(*packet.IPv6)) []byte {
		h := inner
		change(&h)
		return plain(h, pattern(30))[packet.EthernetLen:]
	}
	withList := func(left uint8, list ...netip.Addr) tunnel { return tunnel{mrc, first, list, left} }
	s := scenario{
		name: "edge/mrc_host",
		entries: slices.Concat(usidEntries(f), sidsOfDomain(),
			hostPort(8, 0, exactly(mrc), exactly(beside)), hostPort(2, 0, exactly(mrc)), []*p4v1.Update{
				entry(p4.TableSidAllowed, []any{8, mrc, local}, p4.ActionAllowSid, mask),
				entry(p4.TableSidAllowed, []any{8, mrc, usidPrefix(f, usidNode)}, p4.ActionAllowSid, mask),
				entry(p4.TableSidSpace, []any{exactly(sidBehind(5))}, p4.ActionNoSid),
			}),
		steps: []step{
			{what: "its uplink", in: wire{8, frame(own.around(v6, payload))},
				out: []wire{forwarded(3, shifted(own, payload))}},
			{what: "a second container", in: wire{8, frame(withList(1, second).around(v6, payload))},
				out: []wire{forwarded(3, shifted(withList(1, second), payload))}},
			{what: "at its own leaf", in: wire{8,
				frame(tunnel{src: mrc, dst: container(f, usidTable)}.around(v6, payload))},
				out: []wire{forwarded(5, frame(payload))}},
			{
				what: "by its leaf's own uSID",
				in: wire{8, frame(tunnel{src: mrc, dst: container(f, usidNode, nodeUSID(4))}.around(v6,
					payload))},
				out: []wire{forwarded(4, frame(tunnel{src: mrc, dst: container(f, nodeUSID(4))}.around(v6,
					payload)))},
			},
			{
				what: "to a host whose address is among the SIDs",
				in:   wire{8, frame(own.around(v6, inside(func(h *packet.IPv6) { h.Dst = sidBehind(5) })))},
				out:  []wire{forwarded(3, shifted(own, inside(func(h *packet.IPv6) { h.Dst = sidBehind(5) })))},
			},
			outside("another host's, of the same port", tunnel{src: beside, dst: first}.around(v6,
				inside(func(h *packet.IPv6) { h.Src = beside }))),
			refuses("on another port", wire{2, frame(own.around(v6, payload))}, p4.DropReasonSidFromOutside),
			refuses("in another's name inside",
				wire{8, frame(own.around(v6, inside(func(h *packet.IPv6) { h.Src = beside })))},
				p4.DropReasonSourceGuard),
			outside("another node's uSID first",
				tunnel{src: mrc, dst: container(f, nodeUSID(4), usidTable)}.around(v6, payload)),
			outside("a SID that is no uSID", tunnel{src: mrc, dst: sidEndDT6}.around(v6, payload)),
			outside("a SID inside", own.around(v6, inside(func(h *packet.IPv6) { h.Dst = sidBehind(4) }))),
			outside("encapsulated twice",
				own.around(v6, tunnel{src: mrc, dst: host(5)}.around(v6, payload))),
			outside("encapsulated twice, with an SRH",
				own.around(v6, tunnel{mrc, host(5), []netip.Addr{host(5)}, 0}.around(v6, payload))),
			outside("IPv4 inside", own.around(v6, inside(func(h *packet.IPv6) { h.NextHeader = 4 }))),
			outside("an Ethernet frame", own.around(packet.NextHeaderEthernet,
				pfcOf(9, 3).AppendFrame(nil, pfcSource))),
			outside("an Ethernet frame inside", own.around(v6, inside(func(h *packet.IPv6) {
				h.NextHeader = packet.NextHeaderEthernet
			}))),
			outside("an Ethernet frame inside, behind options",
				tunneled(own, behind(inner, packet.NextHeaderEthernet, pattern(30),
					extension{destination, 8, 0}))),
			outside("a routing header inside, behind a fragment's",
				tunneled(own, behind(inner, packet.NextHeaderRouting, pattern(30),
					extension{fragmentOf, 8, 0}))),
			outside("IPv4 inside, behind options",
				tunneled(own, behind(inner, 4, pattern(30), extension{hopByHop, 24, 0}))),
			refuses("more extension headers than the parser walks",
				wire{8, frame(tunneled(own, behind(inner, packet.NextHeaderUDP, pattern(30),
					slices.Repeat([]extension{{destination, 8, 0}}, 5)...)))}, p4.DropReasonExtensionHeaders),
			outside("nothing inside", own.around(packet.NextHeaderNone, nil)),
			outside("an SRH that leads out of the block", withList(1, sidBehind(4)).around(v6, payload)),
			outside("an SRH of two segments", withList(1, second, second).around(v6, payload)),
			outside("an SRH of two segments, none left", withList(0, second, second).around(v6, payload)),
			outside("an SRH that the parser refuses", withList(3, second).around(v6, payload)),
		},
	}

	for _, kind := range []uint8{hopByHop, fragmentOf, ahOf, destination, mobility, hip, shim6} {
		headers := append(slices.Repeat([]extension{{destination, 8, 0}}, 4), extension{kind, 8, 0})
		s.steps = append(s.steps, refuses(fmt.Sprintf("a fifth extension header, %d", kind),
			wire{8, frame(tunneled(own, behind(inner, packet.NextHeaderUDP, pattern(30), headers...)))},
			p4.DropReasonExtensionHeaders))
	}

	// A host's flow label selects no slice, while the same packet on a port of the fabric waits in the
	// slice's queue.
	labelled := frame(own.around(v6, payload))
	labelled[offOuter+2], labelled[offOuter+3] = 0x02, 0x06
	leaves := shifted(own, payload)
	leaves[offOuter+2], leaves[offOuter+3] = 0x02, 0x06
	slice := scenario{
		name: "edge/slice", classes: true,
		entries: append(slices.Clone(s.entries), entry(p4.TableSliceField, nil, p4.ActionSetSliceField,
			0xfff), entry(p4.TableSlice, []any{0x206}, p4.ActionSetSlice, 3, 0)),
		steps: []step{
			{what: "of a host", in: wire{8, labelled}, out: []wire{forwarded(3, leaves)}},
			{what: "of the fabric", in: wire{4, labelled}, out: []wire{forwarded(3, leaves)},
				classes: sent(3, 3)},
		},
	}
	return []scenario{s, slice}
}
