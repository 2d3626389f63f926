package packet

import "encoding/binary"

// METHLen is the length of a message extended transport header in octets.
const METHLen = 4

const methMSN = 2

// METH is the message extended transport header of MRC requests (OCP MRC 1.0, tables 6-8 and 6-9).
type METH struct {
	RQMSN uint16 // counts the messages with immediate data; means nothing in others
	MSN   uint16 // counts all messages
}

// ParseMETH reads a message extended transport header.
func ParseMETH(b []byte) (METH, int, error) {
	if len(b) < METHLen {
		return METH{}, 0, truncated("METH", len(b), METHLen)
	}
	return METH{RQMSN: binary.BigEndian.Uint16(b), MSN: binary.BigEndian.Uint16(b[methMSN:])}, METHLen,
		nil
}

// Append writes the header after b.
func (h METH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.RQMSN)
	return binary.BigEndian.AppendUint16(b, h.MSN)
}

// Len is METHLen.
func (METH) Len() int { return METHLen }
