package fabric

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// routed is a frame with an SRH between its first header and the payload. visit is the Segment List
// in the order of visits; of a reduced SRH the first one is left out.
func routed(ip packet.IPv6, visit []netip.Addr, left uint8, next uint8, payload []byte,
	tlvs ...byte) []byte {
	srh, err := packet.NewSRH(next, visit, tlvs)
	if err != nil {
		panic(err)
	}
	srh.SegmentsLeft = left
	ip.NextHeader = packet.NextHeaderRouting
	return plain(ip, append(srh.Append(nil), payload...))
}

// flowLabel is the outer flow label of an encapsulation: the low bits of a CRC-32 over the inner
// flow.
func flowLabel(inner packet.IPv6, l4Ports uint32) uint32 {
	src, dst := inner.Src.As16(), inner.Dst.As16()
	b := append(src[:], dst[:]...)
	b = binary.BigEndian.AppendUint32(b, inner.FlowLabel)
	b = append(b, inner.NextHeader)
	b = binary.BigEndian.AppendUint32(b, l4Ports)
	return crc32.ChecksumIEEE(b) & packet.MaxFlowLabel
}

// SRv6: End, End.X, End.DT6 and H.Encaps (RFC 8986), transit.
func srv6() []scenario {
	ip := packet.IPv6{TrafficClass: 0xb8, FlowLabel: 0x00ffe, HopLimit: 30, Src: host(1), Dst: sidEnd}
	inner := packet.IPv6{TrafficClass: 0x02, FlowLabel: 5, NextHeader: packet.NextHeaderNone,
		HopLimit: 20, Src: addr("fd00:5::5"), Dst: host(6)}
	innerPacket := plain(inner, pattern(50))[packet.EthernetLen:]
	from := func(change func(*packet.IPv6)) packet.IPv6 {
		ip := ip
		change(&ip)
		return ip
	}
	to := func(dst netip.Addr) packet.IPv6 { return from(func(h *packet.IPv6) { h.Dst = dst }) }
	visit := []netip.Addr{sidEnd, sidBehind(4), host(5)}
	tlvs := []byte{packet.TLVPadN, 6, 0, 0, 0, 0, 0, 0}
	const none, v6 = packet.NextHeaderNone, packet.NextHeaderIPv6

	end := routed(ip, visit, 2, none, pattern(7), tlvs...)
	endSent := routed(to(visit[1]), visit, 1, none, pattern(7), tlvs...)
	last := routed(to(sidEnd), []netip.Addr{sidEnd, host(5)}, 1, v6, innerPacket)
	lastSent := routed(to(host(5)), []netip.Addr{sidEnd, host(5)}, 0, v6, innerPacket)
	reduced := routed(ip, visit[1:], 2, none, pattern(7))
	reducedSent := routed(to(visit[1]), visit[1:], 1, none, pattern(7))
	segments16 := make([]netip.Addr, 16)
	for i := range segments16 {
		segments16[i] = sidBehind(4)
	}
	segments16[0] = sidEnd
	long := routed(ip, segments16, 15, none, pattern(7))
	longSent := routed(to(sidBehind(4)), segments16, 14, none, pattern(7))
	tooLong := routed(ip, append(segments16, sidBehind(5)), 16, none, pattern(7))
	badRouting := patch(wire{1, end}, offNext+2, 99)

	scenarios := []scenario{
		{
			name: "srv6/end",
			steps: []step{
				{what: "in the middle", in: wire{1, end}, out: []wire{forwarded(4, endSent)}},
				{what: "last segment, no PSP", in: wire{1, last}, out: []wire{forwarded(5, lastSent)}},
				{what: "reduced SRH, Segments Left = Last Entry + 1", in: wire{1, reduced},
					out: []wire{forwarded(4, reducedSent)}},
				{what: "16 segments", in: wire{1, long}, out: []wire{forwarded(4, longSent)}},
				{what: "17 segments", in: wire{1, tooLong}, ingress: drops{p4.DropReasonParseSrhLength: 1}},
				{what: "Segments Left 0", in: wire{1, routed(ip, visit, 0, v6, innerPacket)},
					ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
				{what: "no SRH, IPv6 in IPv6",
					in:      wire{1, plain(from(func(h *packet.IPv6) { h.NextHeader = v6 }), innerPacket)},
					ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{what: "no SRH, nothing", in: wire{1, plain(from(func(h *packet.IPv6) { h.NextHeader = none }),
					nil)}, ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{what: "another routing header", in: badRouting, ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{what: "Hop Limit 1", in: wire{1, routed(from(func(h *packet.IPv6) { h.HopLimit = 1 }), visit,
					2, none, nil)}, ingress: drops{p4.DropReasonHopLimit: 1}},
				{what: "next segment has no route",
					in:      wire{1, routed(ip, []netip.Addr{sidEnd, addr("fd00:dead::")}, 1, none, nil)},
					ingress: drops{p4.DropReasonNoRoute: 1}},
			},
		},
		{
			name: "srv6/end.x",
			steps: []step{
				{
					what: "by its adjacency, whatever the route",
					in:   wire{1, routed(to(sidEndX), visit, 2, none, pattern(7))},
					out:  []wire{forwarded(3, routed(to(visit[1]), visit, 1, none, pattern(7)))},
				},
				{what: "Segments Left 0", in: wire{1, routed(to(sidEndX), visit, 0, v6, innerPacket)},
					ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
				{what: "no SRH", in: wire{1, plain(from(func(h *packet.IPv6) {
					h.NextHeader, h.Dst = none, sidEndX
				}), nil)}, ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{what: "Hop Limit 1", in: wire{1, routed(from(func(h *packet.IPv6) {
					h.HopLimit, h.Dst = 1, sidEndX
				}), visit, 2, none, nil)}, ingress: drops{p4.DropReasonHopLimit: 1}},
			},
		},
		{
			name: "srv6/end.dt6",
			entries: []*p4v1.Update{
				entry(p4.TableLocalSid, []any{exactly(addr("fd00:b:ff::d7"))}, p4.ActionEndDt6, 7),
				entry(p4.TableIpv6Route, []any{7, netip.MustParsePrefix("::/0")}, p4.ActionForward, 8,
					neighborOf(8)),
			},
			steps: []step{
				{
					what: "IPv6 in IPv6", in: wire{1, plain(from(func(h *packet.IPv6) {
						h.NextHeader, h.Dst = v6, sidEndDT6
					}), innerPacket)},
					out: []wire{forwarded(6, plain(inner, pattern(50)))},
				},
				{
					what: "Segments Left 0", in: wire{1, routed(to(sidEndDT6), visit, 0, v6, innerPacket,
						tlvs...)},
					out: []wire{forwarded(6, plain(inner, pattern(50)))},
				},
				{
					what: "its own VRF", in: wire{1, routed(to(addr("fd00:b:ff::d7")), visit, 0, v6, innerPacket)},
					out: []wire{forwarded(8, plain(inner, pattern(50)))},
				},
				{what: "Segments Left 1", in: wire{1, routed(to(sidEndDT6), visit, 1, v6, innerPacket)},
					ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
				{what: "no IPv6 inside", in: wire{1, routed(to(sidEndDT6), visit, 0, none, pattern(7))},
					ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{what: "no encapsulation",
					in: wire{1, plain(from(func(h *packet.IPv6) { h.NextHeader, h.Dst = none, sidEndDT6 }),
						nil)},
					ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				{
					what: "inner Hop Limit 1",
					in: wire{1, plain(from(func(h *packet.IPv6) { h.NextHeader, h.Dst = v6, sidEndDT6 }),
						plain(packet.IPv6{NextHeader: none, HopLimit: 1, Src: host(1), Dst: host(6)},
							nil)[packet.EthernetLen:])},
					ingress: drops{p4.DropReasonHopLimit: 1},
				},
			},
		},
		{
			name: "srv6/transit",
			steps: []step{
				{
					what: "segment list and TLVs untouched",
					in:   wire{1, routed(to(sidBehind(4)), visit, 1, v6, innerPacket, tlvs...)},
					out:  []wire{forwarded(4, routed(to(sidBehind(4)), visit, 1, v6, innerPacket, tlvs...))},
				},
				{
					what: "an unknown routing header is ignored",
					in:   patch(wire{1, routed(to(host(5)), visit, 0, none, pattern(9))}, offNext+2, 99),
					out: []wire{forwarded(5, patch(wire{1, routed(to(host(5)), visit, 0, none, pattern(9))},
						offNext+2, 99).frame)},
				},
				{what: "Hop Limit 1", in: wire{1, routed(from(func(h *packet.IPv6) {
					h.HopLimit, h.Dst = 1, host(5)
				}), visit, 1, none, nil)}, ingress: drops{p4.DropReasonHopLimit: 1}},
			},
		},
		rfc6040(),
	}
	return append(scenarios, encapsulations()...)
}

// rfc6040 is decapsulation with every pair of ECN fields.
func rfc6040() scenario {
	s := scenario{name: "srv6/rfc6040"}
	for outer := range uint8(4) {
		for inner := range uint8(4) {
			packetWith := func(ecn uint8) []byte {
				h := packet.IPv6{TrafficClass: packet.TrafficClass(10, ecn), NextHeader: packet.NextHeaderNone,
					HopLimit: 20, Src: host(1), Dst: host(6)}
				return plain(h, pattern(5))
			}
			outside := packet.IPv6{TrafficClass: packet.TrafficClass(46, outer),
				NextHeader: packet.NextHeaderIPv6, HopLimit: 30, Src: host(1), Dst: sidEndDT6}
			step := step{
				what: fmt.Sprintf("outer %d inner %d", outer, inner),
				in:   wire{1, plain(outside, packetWith(inner)[packet.EthernetLen:])},
			}
			if ecn, ok := packet.DecapECN(inner, outer); ok {
				step.out = []wire{forwarded(6, packetWith(ecn))}
			} else {
				step.ingress = drops{p4.DropReasonEcnNotCapable: 1}
			}
			s.steps = append(s.steps, step)
		}
	}
	return s
}

// encapsulations is H.Encaps with one to three segments.
func encapsulations() []scenario {
	s1, s2, s3 := sidBehind(4), sidBehind(5), sidBehind(6)
	dst := [4]netip.Addr{1: addr("fd00:e1::1"), 2: addr("fd00:e2::1"), 3: addr("fd00:e3::1")}
	inner := packet.IPv6{TrafficClass: 0xb9, FlowLabel: 0xfedcb, NextHeader: packet.NextHeaderNone,
		HopLimit: 9, Src: host(1)}
	tcp := append([]byte{0x12, 0x34, 0x56, 0x78}, pattern(30)...)
	udp := packet.UDP{SrcPort: 0x1111, DstPort: 0x2222, Length: 8 + 6}.Append(nil)
	udp = append(udp, pattern(6)...)

	encapsulated := func(inner packet.IPv6, ports uint32, payload []byte, visit ...netip.Addr) wire {
		inner.HopLimit--
		outer := packet.IPv6{
			TrafficClass: inner.TrafficClass, FlowLabel: flowLabel(inner, ports), HopLimit: 64, Src: node,
			Dst: visit[0],
		}
		frame := routed(outer, visit, uint8(len(visit)-1), packet.NextHeaderIPv6,
			plain(inner, payload)[packet.EthernetLen:])
		w := forwarded(4, frame)
		w.frame[offOuter+7]++ // the outer header is new
		return w
	}
	to := func(n int, next, hops uint8) packet.IPv6 {
		h := inner
		h.Dst, h.NextHeader, h.HopLimit = dst[n], next, hops
		return h
	}
	const none = packet.NextHeaderNone
	policies := []*p4v1.Update{
		entry(p4.TableSrv6Policy, []any{0, netip.MustParsePrefix("fd00:e1::/32")}, p4.ActionHEncaps1,
			node, s1),
		entry(p4.TableSrv6Policy, []any{0, netip.MustParsePrefix("fd00:e2::/32")}, p4.ActionHEncaps2,
			node, s1, s2),
		entry(p4.TableSrv6Policy, []any{0, netip.MustParsePrefix("fd00:e3::/32")}, p4.ActionHEncaps3,
			node, s1, s2, s3),
		entry(p4.TableSrv6Policy, []any{0, netip.MustParsePrefix("fd00:e4::/32")}, p4.ActionHEncaps1,
			node, addr("fd00:dead::1")),
	}
	already := routed(packet.IPv6{HopLimit: 9, Src: host(1), Dst: dst[1]}, []netip.Addr{dst[1]}, 0,
		none, pattern(3))
	return []scenario{{
		name: "srv6/h.encaps",
		entries: append(policies, entry(p4.TableIpv6Route, []any{0, exactly(dst[1])}, p4.ActionForward, 7,
			neighborOf(7))),
		steps: []step{
			{what: "one segment", in: wire{1, plain(to(1, none, 9), pattern(3))},
				out: []wire{encapsulated(to(1, none, 9), 0, pattern(3), s1)}},
			{what: "two segments", in: wire{1, plain(to(2, none, 9), pattern(3))},
				out: []wire{encapsulated(to(2, none, 9), 0, pattern(3), s1, s2)}},
			{what: "three segments", in: wire{1, plain(to(3, none, 9), pattern(3))},
				out: []wire{encapsulated(to(3, none, 9), 0, pattern(3), s1, s2, s3)}},
			{what: "TCP ports in the flow label", in: wire{1, plain(to(2, 6, 9), tcp)},
				out: []wire{encapsulated(to(2, 6, 9), 0x12345678, tcp, s1, s2)}},
			{what: "UDP ports in the flow label", in: wire{1, plain(to(2, 17, 9), udp)},
				out: []wire{encapsulated(to(2, 17, 9), 0x11112222, udp, s1, s2)}},
			{what: "inner Hop Limit 2", in: wire{1, plain(to(2, none, 2), nil)},
				out: []wire{encapsulated(to(2, none, 2), 0, nil, s1, s2)}},
			{what: "inner Hop Limit 1", in: wire{1, plain(to(2, none, 1), nil)},
				ingress: drops{p4.DropReasonHopLimit: 1}},
			{
				what: "a policy is of its VRF", in: wire{2, plain(to(1, none, 9), pattern(3))},
				out: []wire{forwarded(7, plain(to(1, none, 9), pattern(3)))},
				write: append(modify(entry(p4.TablePort, []any{2}, p4.ActionSetPort, 0, 7)),
					entry(p4.TableIpv6Route, []any{7, exactly(dst[1])}, p4.ActionForward, 7, neighborOf(7))),
			},
			{what: "encapsulated already: forwarded as it is", in: wire{1, already},
				out: []wire{forwarded(7, already)}},
			{
				what: "no route to the first segment",
				in: wire{1, plain(packet.IPv6{NextHeader: none, HopLimit: 9, Src: host(1),
					Dst: addr("fd00:e4::1")}, nil)},
				ingress: drops{p4.DropReasonNoRoute: 1},
			},
		},
	}}
}
