package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// SIDAttributes are the attributes of an SRv6 SID NLRI (RFC 9514 section 7).
type SIDAttributes struct {
	Behavior  *EndpointBehavior
	PeerNode  *PeerNode
	Structure *SIDStructure
}

// An EndpointBehavior is RFC 9514 section 7.1's.
type EndpointBehavior struct {
	Behavior  uint16
	Flags     uint8
	Algorithm uint8
}

// A PeerNode is the peer that an SRv6 BGP Peer Node SID leads to (RFC 9514
// section 7.2).
type PeerNode struct {
	Flags  uint8
	Weight uint8
	ASN    uint32
	ID     netip.Addr // BGP identifier, an IPv4 address
}

// A SIDStructure gives the widths in bits of a SID's parts (RFC 9514 section 8).
type SIDStructure struct {
	Block, Node, Function, Argument uint8
}

// An EndX is an SRv6 End.X SID, or on a LAN a LAN End.X SID (RFC 9514 sections
// 4.1 and 4.2).
type EndX struct {
	Behavior  uint16
	Flags     uint8
	Algorithm uint8
	Weight    uint8
	// Neighbor has the octets of the neighbour's identifier on a LAN: 6 of
	// IS-IS, 4 of OSPFv3. It is empty elsewhere.
	Neighbor  string
	SID       netip.Addr
	Structure *SIDStructure
}

const (
	behaviorLen     = 4
	peerNodeLen     = 12
	sidStructureLen = 4
	endXFixedLen    = 6  // before the neighbour or the SID
	sidLen          = 16 // octets
)

func (s *SIDAttributes) parse(typ uint16, value []byte, _ *int) (known bool, err error) {
	switch typ {
	case tlvSRv6Behavior:
		if err = wantLen(typ, value, behaviorLen); err == nil {
			s.Behavior = &EndpointBehavior{binary.BigEndian.Uint16(value), value[2], value[3]}
		}
	case tlvSRv6PeerNode:
		if err = wantLen(typ, value, peerNodeLen); err == nil {
			id, _ := netip.AddrFromSlice(value[8:])
			s.PeerNode = &PeerNode{value[0], value[1], binary.BigEndian.Uint32(value[4:]), id}
		}
	case tlvSRv6SIDStructure:
		s.Structure = new(SIDStructure)
		err = s.Structure.parse(value)
	default:
		return false, nil
	}
	return true, err
}

func (s *SIDAttributes) append(b []byte) []byte {
	if x := s.Behavior; x != nil {
		b = appendTLV(b, tlvSRv6Behavior, func(b []byte) []byte {
			b = binary.BigEndian.AppendUint16(b, x.Behavior)
			return append(b, x.Flags, x.Algorithm)
		})
	}
	if p := s.PeerNode; p != nil {
		b = appendTLV(b, tlvSRv6PeerNode, func(b []byte) []byte {
			b = append(b, p.Flags, p.Weight, 0, 0)
			b = binary.BigEndian.AppendUint32(b, p.ASN)
			var id [4]byte
			if p.ID.Is4() {
				id = p.ID.As4()
			}
			return append(b, id[:]...)
		})
	}
	return s.Structure.append(b)
}

func (s *SIDStructure) parse(value []byte) error {
	if err := wantLen(tlvSRv6SIDStructure, value, sidStructureLen); err != nil {
		return err
	}
	*s = SIDStructure{value[0], value[1], value[2], value[3]}
	if sum := int(s.Block) + int(s.Node) + int(s.Function) + int(s.Argument); sum > 8*sidLen {
		return fmt.Errorf("%w: SID structure of %d bits", ErrMalformed, sum)
	}
	return nil
}

func (s *SIDStructure) append(b []byte) []byte {
	if s == nil {
		return b
	}
	return appendBytesTLV(b, tlvSRv6SIDStructure, []byte{s.Block, s.Node, s.Function, s.Argument})
}

// neighborLen is how many octets of a TLV name the neighbour.
func neighborLen(typ uint16) int {
	switch typ {
	case tlvSRv6LANEndXIS:
		return 6
	case tlvSRv6LANEndXOS:
		return 4
	}
	return 0
}

func (x *EndX) parse(typ uint16, value []byte, unknown *int) error {
	n := neighborLen(typ)
	if err := wantAtLeast(typ, value, endXFixedLen+n+sidLen); err != nil {
		return err
	}
	x.Behavior = binary.BigEndian.Uint16(value)
	x.Flags, x.Algorithm, x.Weight = value[2], value[3], value[4]
	value = value[endXFixedLen:]
	x.Neighbor = string(value[:n])
	x.SID = netip.AddrFrom16([sidLen]byte(value[n:]))
	return parseSubTLVs(value[n+sidLen:], unknown, &x.Structure)
}

func (x *EndX) tlvType() uint16 {
	switch len(x.Neighbor) {
	case 6:
		return tlvSRv6LANEndXIS
	case 4:
		return tlvSRv6LANEndXOS
	}
	return tlvSRv6EndX
}

func (x *EndX) append(b []byte) []byte {
	typ := x.tlvType()
	return appendTLV(b, typ, func(b []byte) []byte {
		b = binary.BigEndian.AppendUint16(b, x.Behavior)
		b = append(b, x.Flags, x.Algorithm, x.Weight, 0)
		b = append(b, x.Neighbor[:neighborLen(typ)]...)
		sid := x.SID.As16()
		b = append(b, sid[:]...)
		return x.Structure.append(b)
	})
}
