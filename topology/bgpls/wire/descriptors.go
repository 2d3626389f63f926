package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A NodeDescriptor names a node (RFC 9552 section 5.2.1).
type NodeDescriptor struct {
	// ASN is 0 when absent: no autonomous system has that number (RFC 7607).
	ASN uint32
	// BGPLSID is the deprecated BGP-LS identifier, 0 when absent.
	BGPLSID uint32
	Area    Area
	// IGPRouterID holds the octets of the identifier: 4 (OSPF), 8 (OSPF
	// pseudonode), 6 (IS-IS), 7 (IS-IS pseudonode).
	IGPRouterID string
	// BGPRouterID is the BGP router-id of RFC 9086; invalid if absent.
	BGPRouterID netip.Addr
}

// An Area is an optional OSPF area.
type Area struct {
	Present bool
	ID      uint32
}

func (d *NodeDescriptor) parse(b []byte, unknown *int) error {
	for len(b) > 0 {
		typ, value, rest, err := nextTLV(b)
		if err != nil {
			return err
		}
		b = rest
		switch typ {
		case tlvAutonomousSystem:
			err = readUint32(typ, value, &d.ASN)
		case tlvBGPLSIdentifier:
			err = readUint32(typ, value, &d.BGPLSID)
		case tlvOSPFArea:
			d.Area.Present = true
			err = readUint32(typ, value, &d.Area.ID)
		case tlvIGPRouterID:
			if len(value) == 0 {
				err = fmt.Errorf("%w: empty IGP router-id", ErrMalformed)
			}
			d.IGPRouterID = string(value)
		case tlvBGPRouterID:
			err = readAddr(typ, value, 4, &d.BGPRouterID)
		default:
			*unknown++
		}
		if err != nil {
			return err
		}
	}
	if d.IGPRouterID == "" && !d.BGPRouterID.IsValid() {
		return fmt.Errorf("%w: node descriptor without router-id", ErrMalformed)
	}
	return nil
}

func (d *NodeDescriptor) append(b []byte) []byte {
	if d.ASN != 0 {
		b = appendUint32TLV(b, tlvAutonomousSystem, d.ASN)
	}
	if d.BGPLSID != 0 {
		b = appendUint32TLV(b, tlvBGPLSIdentifier, d.BGPLSID)
	}
	if d.Area.Present {
		b = appendUint32TLV(b, tlvOSPFArea, d.Area.ID)
	}
	if d.IGPRouterID != "" {
		b = appendBytesTLV(b, tlvIGPRouterID, []byte(d.IGPRouterID))
	}
	return appendAddrTLV(b, tlvBGPRouterID, d.BGPRouterID)
}

// A LinkDescriptor tells the links between two nodes apart (RFC 9552 section
// 5.2.2). Addresses are invalid when absent.
type LinkDescriptor struct {
	IDs           LinkIDs
	InterfaceIPv4 netip.Addr
	NeighborIPv4  netip.Addr
	InterfaceIPv6 netip.Addr
	NeighborIPv6  netip.Addr
}

// LinkIDs are the link's identifiers at both ends, if there are any; 0 is an
// end that is not known.
type LinkIDs struct {
	Present       bool
	Local, Remote uint32
}

func (i *LinkIDs) parse(value []byte) error {
	if err := wantLen(tlvLinkIDs, value, 8); err != nil {
		return err
	}
	*i = LinkIDs{true, binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:])}
	return nil
}

func (i *LinkIDs) append(b []byte) []byte {
	if !i.Present {
		return b
	}
	return appendTLV(b, tlvLinkIDs, func(b []byte) []byte {
		b = binary.BigEndian.AppendUint32(b, i.Local)
		return binary.BigEndian.AppendUint32(b, i.Remote)
	})
}

func (d *LinkDescriptor) parse(typ uint16, value []byte) (known bool, err error) {
	switch typ {
	case tlvLinkIDs:
		err = d.IDs.parse(value)
	case tlvInterfaceIPv4:
		err = readAddr(typ, value, 4, &d.InterfaceIPv4)
	case tlvNeighborIPv4:
		err = readAddr(typ, value, 4, &d.NeighborIPv4)
	case tlvInterfaceIPv6:
		err = readAddr(typ, value, 16, &d.InterfaceIPv6)
	case tlvNeighborIPv6:
		err = readAddr(typ, value, 16, &d.NeighborIPv6)
	default:
		return false, nil
	}
	return true, err
}

func (d *LinkDescriptor) append(b []byte) []byte {
	b = d.IDs.append(b)
	b = appendAddrTLV(b, tlvInterfaceIPv4, d.InterfaceIPv4)
	b = appendAddrTLV(b, tlvNeighborIPv4, d.NeighborIPv4)
	b = appendAddrTLV(b, tlvInterfaceIPv6, d.InterfaceIPv6)
	return appendAddrTLV(b, tlvNeighborIPv6, d.NeighborIPv6)
}

// A PrefixDescriptor names a prefix of a node (RFC 9552 section 5.2.3).
type PrefixDescriptor struct {
	Prefix netip.Prefix
	// OSPFRouteType is 0 when absent.
	OSPFRouteType uint8
}

func (d *PrefixDescriptor) parse(typ uint16, value []byte, six bool) (known bool, err error) {
	switch typ {
	case tlvOSPFRouteType:
		if err := wantLen(typ, value, 1); err != nil {
			return true, err
		}
		d.OSPFRouteType = value[0]
	case tlvIPReachability:
		d.Prefix, err = parsePrefix(value, six)
	default:
		return false, nil
	}
	return true, err
}

func (d *PrefixDescriptor) append(b []byte) []byte {
	if d.OSPFRouteType != 0 {
		b = appendBytesTLV(b, tlvOSPFRouteType, []byte{d.OSPFRouteType})
	}
	return appendTLV(b, tlvIPReachability, func(b []byte) []byte {
		bits := d.Prefix.Bits()
		b = append(b, byte(bits))
		return append(b, d.Prefix.Masked().Addr().AsSlice()[:(bits+7)/8]...)
	})
}

// parsePrefix reads a length in bits and as many octets as it needs.
func parsePrefix(value []byte, six bool) (netip.Prefix, error) {
	width := 4
	if six {
		width = 16
	}
	if len(value) == 0 || int(value[0]) > 8*width || len(value) != 1+(int(value[0])+7)/8 {
		return netip.Prefix{}, fmt.Errorf("%w: prefix of %d octets", ErrMalformed, len(value))
	}
	address := make([]byte, width)
	copy(address, value[1:])
	a, _ := netip.AddrFromSlice(address)
	return netip.PrefixFrom(a, int(value[0])).Masked(), nil
}
