package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// NodeAttributes has the attributes of RFC 9552 section 5.3.1 and RFC 9514 section 3. Local
// router-ids also occur with links and prefixes.
type NodeAttributes struct {
	// MSDs are the maximum SID depths of the node (RFC 8814).
	MSDs  []MSD
	Flags uint8
	Name  string
	// RouterID4 and RouterID6 are the first auxiliary router-ids of the local node. RouterIDs holds
	// any further router-ids of both families.
	RouterID4  netip.Addr
	RouterID6  netip.Addr
	RouterIDs  []netip.Addr
	Algorithms []uint8
	SRv6       SRv6Capabilities
}

// An MSD is a maximum SID depth.
type MSD struct {
	Type, Value uint8
}

// SRv6Capabilities holds a node's optional SRv6 capabilities (RFC 9514 section 3.1).
type SRv6Capabilities struct {
	Present bool
	Flags   uint16
}

const (
	// NodeFlagOverload is the overload bit.
	NodeFlagOverload uint8 = 0x80
	// SRv6FlagOAM is the O-flag of RFC 9259.
	SRv6FlagOAM uint16 = 0x4000

	maxNodeName = 255
)

func (n *NodeAttributes) parse(typ uint16, value []byte, unknown *int) (known bool, err error) {
	switch typ {
	case tlvNodeMSD:
		n.MSDs, err = parseMSDs(typ, value)
	case tlvNodeFlags:
		if err = wantLen(typ, value, 1); err == nil {
			n.Flags = value[0]
		}
	case tlvNodeName:
		if len(value) == 0 || len(value) > maxNodeName {
			return true, fmt.Errorf("%w: name of %d octets", ErrMalformed, len(value))
		}
		n.Name = string(value)
	case tlvLocalRouterID4:
		err = n.addRouterID(typ, value, 4, &n.RouterID4)
	case tlvLocalRouterID6:
		err = n.addRouterID(typ, value, 16, &n.RouterID6)
	case tlvSRAlgorithm:
		n.Algorithms = append([]uint8(nil), value...)
	case tlvSRv6Capabilities:
		if err = wantAtLeast(typ, value, 4); err != nil {
			return true, err
		}
		n.SRv6 = SRv6Capabilities{Present: true, Flags: binary.BigEndian.Uint16(value)}
		err = parseSubTLVs(value[4:], unknown, nil)
	default:
		return false, nil
	}
	return true, err
}

func (n *NodeAttributes) append(b []byte) []byte {
	if len(n.MSDs) > 0 {
		b = appendTLV(b, tlvNodeMSD, func(b []byte) []byte {
			for _, m := range n.MSDs {
				b = append(b, m.Type, m.Value)
			}
			return b
		})
	}
	if n.Flags != 0 {
		b = appendBytesTLV(b, tlvNodeFlags, []byte{n.Flags})
	}
	if n.Name != "" {
		b = appendBytesTLV(b, tlvNodeName, []byte(n.Name)[:min(len(n.Name), maxNodeName)])
	}
	for _, a := range append([]netip.Addr{n.RouterID4, n.RouterID6}, n.RouterIDs...) {
		typ := tlvLocalRouterID6
		if a.Is4() {
			typ = tlvLocalRouterID4
		}
		b = appendAddrTLV(b, typ, a)
	}
	if len(n.Algorithms) > 0 {
		b = appendBytesTLV(b, tlvSRAlgorithm, n.Algorithms)
	}
	if n.SRv6.Present {
		b = appendTLV(b, tlvSRv6Capabilities, func(b []byte) []byte {
			b = binary.BigEndian.AppendUint16(b, n.SRv6.Flags)
			return append(b, 0, 0)
		})
	}
	return b
}

func parseMSDs(typ uint16, value []byte) ([]MSD, error) {
	if len(value)%2 != 0 {
		return nil, fmt.Errorf("%w: TLV %d has %d octets", ErrMalformed, typ, len(value))
	}
	msds := make([]MSD, 0, len(value)/2)
	for ; len(value) > 0; value = value[2:] {
		msds = append(msds, MSD{value[0], value[1]})
	}
	return msds, nil
}

// addRouterID reads a router-id into first or, where there is one already, adds it to RouterIDs.
func (n *NodeAttributes) addRouterID(
	typ uint16, value []byte, octets int, first *netip.Addr,
) error {
	if !first.IsValid() {
		return readAddr(typ, value, octets, first)
	}
	var a netip.Addr
	err := readAddr(typ, value, octets, &a)
	if err == nil {
		n.RouterIDs = append(n.RouterIDs, a)
	}
	return err
}

// readFirstAddr reads an address that may occur several times.
func readFirstAddr(typ uint16, value []byte, n int, into *netip.Addr) error {
	var a netip.Addr
	if err := readAddr(typ, value, n, &a); err != nil {
		return err
	}
	if !into.IsValid() {
		*into = a
	}
	return nil
}

// parseSubTLVs reads sub-TLVs. If structure is not nil, a sub-TLV may be a SID structure.
func parseSubTLVs(b []byte, unknown *int, structure **SIDStructure) error {
	for len(b) > 0 {
		typ, value, rest, err := nextTLV(b)
		if err != nil {
			return err
		}
		b = rest
		if typ == tlvSRv6SIDStructure && structure != nil {
			*structure = new(SIDStructure)
			if err := (*structure).parse(value); err != nil {
				return err
			}
			continue
		}
		*unknown++
	}
	return nil
}
