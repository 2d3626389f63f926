package hostrun

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Neighbor is a port's identity on its link. All ports of a host have the host's address and answer
// for it, each with a MAC of its own (OCP MRC 1.0 section 11.5). The kernel has no part in it.
type Neighbor struct {
	// MAC and Address are the port's.
	MAC     packet.MAC
	Address netip.Addr
	// Gateway is the MAC of the switch behind the port. Zero: the port finds it, by the
	// advertisements of routers (RFC 4861 §6.3), or of IPv4 by ARP of the address after the first of
	// its /24.
	Gateway packet.MAC
}

const (
	// searchMin and searchMax bound the growing pauses between questions after a gateway.
	searchMin = 250 * time.Millisecond
	searchMax = 4 * time.Second

	ipv4GatewayBits = 24
)

// neighbor is a port with the neighbors that it has found.
type neighbor struct {
	Neighbor
	fixed     bool
	announces bool          // it says that it is there, before all else
	searches  bool          // it asks for the gateway
	next      time.Duration // of the next question
	gap       time.Duration
	reply     []byte
}

func newNeighbor(n Neighbor) neighbor {
	fixed := n.Gateway != packet.MAC{}
	return neighbor{Neighbor: n, fixed: fixed, announces: true, searches: !fixed, gap: searchMin}
}

// silent reports whether the program has configured no address for the port: the endpoint then
// receives all frames.
func (n *neighbor) silent() bool { return !n.Address.IsValid() }

// found reports whether frames have somewhere to go.
func (n *neighbor) found() bool { return n.silent() || n.Gateway != packet.MAC{} }

// up has a port announce itself: its link came up.
func (n *neighbor) up(now time.Duration) {
	n.announces, n.searches, n.next, n.gap = true, !n.fixed, now, searchMin
}

// fill gives a frame of the endpoint the destination that was found; false: none was.
func (n *neighbor) fill(frame []byte) bool {
	if n.fixed || n.silent() {
		return true
	}
	copy(frame, n.Gateway[:])
	return n.found()
}

// receive takes a frame, and reports whether the frame belongs to neighbor discovery or ARP, with
// the answer, if any. The answer is valid until the next call.
func (n *neighbor) receive(frame []byte) (answer []byte, mine bool) {
	if n.silent() || !isNeighborly(frame) {
		return nil, false
	}
	if n.Address.Is4() {
		return n.receiveARP(frame), true
	}
	f, err := packet.ParseNDFrame(frame)
	if err != nil {
		return nil, true
	}
	switch f.ND.Type {
	case packet.ICMPv6NeighborSolicitation:
		if f.ND.Target != n.Address {
			return nil, true
		}
		a := packet.ND{Type: packet.ICMPv6NeighborAdvertisement, Target: n.Address, Override: true,
			TargetMAC: n.MAC}
		to, mac := packet.AllNodes, packet.MulticastMAC(packet.AllNodes)
		if !f.IP.Src.IsUnspecified() { // else it asks for duplicates, and all hear
			to, mac, a.Solicited = f.IP.Src, f.Ethernet.Src, true
		}
		return n.say(mac, n.Address, to, a), true
	case packet.ICMPv6RouterAdvertisement:
		mac := f.ND.SourceMAC
		if mac == (packet.MAC{}) {
			mac = f.Ethernet.Src
		}
		switch {
		case n.fixed:
		case f.ND.Lifetime > 0:
			n.Gateway, n.searches = mac, false
		case mac == n.Gateway: // it is no router any more
			n.Gateway, n.searches = packet.MAC{}, true
		}
	}
	return nil, true
}

func (n *neighbor) receiveARP(frame []byte) []byte {
	f, err := packet.ParseARPFrame(frame)
	if err != nil {
		return nil
	}
	a := &f.ARP
	if !n.fixed && a.Operation == packet.ARPReply && a.Sender == n.router() {
		n.Gateway, n.searches = a.SenderMAC, false
	}
	if a.Operation != packet.ARPRequest || a.Target != n.Address || a.SenderMAC == n.MAC {
		return nil
	}
	n.reply = packet.ARPFrame{Ethernet: packet.Ethernet{Dst: a.SenderMAC, Src: n.MAC},
		ARP: packet.ARP{Operation: packet.ARPReply, SenderMAC: n.MAC, Sender: n.Address,
			TargetMAC: a.SenderMAC, Target: a.Sender}}.Append(n.reply[:0])
	return n.reply
}

// advance returns the frames that are due, and when the next ones are.
func (n *neighbor) advance(now time.Duration) (frames [][]byte, next time.Duration, pending bool) {
	if n.silent() {
		return nil, 0, false
	}
	if n.announces {
		n.announces = false
		frames = append(frames, n.announcement())
	}
	if !n.searches {
		return frames, 0, false
	}
	if n.next <= now {
		frames = append(frames, n.question())
		n.next, n.gap = now+n.gap, min(2*n.gap, searchMax)
	}
	return frames, n.next, true
}

// announcement returns a frame by which the link learns that the port has its address.
func (n *neighbor) announcement() []byte {
	if n.Address.Is4() { // RFC 5227 §2.3
		return n.arp(n.Address, n.Address)
	}
	return bytes.Clone(n.say(packet.MulticastMAC(packet.AllNodes), n.Address, packet.AllNodes,
		packet.ND{Type: packet.ICMPv6NeighborAdvertisement, Target: n.Address, Override: true,
			TargetMAC: n.MAC})) // RFC 4861 §7.2.6
}

// question returns a frame that asks for the gateway.
func (n *neighbor) question() []byte {
	if n.Address.Is4() {
		return n.arp(n.Address, n.router())
	}
	return bytes.Clone(n.say(packet.MulticastMAC(packet.AllRouters), packet.LinkLocal(n.MAC),
		packet.AllRouters, packet.ND{Type: packet.ICMPv6RouterSolicitation, SourceMAC: n.MAC}))
}

// router is the IPv4 address of the gateway.
func (n *neighbor) router() netip.Addr {
	return netip.PrefixFrom(n.Address, ipv4GatewayBits).Masked().Addr().Next()
}

func (n *neighbor) arp(sender, target netip.Addr) []byte {
	return packet.ARPFrame{Ethernet: packet.Ethernet{Dst: packet.BroadcastMAC, Src: n.MAC},
		ARP: packet.ARP{Operation: packet.ARPRequest, SenderMAC: n.MAC, Sender: sender,
			Target: target}}.Append(nil)
}

func (n *neighbor) say(mac packet.MAC, src, dst netip.Addr, m packet.ND) []byte {
	n.reply = packet.NDFrame{Ethernet: packet.Ethernet{Dst: mac, Src: n.MAC},
		IP: packet.IPv6{Src: src, Dst: dst}, ND: m}.Append(n.reply[:0])
	return n.reply
}

// isNeighborly reports whether a frame is of ARP or, by its type, of neighbor discovery.
func isNeighborly(frame []byte) bool {
	const etherType, nextHeader, icmpType = 12, 20, 54
	if len(frame) < etherType+2 {
		return false
	}
	switch binary.BigEndian.Uint16(frame[etherType:]) {
	case packet.EtherTypeARP:
		return true
	case packet.EtherTypeIPv6:
		return len(frame) > icmpType && frame[nextHeader] == packet.NextHeaderICMPv6 &&
			frame[icmpType] >= packet.ICMPv6RouterSolicitation &&
			frame[icmpType] <= packet.ICMPv6Redirect
	}
	return false
}
