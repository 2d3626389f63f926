package fabric

import (
	"encoding/binary"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// hostIPv4 is the IPv4 host behind a port.
func hostIPv4(port uint32) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(port)}) }

// newGroup4 is newGroup between IPv4 addresses.
func newGroup4(id uint16, n int) group {
	g := newGroup(id, n)
	g.ipv4, g.proxy = true, netip.AddrFrom4([4]byte{10, 99, byte(id >> 8), byte(id)})
	for b := range g.branches {
		g.branches[b].addr = netip.AddrFrom4([4]byte{10, 1, 1, byte(b)})
	}
	return g
}

// plain4 is an IPv4 frame with any payload.
func plain4(ip packet.IPv4, payload []byte) []byte {
	ip.TotalLength = uint16(packet.IPv4Len + len(payload))
	b := packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9},
		EtherType: packet.EtherTypeIPv4}.Append(nil)
	return append(ip.Append(b), payload...)
}

// addressResolution: ARP is answered like neighbor discovery.
func addressResolution() []scenario {
	n := street
	address, gateway := addr("10.7.0.8"), addr("10.7.0.1")
	neighbor, beside := addr("10.7.0.4"), addr("10.7.0.5")
	target := func(a netip.Addr, action string, params ...any) *p4v1.Update {
		return entry(p4.TableNdTarget, []any{a}, action, params...)
	}
	entries := func(spacing, burst uint64) []*p4v1.Update {
		return append(n.entries(spacing, burst),
			entry(p4.TableSourceGuard, []any{n.port, exactly(address)}, p4.ActionAllowSource),
			target(gateway, p4.ActionNdGateway, n.router),
			target(neighbor, p4.ActionNdNeighbor, n.router, 5),
			target(beside, p4.ActionNdNeighbor, n.router, n.port))
	}
	ask := func(from, to netip.Addr) packet.ARPFrame {
		return packet.ARPFrame{Ethernet: packet.Ethernet{Dst: packet.BroadcastMAC, Src: n.host},
			ARP: packet.ARP{Operation: packet.ARPRequest, SenderMAC: n.host, Sender: from, Target: to}}
	}
	request := func(from, to netip.Addr) []byte { return ask(from, to).Append(nil) }
	reply := func(from, to netip.Addr) []byte {
		f := ask(from, to)
		f.ARP.Operation, f.Ethernet.Dst, f.ARP.TargetMAC = packet.ARPReply, n.router, n.router
		return f.Append(nil)
	}
	answers := func(to, target netip.Addr) []byte {
		return packet.ARPFrame{Ethernet: packet.Ethernet{Dst: n.host, Src: n.router},
			ARP: packet.ARP{Operation: packet.ARPReply, SenderMAC: n.router, Sender: target,
				TargetMAC: n.host, Target: to}}.Append(nil)
	}
	answered := func(what string, in, out []byte, event p4.NdEvent) step {
		return step{what: what, in: wire{n.port, in}, out: []wire{{n.port, out}},
			nd: map[p4.NdEvent]int{event: 1}}
	}
	reported := func(what string, in []byte) step {
		return step{what: what, in: wire{n.port, in}, out: []wire{report{port: uint16(n.port),
			reason: p4.PacketInReasonNd}.wire(in...)}, nd: map[p4.NdEvent]int{p4.NdEventReported: 1}}
	}
	refused := func(what string, in []byte, reason p4.DropReason) step {
		return step{what: what, in: wire{n.port, in}, ingress: drops{reason: 1}}
	}
	none := netip.IPv4Unspecified()
	unicast := ask(address, gateway)
	unicast.Ethernet.Dst = n.router
	other := request(address, gateway)
	other[14+7] = 8 // an operation that gets no answer
	long := request(address, gateway)
	long[14+5] = 16
	ping := func(sum uint16, typ byte, from, to netip.Addr, ttl uint8, mac, src packet.MAC) []byte {
		m := append([]byte{typ, 0, 0, 0, 0x12, 0x34, 0, 1}, pattern(20)...)
		binary.BigEndian.PutUint16(m[2:], packet.Checksum(packet.ChecksumAdd(uint64(sum), m)))
		b := plain4(packet.IPv4{ID: 9, TTL: ttl, Protocol: packet.ProtocolICMP, Src: from, Dst: to}, m)
		copy(b, mac[:])
		copy(b[6:], src[:])
		return b
	}
	on := scenario{name: "ipv4/arp", entries: entries(1, 1<<30), steps: []step{
		answered("gateway", request(address, gateway), answers(address, gateway), p4.NdEventGateway),
		answered("gateway, reachable?", unicast.Append(nil), answers(address, gateway),
			p4.NdEventGateway),
		answered("a neighbor at another port", request(address, neighbor), answers(address, neighbor),
			p4.NdEventNeighbor),
		refused("a neighbor at the same port answers by itself", request(address, beside),
			p4.DropReasonNdTarget),
		refused("nobody known", request(address, addr("10.7.0.77")), p4.DropReasonNdTarget),
		answered("a probe of the gateway's address", request(none, gateway), answers(none, gateway),
			p4.NdEventDefended),
		reported("a probe", request(none, addr("10.7.0.44"))),
		reported("an announcement", request(addr("10.7.0.44"), addr("10.7.0.44"))),
		reported("of the gateway's address", request(gateway, gateway)),
		reported("from an address that is not bound", request(addr("10.7.0.44"), gateway)),
		reported("a reply", reply(address, gateway)),
		refused("to a multicast address", request(address, addr("224.0.0.1")),
			p4.DropReasonNdInvalid),
		refused("from the broadcast address", request(addr("255.255.255.255"), gateway),
			p4.DropReasonNdInvalid),
		refused("another operation", other, p4.DropReasonNotIpv6),
		refused("other addresses", long, p4.DropReasonNotIpv6),
		refused("cut", request(address, gateway)[:40], p4.DropReasonParseTruncated),
		answered("echo", ping(0, 8, address, gateway, 64, n.router, n.host),
			ping(0, 0, gateway, address, 64, n.host, n.router), p4.NdEventEcho),
		answered("echo whose checksum wraps", ping(0xf7ff, 8, address, gateway, 3, n.router, n.host),
			ping(0xf7ff, 0, gateway, address, 64, n.host, n.router), p4.NdEventEcho),
		refused("echo with a wrong checksum of the header",
			patch(wire{0, ping(0, 8, address, gateway, 64, n.router, n.host)}, 14+10, 0, 0).frame,
			p4.DropReasonIpv4Checksum),
	}}
	off := scenario{name: "ipv4/arp_off", steps: []step{
		refused("no entry", request(address, gateway), p4.DropReasonNotIpv6),
		refused("no entry, to the switch", func() []byte {
			f := ask(address, gateway)
			f.Ethernet.Dst = nodeMAC
			return f.Append(nil)
		}(), p4.DropReasonNotIpv6),
	}}
	limited := scenario{name: "ipv4/arp_rate", virtual: true, entries: entries(250_000, 2)}
	limited.steps = append(limited.steps, reported("burst", reply(address, gateway)),
		reported("burst", reply(address, gateway)),
		refused("over the rate", reply(address, gateway), p4.DropReasonNdRate),
		answered("answers have none", request(address, gateway), answers(address, gateway),
			p4.NdEventGateway))
	return []scenario{on, off, limited}
}

