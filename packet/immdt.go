package packet

import "encoding/binary"

// ImmDtLen is the length of an immediate data header in octets.
const ImmDtLen = 4

// ImmDt is an immediate data header (IBTA volume 1, §9.3.6): four octets handed to the receiver's
// completion, here in network order.
type ImmDt uint32

// ParseImmDt reads an immediate data header.
func ParseImmDt(b []byte) (ImmDt, int, error) {
	if len(b) < ImmDtLen {
		return 0, 0, truncated("ImmDt", len(b), ImmDtLen)
	}
	return ImmDt(binary.BigEndian.Uint32(b)), ImmDtLen, nil
}

// Append writes the header after b.
func (h ImmDt) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, uint32(h)) }

// Len is ImmDtLen.
func (ImmDt) Len() int { return ImmDtLen }
