package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// requests are the opcodes a group carries.
var requests = []packet.Opcode{
	packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLast, packet.OpSendLastImmediate,
	packet.OpSendOnly, packet.OpSendOnlyImmediate,
	packet.OpWriteFirst, packet.OpWriteMiddle, packet.OpWriteLast, packet.OpWriteLastImmediate,
	packet.OpWriteOnly, packet.OpWriteOnlyImmediate,
}

// refused are opcodes it does not: READ, ATOMIC, responses, other services.
var refused = []packet.Opcode{
	packet.OpReadRequest, packet.OpReadResponseFirst, packet.OpReadResponseMiddle,
	packet.OpReadResponseOnly, packet.OpAtomicAcknowledge,
	packet.OpCompareSwap, packet.OpFetchAdd, packet.OpSendLastInvalidate, packet.OpSendOnlyInvalidate,
	0x18, 0x24 /* UC SEND Only */, 0x44 /* RD SEND Only */, 0x64 /* UD SEND Only */, 0xc0, 0xff,
}

// End.MT with provisioned receivers (draft section 6.2), line by line.
func endMT() []scenario {
	t := tree{group: newGroup(5, 2)}
	p := t.request(packet.OpWriteOnly, 100, 256)
	onTree := t.onTree(p)
	arrives := func(change func(*packet.RoCE)) wire { return in(7, with(onTree, change)) }
	entries := t.downward()

	all := scenario{name: "end.mt/opcodes", entries: entries}
	for _, op := range requests {
		q := t.request(op, 0xfffffe, 100)
		all.steps = append(all.steps, step{what: op.String(), in: in(7, t.onTree(q)), out: t.all(q)})
	}
	nothing := t.request(packet.OpWriteOnly, 0, 0) // a WRITE of no octets is a RETH and no payload
	all.steps = append(all.steps, step{what: "WRITE of no octets", in: in(7, t.onTree(nothing)),
		out: t.all(nothing)})
	for _, op := range append(refused, packet.OpAcknowledge, packet.OpCongestionNotification) {
		step := step{what: op.String(), in: in(7, t.onTree(t.request(op, 1, 0))),
			ingress: drops{p4.DropReasonMtOpcode: 1}}
		all.steps = append(all.steps, step)
	}
	sizes := scenario{name: "end.mt/sizes", entries: entries}
	for _, size := range []int{0, 1, 2, 3, 4, 5, 63, 1024, 4095, 4096, 9000} {
		q := t.request(packet.OpWriteMiddle, 7, size)
		sizes.steps = append(sizes.steps, step{what: fmt.Sprint(size), in: in(7, t.onTree(q)),
			out: t.all(q)})
	}

	ipInIP := with(onTree, func(p *packet.RoCE) { p.Routed = false })
	noInner := routed(packet.IPv6{HopLimit: 9, Src: nodeBehind(7), Dst: t.sid()},
		[]netip.Addr{t.sid(), t.proxy}, 1, packet.NextHeaderNone, nil)
	inside := func(next uint8, payload []byte) wire {
		inner := plain(packet.IPv6{NextHeader: next, HopLimit: 9, Src: t.source(), Dst: t.proxy},
			payload)[packet.EthernetLen:]
		return wire{7, routed(packet.IPv6{HopLimit: 9, Src: nodeBehind(7), Dst: t.sid()},
			[]netip.Addr{t.sid(), t.proxy}, 1, packet.NextHeaderIPv6, inner)}
	}
	udp := append(packet.UDP{SrcPort: 1, DstPort: 4790, Length: 20}.Append(nil), pattern(12)...)

	another := newGroup(4, 2)

	corrupt := in(7, onTree)
	corrupt = patch(corrupt, len(corrupt.frame)-20, corrupt.frame[len(corrupt.frame)-20]^1)

	return append(ecnOfEndMT(t, p),
		all, sizes,
		scenario{
			name: "end.mt/lines", entries: append(slices.Clone(entries), another.proxyEntry(),
				another.state()),
			steps: []step{
				{what: "S01-S12", in: in(7, onTree), out: t.all(p)},
				{what: "S01: any flow label, hop limit and tag", in: arrives(func(p *packet.RoCE) {
					p.Outer.FlowLabel, p.Outer.HopLimit, p.SRH.Tag, p.SRH.Flags = 0, 2, 0xffff, 0xff
				}), out: t.all(p)},
				{what: "inner Hop Limit is written, not lowered", in: arrives(func(p *packet.RoCE) {
					p.IPv6.HopLimit = 0
				}), out: t.all(p)},
				{what: "S14: Segments Left 0", in: arrives(func(p *packet.RoCE) { p.SRH.SegmentsLeft = 0 }),
					ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
				{what: "S14: no SRH", in: in(7, ipInIP), ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
				{what: "no encapsulation at all", in: in(7, with(p, func(p *packet.RoCE) {
					p.IPv6.Dst = t.sid()
				})), ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{what: "Hop Limit 1", in: arrives(func(p *packet.RoCE) { p.Outer.HopLimit = 1 }),
					ingress: drops{p4.DropReasonHopLimit: 1}},
				{what: "the inner destination is no proxy address", in: arrives(func(p *packet.RoCE) {
					p.IPv6.Dst = host(3)
				}), ingress: drops{p4.DropReasonMtInner: 1}},
				{what: "the inner destination is another group's proxy address",
					in:      arrives(func(p *packet.RoCE) { p.IPv6.Dst = another.proxy }),
					ingress: drops{p4.DropReasonMtInner: 1}},
				{what: "nothing inside", in: wire{7, noInner}, ingress: drops{p4.DropReasonMtInner: 1}},
				{what: "IPv6 inside, no UDP", in: inside(packet.NextHeaderNone, nil),
					ingress: drops{p4.DropReasonMtInner: 1}},
				{what: "UDP inside, no RoCEv2", in: inside(packet.NextHeaderUDP, udp),
					ingress: drops{p4.DropReasonMtInner: 1}},
				{what: "another QPN", in: arrives(func(p *packet.RoCE) { p.BTH.DestQPN++ }),
					ingress: drops{p4.DropReasonMtQpn: 1}},
				{what: "S10: a corrupt packet gets no new ICRC", in: corrupt,
					ingress: drops{p4.DropReasonIcrc: 1}},
				{what: "a corrupt ICRC", in: patch(corrupt, len(corrupt.frame)-1, 0),
					ingress: drops{p4.DropReasonIcrc: 1}},
			},
		},
		scenario{
			name: "end.mt/fields", entries: entries,
			steps: []step{
				{what: "BTH fields pass through", in: arrives(everyField), out: t.all(with(p, everyField))},
				{what: "UDP checksum updated", in: arrives(func(p *packet.RoCE) { p.Checksummed = true }),
					out: t.all(with(p, func(p *packet.RoCE) { p.Checksummed = true }))},
				{
					what: "UDP checksum updated, without RETH",
					in: in(7, t.onTree(with(t.request(packet.OpSendOnly, 9, 77), func(p *packet.RoCE) {
						p.Checksummed = true
					}))),
					out: t.all(with(t.request(packet.OpSendOnly, 9, 77), func(p *packet.RoCE) {
						p.Checksummed = true
					})),
				},
				checksumZero(t),
			},
		},
		scenario{
			name: "end.mt/unprogrammed",
			entries: append(entries[:len(entries)-1:len(entries)-1],
				entry(p4.TableLocalSid, []any{exactly(t.sid())}, p4.ActionEndMt, 999, t.mcast(), t.from())),
			steps: []step{{what: "group", in: in(7, onTree), ingress: drops{p4.DropReasonMtGroup: 1}}},
		},
		scenario{
			name:    "end.mt/unprogrammed_replica",
			entries: entries,
			steps: []step{
				{
					what: "one copy has no entry, the other arrives",
					write: modify(multicast(t.mcast(), copyTo{p4.RecirculationPort, 1},
						copyTo{p4.RecirculationPort, 9})),
					in: in(7, onTree), out: []wire{t.delivered(0, p)}, egress: drops{p4.DropReasonMtReplica: 1},
				},
				{
					what: "one receiver has no route, the other gets its copy",
					write: append(modify(multicast(t.mcast(), copyTo{p4.RecirculationPort, 1},
						copyTo{p4.RecirculationPort, 2})),
						remove(entry(p4.TableIpv6Route, []any{0, exactly(t.branches[0].addr)}, p4.ActionForward, 2,
							neighborOf(2)))...),
					in: in(7, onTree), out: []wire{t.delivered(1, p)}, ingress: drops{p4.DropReasonNoRoute: 1},
				},
			},
		},
		segmentLists(),
		literal(),
		rethRewrite(), psnRewrite(),
		pastARouter(),
	)
}

// everyField sets what the switch has no business with.
func everyField(p *packet.RoCE) {
	p.BTH.Solicited, p.BTH.MigReq, p.BTH.FECN, p.BTH.BECN = true, true, true, true
	p.BTH.TVer, p.BTH.PKey, p.BTH.Reserved6, p.BTH.Reserved7, p.BTH.AckReq = 5, 0x8001, 0x2a, 0x55,
		false
	p.IPv6.FlowLabel, p.UDP.SrcPort = 0xfffff, 0xffff
}

// ecnOfEndMT: congestion met on the tree reaches the receivers.
func ecnOfEndMT(t tree, p packet.RoCE) []scenario {
	s := scenario{name: "end.mt/rfc6040", entries: t.downward()}
	for outer := range uint8(4) {
		for inner := range uint8(4) {
			sent := with(p, func(p *packet.RoCE) { p.IPv6.TrafficClass = packet.TrafficClass(26, inner) })
			step := step{
				what: fmt.Sprintf("outer %d inner %d", outer, inner),
				in: in(7, with(t.onTree(sent), func(p *packet.RoCE) {
					p.Outer.TrafficClass = packet.TrafficClass(3, outer)
				})),
			}
			if ecn, ok := packet.DecapECN(inner, outer); ok {
				step.out = t.all(with(sent, func(p *packet.RoCE) {
					p.IPv6.TrafficClass = packet.TrafficClass(26, ecn)
				}))
			} else {
				step.egress = drops{p4.DropReasonEcnNotCapable: 2} // a copy each
			}
			s.steps = append(s.steps, step)
		}
	}
	return []scenario{s}
}

// checksumZero returns a packet whose checksum would be 0 (no checksum) at its only receiver: the
// switch sends 0xffff instead.
func checksumZero(t tree) step {
	p := with(t.request(packet.OpWriteLast, 3, 8), func(p *packet.RoCE) { p.Checksummed = true })
	for i := range 1 << 24 {
		binary.BigEndian.PutUint32(p.Payload, uint32(i))
		w := t.delivered(0, p)
		if binary.BigEndian.Uint16(w.frame[offNext+6:]) == 0xffff {
			return step{what: "UDP checksum 0xffff", in: in(7, t.onTree(p)), out: t.all(p)}
		}
	}
	panic("no payload gives checksum 0xffff")
}

// segmentLists: lines S01 to S03 and section 7.1. The source may list the End.MT SIDs of the edges,
// with the proxy address or without, in any number and order, and leave out the first segment; the
// nodes of the tree leave Segments Left alone.
func segmentLists() scenario {
	t := tree{group: newGroup(3, 2), children: []uint32{4}}
	p := t.request(packet.OpWriteOnly, 8, 64)
	s := scenario{name: "end.mt/segment_lists", entries: t.downward()}
	root, other, here := sidBehind(7), sidBehind(5), t.sid()
	add := func(what string, left uint8, visit ...netip.Addr) {
		q := listed(t.onTree(p), left, visit...)
		s.steps = append(s.steps, step{what: fmt.Sprintf("%s, %d left", what, left), in: in(7, q),
			out: append(t.all(p), t.passed(4, q))})
	}
	add("the tree's SID and P", 1, root, t.proxy)
	add("P alone, the first segment left out", 1, t.proxy)
	add("this edge's SID and P", 1, here, t.proxy)
	add("the tree's SID and this edge's, no P", 1, root, here)
	for left := uint8(1); left <= 4; left++ {
		add("the tree's SID, edges and P", left, root, other, here, t.proxy)
	}
	long := []netip.Addr{root}
	for len(long) < 15 {
		long = append(long, other)
	}
	long = append(long, t.proxy)
	for _, left := range []uint8{1, 2, 8, 15, 16} {
		add("16 segments", left, long...)
	}
	s.steps = append(s.steps,
		refuses("none left", in(7, listed(t.onTree(p), 0, root, here, t.proxy)),
			p4.DropReasonSidSegmentsLeft),
		refuses("more left than there are", in(7, listed(t.onTree(p), 5, root, here, t.proxy)),
			p4.DropReasonParseSegmentsLeft),
		refuses("P in the list, another destination inside",
			in(7, with(listed(t.onTree(p), 2, root, here, t.proxy), func(p *packet.RoCE) {
				p.IPv6.Dst = host(2)
			})), p4.DropReasonMtInner),
	)
	return s
}

// literal: the text of the draft, which leaves the source address alone.
func literal() scenario {
	t := tree{group: newGroup(0, 1), literal: true}
	p := t.request(packet.OpWriteOnly, 1, 64)
	return scenario{name: "end.mt/literal_source", entries: t.downward(),
		steps: []step{{in: in(7, t.onTree(p)), out: t.all(p)}}}
}

// rethRewrite: receivers that registered memory at other addresses, under other keys.
func rethRewrite() scenario {
	t := tree{group: newGroup(1023, 2)}
	const back = ^uint64(0x0fff) // -0x1000
	s := scenario{
		name: "end.mt/reth",
		entries: append(t.downward(), modify(
			entry(p4.TableMtReplica, []any{t.id, 2}, p4.ActionToReceiverReth, t.branches[1].addr,
				t.branches[1].qpn, 1, back, 0x11223344))...),
	}
	for _, op := range requests {
		p := t.request(op, 5, 40)
		rewritten := with(p, func(p *packet.RoCE) {
			p.RETH.VA, p.RETH.RKey = p.RETH.VA-0x1000, 0x11223344
		})
		s.steps = append(s.steps, step{what: op.String(), in: in(7, t.onTree(p)),
			out: []wire{t.delivered(0, p), t.delivered(1, rewritten)}})
		p.Checksummed, rewritten.Checksummed = true, true
		s.steps = append(s.steps, step{what: op.String() + ", checksummed", in: in(7, t.onTree(p)),
			out: []wire{t.delivered(0, p), t.delivered(1, rewritten)}})
	}
	return s
}

// psnRewrite: receivers that count other PSNs than the source, at, below and above 2^24.
func psnRewrite() scenario {
	const last = packet.PSNMask
	t := tree{group: newGroup(1021, 4)}
	replica := func(b int, action string, params ...any) *p4v1.Update {
		r := t.branches[b]
		return entry(p4.TableMtReplica, []any{t.id, b + 1}, action, append([]any{r.addr, r.qpn, 1},
			params...)...)
	}
	offsets := []uint32{0, 1, last, 1 << 23}
	s := scenario{
		name: "end.mt/psn",
		entries: append(t.downward(), modify(
			replica(1, p4.ActionToReceiverPsn, offsets[1]), replica(2, p4.ActionToReceiverPsn, offsets[2]),
			replica(3, p4.ActionToReceiverRethPsn, uint64(0x1000), 0x11223344, offsets[3]))...),
	}
	for _, op := range requests {
		for _, psn := range []uint32{last - 1, last, 0, 1, 1<<23 - 1, 1 << 23} {
			p := t.request(op, psn, 40)
			p.Checksummed = psn%2 == 0
			var out []wire
			for b, offset := range offsets {
				out = append(out, t.delivered(b, with(p, func(p *packet.RoCE) {
					p.BTH.PSN = (psn + offset) & last
					if b == 3 {
						p.RETH.VA, p.RETH.RKey = p.RETH.VA+0x1000, 0x11223344
					}
				})))
			}
			s.steps = append(s.steps, step{what: fmt.Sprintf("%v, PSN %d", op, psn),
				in: in(7, t.onTree(p)), out: out})
		}
	}
	return s
}

// pastARouter: S11 is a FIB lookup, so a receiver may be behind a router, or an ECMP group.
func pastARouter() scenario {
	t := tree{group: newGroup(8, 1)}
	p := t.request(packet.OpWriteOnly, 1, 64)
	b := t.branches[0]
	return scenario{
		name: "end.mt/fib",
		entries: append(append(t.downward(),
			modify(entry(p4.TableIpv6Route, []any{0, exactly(b.addr)}, p4.ActionEcmpGroup, 3))...),
			ecmpGroup(3, 1, 8)...),
		steps: []step{{in: in(7, t.onTree(p)), out: []wire{t.deliveredTo(8, b.addr, b.qpn, p)}}},
	}
}