// ipv4Groups: a group between IPv4 addresses, in both modes and both directions.
func ipv4Groups() []scenario {
	t := tree{group: newGroup4(300, 3), children: []uint32{7}}
	p := t.request(packet.OpWriteOnly, 77, 128)
	onTree := t.onTree(p)
	admission := append(hostPort(1, 0, exactly(hostIPv4(1))), withoutState(t.responses())...)
	local := scenario{name: "ipv4/group", entries: slices.Concat(t.downward(), admission,
		[]*p4v1.Update{entry(p4.TableMtSource, []any{t.id, 1, t.source()}, p4.ActionMtEncapsReplicate,
			node, t.sid(), t.mcast(), true)})}
	for _, op := range requests {
		q := t.request(op, 5, 40)
		local.steps = append(local.steps, step{what: op.String(), in: in(1, q), out: t.fromSource(q)})
	}
	checksummed := with(p, func(p *packet.RoCE) { p.Checksummed = true })
	local.steps = append(local.steps,
		step{what: "on the tree", in: in(7, onTree), out: append(t.all(p), t.passed(7, onTree))},
		step{what: "with a UDP checksum", in: in(1, checksummed), out: t.fromSource(checksummed)},
		refuses("bad ICRC", patch(in(1, p), 14+20+8+12+16, 0xee), p4.DropReasonIcrc),
		refuses("another QPN", in(1, with(p, func(p *packet.RoCE) { p.BTH.DestQPN = 9 })),
			p4.DropReasonMtQpn),
		refuses("time to live 1", in(1, with(p, func(p *packet.RoCE) { p.IPv6.HopLimit = 1 })),
			p4.DropReasonHopLimit),
		refuses("another's address", in(1, with(p, func(p *packet.RoCE) { p.IPv6.Src = hostIPv4(2) })),
			p4.DropReasonSourceGuard),
		step{what: "congestion experienced", in: in(7, with(onTree, func(p *packet.RoCE) {
			p.Outer.TrafficClass |= packet.CE
		})), out: append(t.all(with(p, func(p *packet.RoCE) { p.IPv6.TrafficClass |= packet.CE })),
			t.passed(7, with(onTree, func(p *packet.RoCE) { p.Outer.TrafficClass |= packet.CE })))},
	)

	far := tree{group: newGroup4(301, 0)}
	q := far.request(packet.OpWriteOnly, 3, 64)
	first := scenario{name: "ipv4/first", entries: append(far.responses(),
		append(hostPort(1, 0, exactly(hostIPv4(1))), entry(p4.TableMtSource,
			[]any{far.id, 1, far.source()},
			p4.ActionMtEncaps, node, sidBehind(8)))...),
		steps: []step{
			{what: "H.Encaps", in: in(1, q), out: []wire{out(8, encapsulated(sidBehind(8), q))}},
		}}

	psn := newGroup4(302, 1)
	psn.branches[0].psn = 0xfff000
	moved := tree{group: psn}
	r := moved.request(packet.OpWriteOnly, 0x2000, 32)
	b := moved.branches[0]
	offset := scenario{name: "ipv4/psn", entries: append(append(moved.downward(),
		withoutState(moved.responses())...), modify(entry(p4.TableMtReplica, []any{moved.id,
		int(b.index) + 1}, p4.ActionToReceiverPsn, b.addr, b.qpn, true, b.psn))...),
		steps: []step{
			{what: "a copy", in: in(7, moved.onTree(r)), out: []wire{moved.delivered(0,
				with(r, func(p *packet.RoCE) { p.BTH.PSN = 0x1000 }))}},
			sends("its acknowledgement", moved.ack(0, 0x1000, 1), advanced, moved.upAck(0x2000, 1)),
		}}

	return append([]scenario{local, first, offset}, append(ipv4Inband(), ipv4Responses()...)...)
}

