package fabric

import (
	"fmt"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// The switch's End.X.PFC SID of port 3, and End.PFC SID; a node that signals into tunnels.
var (
	sidEndXPFC = addr("fd00:b:ff::bfc3")
	sidEndPFC  = addr("fd00:b:ff::bfc")
	signaller  = nodeBehind(4)
	pfcSource  = packet.MAC{2, 0, 0, 0, 0, 0x4a}
)

// someMAC is no address of PFC's.
var someMAC = packet.MAC{2, 1, 1, 1, 1, 1}

// pfcOf pauses priorities.
func pfcOf(quanta uint16, priorities ...int) packet.PFC {
	p := packet.PFC{}
	for _, n := range priorities {
		p.Classes |= 1 << n
		p.Quanta[n] = quanta
	}
	return p
}

// onLink is a PFC frame of a neighbor.
func onLink(port uint32, p packet.PFC) wire { return wire{port, p.AppendFrame(nil, pfcSource)} }

// commanded is what the target gets for a frame of pfcSource.
func commanded(port uint32, p packet.PFC) wire { return commandedBy(pfcSource, port, p) }

func commandedBy(src packet.MAC, port uint32, p packet.PFC) wire {
	b := p4.TargetFrame{Op: p4.TargetOpPause, Port: uint16(port)}.Append(nil)
	copy(b, packet.PFCAddress[:])
	copy(b[6:], src[:])
	return wire{p4.PfcPort, p.Append(b)}
}

// asked is what the target says to the program.
func asked(op p4.TargetOp, direction p4.PfcDirection, port uint32, priority, upstream uint8,
	rest ...byte) wire {
	f := p4.TargetFrame{Op: op, Direction: direction, Port: uint16(port), Priority: priority,
		Upstream: upstream}
	return wire{p4.PfcPort, append(f.Append(nil), rest...)}
}

// paused counts of a counter of PFC frames.
func paused(counter, port uint32, priorities ...int) counts {
	c := counts{}
	for _, n := range priorities {
		c[cell{counter, int(port)<<3 | n}] = 1
	}
	return c
}

func xoffs(port uint32, priorities ...int) counts {
	return paused(p4.CounterPfcXoffRxID, port, priorities...)
}

func xons(port uint32, priorities ...int) counts {
	return paused(p4.CounterPfcXonRxID, port, priorities...)
}

// pfcSIDs are both, with their flavors.
func pfcSIDs(flavors uint8) []*p4v1.Update {
	return []*p4v1.Update{
		entry(p4.TableLocalSid, []any{exactly(sidEndXPFC)}, p4.ActionEndXPfc, 3, neighborOf(3), flavors),
		entry(p4.TableLocalSid, []any{exactly(sidEndPFC)}, p4.ActionEndPfc, flavors),
	}
}

// inTunnel is a frame on its way through a tunnel, with the segments as visited when it arrives:
// none is best effort.
func inTunnel(src, dst netip.Addr, label uint32, left uint8, visit []netip.Addr,
	inner []byte) []byte {
	f := packet.SRv6Frame{
		Ethernet: packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9},
			EtherType: packet.EtherTypeIPv6},
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(48, packet.NotECT), FlowLabel: label,
			HopLimit: 30, Src: src, Dst: dst}, Frame: inner,
	}
	if len(visit) > 0 {
		srh, err := packet.NewSRH(packet.NextHeaderEthernet, visit, nil)
		if err != nil {
			panic(err)
		}
		srh.SegmentsLeft = left
		f.Routed, f.SRH = true, srh
	}
	return f.Append(nil)
}

