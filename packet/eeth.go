package packet

import "encoding/binary"

// EETHLen is the length of an endpoint response header in octets.
const EETHLen = 36

const (
	eethOp        = 1
	eethOpShift   = 2
	eethTimestamp = 28
)

// EETH is the header of an endpoint response of MRC (OCP MRC 1.0, tables 7-22 and 7-23). Its
// reserved bits, type and nxt among them, are written as zero and ignored when read. The operation
// is not where ERTH has it.
type EETH struct {
	Op EndpointOp // 2 bits
	// Timestamp is the request's, moved by the responder's service time if it supports that; its
	// service time in TimestampUnit if the request had none; else 0.
	Timestamp uint16
}

// ParseEETH reads an endpoint response header. It accepts any operation.
func ParseEETH(b []byte) (EETH, int, error) {
	if len(b) < EETHLen {
		return EETH{}, 0, truncated("EETH", len(b), EETHLen)
	}
	return EETH{
		Op:        EndpointOp(b[eethOp] >> eethOpShift & endpointOpMask),
		Timestamp: binary.BigEndian.Uint16(b[eethTimestamp:]),
	}, EETHLen, nil
}

// Append writes the header after b; bits of Op beyond 2 are dropped.
func (h EETH) Append(b []byte) []byte {
	var octets [EETHLen]byte
	octets[eethOp] = uint8(h.Op) & endpointOpMask << eethOpShift
	binary.BigEndian.PutUint16(octets[eethTimestamp:], h.Timestamp)
	return append(b, octets[:]...)
}

// Len is EETHLen.
func (EETH) Len() int { return EETHLen }
