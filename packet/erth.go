package packet

import (
	"encoding/binary"
	"fmt"
)

// ERTHLen is the length of an endpoint request header in octets.
const ERTHLen = 16

const (
	erthOp     = 1
	erthVendor = 3
	erthPorts  = 4
	erthTSETH  = 12

	endpointOpMask = 3
)

// EndpointOp is the operation of an endpoint request. 2 bits.
type EndpointOp uint8

// Endpoint operations; 2 and 3 are reserved.
const (
	EndpointPortStatus EndpointOp = 0
	EndpointEVProbe    EndpointOp = 1
)

// String is the name the specification gives the operation.
func (o EndpointOp) String() string {
	switch o {
	case EndpointPortStatus:
		return "Port Status Update"
	case EndpointEVProbe:
		return "EV Probe"
	}
	return fmt.Sprintf("reserved endpoint operation %d", uint8(o))
}

// MaxPort is the greatest number a port can have in a PortMask. Ports are numbered from 1.
const MaxPort = 31

// PortMask is a port_status_mask: bit n reports that port n is reachable. Ports are numbered from
// 1, so bit 0 is unused.
type PortMask uint32

// Has reports whether a port is in the mask. A number that no port has is not.
func (m PortMask) Has(port int) bool { return port >= 1 && port <= MaxPort && m>>port&1 != 0 }

// With is the mask with a port added; a number that no port has adds nothing.
func (m PortMask) With(port int) PortMask {
	if port < 1 || port > MaxPort {
		return m
	}
	return m | 1<<port
}

// ERTH is the header of an endpoint request of MRC (OCP MRC 1.0, tables 7-20 and 7-21). Its
// reserved bits, type and nxt among them, are written as zero and ignored when read.
type ERTH struct {
	Op         EndpointOp // 2 bits
	VendorInfo uint8
	Ports      PortMask // of EndpointPortStatus: the requester's
	TSETH      TSETH
}

// ParseERTH reads an endpoint request header. It accepts any operation.
func ParseERTH(b []byte) (ERTH, int, error) {
	if len(b) < ERTHLen {
		return ERTH{}, 0, truncated("ERTH", len(b), ERTHLen)
	}
	ts, _, err := ParseTSETH(b[erthTSETH:])
	return ERTH{
		Op:         EndpointOp(b[erthOp] & endpointOpMask),
		VendorInfo: b[erthVendor],
		Ports:      PortMask(binary.BigEndian.Uint32(b[erthPorts:])),
		TSETH:      ts,
	}, ERTHLen, err
}

// Append writes the header after b; bits of Op beyond 2 are dropped.
func (h ERTH) Append(b []byte) []byte {
	b = append(b, 0, uint8(h.Op)&endpointOpMask, 0, h.VendorInfo)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Ports))
	b = append(b, 0, 0, 0, 0)
	return h.TSETH.Append(b)
}

// Len is ERTHLen.
func (ERTH) Len() int { return ERTHLen }
