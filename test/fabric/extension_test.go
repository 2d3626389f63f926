package fabric

import (
	"encoding/binary"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// Extension headers that stand between an IPv6 header and its payload (RFC 8200 section 4; RFC
// 4302, 6275, 7401, 5533).
const (
	hopByHop    = 0
	fragmentOf  = 44
	ahOf        = 51
	destination = 60
	mobility    = 135
	hip         = 139
	shim6       = 140
)

// An extension is one extension header with its length in octets; fragments also have an offset in
// units of 8 octets.
type extension struct {
	kind   uint8
	octets int
	offset uint16
}

// append writes the header before another one.
func (e extension) append(b []byte, next uint8) []byte {
	h := make([]byte, e.octets)
	h[0] = next
	switch e.kind {
	case fragmentOf:
		h[1] = 0xff // reserved: it is no length
		binary.BigEndian.PutUint16(h[2:], e.offset<<3|1)
	case ahOf:
		h[1] = uint8(e.octets/4 - 2)
	default:
		h[1] = uint8(e.octets/8 - 1)
		h[2], h[3] = 1, uint8(min(e.octets-4, 255)) // PadN
	}
	return append(b, h...)
}

// behind puts a payload of a protocol behind extension headers, in an IPv6 packet.
func behind(ip packet.IPv6, protocol uint8, payload []byte, headers ...extension) []byte {
	ip.NextHeader = protocol
	var b []byte
	for i, h := range headers {
		if i == 0 {
			ip.NextHeader = h.kind
		}
		next := protocol
		if i+1 < len(headers) {
			next = headers[i+1].kind
		}
		b = h.append(b, next)
	}
	return plain(ip, append(b, payload...))
}

// extensionHeaders: packets that a host may not send are dropped behind extension headers too. The
// parser walks four extension headers of any length. A host's packet with more is dropped, because
// the switch does not know its upper-layer header.
func extensionHeaders() []scenario {
	attacker := host(1)
	const port, out = 1, 6
	ip := packet.IPv6{HopLimit: 9, Src: attacker, Dst: host(out)}
	udp := append(packet.UDP{SrcPort: 9, DstPort: 99, Length: 16}.Append(nil), pattern(8)...)
	inner := plain(packet.IPv6{NextHeader: packet.NextHeaderUDP, HopLimit: 9, Src: attacker,
		Dst: host(4)}, udp)[packet.EthernetLen:]
	// A routing header with a type and one segment left, per RFC 8200 section 4.4.
	routing := func(kind uint8) []byte {
		b := []byte{packet.NextHeaderUDP, 2, kind, 1, 0, 0, 0, 0}
		return append(append(b, host(4).AsSlice()...), udp...)
	}
	kinds := []extension{
		{hopByHop, 8, 0}, {hopByHop, 24, 0}, {destination, 8, 0}, {destination, 2048, 0},
		{fragmentOf, 8, 0},
		{ahOf, 16, 0}, {ahOf, 24, 0}, {mobility, 8, 0}, {hip, 40, 0}, {shim6, 16, 0},
	}
	s := scenario{
		name: "edge/extensions",
		entries: slices.Concat(hostPort(port, 0, exactly(attacker)), sidsOfDomain(),
			[]*p4v1.Update{icmpEntry(1, 1<<30)}),
	}
	goes := func(what string, frame []byte) {
		s.steps = append(s.steps, step{what: what, in: wire{port, frame},
			out: []wire{forwarded(out, frame)}})
	}
	stops := func(what string, frame []byte, reason p4.DropReason) {
		s.steps = append(s.steps, refuses(what, wire{port, frame}, reason))
	}
	name := func(headers []extension) string {
		text := "behind"
		for _, h := range headers {
			text += fmt.Sprintf(" %d (%d octets)", h.kind, h.octets)
		}
		return text
	}
	tries := func(headers ...extension) {
		goes("a datagram "+name(headers), behind(ip, packet.NextHeaderUDP, udp, headers...))
		types := []uint8{4}
		if len(headers) == 1 {
			types = []uint8{0, 2, 4, 253}
		}
		for _, kind := range types {
			stops(fmt.Sprintf("a routing header of type %d %s", kind, name(headers)),
				behind(ip, packet.NextHeaderRouting, routing(kind), headers...), p4.DropReasonSidFromOutside)
		}
		if len(headers) == 2 {
			return // one kind stands for all
		}
		stops("IPv6 "+name(headers), behind(ip, packet.NextHeaderIPv6, inner, headers...),
			p4.DropReasonSidFromOutside)
		stops("Ethernet "+name(headers), behind(ip, packet.NextHeaderEthernet,
			pfcOf(9, 3).AppendFrame(nil, pfcSource), headers...), p4.DropReasonSidFromOutside)
	}
	for _, first := range kinds {
		tries(first)
		for _, second := range kinds {
			tries(first, second)
		}
	}
	// As many as the parser walks, and one more.
	const most = 4
	for i, h := range kinds {
		chain := slices.Concat(kinds[i:], kinds[:i])[:most]
		if slices.ContainsFunc(chain, func(e extension) bool { return e.octets > 1000 }) {
			chain = []extension{h, h, h, h}
		}
		if h.octets > 1000 {
			continue
		}
		tries(chain...)
		stops("one too many: a datagram "+name(chain), behind(ip, packet.NextHeaderUDP, udp,
			append(slices.Clone(chain), extension{destination, 8, 0})...), p4.DropReasonExtensionHeaders)
		stops("one too many: a routing header "+name(chain), behind(ip, packet.NextHeaderRouting,
			routing(4), append(slices.Clone(chain), extension{hopByHop, 8, 0})...),
			p4.DropReasonExtensionHeaders)
	}
	later := extension{fragmentOf, 8, 3}
	goes("a later fragment of a datagram", behind(ip, packet.NextHeaderUDP, pattern(64), later))
	for _, h := range kinds {
		goes(fmt.Sprintf("a later fragment of what begins with %d", h.kind), behind(ip, h.kind,
			pattern(64), later))
	}
	goes("a later fragment behind options", behind(ip, shim6, pattern(3), extension{hopByHop, 8, 0},
		later))
	stops("a later fragment of what begins with a routing header", behind(ip, packet.NextHeaderRouting,
		pattern(64), later), p4.DropReasonSidFromOutside)
	stops("a later fragment of a tunnel", behind(ip, packet.NextHeaderIPv6, pattern(64),
		extension{destination, 8, 0}, later), p4.DropReasonSidFromOutside)
	goes("no next header", behind(ip, packet.NextHeaderNone, nil, extension{hopByHop, 8, 0}))
	goes("encrypted", behind(ip, 50, pattern(32), extension{destination, 8, 0}))

	// A chain that the packet does not have to its end.
	for _, h := range kinds {
		whole := behind(ip, packet.NextHeaderNone, nil, h)
		stops("an end within "+name([]extension{h}), whole[:len(whole)-1], p4.DropReasonParseTruncated)
	}
	stops("an end before the second", behind(ip, destination, nil, extension{hopByHop, 8, 0}),
		p4.DropReasonParseTruncated)
	forged := ip
	forged.Src = host(2)
	stops("another's address, one too many", behind(forged, packet.NextHeaderUDP, udp,
		slices.Repeat([]extension{{destination, 8, 0}}, most+1)...), p4.DropReasonSourceGuard)

	// Between switches nobody judges them.
	inside := ip
	inside.Src, inside.Dst = host(4), host(out)
	for _, frame := range [][]byte{
		behind(inside, packet.NextHeaderRouting, routing(2), extension{hopByHop, 8, 0}),
		behind(inside, packet.NextHeaderUDP, udp, slices.Repeat([]extension{{destination, 16, 0}},
			most+2)...),
		behind(inside, packet.NextHeaderIPv6, inner, extension{destination, 8, 0}),
	} {
		s.steps = append(s.steps, step{what: "from the fabric", in: wire{4, frame},
			out: []wire{forwarded(out, frame)}})
	}
	return []scenario{s}
}