// endXPFC is the first block of the draft's section 2, line by line, with the flavors.
func endXPFC() []scenario {
	const none, v6 = packet.NextHeaderNone, packet.NextHeaderIPv6
	ip := packet.IPv6{TrafficClass: 0xb8, FlowLabel: 0x00ffe, HopLimit: 30, Src: host(1),
		Dst: sidEndXPFC}
	to := func(dst netip.Addr, hops uint8) packet.IPv6 {
		h := ip
		h.Dst, h.HopLimit = dst, hops
		return h
	}
	visit := []netip.Addr{sidEndXPFC, sidBehind(4), host(5)}
	inner := packet.IPv6{NextHeader: none, HopLimit: 20, Src: addr("fd00:5::5"), Dst: host(6)}
	innerPacket := plain(inner, pattern(50))[packet.EthernetLen:]
	answered := func(s step, port uint32, typ, code uint8, pointer uint32, event p4.IcmpEvent) step {
		s.out, s.icmp = []wire{icmpError(port, s.in.frame, typ, code, pointer)},
			map[p4.IcmpEvent]int{event: 1}
		return s
	}
	const upperLayer = packet.IPv6Len + packet.SRHFixedLen + 3*packet.SegmentLen
	timeExceeded := func(what string, frame []byte) step {
		return answered(step{what: what, in: wire{3, frame}, ingress: drops{p4.DropReasonHopLimit: 1}}, 1,
			packet.ICMPv6TimeExceeded, 0, 0, p4.IcmpEventTimeExceeded)
	}
	problem := func(what string, frame []byte, reason p4.DropReason, code uint8, pointer uint32) step {
		return answered(step{what: what, in: wire{3, frame}, ingress: drops{reason: 1}}, 1,
			packet.ICMPv6ParameterProblem, code, pointer, p4.IcmpEventParameterProblem)
	}
	patched := func(frame []byte, at int, octet byte) []byte {
		return patch(wire{3, frame}, at, octet).frame
	}
	const hdrExtLen, lastEntry = offNext + 1, offNext + 4

	forwards := scenario{name: "pfc/end.x.pfc", entries: append(pfcSIDs(0), icmpEntry(1, 1<<30)),
		steps: []step{
			{
				what: "S12-S15: over J, whatever the route",
				in:   wire{1, routed(ip, visit, 2, none, pattern(7))},
				out:  []wire{forwarded(3, routed(to(visit[1], 30), visit, 1, none, pattern(7)))},
			},
			{
				what: "the last segment", in: wire{1, routed(ip, visit, 1, v6, innerPacket)},
				out: []wire{forwarded(3, routed(to(host(5), 30), visit, 0, v6, innerPacket))},
			},
			{
				what: "End.PFC: by a lookup",
				in:   wire{1, routed(to(sidEndPFC, 30), visit, 2, none, pattern(7))},
				out:  []wire{forwarded(4, routed(to(visit[1], 30), visit, 1, none, pattern(7)))},
			},
			{
				what: "a PFC frame is forwarded too, while there are segments",
				in: wire{1, inTunnel(signaller, sidEndXPFC, 0, 1, visit[:2],
					pfcOf(9, 3).AppendFrame(nil, pfcSource))},
				out: []wire{forwarded(3, inTunnel(signaller, sidBehind(4), 0, 0, visit[:2],
					pfcOf(9, 3).AppendFrame(nil, pfcSource)))},
			},
			timeExceeded("S05-S06: Hop Limit 1", routed(to(sidEndXPFC, 1), visit, 2, none, pattern(7))),
			timeExceeded("Hop Limit 0", routed(to(sidEndXPFC, 0), visit, 2, none, pattern(7))),
			timeExceeded("S05 comes before S09", routed(to(sidEndXPFC, 1), visit, 4, none, pattern(7))),
			timeExceeded("of an SRH that is refused, with one segment left",
				patched(routed(to(sidEndXPFC, 1), visit, 1, none, pattern(7)), lastEntry, 3)),
			problem("S09: Segments Left > Last Entry + 1", routed(ip, visit, 4, none, pattern(7)),
				p4.DropReasonParseSegmentsLeft, 0, packet.IPv6Len+3),
			problem("S09: Last Entry > max_LE", patched(routed(ip, visit, 2, none, pattern(7)), lastEntry,
				3),
				p4.DropReasonParseSrhLength, 0, packet.IPv6Len+3),
			problem("S08: max_LE of an odd Hdr Ext Len", patched(routed(ip, visit, 2, none, pattern(30)),
				hdrExtLen, 5), p4.DropReasonParseSrhLength, 0, packet.IPv6Len+3),
			{
				what: "Segments Left = Last Entry + 1", in: wire{1, routed(ip, visit[1:], 2, none, pattern(7))},
				out: []wire{forwarded(3, routed(to(visit[1], 30), visit[1:], 1, none, pattern(7)))},
			},
			problem("S02: none left, IPv6 inside", routed(ip, visit, 0, v6, innerPacket),
				p4.DropReasonSidSegmentsLeft, 4, upperLayer),
			problem("none left, UDP inside", routed(ip, visit, 0, 17, pattern(20)),
				p4.DropReasonSidSegmentsLeft, 4, upperLayer),
			problem("no SRH, IPv6 inside", plain(packet.IPv6{NextHeader: v6, HopLimit: 30, Src: host(1),
				Dst: sidEndXPFC}, innerPacket), p4.DropReasonSidUpperLayer, 4, packet.IPv6Len),
			problem("no SRH, at End.PFC", plain(packet.IPv6{NextHeader: v6, HopLimit: 30, Src: host(1),
				Dst: sidEndPFC}, innerPacket), p4.DropReasonSidUpperLayer, 4, packet.IPv6Len),
		}}

	withoutSRH := to(host(5), 30)
	withoutSRH.NextHeader = v6
	last := func(sid netip.Addr) []byte {
		return routed(to(sid, 30), []netip.Addr{sid, host(5)}, 1, v6, innerPacket)
	}
	flavored := func(name string, flavors uint8, steps ...step) scenario {
		return scenario{name: "pfc/flavors/" + name,
			entries: append(append(pfcSIDs(flavors), icmpEntry(1, 1<<30)),
				entry(p4.TablePfcTunnel, []any{sidEndXPFC, signaller, 0}, p4.ActionAcceptPfc, 0xff)),
			steps: append(steps,
				step{
					what: "PFC frame", in: wire{4, inTunnel(signaller, sidEndXPFC, 0, 0,
						[]netip.Addr{sidBehind(7), sidEndXPFC}, pfcOf(9, 3).AppendFrame(nil, pfcSource))},
					out: []wire{commanded(3, pfcOf(9, 3))}, pauses: xoffs(3, 3),
				},
			)}
	}
	kept := step{what: "the SRH stays", in: wire{1, last(sidEndXPFC)},
		out: []wire{forwarded(3, routed(to(host(5), 30), []netip.Addr{sidEndXPFC, host(5)}, 0, v6,
			innerPacket))}}
	popped := []step{
		{what: "PSP: the SRH goes with its last segment", in: wire{1, last(sidEndXPFC)},
			out: []wire{forwarded(3, plain(withoutSRH, innerPacket))}},
		{what: "End.PFC with PSP", in: wire{1, last(sidEndPFC)},
			out: []wire{forwarded(5, plain(withoutSRH, innerPacket))}},
		{
			what: "not before", in: wire{1, routed(ip, visit, 2, none, pattern(7))},
			out: []wire{forwarded(3, routed(to(visit[1], 30), visit, 1, none, pattern(7)))},
		},
		{
			what: "the last but one of a tunnel for PFC",
			in: wire{1, inTunnel(signaller, sidEndPFC, 7, 1, []netip.Addr{sidEndPFC, sidBehind(4)},
				pfcOf(9, 3).AppendFrame(nil, pfcSource))},
			out: []wire{forwarded(4, inTunnel(signaller, sidBehind(4), 7, 0, nil,
				pfcOf(9, 3).AppendFrame(nil, pfcSource)))},
		},
	}
	notUpper := problem("none left, IPv6 inside", routed(ip, visit, 0, v6, innerPacket),
		p4.DropReasonSidSegmentsLeft, 4, upperLayer)
	usd := []step{
		kept,
		{what: "USD: out of the tunnel", in: wire{1, routed(ip, visit, 0, v6, innerPacket)},
			out: []wire{forwarded(3, plain(inner, pattern(50)))}},
		{what: "USD at End.PFC", in: wire{1, routed(to(sidEndPFC, 30), visit, 0, v6, innerPacket)},
			out: []wire{forwarded(6, plain(inner, pattern(50)))}},
		problem("not IPv6", routed(ip, visit, 0, 17, pattern(20)), p4.DropReasonSidSegmentsLeft, 4,
			upperLayer),
	}
	return []scenario{
		forwards,
		flavored("none", 0, kept, notUpper),
		flavored("psp", p4.FlavorPsp, append(popped, notUpper)...),
		flavored("usp", p4.FlavorUsp, kept, notUpper),
		flavored("psp&usp", p4.FlavorPsp|p4.FlavorUsp, append(popped, notUpper)...),
		flavored("usd", p4.FlavorUsd, usd...),
	}
}

