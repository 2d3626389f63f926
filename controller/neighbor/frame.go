package neighbor

import (
	"net/netip"

	"github.com/weft-sdn/weft/packet"
)

// routerHopLimit is the Hop Limit that Router Advertisements tell hosts to use.
const routerHopLimit = 64

// Lifetimes of prefixes for host addresses (SLAAC), in seconds.
const (
	prefixValid     = 86400
	prefixPreferred = 14400
)

// message returns a message of a switch with a MAC, to a multicast address.
func message(mac packet.MAC, src, dst netip.Addr, m packet.ND) []byte {
	return packet.NDFrame{
		Ethernet: packet.Ethernet{Dst: packet.MulticastMAC(dst), Src: mac},
		IP:       packet.IPv6{Src: src, Dst: dst}, ND: m,
	}.Append(nil)
}

// advertisement returns the Router Advertisement for hosts: the MAC and the lifetime of the router
// in seconds, the MTU of the paths and the prefix of the link. The prefix is not on-link: hosts
// reach other hosts of the prefix through the router. An MTU of 0 means no MTU, an invalid prefix
// means no prefix.
func advertisement(mac packet.MAC, lifetime uint16, mtu uint32, prefix netip.Prefix) []byte {
	m := packet.ND{Type: packet.ICMPv6RouterAdvertisement, HopLimit: routerHopLimit,
		Lifetime: lifetime, SourceMAC: mac, MTU: mtu}
	if prefix.IsValid() {
		m.Prefixes = []packet.NDPrefix{{Prefix: prefix, Autonomous: true, Valid: prefixValid,
			Preferred: prefixPreferred}}
	}
	return message(mac, packet.LinkLocal(mac), packet.AllNodes, m)
}

// solicitation asks for the host with an address, from an address of the switch. For an IPv4
// address, solicitation returns an ARP request.
func solicitation(mac packet.MAC, from, target netip.Addr) []byte {
	if target.Is4() {
		return arp(packet.BroadcastMAC, packet.ARP{Operation: packet.ARPRequest, SenderMAC: mac,
			Sender: from, Target: target})
	}
	return message(mac, packet.LinkLocal(mac), packet.SolicitedNode(target),
		packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: target, SourceMAC: mac})
}

// defense returns the message that tells all hosts of a link that an address is taken (RFC 4862
// §5.4.4). The MAC in the message is the MAC of the switch, because hosts reach the address through
// the switch. For an IPv4 address the message is an ARP reply to all hosts (RFC 5227 §2.1.1).
func defense(mac packet.MAC, target netip.Addr) []byte {
	if target.Is4() {
		return arp(packet.BroadcastMAC, packet.ARP{Operation: packet.ARPReply, SenderMAC: mac,
			Sender: target, TargetMAC: packet.BroadcastMAC, Target: target})
	}
	return message(mac, target, packet.AllNodes, packet.ND{Type: packet.ICMPv6NeighborAdvertisement,
		Target: target, Override: true, TargetMAC: mac})
}

// arp returns a frame of ARP of a switch.
func arp(to packet.MAC, a packet.ARP) []byte {
	return packet.ARPFrame{Ethernet: packet.Ethernet{Dst: to, Src: a.SenderMAC}, ARP: a}.Append(nil)
}

// claimOfARP is claimOf for a frame of ARP. A probe asks for duplicates of its target; all else
// claims the sender's address, a reply and an announcement without being asked.
func claimOfARP(at At, f *packet.ARPFrame) (c Claim, ok, forged bool) {
	a := &f.ARP
	c = Claim{At: at, MAC: f.Ethernet.Src, Address: a.Sender, How: Solicits}
	switch {
	case a.Sender.IsUnspecified():
		c.Address, c.How = a.Target, Detects
	case a.Operation == packet.ARPReply || a.Sender == a.Target:
		c.How = Advertises
	}
	if a.SenderMAC != c.MAC {
		return Claim{}, false, true
	}
	return c, c.Address.IsGlobalUnicast(), false
}

// claimOf returns what a message of a host claims; ok is false when that is nothing. It has been
// validated. forged reports a message that names another MAC than it came from.
func claimOf(at At, f *packet.NDFrame) (c Claim, ok, forged bool) {
	c = Claim{At: at, MAC: f.Ethernet.Src}
	named := f.ND.SourceMAC
	switch {
	case f.ND.Type == packet.ICMPv6NeighborAdvertisement:
		c.Address, c.How, named = f.ND.Target, Advertises, f.ND.TargetMAC
	case f.ND.Type != packet.ICMPv6NeighborSolicitation:
	case f.IP.Src.IsUnspecified():
		c.Address, c.How = f.ND.Target, Detects
	default:
		c.Address, c.How = f.IP.Src, Solicits
	}
	if named != (packet.MAC{}) && named != c.MAC || c.MAC[0]&1 != 0 {
		return Claim{}, false, true
	}
	// Link-local addresses are those of a port alone.
	return c, c.Address.IsValid() && c.Address.IsGlobalUnicast(), false
}
