package fabric

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// linuxFrames are what a Linux 6.18 host with the MAC 02:00:00:00:bb:02 sent, whose router has the
// MAC 02:00:00:00:aa:01 and the link-local address fe80::1.
var linuxFrames = map[string]string{
	"DAD": "3333ff00bb02 02000000bb02 86dd 60000000 0020 3aff 00000000000000000000000000000000 " +
		"ff0200000000000000000001ff00bb02 8700e55500000000 20010db800000007000000fffe00bb02 " +
		"0e01335c3c8a749d",
	"RS": "333300000002 02000000bb02 86dd 60000000 0010 3aff fe80000000000000000000fffe00bb02 " +
		"ff020000000000000000000000000002 8500052900000000 010102000000bb02",
	"NUD": "02000000aa01 02000000bb02 86dd 60000000 0020 3aff fe80000000000000000000fffe00bb02 " +
		"fe800000000000000000000000000001 8700051a00000000 fe800000000000000000000000000001 " +
		"010102000000bb02",
	"NA": "02000000aa01 02000000bb02 86dd 60000000 0018 3aff 20010db800000007000000fffe00bb02 " +
		"fe800000000000000000000000000001 880069a540000000 20010db800000007000000fffe00bb02",
	"MLDv2": "333300000016 02000000bb02 86dd 60000000 0024 0001 fe80000000000000000000fffe00bb02 " +
		"ff020000000000000000000000000016 3a00050200000100 8f00fc0300000001 04000000 " +
		"ff0200000000000000000001ff00bb02",
}

func linuxFrame(name string) []byte { return unhex(linuxFrames[name]) }

// neighborhood is the port of that host with its surroundings.
type neighborhood struct {
	port             uint32
	host, router     packet.MAC
	address, gateway netip.Addr // gateway of the prefix
	neighbor         netip.Addr // at another port
	beside           netip.Addr // at the same port
}

var street = neighborhood{
	port: 3, host: packet.MAC{2, 0, 0, 0, 0xbb, 2}, router: packet.MAC{2, 0, 0, 0, 0xaa, 1},
	address: addr("2001:db8:0:7:0:ff:fe00:bb02"), gateway: addr("2001:db8:0:7::1"),
	neighbor: addr("2001:db8:0:7::5"), beside: addr("2001:db8:0:7::6"),
}

func (n neighborhood) entries(spacing, burst uint64) []*p4v1.Update {
	gateway := func(a netip.Addr) *p4v1.Update {
		return entry(p4.TableNdTarget, []any{a}, p4.ActionNdGateway, n.router)
	}
	neighbor := func(a netip.Addr, port uint32) *p4v1.Update {
		return entry(p4.TableNdTarget, []any{a}, p4.ActionNdNeighbor, n.router, port)
	}
	return append(modify(entry(p4.TablePort, []any{n.port}, p4.ActionSetPort, 1, 0)),
		entry(p4.TableNdPort, []any{n.port}, p4.ActionSetNdPort, spacing, (burst-1)*spacing),
		entry(p4.TableMyStation, []any{n.router}, p4.ActionAcceptStation),
		entry(p4.TableSourceGuard, []any{n.port, exactly(n.address)}, p4.ActionAllowSource),
		gateway(addr("fe80::1")), gateway(n.gateway), neighbor(n.neighbor, 5),
		neighbor(n.beside, n.port))
}

// solicits asks for a target from an address, as Linux does.
func (n neighborhood) solicits(src, dst, target netip.Addr) []byte {
	f := packet.NDFrame{
		Ethernet: packet.Ethernet{Dst: n.router, Src: n.host},
		IP:       packet.IPv6{FlowLabel: 0xabcde, Src: src, Dst: dst},
		ND:       packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: target, SourceMAC: n.host},
	}
	if dst.IsMulticast() {
		f.Ethernet.Dst = packet.MulticastMAC(dst)
	}
	if src.IsUnspecified() {
		f.ND.SourceMAC, f.ND.Nonce = packet.MAC{}, []byte{1, 2, 3, 4, 5, 6}
	}
	return f.Append(nil)
}

// advertises is the answer of the switch.
func (n neighborhood) advertises(dst, target netip.Addr, m packet.ND) []byte {
	m.Type, m.Target = packet.ICMPv6NeighborAdvertisement, target
	m.TargetMAC = n.router
	f := packet.NDFrame{Ethernet: packet.Ethernet{Dst: n.host, Src: n.router},
		IP: packet.IPv6{Src: target, Dst: dst}, ND: m}
	if dst.IsMulticast() {
		f.Ethernet.Dst = packet.MulticastMAC(dst)
	}
	return f.Append(nil)
}

