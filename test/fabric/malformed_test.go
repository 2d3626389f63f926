package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// Malformed packets: dropped, counted, never sent on in part.
func malformed() []scenario {
	t := tree{group: newGroup(50, 2), inband: true}
	g := newGroup(51, 1)
	data := in(7, t.onTree(t.request(packet.OpWriteOnly, 1, 32),
		inbandTLVs(edge(node, t.asTLV(0, 1)...))...))
	entries := append(append(t.downward(), fanOut()...), g.responses()...)

	// Every prefix of a packet, its Ethernet header aside.
	cuts := func(name string, whole wire, from int) scenario {
		s := scenario{name: "malformed/cut_" + name, entries: entries}
		for n := from; n < len(whole.frame); n++ {
			s.steps = append(s.steps, step{what: fmt.Sprintf("%d octets", n), in: cut(whole, n),
				ingress: drops{p4.DropReasonParseTruncated: 1}})
		}
		return s
	}
	transit := plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1),
		Dst: host(2)}, nil)

	// Lengths that cannot be.
	request := in(7, with(t.request(packet.OpWriteOnly, 1, 32), func(p *packet.RoCE) {
		p.IPv6.Dst = host(2)
	}))
	answer := g.ack(0, 1, 1)
	cnp := g.cnp(0)
	udpLength := func(w wire, n int) wire {
		w = patch(w, offNext+4, byte(n>>8), byte(n))
		return patch(w, offOuter+4, byte(n>>8), byte(n))
	}
	lengthOf := func(w wire) int { return len(w.frame) - offNext }
	srh := func(offset int, v byte) wire { return patch(data, offNext+offset, v) }
	badLength := func(what string, w wire) step {
		return refuses(what, w, p4.DropReasonParseUdpLength)
	}
	return []scenario{
		roceLengths(),
		cuts("data", data, packet.EthernetLen),
		cuts("ack", answer, packet.EthernetLen),
		cuts("cnp", cnp, packet.EthernetLen),
		cuts("plain", wire{1, transit}, packet.EthernetLen),
		{
			name: "malformed/srh", entries: entries,
			steps: []step{
				refuses("Segments Left > Last Entry + 1", srh(3, 3), p4.DropReasonParseSegmentsLeft),
				refuses("Segments Left 255", srh(3, 255), p4.DropReasonParseSegmentsLeft),
				refuses("Segment List past Hdr Ext Len", srh(1, 3), p4.DropReasonParseSrhLength),
				refuses("Hdr Ext Len 0", srh(1, 0), p4.DropReasonParseSrhLength),
				refuses("Last Entry past Hdr Ext Len", srh(4, 6), p4.DropReasonParseSrhLength),
				refuses("Last Entry 255", srh(4, 255), p4.DropReasonParseSrhLength),
				refuses("SRH longer than the packet", srh(1, 255), p4.DropReasonParseTruncated),
			},
		},
		{
			name: "malformed/roce", entries: entries,
			steps: []step{
				badLength("BTH cut by the UDP length", udpLength(request, 20)),
				badLength("no room for the ICRC", udpLength(request, 23)),
				badLength("UDP length 0", udpLength(request, 0)),
				badLength("UDP length is not the IPv6 payload", patch(request, offNext+4, 0, 40)),
				badLength("no room for RETH", udpLength(request, 24+15)),
				refuses("UDP length past the end", udpLength(request, lengthOf(request)+1),
					p4.DropReasonParseTruncated),
				badLength("longer than a jumbo frame", udpLength(request, 24+16+9217)),
				badLength("UDP length 65535", udpLength(request, 65535)),
				badLength("ACK too long", udpLength(answer, lengthOf(answer)+4)),
				badLength("ACK too short", udpLength(answer, lengthOf(answer)-1)),
				badLength("CNP too long", udpLength(cnp, lengthOf(cnp)+1)),
				badLength("CNP too short", udpLength(cnp, 24)),
				{what: "a sound one passes", in: request, out: []wire{forwarded(2, request.frame)}},
			},
		},
	}
}

