package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// A NLRIType says what an NLRI describes (RFC 9552 section 5.2, RFC 9514 section 6).
type NLRIType uint16

const (
	NLRINode    NLRIType = 1
	NLRILink    NLRIType = 2
	NLRIPrefix4 NLRIType = 3
	NLRIPrefix6 NLRIType = 4
	NLRISRv6SID NLRIType = 6
)

func (t NLRIType) String() string {
	switch t {
	case NLRINode:
		return "node"
	case NLRILink:
		return "link"
	case NLRIPrefix4:
		return "IPv4 prefix"
	case NLRIPrefix6:
		return "IPv6 prefix"
	case NLRISRv6SID:
		return "SRv6 SID"
	}
	return fmt.Sprintf("NLRIType(%d)", uint16(t))
}

// A ProtocolID reports where the information comes from (RFC 9552 section 5.2).
type ProtocolID uint8

const (
	ProtocolISISLevel1 ProtocolID = 1
	ProtocolISISLevel2 ProtocolID = 2
	ProtocolOSPFv2     ProtocolID = 3
	ProtocolDirect     ProtocolID = 4
	ProtocolStatic     ProtocolID = 5
	ProtocolOSPFv3     ProtocolID = 6
	ProtocolBGP        ProtocolID = 7
)

var protocolNames = map[ProtocolID]string{
	ProtocolISISLevel1: "isis-l1", ProtocolISISLevel2: "isis-l2", ProtocolOSPFv2: "ospfv2",
	ProtocolDirect: "direct",
	ProtocolStatic: "static", ProtocolOSPFv3: "ospfv3", ProtocolBGP: "bgp",
}

func (p ProtocolID) String() string {
	if s, ok := protocolNames[p]; ok {
		return s
	}
	return fmt.Sprintf("protocol-%d", uint8(p))
}

// ParseProtocol is the inverse of [ProtocolID.String] for the protocols named here.
func ParseProtocol(s string) (ProtocolID, bool) {
	for p, name := range protocolNames {
		if name == s {
			return p, true
		}
	}
	return 0, false
}

// An NLRI names an object. Type determines which descriptors are valid. NLRIs are comparable; but
// on the wire the octets identify an NLRI, because it may contain TLVs unknown to this package.
type NLRI struct {
	Type       NLRIType
	Protocol   ProtocolID
	Identifier uint64 // of the routing instance
	Local      NodeDescriptor
	Remote     NodeDescriptor   // of a link
	Link       LinkDescriptor   // of a link
	Prefix     PrefixDescriptor // of a prefix
	SID        netip.Addr       // of an SRv6 SID
	Topology   MultiTopology    // of a link, a prefix or an SRv6 SID
}

// A MultiTopology is an object's optional MT-ID (RFC 9552 section 5.2.2.1).
type MultiTopology struct {
	Present bool
	ID      uint16 // 12 bits
}

const (
	nlriHeaderLen    = 4 // type, length
	nlriIdentityLen  = 9 // protocol, identifier
	multiTopologyMax = 0x0FFF
)

// Received is an NLRI and its octets, header included.
type Received struct {
	NLRI
	Raw []byte // part of what was parsed
}

// Skipped counts what a parser passed over.
type Skipped struct {
	UnknownNLRIs   int // of a type not known here
	MalformedNLRIs int // discarded (RFC 9552 section 8.2.2, "NLRI discard")
	UnknownTLVs    int
	Fault          Fault // the first of MalformedNLRIs
}

// A Fault is something malformed. It is comparable; the zero value is none.
type Fault struct {
	Octets string // its first octets, MaxFault at most
	Length int    // of all of it, in octets
	Reason string
}

// MaxFault is how many octets of something malformed are kept.
const MaxFault = 64

// NewFault returns the fault of octets that could not be parsed.
func NewFault(octets []byte, err error) Fault {
	return Fault{string(octets[:min(len(octets), MaxFault)]), len(octets), err.Error()}
}

// ParseNLRIs reads the NLRI field of an MP_REACH_NLRI or MP_UNREACH_NLRI attribute of AFI 16388,
// SAFI 71. NLRIs that are malformed inside are left out and counted; if the field cannot be divided
// into NLRIs, the NLRIs before the fault come with an error. The TLVs of an NLRI need not be in
// order: there are speakers that misplace the MT-ID.
func ParseNLRIs(b []byte) (nlris []Received, skipped Skipped, err error) {
	for len(b) > 0 {
		if len(b) < nlriHeaderLen {
			return nlris, skipped, fmt.Errorf("%w: NLRI header", ErrTruncated)
		}
		n := nlriHeaderLen + int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b) {
			return nlris, skipped, fmt.Errorf("%w: NLRI has %d octets of %d", ErrTruncated, len(b), n)
		}
		r := Received{Raw: b[:n:n]}
		b = b[n:]
		unknown, err := r.NLRI.parse(r.Raw)
		skipped.UnknownTLVs += unknown
		switch {
		case errors.Is(err, errUnknownNLRI):
			skipped.UnknownNLRIs++
		case err != nil:
			if skipped.MalformedNLRIs++; skipped.MalformedNLRIs == 1 {
				skipped.Fault = NewFault(r.Raw, err)
			}
		default:
			nlris = append(nlris, r)
		}
	}
	return nlris, skipped, nil
}

