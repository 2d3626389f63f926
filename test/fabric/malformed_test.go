package fabric

import (
	"fmt"

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
