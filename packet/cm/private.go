package cm

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/packet"
)

// ServiceTCP is the service id of port 0 of RDMA_PS_TCP, the port space of connections (IBTA annex
// A11): the port is in the 16 low bits.
const ServiceTCP = 0x0000_0000_0106_0000

// ServiceID returns the service id of a port.
func ServiceID(port uint16) uint64 { return ServiceTCP | uint64(port) }

// Port returns the port of a service id; ok is false for a service id in another port space.
func Port(service uint64) (port uint16, ok bool) {
	return uint16(service), service&^0xFFFF == ServiceTCP
}

// Lengths of private data in a REQ by way of the RDMA IP CM service.
const (
	IPLen       = 36
	ConsumerREQ = PrivateREQ - IPLen // what is left to the application
)

// IP is the start of the private data of a REQ, from the RDMA IP CM service (IBTA annex A11): two
// IPv6 addresses or two IPv4 addresses; an IPv4 address fills the last octets of its field.
type IP struct {
	SrcPort  uint16
	Src, Dst netip.Addr
}

const (
	ipVersion4 = 4
	ipVersion6 = 6
)

// ParseIP reads the header of the RDMA IP CM service.
func ParseIP(b []byte) (IP, int, error) {
	if len(b) < IPLen {
		return IP{}, 0, fmt.Errorf("RDMA IP CM header: %d octets, need %d: %w", len(b), IPLen,
			packet.ErrTruncated)
	}
	h := IP{SrcPort: binary.BigEndian.Uint16(b[2:])}
	switch version := b[1] >> 4; {
	case b[0] == 0 && version == ipVersion6:
		h.Src, h.Dst = gid(b[4:20]), gid(b[20:36])
	case b[0] == 0 && version == ipVersion4:
		h.Src, h.Dst = netip.AddrFrom4([4]byte(b[16:20])), netip.AddrFrom4([4]byte(b[32:36]))
	default:
		return IP{}, 0, fmt.Errorf("RDMA IP CM header: version %d, IP version %d, want 0, and %d or %d: "+
			"%w", b[0], version, ipVersion4, ipVersion6, packet.ErrUnsupported)
	}
	return h, IPLen, nil
}

// Append writes the header after b.
func (h IP) Append(b []byte) []byte {
	var out [IPLen]byte
	binary.BigEndian.PutUint16(out[2:], h.SrcPort)
	if h.Dst.Is4() {
		out[1] = ipVersion4 << 4
		copy(out[16:20], h.Src.AsSlice())
		copy(out[32:36], h.Dst.AsSlice())
		return append(b, out[:]...)
	}
	out[1] = ipVersion6 << 4
	putGID(out[4:], h.Src)
	putGID(out[20:], h.Dst)
	return append(b, out[:]...)
}

// Len is IPLen.
func (IP) Len() int { return IPLen }

// Lengths in octets of what applications and Weft tell each other in private data.
const (
	JoinLen  = 56
	OfferLen = 32
	TokenLen = 32
)

// groupMagic begins both, and groupVersion follows it.
const (
	groupMagic   = 0x5746
	groupVersion = 1
)

const (
	flagMemory = 1 << iota
	flagToken
)

// Join is the private data of an application that wants to join a group: the data after IP in a
// REQ, or the data of a REP. Absent fields are zero.
type Join struct {
	HasMemory bool // RKey, VA and Length are those of a receiver's memory
	HasToken  bool
	RKey      uint32
	VA        uint64
	Length    uint64
	Token     [TokenLen]byte
}

// ParseJoin reads the private data of an application. ErrUnsupported: it is none of Weft's.
func ParseJoin(b []byte) (Join, int, error) {
	flags, err := parseGroup("join", b, JoinLen)
	if err != nil {
		return Join{}, 0, err
	}
	return Join{HasMemory: flags&flagMemory != 0, HasToken: flags&flagToken != 0,
			RKey: u32(b[4:]), VA: u64(b[8:]), Length: u64(b[16:]), Token: [TokenLen]byte(b[24:])},
		JoinLen, nil
}

// parseGroup reads magic, version and the octet after them.
func parseGroup(what string, b []byte, need int) (byte, error) {
	if len(b) < need {
		return 0, fmt.Errorf("private data of a %s: %d octets, need %d: %w", what, len(b), need,
			packet.ErrTruncated)
	}
	if m := binary.BigEndian.Uint16(b); m != groupMagic || b[2] != groupVersion {
		return 0, fmt.Errorf("private data of a %s: magic %#04x, version %d, want %#04x, %d: %w",
			what, m, b[2], groupMagic, groupVersion, packet.ErrUnsupported)
	}
	return b[3], nil
}

// Append writes the data after b.
func (j Join) Append(b []byte) []byte {
	var out [JoinLen]byte
	binary.BigEndian.PutUint16(out[:], groupMagic)
	out[2], out[3] = groupVersion, 0
	if j.HasMemory {
		out[3] |= flagMemory
	}
	if j.HasToken {
		out[3] |= flagToken
	}
	put32(out[4:], j.RKey)
	put64(out[8:], j.VA)
	put64(out[16:], j.Length)
	copy(out[24:], j.Token[:])
	return append(b, out[:]...)
}

// Len is JoinLen.
func (Join) Len() int { return JoinLen }

// Offer is the private data of a group: what an application may send to it.
type Offer struct {
	MTU    MTU
	RKey   uint32
	BaseVA uint64
	Length uint64 // octets that every receiver has at BaseVA; 0: unknown
	Epoch  uint32
}

// ParseOffer reads the private data of a group.
func ParseOffer(b []byte) (Offer, int, error) {
	mtu, err := parseGroup("group", b, OfferLen)
	if err != nil {
		return Offer{}, 0, err
	}
	return Offer{MTU: MTU(mtu), RKey: u32(b[4:]), BaseVA: u64(b[8:]), Length: u64(b[16:]),
		Epoch: u32(b[24:])}, OfferLen, nil
}

// Append writes the data after b.
func (o Offer) Append(b []byte) []byte {
	var out [OfferLen]byte
	binary.BigEndian.PutUint16(out[:], groupMagic)
	out[2], out[3] = groupVersion, byte(o.MTU)
	put32(out[4:], o.RKey)
	put64(out[8:], o.BaseVA)
	put64(out[16:], o.Length)
	put32(out[24:], o.Epoch)
	return append(b, out[:]...)
}

// Len is OfferLen.
func (Offer) Len() int { return OfferLen }