var errUnknownNLRI = errors.New("bgpls: unknown NLRI type")

// parse reads one NLRI, header included, and returns how many TLVs of it were
// not known.
func (n *NLRI) parse(raw []byte) (unknown int, err error) {
	n.Type = NLRIType(binary.BigEndian.Uint16(raw))
	switch n.Type {
	case NLRINode, NLRILink, NLRIPrefix4, NLRIPrefix6, NLRISRv6SID:
	default:
		return 0, fmt.Errorf("%w %d", errUnknownNLRI, n.Type)
	}
	b := raw[nlriHeaderLen:]
	if len(b) < nlriIdentityLen {
		return 0, fmt.Errorf("%w: %v NLRI", ErrTruncated, n.Type)
	}
	n.Protocol = ProtocolID(b[0])
	n.Identifier = binary.BigEndian.Uint64(b[1:])
	b = b[nlriIdentityLen:]
	seen := make(map[uint16]bool, 4)
	for len(b) > 0 {
		typ, value, rest, err := nextTLV(b)
		if err != nil {
			return unknown, err
		}
		b = rest
		known := true
		switch {
		case typ == tlvLocalNode:
			err = n.Local.parse(value, &unknown)
		case typ == tlvRemoteNode && n.Type == NLRILink:
			err = n.Remote.parse(value, &unknown)
		case typ == tlvMultiTopology && n.Type != NLRINode:
			err = n.Topology.parse(value)
		case typ == tlvSRv6SIDInfo && n.Type == NLRISRv6SID:
			err = readAddr(typ, value, 16, &n.SID)
		case n.Type == NLRILink:
			known, err = n.Link.parse(typ, value)
		case n.Type == NLRIPrefix4 || n.Type == NLRIPrefix6:
			known, err = n.Prefix.parse(typ, value, n.Type == NLRIPrefix6)
		default:
			known = false
		}
		if err != nil {
			return unknown, err
		}
		if !known {
			unknown++
		}
		seen[typ] = true
	}
	for _, typ := range n.Type.mandatory() {
		if !seen[typ] {
			return unknown, fmt.Errorf("%w: %v NLRI without TLV %d", ErrMalformed, n.Type, typ)
		}
	}
	return unknown, nil
}

func (t NLRIType) mandatory() []uint16 {
	switch t {
	case NLRILink:
		return []uint16{tlvLocalNode, tlvRemoteNode}
	case NLRIPrefix4, NLRIPrefix6:
		return []uint16{tlvLocalNode, tlvIPReachability}
	case NLRISRv6SID:
		return []uint16{tlvLocalNode, tlvSRv6SIDInfo}
	}
	return []uint16{tlvLocalNode}
}

// Append appends the NLRI, header included, its TLVs in ascending order.
func (n *NLRI) Append(b []byte) []byte {
	return appendTLV(b, uint16(n.Type), func(b []byte) []byte {
		b = append(b, byte(n.Protocol))
		b = binary.BigEndian.AppendUint64(b, n.Identifier)
		b = appendTLV(b, tlvLocalNode, n.Local.append)
		switch n.Type {
		case NLRILink:
			b = appendTLV(b, tlvRemoteNode, n.Remote.append)
			b = n.Link.append(b)
			b = n.Topology.append(b)
		case NLRIPrefix4, NLRIPrefix6:
			b = n.Topology.append(b)
			b = n.Prefix.append(b)
		case NLRISRv6SID:
			b = n.Topology.append(b)
			b = appendAddrTLV(b, tlvSRv6SIDInfo, n.SID)
		}
		return b
	})
}

func (m *MultiTopology) parse(value []byte) error {
	// An NLRI has one MT-ID; of a list, the first counts.
	if len(value) < 2 || len(value)%2 != 0 {
		return fmt.Errorf("%w: MT-ID of %d octets", ErrMalformed, len(value))
	}
	*m = MultiTopology{Present: true, ID: binary.BigEndian.Uint16(value) & multiTopologyMax}
	return nil
}

func (m *MultiTopology) append(b []byte) []byte {
	if !m.Present {
		return b
	}
	return appendTLV(b, tlvMultiTopology, func(b []byte) []byte {
		return binary.BigEndian.AppendUint16(b, m.ID&multiTopologyMax)
	})
}
