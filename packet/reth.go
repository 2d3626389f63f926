package packet

import "encoding/binary"

// RETHLen is the length of an RDMA extended transport header in octets.
const RETHLen = 16

const (
	rethRKey      = 8
	rethDMALength = 12
)

// RETH is an RDMA extended transport header (IBTA volume 1, §9.3.3).
type RETH struct {
	VA        uint64 // virtual address of the first octet
	RKey      uint32
	DMALength uint32 // octets of the whole message
}

// ParseRETH reads an RDMA extended transport header.
func ParseRETH(b []byte) (RETH, int, error) {
	if len(b) < RETHLen {
		return RETH{}, 0, truncated("RETH", len(b), RETHLen)
	}
	return RETH{
		VA:        binary.BigEndian.Uint64(b),
		RKey:      binary.BigEndian.Uint32(b[rethRKey:]),
		DMALength: binary.BigEndian.Uint32(b[rethDMALength:]),
	}, RETHLen, nil
}

// Append writes the header after b.
func (h RETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VA)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	return binary.BigEndian.AppendUint32(b, h.DMALength)
}

// Len is RETHLen.
func (RETH) Len() int { return RETHLen }