// pfcReceived: who may pause what.
func pfcReceived() []scenario {
	all := pfcOf(65535, 0, 1, 2, 3, 4, 5, 6, 7)
	some := func(mask uint8) packet.PFC { p := all; p.Classes &= mask; return p }
	mixed := packet.PFC{Classes: 0x18, Quanta: [8]uint16{3: 100}}
	refused := func(what string, w wire, reason p4.DropReason) step {
		return step{what: what, in: w, ingress: drops{reason: 1}}
	}
	frame := pfcOf(100, 3).AppendFrame(nil, pfcSource)
	link := scenario{
		name: "pfc/link", entries: []*p4v1.Update{
			entry(p4.TablePfcPort, []any{2}, p4.ActionAcceptLinkPfc, 0x18),
			entry(p4.TablePfcPort, []any{5}, p4.ActionAcceptLinkPfc, 0xff),
			entry(p4.TablePfcPort, []any{6}, p4.ActionAcceptLinkPfc, 0),
		},
		steps: []step{
			{what: "pause", in: onLink(2, pfcOf(100, 3)), out: []wire{commanded(2, pfcOf(100, 3))},
				pauses: xoffs(2, 3)},
			{what: "go on", in: onLink(2, pfcOf(0, 3)), out: []wire{commanded(2, pfcOf(0, 3))},
				pauses: xons(2, 3)},
			{what: "both", in: onLink(2, mixed), out: []wire{commanded(2, mixed)},
				pauses: sum(xoffs(2, 3), xons(2, 4))},
			{what: "priorities that the port may not pause are left out", in: onLink(2, all),
				out: []wire{commanded(2, some(0x18))}, pauses: xoffs(2, 3, 4)},
			{what: "all of them", in: onLink(5, all), out: []wire{commanded(5, all)},
				pauses: xoffs(5, 0, 1, 2, 3, 4, 5, 6, 7)},
			refused("none of them", onLink(2, pfcOf(100, 0, 7)), p4.DropReasonPfcClass),
			refused("none named", onLink(5, packet.PFC{Quanta: all.Quanta}), p4.DropReasonPfcClass),
			refused("none allowed", onLink(6, all), p4.DropReasonPfcClass),
			{what: "without padding", in: cut(onLink(2, pfcOf(100, 3)), packet.EthernetLen+packet.PFCLen),
				out: []wire{commanded(2, pfcOf(100, 3))}, pauses: xoffs(2, 3)},
			{what: "reserved bits are ignored", in: patch(onLink(2, pfcOf(100, 3)), packet.EthernetLen+2,
				0xff), out: []wire{commanded(2, pfcOf(100, 3))}, pauses: xoffs(2, 3)},
			refused("a port without a policy", onLink(1, pfcOf(100, 3)), p4.DropReasonPfcPort),
			refused("PAUSE", patch(onLink(2, pfcOf(100, 3)), packet.EthernetLen, 0, 1),
				p4.DropReasonPfcFrame),
			refused("another address", patch(onLink(2, pfcOf(100, 3)), 0, nodeMAC[:]...),
				p4.DropReasonPfcFrame),
			refused("another EtherType", patch(onLink(2, pfcOf(100, 3)), 12, 0x88, 0x09),
				p4.DropReasonNotIpv6),
		},
	}
	for n := range 8 {
		for _, quanta := range []uint16{0, 1, 1 << 15} {
			count := xoffs(5, n)
			if quanta == 0 {
				count = xons(5, n)
			}
			others := all
			others.Classes, others.Quanta[n] = 1<<n, quanta
			link.steps = append(link.steps, step{what: fmt.Sprintf("priority %d for %d", n, quanta),
				in: onLink(5, others), out: []wire{commanded(5, others)}, pauses: count})
		}
	}
	for n := packet.EthernetLen; n < packet.EthernetLen+packet.PFCLen; n++ {
		link.steps = append(link.steps, refused(fmt.Sprintf("cut to %d octets", n),
			cut(onLink(2, pfcOf(100, 3)), n), p4.DropReasonParseTruncated))
	}

	via := []netip.Addr{sidBehind(7), sidEndXPFC}
	tunnel := func(src, dst netip.Addr, label uint32, inner []byte) wire {
		return wire{4, inTunnel(src, dst, label, 0, nil, inner)}
	}
	policy := func(inner []byte) wire {
		return wire{4, inTunnel(signaller, sidEndXPFC, 0xabc05, 0, via, inner)}
	}
	withTLV := func(w wire) wire {
		b := slices.Insert(slices.Clone(w.frame), offNext+packet.SRHFixedLen+len(via)*packet.SegmentLen,
			200, 6, 1, 2, 3, 4, 5, 6)
		b[offNext+1]++
		b[offOuter+5] += 8
		return wire{w.port, b}
	}
	another := patch(wire{0, frame}, 0, someMAC[:]...).frame
	ethernet := packet.Ethernet{Dst: packet.PFCAddress, Src: pfcSource,
		EtherType: packet.EtherTypeIPv6}.Append(nil)
	tunnelled := scenario{
		name: "pfc/tunnel", entries: append(pfcSIDs(0), icmpEntry(1, 1<<30),
			entry(p4.TableSliceField, nil, p4.ActionSetSliceField, 0xff),
			entry(p4.TablePfcTunnel, []any{sidEndXPFC, signaller, 5}, p4.ActionAcceptPfc, 0x08),
			entry(p4.TablePfcTunnel, []any{sidEndXPFC, signaller, 6}, p4.ActionAcceptPfc, 0x10),
			entry(p4.TablePfcTunnel, []any{sidEndPFC, signaller, 5}, p4.ActionAcceptPfcPort, 0x08, 6),
		),
		steps: []step{
			{what: "best effort", in: tunnel(signaller, sidEndXPFC, 5, frame),
				out: []wire{commanded(3, pfcOf(100, 3))}, pauses: xoffs(3, 3)},
			{what: "a policy, other bits in the flow label", in: policy(frame),
				out: []wire{commanded(3, pfcOf(100, 3))}, pauses: xoffs(3, 3)},
			{what: "an SRH with a TLV", in: withTLV(policy(frame)),
				out: []wire{commanded(3, pfcOf(100, 3))}, pauses: xoffs(3, 3)},
			{what: "go on", in: policy(pfcOf(0, 3).AppendFrame(nil, pfcSource)),
				out: []wire{commanded(3, pfcOf(0, 3))}, pauses: xons(3, 3)},
			{what: "End.PFC: a port of the entry's", in: tunnel(signaller, sidEndPFC, 5, frame),
				out: []wire{commanded(6, pfcOf(100, 3))}, pauses: xoffs(6, 3)},
			{
				what: "a slice has its priorities", in: tunnel(signaller, sidEndXPFC, 5,
					pfcOf(7, 3, 4).AppendFrame(nil, pfcSource)),
				out:    []wire{commanded(3, packet.PFC{Classes: 8, Quanta: pfcOf(7, 3, 4).Quanta})},
				pauses: xoffs(3, 3),
			},
			{
				what: "another slice has others", in: tunnel(signaller, sidEndXPFC, 6,
					pfcOf(7, 3, 4).AppendFrame(nil, pfcSource)),
				out:    []wire{commanded(3, packet.PFC{Classes: 16, Quanta: pfcOf(7, 3, 4).Quanta})},
				pauses: xoffs(3, 4),
			},
			{what: "Hop Limit 1: it has arrived", in: patch(policy(frame), offOuter+7, 1),
				out: []wire{commanded(3, pfcOf(100, 3))}, pauses: xoffs(3, 3)},
			refused("a slice's other priority", tunnel(signaller, sidEndXPFC, 6, frame),
				p4.DropReasonPfcClass),
			refused("no such slice", tunnel(signaller, sidEndXPFC, 7, frame), p4.DropReasonPfcSource),
			refused("another source", tunnel(nodeBehind(5), sidEndXPFC, 5, frame), p4.DropReasonPfcSource),
			refused("another SID", tunnel(signaller, sidEndPFC, 6, frame), p4.DropReasonPfcSource),
			refused("another MAC address", policy(another), p4.DropReasonSidEthernet),
			refused("another MAC address, no SRH", tunnel(signaller, sidEndXPFC, 5, another),
				p4.DropReasonSidEthernet),
			refused("another frame to PFC's address", policy(append(ethernet, pattern(46)...)),
				p4.DropReasonPfcFrame),
			refused("PAUSE", policy(patch(wire{0, frame}, packet.EthernetLen, 0, 1).frame),
				p4.DropReasonPfcFrame),
			{
				what: "End knows nothing of it", in: tunnel(host(1), sidEnd, 5, frame),
				ingress: drops{p4.DropReasonSidUpperLayer: 1},
				out:     []wire{icmpError(1, tunnel(host(1), sidEnd, 5, frame).frame, 4, 4, packet.IPv6Len)},
				icmp:    map[p4.IcmpEvent]int{p4.IcmpEventParameterProblem: 1},
			},
			{
				what: "in transit it is a packet like others", in: tunnel(host(1), sidBehind(5), 5, frame),
				out: []wire{forwarded(5, tunnel(host(1), sidBehind(5), 5, frame).frame)},
			},
		},
	}
	for n := 0; n < packet.EthernetLen+packet.PFCLen; n++ {
		tunnelled.steps = append(tunnelled.steps, refused(fmt.Sprintf("inner frame cut to %d octets", n),
			tunnel(signaller, sidEndXPFC, 5, frame[:n]), p4.DropReasonParseTruncated))
	}
	return []scenario{link, tunnelled}
}
