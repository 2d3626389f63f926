package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A BMPType is the type of a BMP message (RFC 7854 section 4.1).
type BMPType uint8

const (
	BMPRouteMonitoring BMPType = 0
	BMPPeerDown        BMPType = 2
	BMPPeerUp          BMPType = 3
	BMPInitiation      BMPType = 4
	BMPTermination     BMPType = 5
)

// A BMPMessage is a message of a monitored router.
type BMPMessage struct {
	Type BMPType
	// Peer and PeerASN are of the BGP session the message is about. They have
	// a meaning for route monitoring, peer up and peer down.
	Peer    netip.Addr
	PeerASN uint32
	// PostPolicy says that routes have passed the router's import policy.
	PostPolicy bool
	// Body is what follows the headers: of route monitoring, the UPDATE
	// message. It is a part of what was parsed.
	Body []byte
}

const (
	bmpVersion = 3
	// BMPHeaderLen is the length of the header common to all BMP messages.
	BMPHeaderLen     = 6
	bmpPeerHeaderLen = 42
	bmpMaxLen        = 1 << 20

	bmpFlagIPv6       = 0x80
	bmpFlagPostPolicy = 0x40
)

// BMPLength returns the length of the message that starts with a header,
// header included. It refuses what no BMP speaker needs: more than a megabyte.
func BMPLength(header []byte) (int, error) {
	if len(header) < BMPHeaderLen {
		return 0, fmt.Errorf("%w: BMP header", ErrTruncated)
	}
	n := binary.BigEndian.Uint32(header[1:])
	if header[0] != bmpVersion || n < BMPHeaderLen || n > bmpMaxLen {
		return 0, fmt.Errorf("%w: BMP version %d, %d octets", ErrMalformed, header[0], n)
	}
	return int(n), nil
}

// ParseBMP reads one message, header included.
func ParseBMP(b []byte) (m BMPMessage, err error) {
	n, err := BMPLength(b)
	if err != nil {
		return m, err
	}
	if n > len(b) {
		return m, fmt.Errorf("%w: BMP message of %d octets in %d", ErrTruncated, n, len(b))
	}
	m.Type = BMPType(b[5])
	b = b[BMPHeaderLen:n]
	switch m.Type {
	case BMPRouteMonitoring, BMPPeerDown, BMPPeerUp:
		if len(b) < bmpPeerHeaderLen {
			return m, fmt.Errorf("%w: BMP peer header", ErrTruncated)
		}
		m.PostPolicy = b[1]&bmpFlagPostPolicy != 0
		if b[1]&bmpFlagIPv6 != 0 {
			m.Peer = netip.AddrFrom16([16]byte(b[10:]))
		} else {
			m.Peer = netip.AddrFrom4([4]byte(b[22:]))
		}
		m.PeerASN = binary.BigEndian.Uint32(b[26:])
		b = b[bmpPeerHeaderLen:]
	}
	m.Body = b
	return m, nil
}
