package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// TLV types (IANA, "BGP-LS NLRI and Attribute TLVs").
const (
	tlvLocalNode        uint16 = 256
	tlvRemoteNode       uint16 = 257
	tlvLinkIDs          uint16 = 258
	tlvInterfaceIPv4    uint16 = 259
	tlvNeighborIPv4     uint16 = 260
	tlvInterfaceIPv6    uint16 = 261
	tlvNeighborIPv6     uint16 = 262
	tlvMultiTopology    uint16 = 263
	tlvOSPFRouteType    uint16 = 264
	tlvIPReachability   uint16 = 265
	tlvNodeMSD          uint16 = 266
	tlvLinkMSD          uint16 = 267
	tlvAutonomousSystem uint16 = 512
	tlvBGPLSIdentifier  uint16 = 513
	tlvOSPFArea         uint16 = 514
	tlvIGPRouterID      uint16 = 515
	tlvBGPRouterID      uint16 = 516
	tlvSRv6SIDInfo      uint16 = 518

	tlvNodeFlags        uint16 = 1024
	tlvNodeName         uint16 = 1026
	tlvLocalRouterID4   uint16 = 1028
	tlvLocalRouterID6   uint16 = 1029
	tlvRemoteRouterID4  uint16 = 1030
	tlvRemoteRouterID6  uint16 = 1031
	tlvSRAlgorithm      uint16 = 1035
	tlvSRv6Capabilities uint16 = 1038

	tlvAdminGroup     uint16 = 1088
	tlvMaxBandwidth   uint16 = 1089
	tlvTEMetric       uint16 = 1092
	tlvIGPMetric      uint16 = 1095
	tlvSRv6EndX       uint16 = 1106
	tlvSRv6LANEndXIS  uint16 = 1107
	tlvSRv6LANEndXOS  uint16 = 1108
	tlvDelay          uint16 = 1114
	tlvMinMaxDelay    uint16 = 1115
	tlvDelayVariation uint16 = 1116

	tlvIGPFlags        uint16 = 1152
	tlvPrefixMetric    uint16 = 1155
	tlvSRv6Locator     uint16 = 1162
	tlvPrefixAttrFlags uint16 = 1170

	tlvSRv6Behavior     uint16 = 1250
	tlvSRv6PeerNode     uint16 = 1251
	tlvSRv6SIDStructure uint16 = 1252
)

const tlvHeaderLen = 4

// nextTLV splits the first TLV off b.
func nextTLV(b []byte) (typ uint16, value, rest []byte, err error) {
	if len(b) < tlvHeaderLen {
		return 0, nil, nil, fmt.Errorf("%w: TLV header", ErrTruncated)
	}
	typ = binary.BigEndian.Uint16(b)
	n := int(binary.BigEndian.Uint16(b[2:]))
	b = b[tlvHeaderLen:]
	if n > len(b) {
		return 0, nil, nil, fmt.Errorf("%w: TLV %d has %d octets of %d", ErrTruncated, typ, len(b), n)
	}
	return typ, b[:n], b[n:], nil
}

// appendTLV appends a TLV; value appends its value.
func appendTLV(b []byte, typ uint16, value func(b []byte) []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, typ)
	b = append(b, 0, 0)
	at := len(b)
	b = value(b)
	binary.BigEndian.PutUint16(b[at-2:], uint16(len(b)-at))
	return b
}

func appendBytesTLV(b []byte, typ uint16, value []byte) []byte {
	return appendTLV(b, typ, func(b []byte) []byte { return append(b, value...) })
}

func appendUint32TLV(b []byte, typ uint16, v uint32) []byte {
	return appendTLV(b, typ, func(b []byte) []byte { return binary.BigEndian.AppendUint32(b, v) })
}

// appendAddrTLV appends an address TLV, or nothing if the address is invalid.
func appendAddrTLV(b []byte, typ uint16, a netip.Addr) []byte {
	if !a.IsValid() {
		return b
	}
	return appendBytesTLV(b, typ, a.AsSlice())
}

// wantLen returns an error for a TLV whose length is not n.
func wantLen(typ uint16, value []byte, n int) error {
	if len(value) != n {
		return fmt.Errorf("%w: TLV %d has %d octets, not %d", ErrMalformed, typ, len(value), n)
	}
	return nil
}

// wantAtLeast returns an error for a TLV that is shorter than its fixed part.
func wantAtLeast(typ uint16, value []byte, n int) error {
	if len(value) < n {
		return fmt.Errorf("%w: TLV %d has %d octets, less than %d", ErrMalformed, typ, len(value), n)
	}
	return nil
}

func readUint32(typ uint16, value []byte, into *uint32) error {
	if err := wantLen(typ, value, 4); err != nil {
		return err
	}
	*into = binary.BigEndian.Uint32(value)
	return nil
}

// readAddr reads an address of n octets.
func readAddr(typ uint16, value []byte, n int, into *netip.Addr) error {
	if err := wantLen(typ, value, n); err != nil {
		return err
	}
	*into, _ = netip.AddrFromSlice(value)
	return nil
}
