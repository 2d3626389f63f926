package fabric

import (
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// Transit and bud nodes: RFC 9524 Replication segments.
func replicate() []scenario {
	transit := tree{group: newGroup(6, 0), children: []uint32{2, 3, 4}}
	bud := tree{group: newGroup(7, 2), children: []uint32{4, 5}}
	p := transit.request(packet.OpWriteOnly, 77, 300)
	onTree := transit.onTree(p, inbandTLVs(edge(nodeBehind(2), receiver(host(2), 0x22)))...)
	children := func(t tree, p packet.RoCE) []wire {
		var wires []wire
		for _, port := range t.children {
			wires = append(wires, t.passed(port, p))
		}
		return wires
	}
	bad := func(w wire) wire { return patch(w, len(w.frame)-1, w.frame[len(w.frame)-1]^0xff) }
	badChildren := children(transit, onTree)
	for i := range badChildren {
		badChildren[i] = bad(badChildren[i])
	}
	changed := func(p packet.RoCE, change func(*packet.RoCE)) (wire, []wire) {
		p = with(p, change)
		return in(7, p), children(transit, p)
	}
	hops2, hops2Out := changed(onTree, func(p *packet.RoCE) { p.Outer.HopLimit = 2 })
	ce, ceOut := changed(onTree, func(p *packet.RoCE) { p.Outer.TrafficClass |= packet.CE })

	q := bud.request(packet.OpWriteOnly, 78, 300)
	onBud := bud.onTree(q)
	both := func(p packet.RoCE) []wire { return slices.Concat(bud.all(p), children(bud, p)) }
	return []scenario{
		{
			name: "replicate/transit", entries: transit.downward(),
			steps: []step{
				{what: "a copy per child, TLVs and Segments Left untouched", in: in(7, onTree),
					out: children(transit, onTree)},
				{what: "Hop Limit 2", in: hops2, out: hops2Out},
				{what: "Hop Limit 1", in: in(7, with(onTree, func(p *packet.RoCE) { p.Outer.HopLimit = 1 })),
					ingress: drops{p4.DropReasonHopLimit: 1}},
				{what: "congestion mark stays outside", in: ce, out: ceOut},
				{what: "the ICRC is the edge's business", in: bad(in(7, onTree)), out: badChildren},
				{
					what: "no encapsulation", in: in(7, with(p, func(p *packet.RoCE) {
						p.IPv6.Dst = transit.sid()
					})),
					ingress: drops{p4.DropReasonSidUpperLayer: 1},
				},
			},
		},
		{
			name: "replicate/bud", entries: bud.downward(),
			steps: []step{
				{what: "children and receivers", in: in(7, onBud), out: both(onBud)},
				{what: "corrupt: nobody gets it", in: bad(in(7, onBud)), ingress: drops{p4.DropReasonIcrc: 1}},
				{what: "Segments Left 0: nobody gets it", in: in(7, with(onBud, func(p *packet.RoCE) {
					p.SRH.SegmentsLeft = 0
				})), ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
				{what: "READ: nobody gets it", in: in(7, bud.onTree(bud.request(packet.OpReadRequest, 1, 0))),
					ingress: drops{p4.DropReasonMtOpcode: 1}},
			},
		},
		{
			name:    "replicate/unprogrammed",
			entries: append(transit.downward(), remove(transit.state())...),
			steps:   []step{{what: "group", in: in(7, onTree), ingress: drops{p4.DropReasonMtGroup: 1}}},
		},
		{
			name: "replicate/neighbor_gone",
			entries: append(transit.downward(),
				remove(entry(p4.TableNeighbor, []any{neighborOf(3)}, p4.ActionSetMacs, macOf(3),
					macBehind(3)))...),
			steps: []step{{
				what: "one child's next hop", in: in(7, onTree), out: []wire{transit.passed(2, onTree),
					transit.passed(4, onTree)},
				egress: drops{p4.DropReasonNoNeighbor: 1},
			}},
		},
	}
}

// The first switch: H.Encaps of what the source sends to the proxy address.
func firstSwitch() []scenario {
	// The tree starts at the node behind port 8.
	t := tree{group: newGroup(9, 0)}
	start := sidBehind(8)
	admission := append(modify(entry(p4.TablePort, []any{1}, p4.ActionSetPort, 1, 0)),
		entry(p4.TableSourceGuard, []any{1, exactly(host(1))}, p4.ActionAllowSource))
	entries := append(t.responses(), entry(p4.TableMtSource, []any{t.id, 1, t.source()},
		p4.ActionMtEncaps, node, start))
	p := t.request(packet.OpWriteOnly, 3, 128)
	wrong := func(change func(*packet.RoCE)) wire { return in(1, with(p, change)) }
	s := scenario{name: "first/encaps", entries: slices.Concat(entries, admission)}
	for _, op := range requests {
		q := t.request(op, 0, 9)
		s.steps = append(s.steps, step{what: op.String(), in: in(1, q),
			out: []wire{out(8, encapsulated(start, q))}})
	}
	for _, op := range refused {
		s.steps = append(s.steps, step{what: op.String(), in: in(1, t.request(op, 0, 0)),
			ingress: drops{p4.DropReasonMtOpcode: 1}})
	}
	udp := append(packet.UDP{SrcPort: 1, DstPort: 4790, Length: 20}.Append(nil), pattern(12)...)
	toProxy := func(next uint8, payload []byte) wire {
		return wire{1, plain(packet.IPv6{NextHeader: next, HopLimit: 9, Src: t.source(), Dst: t.proxy},
			payload)}
	}
	s.steps = append(s.steps,
		step{what: "UDP, no RoCEv2", in: toProxy(packet.NextHeaderUDP, udp),
			ingress: drops{p4.DropReasonMtOpcode: 1}},
		step{what: "TCP", in: toProxy(6, pattern(20)), ingress: drops{p4.DropReasonMtOpcode: 1}},
		step{what: "ICMPv6", in: toProxy(packet.NextHeaderICMPv6, pattern(20)),
			ingress: drops{p4.DropReasonMtOpcode: 1}},
		step{what: "another QPN", in: wrong(func(p *packet.RoCE) { p.BTH.DestQPN = 0x22 }),
			ingress: drops{p4.DropReasonMtQpn: 1}},
		step{what: "not the source: port", in: in(3, p), ingress: drops{p4.DropReasonMtNotSource: 1}},
		step{what: "not the source: address", in: in(3, with(p, func(p *packet.RoCE) {
			p.IPv6.Src = host(3)
		})), ingress: drops{p4.DropReasonMtNotSource: 1}},
		step{what: "the source's port, another's address", in: wrong(func(p *packet.RoCE) {
			p.IPv6.Src = host(3)
		}), ingress: drops{p4.DropReasonSourceGuard: 1}},
		step{what: "Hop Limit 1", in: wrong(func(p *packet.RoCE) { p.IPv6.HopLimit = 1 }),
			ingress: drops{p4.DropReasonHopLimit: 1}},
		step{what: "Hop Limit 2", in: wrong(func(p *packet.RoCE) { p.IPv6.HopLimit = 2 }),
			out: []wire{out(8, encapsulated(start, with(p, func(p *packet.RoCE) { p.IPv6.HopLimit = 2 })))}},
		step{what: "UDP checksum untouched", in: wrong(func(p *packet.RoCE) { p.Checksummed = true }),
			out: []wire{out(8, encapsulated(start, with(p, func(p *packet.RoCE) {
				p.Checksummed = true
			})))}},
		step{what: "congestion experienced", in: wrong(func(p *packet.RoCE) {
			p.IPv6.TrafficClass |= packet.CE
		}), out: []wire{out(8, encapsulated(start, with(p, func(p *packet.RoCE) {
			p.IPv6.TrafficClass |= packet.CE
		})))}},
	)

	// The first switch checks the packet also where its source is behind a router of the domain.
	inside := scenario{
		name: "first/encaps_from_the_domain", entries: entries,
		steps: []step{
			{what: "the source", in: in(1, p), out: []wire{out(8, encapsulated(start, p))}},
			refuses("another QPN", wrong(func(p *packet.RoCE) { p.BTH.DestQPN = 0x22 }), p4.DropReasonMtQpn),
			refuses("READ", in(1, t.request(packet.OpReadRequest, 0, 0)), p4.DropReasonMtOpcode),
			refuses("not the source", wrong(func(p *packet.RoCE) { p.IPv6.Src = host(3) }),
				p4.DropReasonMtNotSource),
		},
	}

	// A host that encapsulates by itself may not lie about the inner source.
	spoofed := with(t.onTree(p), func(p *packet.RoCE) { p.Outer.Src, p.Outer.Dst = host(1), start })
	spoof := scenario{
		name: "first/inband_source", entries: slices.Concat(entries, admission),
		steps: []step{
			refuses("its own address, another node's SID", in(1, spoofed), p4.DropReasonSidFromOutside),
			{what: "another's inside", in: in(1, with(spoofed, func(p *packet.RoCE) {
				p.IPv6.Src = host(3)
			})), ingress: drops{p4.DropReasonSourceGuard: 1}},
			{what: "another's outside", in: in(1, with(spoofed, func(p *packet.RoCE) {
				p.Outer.Src = host(3)
			})), ingress: drops{p4.DropReasonSourceGuard: 1}},
		},
	}

	// The tree starts at this switch, which also has children and local receivers.
	own := tree{group: newGroup(10, 2), children: []uint32{7, 8}, outer: host(1)}
	source := entry(p4.TableMtSource, []any{own.id, 1, own.source()}, p4.ActionMtEncapsReplicate, node,
		own.sid(), own.mcast(), 1)
	transit := tree{group: newGroup(11, 0), children: []uint32{7, 8}}
	transitSource := entry(p4.TableMtSource, []any{transit.id, 1, transit.source()},
		p4.ActionMtEncapsReplicate, node, transit.sid(), transit.mcast(), 0)
	q := own.request(packet.OpWriteOnly, 5, 99)
	r := transit.request(packet.OpWriteOnly, 5, 99)
	bad := func(w wire) wire { return patch(w, len(w.frame)-1, w.frame[len(w.frame)-1]^0xff) }
	badCopies := transit.fromSource(r)
	for i := range badCopies {
		badCopies[i] = bad(badCopies[i])
	}
	// In-band, the source encapsulates, and its own switch is the first node of the tree.
	starts := tree{group: newGroup(17, 2), children: []uint32{7, 8}, inband: true, outer: host(1)}
	plainly := starts.request(packet.OpWriteOnly, 5, 99)
	fromHost := starts.onTree(plainly, inbandTLVs(edge(node, starts.asTLV(1, 0)...))...)
	toAll := append(starts.all(fromHost), starts.passed(7, fromHost), starts.passed(8, fromHost))
	fromAnother := with(fromHost, func(p *packet.RoCE) { p.Outer.Src, p.IPv6.Src = host(2), host(2) })
	sends := func(g group, port uint32, src netip.Addr) *p4v1.Update {
		return entry(p4.TableMtSource, []any{g.id, port, src}, p4.ActionMtInband)
	}
	// Port 2 faces a host with its own address, which may also use the source's address.
	admission2 := append(modify(entry(p4.TablePort, []any{2}, p4.ActionSetPort, 1, 0)),
		entry(p4.TableSourceGuard, []any{2, exactly(host(2))}, p4.ActionAllowSource),
		entry(p4.TableSourceGuard, []any{2, exactly(host(1))}, p4.ActionAllowSource))
	inbandStart := scenario{
		name: "first/inband_tree_starts_here",
		entries: slices.Concat(withoutState(starts.responses()), starts.downward(), fanOut(), admission,
			admission2),
		steps: []step{
			refuses("nobody may send yet", in(1, fromHost), p4.DropReasonMtNotSource),
			withWrite(refuses("another group's source", in(1, fromHost), p4.DropReasonMtNotSource),
				[]*p4v1.Update{sends(newGroup(16, 0), 1, host(1))}),
			{what: "the source", write: []*p4v1.Update{sends(starts.group, 1, starts.source())},
				in: in(1, fromHost), out: toAll},
			{what: "in another's name", in: in(1, with(fromHost, func(p *packet.RoCE) {
				p.IPv6.Src = host(2)
			})), ingress: drops{p4.DropReasonSourceGuard: 1}},
			refuses("another host", in(2, fromAnother), p4.DropReasonMtNotSource),
			refuses("the source's address on another host's port", in(2, fromHost),
				p4.DropReasonMtNotSource),
			refuses("another host, and nothing that a tree carries",
				in(2, with(fromAnother, func(p *packet.RoCE) { p.BTH.Opcode = packet.OpReadRequest })),
				p4.DropReasonMtNotSource),
			refuses("plain from the source", in(1, plainly), p4.DropReasonMtNotSource),
			refuses("plain from another host", in(2, with(plainly, func(p *packet.RoCE) {
				p.IPv6.Src = host(2)
			})), p4.DropReasonMtNotSource),
			{what: "the source's second port",
				write: []*p4v1.Update{sends(starts.group, 2, starts.source())}, in: in(2, fromHost),
				out: toAll},
			{what: "from the fabric: its first switch has asked", in: in(7, fromHost), out: toAll},
			refuses("from the fabric, of another source", in(7, fromAnother), p4.DropReasonMtNotSource),
			withWrite(refuses("no longer the source", in(1, fromHost), p4.DropReasonMtNotSource),
				remove(sends(starts.group, 1, starts.source()))),
		},
	}
	// An edge elsewhere in the tree, with hosts of its own: nobody there may send.
	leaf := tree{group: newGroup(19, 2)}
	fromReceiver := leaf.onTree(leaf.request(packet.OpWriteOnly, 5, 99))
	fromReceiver.Outer.Src = host(1)
	inbandLeaf := scenario{
		name: "first/inband_edge_of_another", entries: slices.Concat(leaf.downward(), admission),
		steps: []step{
			refuses("a host of an edge", in(1, fromReceiver), p4.DropReasonMtNotSource),
			refuses("in the name of the tree's first switch",
				in(1, leaf.onTree(leaf.request(packet.OpWriteOnly, 5, 99))), p4.DropReasonSourceGuard),
			{what: "the tree", in: in(7, leaf.onTree(leaf.request(packet.OpWriteOnly, 5, 99))),
				out: leaf.all(fromReceiver)},
		},
	}
	// The first switch refuses what no edge would take, whether it has receivers or not.
	sourced := tree{group: newGroup(18, 0), children: []uint32{7}, outer: host(1)}
	fromSource := sourced.onTree(sourced.request(packet.OpWriteOnly, 5, 99))
	refusedAtFirst := func(what string, reason p4.DropReason, change func(*packet.RoCE)) step {
		return refuses(what, in(1, with(fromSource, change)), reason)
	}
	withEdges := listed(fromSource, 3, sourced.sid(), sidBehind(4), sidBehind(5), sourced.proxy)
	inbandRefused := scenario{
		name: "first/inband_refused", entries: slices.Concat(sourced.downward(), admission,
			[]*p4v1.Update{sends(sourced.group, 1, sourced.source())}),
		steps: []step{
			{what: "a sound one", in: in(1, fromSource), out: []wire{sourced.passed(7, fromSource)}},
			{what: "with the SIDs of edges", in: in(1, withEdges),
				out: []wire{sourced.passed(7, withEdges)}},
			refusedAtFirst("READ", p4.DropReasonMtOpcode, func(p *packet.RoCE) {
				p.BTH.Opcode = packet.OpReadRequest
			}),
			refusedAtFirst("UD", p4.DropReasonMtOpcode, func(p *packet.RoCE) { p.BTH.Opcode = 0x64 }),
			refusedAtFirst("an ACK", p4.DropReasonMtOpcode, func(p *packet.RoCE) {
				p.BTH.Opcode, p.Payload = packet.OpAcknowledge, nil
			}),
			refusedAtFirst("another QPN", p4.DropReasonMtQpn, func(p *packet.RoCE) { p.BTH.DestQPN++ }),
			refusedAtFirst("not to the proxy", p4.DropReasonMtInner, func(p *packet.RoCE) {
				p.IPv6.Dst = host(2)
			}),
			refusedAtFirst("Segments Left 0", p4.DropReasonSidSegmentsLeft, func(p *packet.RoCE) {
				p.SRH.SegmentsLeft = 0
			}),
		},
	}
	// In provisioned mode the source does not encapsulate, also when it names the SID of the tree.
	byItself := func(t tree, p packet.RoCE) packet.RoCE {
		return with(t.onTree(p), func(p *packet.RoCE) { p.Outer.Src = host(1) })
	}
	elsewhere := entry(p4.TableMtSource, []any{own.id, 1, own.source()}, p4.ActionMtEncaps, node,
		start)
	provisioned := scenario{
		name: "first/provisioned_refuses_encapsulated",
		entries: slices.Concat(withoutState(own.responses()), own.downward(), []*p4v1.Update{source},
			admission),
		steps: []step{
			{what: "plain", in: in(1, q), out: own.fromSource(q)},
			refuses("encapsulated", in(1, byItself(own, q)), p4.DropReasonMtNotSource),
			withWrite(refuses("encapsulated, and the tree starts elsewhere", in(1, byItself(own, q)),
				p4.DropReasonMtNotSource), modify(elsewhere)),
		},
	}
	return []scenario{
		provisioned, s, inside, spoof, inbandStart, inbandLeaf, inbandRefused,
		{
			name: "first/tree_starts_here", entries: slices.Concat(withoutState(own.responses()),
				own.downward(), []*p4v1.Update{source}),
			steps: []step{
				{what: "receivers on the source's own switch, and children", in: in(1, q),
					out: own.fromSource(q)},
				{what: "corrupt", in: bad(in(1, q)), ingress: drops{p4.DropReasonIcrc: 1}},
				{what: "READ", in: in(1, own.request(packet.OpReadRequest, 5, 0)),
					ingress: drops{p4.DropReasonMtOpcode: 1}},
				{what: "Hop Limit 1", in: in(1, with(q, func(p *packet.RoCE) { p.IPv6.HopLimit = 1 })),
					ingress: drops{p4.DropReasonHopLimit: 1}},
				{what: "not the source", in: in(2, q), ingress: drops{p4.DropReasonMtNotSource: 1}},
			},
		},
		{
			name: "first/tree_starts_here_without_receivers",
			entries: slices.Concat(withoutState(transit.responses()), transit.downward(),
				[]*p4v1.Update{transitSource}),
			steps: []step{
				{what: "children only", in: in(1, r), out: transit.fromSource(r)},
				{what: "the ICRC is the edges' business", in: bad(in(1, r)), out: badCopies},
			},
		},
	}
}