func ipv4Inband() []scenario {
	t := tree{group: newGroup4(303, 3), inband: true, fallback: true, outer: host(1)}
	p := t.request(packet.OpWriteOnly, 100, 256)
	named := t.onTree(p, inbandTLVs(edge(node, t.asTLV(0, 2)...))...)
	source := func(action string, params ...any) *p4v1.Update {
		return entry(p4.TableMtSource, []any{t.id, 1, host(1)}, action, params...)
	}
	two := []wire{t.delivered(0, p), t.delivered(2, p)}
	entries := slices.Concat(t.downward(), fanOut(), hostPort(1, 0, exactly(host(1)),
		exactly(hostIPv4(1))))
	inner := func(change func(*packet.RoCE)) wire { return in(1, with(named, change)) }
	ours := binary.BigEndian.Uint32(t.source().AsSlice())
	s := scenario{name: "ipv4/inband", entries: append(entries, source(p4.ActionMtInbandIpv4, ours)),
		steps: []step{
			{what: "receivers of the TLV", in: in(1, named), out: two},
			{what: "no TLV: the provisioned receivers", in: in(1, t.onTree(p)), out: t.all(p)},
			{what: "a receiver without a branch", in: in(1, t.onTree(p, inbandTLVs(edge(node,
				receiver(addr("10.1.1.77"), 5), t.asTLV(2)[0]))...)), out: []wire{t.delivered(2, p)},
				egress: drops{p4.DropReasonMtTlvReceiver: 1}},
			refuses("another's address inside", inner(func(p *packet.RoCE) { p.IPv6.Src = hostIPv4(2) }),
				p4.DropReasonMtNotSource),
			refuses("IPv6 inside", inner(func(p *packet.RoCE) {
				p.IPv6.Src, p.IPv6.Dst = host(1), sixteen(t.proxy)
			}), p4.DropReasonMtNotSource),
			refuses("another's address outside", inner(func(p *packet.RoCE) { p.Outer.Src = host(2) }),
				p4.DropReasonSourceGuard),
			refuses("to another SID", inner(func(p *packet.RoCE) {
				p.Outer.Dst = sidEndDT6
				p.SRH = listed(named, 1, sidEndDT6, sixteen(t.proxy)).SRH
			}), p4.DropReasonSidFromOutside),
			{
				what: "a source of IPv6 sends none of IPv4", in: in(1, named),
				write: modify(source(p4.ActionMtInband)), ingress: drops{p4.DropReasonMtNotSource: 1},
			},
		}}
	return []scenario{s}
}

