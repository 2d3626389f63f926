package packet

import "encoding/binary"

// PETHLen is the length of a probe request header in octets.
const PETHLen = 16

const (
	pethVendor = 3
	pethID     = 4
	pethSPDCID = 8
	pethDPDCID = 10
	pethTSETH  = 12
)

// PETH is the header of a reliability probe request of MRC (OCP MRC 1.0, tables 7-18 and 7-19). Its
// reserved bits, type and nxt among them, are written as zero and ignored when read.
type PETH struct {
	VendorInfo uint8
	ProbeID    uint16 // comes back in the SACK: see SETH.ProbeID
	SPDCID     uint16 // queue pair of the requester, low 16 bits
	DPDCID     uint16 // queue pair of the responder, low 16 bits
	TSETH      TSETH
}

// ParsePETH reads a probe request header.
func ParsePETH(b []byte) (PETH, int, error) {
	if len(b) < PETHLen {
		return PETH{}, 0, truncated("PETH", len(b), PETHLen)
	}
	ts, _, err := ParseTSETH(b[pethTSETH:])
	return PETH{
		VendorInfo: b[pethVendor],
		ProbeID:    binary.BigEndian.Uint16(b[pethID:]),
		SPDCID:     binary.BigEndian.Uint16(b[pethSPDCID:]),
		DPDCID:     binary.BigEndian.Uint16(b[pethDPDCID:]),
		TSETH:      ts,
	}, PETHLen, err
}

// Append writes the header after b.
func (h PETH) Append(b []byte) []byte {
	b = append(b, 0, 0, 0, h.VendorInfo)
	b = binary.BigEndian.AppendUint16(b, h.ProbeID)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint16(b, h.SPDCID)
	b = binary.BigEndian.AppendUint16(b, h.DPDCID)
	return h.TSETH.Append(b)
}

// Len is PETHLen.
func (PETH) Len() int { return PETHLen }