// echo is an echo request or reply of some octets.
func echo(src, dst packet.MAC, from, to netip.Addr, hops, typ uint8, octets int) []byte {
	m := append([]byte{typ, 0, 0, 0, 0x12, 0x34, 0, 1}, make([]byte, octets)...)
	for i := range octets {
		m[8+i] = byte(7 * i)
	}
	binary.BigEndian.PutUint16(m[2:], packet.ICMPv6Checksum(from, to, m))
	b := packet.Ethernet{Dst: dst, Src: src, EtherType: packet.EtherTypeIPv6}.Append(nil)
	b = packet.IPv6{PayloadLength: uint16(len(m)), NextHeader: packet.NextHeaderICMPv6, HopLimit: hops,
		Src: from, Dst: to}.Append(b)
	return append(b, m...)
}

// neighborDiscovery: the switch answers for the gateway and for known neighbors, hands other claims
// of hosts to the controller, and drops forbidden claims.
func neighborDiscovery() []scenario {
	n := street
	linkLocal := packet.LinkLocal(n.host)
	none := netip.IPv6Unspecified()
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
	router := packet.ND{Router: true, Solicited: true, Override: true}
	defends := packet.ND{Router: true, Override: true}
	ns := n.solicits(linkLocal, packet.SolicitedNode(n.gateway), n.gateway)
	// bad is a solicitation whose message was changed, with a checksum that fits.
	bad := func(change func(f *packet.NDFrame)) []byte {
		f, err := packet.ParseNDFrame(ns)
		if err != nil {
			panic(err)
		}
		change(&f)
		return f.Append(nil)
	}
	message := func(typ uint8) []byte {
		b := append([]byte(nil), linuxFrame("RS")...)
		b[54] = typ
		binary.BigEndian.PutUint16(b[56:], packet.ICMPv6Checksum(linkLocal, packet.AllRouters, b[54:]))
		return b
	}
	long := bad(func(f *packet.NDFrame) { f.ND.Nonce = make([]byte, 54) })

	host := scenario{name: "neighbors", entries: n.entries(1, 1<<30), steps: []step{
		answered("gateway, reachable?", linuxFrame("NUD"), n.advertises(linkLocal, addr("fe80::1"),
			router), p4.NdEventGateway),
		answered("gateway, multicast", ns, n.advertises(linkLocal, n.gateway, router), p4.NdEventGateway),
		answered("gateway, from an address that is bound", n.solicits(n.address,
			packet.SolicitedNode(n.gateway), n.gateway), n.advertises(n.address, n.gateway, router),
			p4.NdEventGateway),
		answered("gateway, with other options", bad(func(f *packet.NDFrame) {
			f.ND.Nonce = make([]byte, 22)
		}), n.advertises(linkLocal, n.gateway, router), p4.NdEventGateway),
		answered("gateway, with octets behind the message", append(ns[:len(ns):len(ns)], 1, 2, 3),
			n.advertises(linkLocal, n.gateway, router), p4.NdEventGateway),
		answered("the gateway's address is wanted", n.solicits(none, packet.SolicitedNode(n.gateway),
			n.gateway), n.advertises(packet.AllNodes, n.gateway, defends), p4.NdEventDefended),
		answered("neighbor", n.solicits(n.address, packet.SolicitedNode(n.neighbor), n.neighbor),
			n.advertises(n.address, n.neighbor, packet.ND{Solicited: true}), p4.NdEventNeighbor),
		refused("neighbor at the same port", n.solicits(n.address, packet.SolicitedNode(n.beside),
			n.beside), p4.DropReasonNdTarget),
		refused("nobody", n.solicits(n.address, packet.SolicitedNode(addr("2001:db8:0:7::99")),
			addr("2001:db8:0:7::99")), p4.DropReasonNdTarget),
		reported("DAD", linuxFrame("DAD")),
		reported("a neighbor's address is wanted", n.solicits(none, packet.SolicitedNode(n.neighbor),
			n.neighbor)),
		reported("RS", linuxFrame("RS")),
		reported("NA", linuxFrame("NA")),
		reported("NS from an address that is not bound", n.solicits(addr("2001:db8:0:7::42"),
			packet.SolicitedNode(n.gateway), n.neighbor)),
		refused("MLDv2", linuxFrame("MLDv2"), p4.DropReasonListenerReport),
		refused("MLD", message(131), p4.DropReasonListenerReport),
		refused("RA", message(packet.ICMPv6RouterAdvertisement), p4.DropReasonNdRouter),
		refused("Redirect", message(packet.ICMPv6Redirect), p4.DropReasonNdRouter),
		refused("RA in a tunnel", plain(packet.IPv6{NextHeader: packet.NextHeaderIPv6, HopLimit: 9,
			Src: n.address, Dst: sidEndDT6}, message(packet.ICMPv6RouterAdvertisement)[offOuter:]),
			p4.DropReasonSourceGuard),
		refused("Hop Limit 254", patch(wire{3, ns}, 21, 254).frame, p4.DropReasonNdInvalid),
		refused("RS of Hop Limit 254", patch(wire{3, linuxFrame("RS")}, 21, 254).frame,
			p4.DropReasonNdInvalid),
		refused("checksum", patch(wire{3, ns}, 57, ns[57]^1).frame, p4.DropReasonNdInvalid),
		refused("code", bad(func(f *packet.NDFrame) { f.ND.Code = 1 }), p4.DropReasonNdInvalid),
		refused("multicast target", bad(func(f *packet.NDFrame) { f.ND.Target = packet.AllNodes }),
			p4.DropReasonNdInvalid),
		refused("multicast source", bad(func(f *packet.NDFrame) { f.IP.Src = packet.AllNodes }),
			p4.DropReasonNdInvalid),
		refused("too many options", long, p4.DropReasonNdInvalid),
		refused("cut off", ns[:len(ns)-1], p4.DropReasonParseTruncated),
		answered("echo", echo(n.host, n.router, n.address, n.gateway, 64, packet.ICMPv6EchoRequest, 56),
			echo(n.router, n.host, n.gateway, n.address, 64, packet.ICMPv6EchoReply, 56), p4.NdEventEcho),
		answered("echo to the link-local address", echo(n.host, n.router, linkLocal, addr("fe80::1"), 1,
			packet.ICMPv6EchoRequest, 1400), echo(n.router, n.host, addr("fe80::1"), linkLocal, 64,
			packet.ICMPv6EchoReply, 1400), p4.NdEventEcho),
		refused("echo from another's address", echo(n.host, n.router, n.neighbor, n.gateway, 64,
			packet.ICMPv6EchoRequest, 8), p4.DropReasonSourceGuard),
		{what: "echo to a host", in: wire{n.port, echo(n.host, n.router, n.address, host4(), 64,
			packet.ICMPv6EchoRequest, 8)}, out: []wire{{4, echo(macOf(4), macBehind(4), n.address, host4(),
			63, packet.ICMPv6EchoRequest, 8)}}},
	}}
	// Odd lengths, checksums that are even and odd; and one below 0x0100, of which the difference
	// borrows (RFC 1624).
	for _, octets := range []int{33, 162, 0, 1, 2, 3, 4, 5, 6, 7} {
		host.steps = append(host.steps, answered("echo of any length", echo(n.host, n.router, n.address,
			n.gateway, 64, packet.ICMPv6EchoRequest, octets), echo(n.router, n.host, n.gateway, n.address,
			64, packet.ICMPv6EchoReply, octets), p4.NdEventEcho))
	}
	off := scenario{name: "neighbors/off", steps: []step{
		refused("a port without an entry", ns, p4.DropReasonNotMyStation),
		refused("RS", linuxFrame("RS"), p4.DropReasonNotMyStation),
		refused("RA", message(packet.ICMPv6RouterAdvertisement), p4.DropReasonNotMyStation),
	}}
	limited := scenario{name: "neighbors/rate", virtual: true, entries: n.entries(50_000, 3)}
	for range 3 {
		limited.steps = append(limited.steps, reported("burst", linuxFrame("DAD")))
	}
	over := refused("over the rate", linuxFrame("DAD"), p4.DropReasonNdRate)
	later := reported("an interval later", linuxFrame("RS"))
	later.after = 50 * time.Millisecond
	limited.steps = append(limited.steps, over, over, answered("what the switch answers has no rate",
		ns, n.advertises(linkLocal, n.gateway, router), p4.NdEventGateway), later, over)
	return []scenario{host, off, limited}
}

func host4() netip.Addr { return host(4) }

// unhex reads octets that are written with spaces.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}