func ipv4Responses() []scenario {
	g := newGroup4(304, 2)
	bad := g.ack(0, 60, 9)
	bad.frame[14+20+8+12+3] ^= 1 // of the MSN
	answers := scenario{name: "ipv4/responses", entries: g.responses(), steps: []step{
		absorbed("branch 0", g.ack(0, 10, 1)),
		sends("branch 1 makes the minimum known", g.ack(1, 12, 2), advanced, g.upAck(10, 1)),
		sends("NAK of branch 0: the other one bounds", g.nak(0, 14, 3), advanced, g.upAck(12, 2)),
		refuses("bad ICRC", bad, p4.DropReasonIcrc),
		refuses("from elsewhere", in(g.branches[1].port, g.answer(0, 20, packet.ACKSyndrome(5), 1)),
			p4.DropReasonMtNotBranch),
	}}
	answers.steps = append(answers.steps,
		sends("the other one: NAK", g.ack(1, 20, 4), nakSeq, g.upNak(14, 3)),
		step{what: "CNP", in: g.cnp(1), out: []wire{g.opened(1)}, events: events{p4.MtEventCnpWindow: 1}},
		step{what: "a CNP after the window, for which one goes to the source", write: g.over(),
			in: g.cnp(0), out: []wire{g.upCNP(), g.opened(0)},
			events: events{cnpSent: 1, cnpOpened: 1}})
	up := g.where(func(g *group) {
		g.id, g.parent = 305, toParentEncaps
		g.branches[1].child, g.branches[1].addr = true, nodeBehind(3)
	})
	between := scenario{name: "ipv4/between_nodes", entries: up.responses(), steps: []step{
		absorbed("a receiver", up.ack(0, 10, 1)),
		sends("a node, by IPv6", up.ack(1, 12, 2), advanced, up.upAck(10, 1)),
	}}
	return []scenario{answers, between}
}

