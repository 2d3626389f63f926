package packet

import (
	"encoding/binary"
	"time"
)

// TSETHLen is the length of a requester timestamp extended header in octets.
const TSETHLen = 4

// TimestampUnit is the resolution of timestamps and service times in MRC headers, unless tsr
// reports that it is the sender's own. 16 bits of them are 8.39 ms.
const TimestampUnit = 128 * time.Nanosecond

// TSETHTimestamp is the ftype of a TSETH that carries a timestamp.
const TSETHTimestamp = 1

const (
	tsethFlags = 2
	tsethOwn   = 0x80
	tsethType  = 0x0F
)

// TSETH is a requester timestamp extended header (OCP MRC 1.0, tables 6-6 and 6-7). A TSETH follows
// the METH of a request if the BTH announces the TSETH, and ends PETH and ERTH. Append writes
// reserved bits as zero, and parsing ignores reserved bits.
type TSETH struct {
	Timestamp uint16
	OwnUnit   bool  // tsr: not in TimestampUnit but for the requester alone to read
	Type      uint8 // ftype, 4 bits: TSETHTimestamp if Timestamp is there
}

// ParseTSETH reads a requester timestamp extended header. It accepts any ftype.
func ParseTSETH(b []byte) (TSETH, int, error) {
	if len(b) < TSETHLen {
		return TSETH{}, 0, truncated("TSETH", len(b), TSETHLen)
	}
	return TSETH{
		Timestamp: binary.BigEndian.Uint16(b),
		OwnUnit:   b[tsethFlags]&tsethOwn != 0,
		Type:      b[tsethFlags+1] & tsethType,
	}, TSETHLen, nil
}

// Append writes the header after b; bits of Type beyond 4 are dropped.
func (h TSETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.Timestamp)
	var flags byte
	if h.OwnUnit {
		flags = tsethOwn
	}
	return append(b, flags, h.Type&tsethType)
}

// Len is TSETHLen.
func (TSETH) Len() int { return TSETHLen }
