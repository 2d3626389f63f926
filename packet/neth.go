package packet

import "encoding/binary"

// NETHLen is the length of a negative acknowledgement header in octets.
const NETHLen = 20

const (
	nethReason    = 2
	nethVendor    = 3
	nethEntropy   = 4
	nethSPDCID    = 8
	nethDPDCID    = 10
	nethPSN       = 13
	nethCC        = 16
	nethTimestamp = 18
)

// NETH is the negative acknowledgement header of MRC (OCP MRC 1.0, tables 7-16 and 7-17). Its
// reserved bits, type and nxt among them, are written as zero and ignored when read.
type NETH struct {
	Reason     NACKReason
	VendorInfo uint8
	Entropy    EV     // of the packet answered
	SPDCID     uint16 // queue pair of the sender of this header, low 16 bits
	DPDCID     uint16 // queue pair it is sent to, low 16 bits
	PSN        uint32 // of the packet answered; 24 bits
	CCType     CCType // CCTypeTimestamp; 4 bits
	CCFlags    uint8  // unused; 4 bits
	Timestamp  uint16 // of the packet answered, or the responder's service time; else 0
}

// ParseNETH reads a negative acknowledgement header. It accepts any reason and cc_type.
func ParseNETH(b []byte) (NETH, int, error) {
	if len(b) < NETHLen {
		return NETH{}, 0, truncated("NETH", len(b), NETHLen)
	}
	return NETH{
		Reason:     NACKReason(b[nethReason]),
		VendorInfo: b[nethVendor],
		Entropy:    EV(binary.BigEndian.Uint32(b[nethEntropy:])),
		SPDCID:     binary.BigEndian.Uint16(b[nethSPDCID:]),
		DPDCID:     binary.BigEndian.Uint16(b[nethDPDCID:]),
		PSN:        uint24(b[nethPSN:]),
		CCType:     CCType(b[nethCC] >> 4),
		CCFlags:    b[nethCC] & 0xF,
		Timestamp:  binary.BigEndian.Uint16(b[nethTimestamp:]),
	}, NETHLen, nil
}

// Append writes the header after b; bits beyond a field's width are dropped.
func (h NETH) Append(b []byte) []byte {
	b = append(b, 0, 0, uint8(h.Reason), h.VendorInfo)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Entropy))
	b = binary.BigEndian.AppendUint16(b, h.SPDCID)
	b = binary.BigEndian.AppendUint16(b, h.DPDCID)
	b = binary.BigEndian.AppendUint32(b, h.PSN&PSNMask)
	b = append(b, uint8(h.CCType)<<4|h.CCFlags&0xF, 0)
	return binary.BigEndian.AppendUint16(b, h.Timestamp)
}

// Len is NETHLen.
func (NETH) Len() int { return NETHLen }