// ipv4Tenants: what hosts send by IPv4 in a tenant's VRF goes through tunnels of IPv6.
func ipv4Tenants() []scenario {
	far, near4, near6, near46 := addr("fd00:b:4::d4"), addr("fd00:b:ff::d4"), addr("fd00:b:ff::da"),
		addr("fd00:b:ff::d46")
	const vrf = 5
	behind := netip.MustParsePrefix("10.0.0.0/24")
	s := scenario{name: "ipv4/tenant", entries: append(hostPort(2, vrf, exactly(hostIPv4(2)),
		exactly(host(2))),
		entry(p4.TableSrv6Policy, []any{vrf, netip.MustParsePrefix("10.4.0.0/16")}, p4.ActionVpnSteer, 1,
			far, 0, 10, 0, 0),
		entry(p4.TableSrPolicy, []any{1}, p4.ActionVia0, node),
		entry(p4.TableLocalSid, []any{exactly(near4)}, p4.ActionEndDt4, vrf),
		entry(p4.TableLocalSid, []any{exactly(near6)}, p4.ActionEndDt6, vrf),
		entry(p4.TableLocalSid, []any{exactly(near46)}, p4.ActionEndDt46, vrf),
		entry(p4.TableServiceSid, []any{near4}, p4.ActionServiceDt4, vrf),
		entry(p4.TableServiceSid, []any{near46}, p4.ActionServiceDt46, vrf),
		entry(p4.TableIpv6Route, []any{vrf, behind}, p4.ActionForward, 2, neighborOf(2)),
		entry(p4.TableIpv6Route, []any{vrf, exactly(host(2))}, p4.ActionForward, 2, neighborOf(2)),
	)}
	p := arriving(hostIPv4(2), addr("10.4.0.9"), packet.BTH{Opcode: packet.OpSendOnly, DestQPN: 7})
	p.Payload = pattern(30)
	inner := p.IPv6
	inner.NextHeader = packet.NextHeaderUDP
	tunnelled := with(p, func(p *packet.RoCE) {
		p.Encapsulated = true
		p.Outer = packet.IPv6{TrafficClass: packet.TrafficClass(10, packet.ECT0), HopLimit: 64,
			FlowLabel: flowLabel(inner, 0xd001<<16|packet.RoCEPort), Src: node, Dst: far}
		p.IPv6.HopLimit--
	})
	routedTo := func(visit ...netip.Addr) packet.RoCE {
		q := with(tunnelled, func(p *packet.RoCE) { p.Outer.Dst, p.Routed = visit[0], true })
		return listed(q, uint8(len(visit)-1), visit...)
	}
	s.steps = append(s.steps, step{what: "best effort", in: in(2, p), out: []wire{out(4, tunnelled)}})
	via := routedTo(sidBehind(6), far)
	s.steps = append(s.steps, step{
		what:  "by a segment",
		write: modify(entry(p4.TableSrPolicy, []any{1}, p4.ActionVia1, node, sidBehind(6))),
		in:    in(2, p), out: []wire{out(6, via)}})
	back := arriving(addr("10.4.0.9"), hostIPv4(2), packet.BTH{Opcode: packet.OpSendOnly, DestQPN: 8})
	back.Payload = pattern(21)
	arrives := func(q packet.RoCE, visit ...netip.Addr) packet.RoCE {
		q.Encapsulated = true
		q.Outer = packet.IPv6{TrafficClass: packet.TrafficClass(10, packet.ECT0), HopLimit: 30,
			Src: nodeBehind(4), Dst: visit[0]}
		if len(visit) > 1 {
			q.Routed = true
			q = listed(q, uint8(len(visit)-1), visit...)
		}
		return q
	}
	delivered := []wire{out(2, with(back, func(p *packet.RoCE) { p.IPv6.HopLimit-- }))}
	six := arriving(nodeBehind(4), host(2), back.BTH)
	six.Payload = pattern(21)
	delivered6 := []wire{out(2, with(six, func(p *packet.RoCE) { p.IPv6.HopLimit-- }))}
	upper := p4.DropReasonSidUpperLayer
	s.steps = append(s.steps,
		step{what: "End.DT4", in: in(4, arrives(back, near4)), out: delivered},
		step{what: "End.DT46", in: in(4, arrives(back, near46)), out: delivered},
		step{what: "End.DT46 of IPv6", in: in(4, arrives(six, near46)), out: delivered6},
		step{what: "End.DT6 of IPv6", in: in(4, arrives(six, near6)), out: delivered6},
		step{what: "End.DT4 behind End", in: in(4, arrives(back, sidEnd, near4)), out: delivered},
		step{what: "End.DT46 behind End", in: in(4, arrives(six, sidEnd, near46)), out: delivered6},
		refuses("End.DT4 of IPv6", in(4, arrives(six, near4)), upper),
		refuses("End.DT6 of IPv4", in(4, arrives(back, near6)), upper),
		refuses("End.DT4 behind End of IPv6", in(4, arrives(six, sidEnd, near4)), upper),
		refuses("a wrong checksum inside", patch(in(4, arrives(back, near4)), 14+40+10, 0, 0),
			p4.DropReasonIpv4Checksum),
		refuses("options inside", patch(in(4, arrives(back, near4)), 14+40, 0x46), upper),
		step{what: "congestion experienced", in: in(4, with(arrives(back, near4), func(p *packet.RoCE) {
			p.Outer.TrafficClass |= packet.CE
		})), out: []wire{out(2, with(back, func(p *packet.RoCE) {
			p.IPv6.HopLimit--
			p.IPv6.TrafficClass |= packet.CE
		}))}},
		step{what: "in transit what is inside does not matter",
			in: patch(in(4, arrives(back, sidBehind(5))), 14+40+10, 0, 0), out: []wire{patch(out(5,
				with(arrives(back, sidBehind(5)), func(p *packet.RoCE) { p.Outer.HopLimit-- })),
				14+40+10, 0, 0)}},
	)
	// Between hosts of one switch, whatever the protocol.
	s.entries = append(s.entries, hostPort(3, vrf, exactly(hostIPv4(3)))...)
	for _, c := range []struct {
		what   string
		header packet.IPv4
	}{
		{"UDP", packet.IPv4{Protocol: packet.NextHeaderUDP}}, {"TCP", packet.IPv4{Protocol: 6}},
		{"ICMP", packet.IPv4{Protocol: packet.ProtocolICMP}},
		{"first fragment", packet.IPv4{Protocol: packet.NextHeaderUDP, MoreFragments: true}},
		{"later fragment", packet.IPv4{Protocol: packet.NextHeaderUDP, Offset: 185}},
		{"IPv6 inside", packet.IPv4{Protocol: packet.NextHeaderIPv6}},
	} {
		h := c.header
		h.ID, h.TTL, h.Src, h.Dst = 0x99, 9, hostIPv4(3), hostIPv4(2)
		payload := append([]byte{0xc0, 1, 0, 53, 0, 60, 0, 0}, pattern(52)...)
		to := plain4(func() packet.IPv4 { h.TTL--; return h }(), payload)
		src, dst := macOf(2), macBehind(2)
		copy(to, dst[:])
		copy(to[6:], src[:])
		h.TTL++
		s.steps = append(s.steps, step{what: c.what, in: wire{3, plain4(h, payload)},
			out: []wire{{2, to}}})
	}
	return []scenario{s}
}