// roceLengths: the lengths that an IP and a UDP header state, and that of the frame. Where they are
// equal the packet is whole; what follows it is carried along. A frame may end early if its class
// is that of trimmed packets, and then its IP header may state less than its UDP header.
func roceLengths() scenario {
	s := scenario{name: "malformed/roce_lengths", entries: append(classEntries(priorities{}),
		entry(p4.TableIpv6Route, []any{0, exactly(hostIPv4(2))}, p4.ActionForward, 2, neighborOf(2)))}
	cases := []struct {
		op      packet.Opcode
		payload int
	}{
		{packet.OpSendOnly, 50}, {packet.OpSendOnly, 0},
		{packet.OpWriteOnly, 50}, {packet.OpWriteOnly, 0},
		{packet.OpAcknowledge, 0}, {packet.OpCongestionNotification, 0},
		{packet.OpMRCWriteMiddle, 50}, {packet.OpMRCWriteMiddle, 0},
	}
	for _, ends := range [][2]netip.Addr{{host(1), host(2)}, {hostIPv4(1), hostIPv4(2)}} {
		for i, c := range cases {
			tunnels := [][]netip.Addr{nil}
			if i == 0 { // one stands for all
				tunnels = [][]netip.Addr{nil, {sidBehind(2), sidBehind(3)}, {sidBehind(2)}}
			}
			for _, routers := range tunnels {
				for _, dscp := range []uint8{dscps.NoTrim, dscps.Trimmed} {
					p := arriving(ends[0], ends[1], packet.BTH{Opcode: c.op, DestQPN: 9, PSN: 1})
					p.IPv6.TrafficClass = packet.TrafficClass(dscp, packet.ECT0)
					p.Payload = pattern(c.payload)
					if len(routers) > 0 {
						p.Encapsulated, p.Routed = true, len(routers) > 1
						p.Outer = packet.IPv6{TrafficClass: p.IPv6.TrafficClass, HopLimit: 9, Src: host(1),
							Dst: routers[0]}
						if p.Routed {
							p = listed(p, 1, routers...)
						}
					}
					s.steps = append(s.steps, lengthsOf(p)...)
				}
			}
		}
	}
	// long returns a packet whose length fields announce payload octets. The packet carries present
	// octets, or the whole payload and the ICRC.
	long := func(payload, present int) []byte {
		p := arriving(host(1), host(2), packet.BTH{Opcode: packet.OpSendOnly, DestQPN: 9, PSN: 1})
		p.IPv6.TrafficClass = packet.TrafficClass(dscps.Trimmed, packet.ECT0)
		p.Payload = pattern((present + 3) &^ 3)
		b := p.Append(nil)
		udp := 8 + 12 + payload + 4
		binary.BigEndian.PutUint16(b[offOuter+4:], uint16(udp))
		binary.BigEndian.PutUint16(b[offNext+4:], uint16(udp))
		return b[:min(len(b), offNext+udp)]
	}
	const jumbo, reth = 9216, 16
	passes := func(what string, frame []byte) step {
		return step{what: what, in: wire{1, frame}, out: []wire{forwarded(2, frame)}}
	}
	s.steps = append(s.steps, passes("a jumbo frame", long(jumbo, jumbo)),
		refuses("a longer one", wire{1, long(jumbo+1, jumbo+1)}, p4.DropReasonParseUdpLength),
		passes("what is left of one with a RETH", long(jumbo+reth, 100)),
		refuses("of a longer one", wire{1, long(jumbo+reth+1, 100)}, p4.DropReasonParseUdpLength))
	return s
}

// lengthsOf changes each header length of a packet to port 2, and the frame length, by one octet.
func lengthsOf(p packet.RoCE) []step {
	whole := p
	if isMRC(p.BTH.Opcode) {
		whole.BTH.Opcode = packet.OpSendOnly
	}
	frame := whole.Append(nil)
	at := packet.EthernetLen // of the inner IP header
	if p.Encapsulated {
		at += packet.IPv6Len
	}
	if p.Routed {
		at += p.SRH.Len()
	}
	length, header := at+4, packet.IPv6Len
	if p.IPv6.IsIPv4() {
		length, header = at+2, packet.IPv4Len
	}
	datagram := len(frame) - at - header
	frame[at+header+8] = uint8(p.BTH.Opcode)
	change := func(udp, ip, octets int, less uint8) []byte {
		b := append(append([]byte(nil), frame...), 0xee)[:len(frame)+octets]
		binary.BigEndian.PutUint16(b[length:], uint16(int(binary.BigEndian.Uint16(b[length:]))+ip))
		binary.BigEndian.PutUint16(b[at+header+4:], uint16(datagram+udp))
		switch {
		case p.Encapsulated || header == packet.IPv6Len:
			b[offOuter+7] -= less
		default:
			b[at+8] -= less
			b[at+10], b[at+11] = 0, 0
			sum := packet.Checksum(packet.ChecksumAdd(0, b[at:at+header]))
			binary.BigEndian.PutUint16(b[at+10:], sum)
		}
		return b
	}
	var steps []step
	for udp := -1; udp <= 1; udp++ {
		for ip := -1; ip <= 1; ip++ {
			for octets := -1; octets <= 1; octets++ {
				s := step{
					what: fmt.Sprintf("%v %v > %v, UDP %+d, IP %+d, frame %+d", p.BTH.Opcode, p.IPv6.Src,
						p.Outer.Dst, udp, ip, octets),
					in: wire{1, change(udp, ip, octets, 0)},
				}
				reason := lengthsRefused(p, datagram, udp, ip, octets)
				if reason == p4.DropReasonNone {
					out := wire{2, change(udp, ip, octets, 1)}
					src, dst := macOf(2), macBehind(2)
					s.out = []wire{patch(patch(out, 0, dst[:]...), 6, src[:]...)}
				} else {
					s.ingress = drops{reason: 1}
				}
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// lengthsRefused returns the reason to refuse a packet whose UDP datagram has datagram octets,
// while the UDP length, the IP length and the frame exceed the true lengths by udp, ip and octets.
func lengthsRefused(p packet.RoCE, datagram, udp, ip, octets int) p4.DropReason {
	const headers = 8 + 12 + 4 // of UDP, BTH and ICRC
	short := octets < udp
	fixed := p.BTH.Opcode == packet.OpAcknowledge || p.BTH.Opcode == packet.OpCongestionNotification
	trimmed := packet.DSCP(p.IPv6.TrafficClass) == dscps.Trimmed
	switch {
	case isMRC(p.BTH.Opcode):
		return p4.DropReasonNone // their UDP length may be another packet's
	case datagram+udp < headers, udp != ip && !(short && udp > ip), fixed && udp != 0,
		!short && p.BTH.Opcode == packet.OpWriteOnly && datagram+udp < headers+packet.RETHLen:
		return p4.DropReasonParseUdpLength
	case !short, trimmed && !fixed:
		return p4.DropReasonNone
	case fixed || udp == ip:
		return p4.DropReasonParseTruncated
	}
	return p4.DropReasonParseUdpLength
}

func isMRC(op packet.Opcode) bool { return op>>5 == 0b110 }