// ipv4Refused: what is no sound IPv4 packet of a host.
func ipv4Refused() []scenario {
	h := packet.IPv4{TTL: 9, Protocol: packet.NextHeaderNone, Src: hostIPv4(1), Dst: hostIPv4(2)}
	good := plain4(h, pattern(30))
	at := func(what string, offset int, octet byte, reason p4.DropReason) step {
		return refuses(what, patch(wire{1, good}, offset, octet), reason)
	}
	to := plain4(func() packet.IPv4 { h := h; h.TTL--; return h }(), pattern(30))
	src, dst := macOf(2), macBehind(2)
	copy(to, dst[:])
	copy(to[6:], src[:])
	short := plain4(h, nil)
	binary.BigEndian.PutUint16(short[14+2:], 19)
	six := func(from, to netip.Addr) []byte {
		return plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: from, Dst: to}, nil)
	}
	s := scenario{name: "ipv4/refused", entries: append(hostPort(1, 0, exactly(hostIPv4(1)),
		exactly(host(1))), icmpEntry(1, 1<<30),
		entry(p4.TableIpv6Route, []any{0, exactly(hostIPv4(2))}, p4.ActionForward, 2, neighborOf(2))),
		steps: []step{
			{what: "sound", in: wire{1, good}, out: []wire{{2, to}}},
			at("version", 14, 0x65, p4.DropReasonNotIpv6),
			at("options", 14, 0x46, p4.DropReasonNotIpv6),
			at("checksum", 14+11, good[14+11]^1, p4.DropReasonIpv4Checksum),
			refuses("total length", wire{1, short}, p4.DropReasonParseTruncated),
			refuses("cut", cut(wire{1, good}, 30), p4.DropReasonParseTruncated),
			refuses("an IPv6 packet from its IPv4 address", wire{1, six(sixteen(hostIPv4(1)), host(2))},
				p4.DropReasonMappedAddress),
			refuses("nowhere", wire{1, plain4(func() packet.IPv4 { h := h; h.Dst = hostIPv4(9); return h }(),
				nil)}, p4.DropReasonNoRoute),
			{what: "no ICMP error", in: wire{1, plain4(func() packet.IPv4 { h := h; h.TTL = 1; return h }(),
				nil)}, ingress: drops{p4.DropReasonHopLimit: 1}, icmp: map[p4.IcmpEvent]int{
				p4.IcmpEventUnanswerable: 1}},
			refuses("IPv4 in IPv6", wire{1, plain(packet.IPv6{NextHeader: packet.NextHeaderIPv4,
				HopLimit: 9, Src: host(1), Dst: host(2)}, good[14:])}, p4.DropReasonSidFromOutside),
		}}
	message := connectMessage(hostIPv4(1), addr("10.99.1.1"))
	frame := message.Append(nil)
	cm := scenario{name: "ipv4/connect", entries: append(hostPort(1, 0, exactly(hostIPv4(1))),
		entry(p4.TableMtConnect, []any{addr("10.99.1.1"), exactly(hostIPv4(1))},
			p4.ActionSetConnect, 310, 1,
			1<<20)),
		steps: []step{{what: "RDMA CM", in: wire{1, frame}, out: []wire{report{port: 1,
			reason: p4.PacketInReasonConnect, group: 310}.wire(frame...)}}}}
	return []scenario{s, cm}
}
