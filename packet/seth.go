package packet

import (
	"encoding/binary"
	"fmt"
	"math"
)

// SETHLen is the length of a selective acknowledgement header in octets, with its congestion
// control state.
const SETHLen = 36

const (
	// MPRUnit is the unit of SETH.MPR in packets.
	MPRUnit = 128
	// SACKBits is the number of packets a SETH's bitmap covers.
	SACKBits = 64
)

const (
	sethFlags      = 1
	sethPSNOffset  = 2
	sethEntropy    = 4
	sethSPDCID     = 8
	sethDPDCID     = 10
	sethCackPSN    = 13
	sethCC         = 16
	sethMPR        = 17
	sethSACKOffset = 18
	sethBitmap     = 20
	sethCCState    = 28

	sethMark      = 0x60
	sethMarkShift = 5
	sethProbe     = 0x02
)

// SACKMark is the field m of a SETH: the state of the path of the answered packet, as the sender of
// the SETH saw the path.
type SACKMark uint8

// Marks of a SACK; 3 is reserved.
const (
	MarkNone       SACKMark = 0
	MarkSkipOnce   SACKMark = 1 // the packet was ECN marked
	MarkAlwaysSkip SACKMark = 2 // the path is bad
)

// SETH is the selective acknowledgement header of MRC (OCP MRC 1.0, tables 7-14 and 7-15), with the
// congestion control state that follows it. Its reserved bits, type and nxt among them, are written
// as zero and ignored when read.
type SETH struct {
	Mark         SACKMark // 2 bits
	Probe        bool     // pr: answers a probe, whose identifier is in AckPSNOffset
	AckPSNOffset int16    // PSN of the packet answered less CackPSN; see PSNOffset, AckPSN and ProbeID
	Entropy      EV       // of the packet answered
	SPDCID       uint16   // queue pair of the sender of this header, low 16 bits
	DPDCID       uint16   // queue pair it is sent to, low 16 bits
	CackPSN      uint32   // all up to this PSN have been received; 24 bits
	CCType       CCType   // of CCState; 4 bits
	CCFlags      uint8    // unused; 4 bits
	MPR          uint8    // max_psn_range in MPRUnit; 0 says nothing
	SACKOffset   int16    // first PSN of the bitmap less CackPSN; see SACKBase
	SACKBitmap   uint64   // the least significant bit is SACKBase; 1: received
	CCState      [CCStateLen]byte
}

// ParseSETH reads a selective acknowledgement header. It accepts any mark and cc_type.
func ParseSETH(b []byte) (SETH, int, error) {
	if len(b) < SETHLen {
		return SETH{}, 0, truncated("SETH", len(b), SETHLen)
	}
	return SETH{
		Mark:         SACKMark(b[sethFlags] & sethMark >> sethMarkShift),
		Probe:        b[sethFlags]&sethProbe != 0,
		AckPSNOffset: int16(binary.BigEndian.Uint16(b[sethPSNOffset:])),
		Entropy:      EV(binary.BigEndian.Uint32(b[sethEntropy:])),
		SPDCID:       binary.BigEndian.Uint16(b[sethSPDCID:]),
		DPDCID:       binary.BigEndian.Uint16(b[sethDPDCID:]),
		CackPSN:      uint24(b[sethCackPSN:]),
		CCType:       CCType(b[sethCC] >> 4),
		CCFlags:      b[sethCC] & 0xF,
		MPR:          b[sethMPR],
		SACKOffset:   int16(binary.BigEndian.Uint16(b[sethSACKOffset:])),
		SACKBitmap:   binary.BigEndian.Uint64(b[sethBitmap:]),
		CCState:      [CCStateLen]byte(b[sethCCState:]),
	}, SETHLen, nil
}

// Append writes the header after b; bits beyond a field's width are dropped.
func (h SETH) Append(b []byte) []byte {
	flags := uint8(h.Mark) << sethMarkShift & sethMark
	if h.Probe {
		flags |= sethProbe
	}
	b = append(b, 0, flags)
	b = binary.BigEndian.AppendUint16(b, uint16(h.AckPSNOffset))
	b = binary.BigEndian.AppendUint32(b, uint32(h.Entropy))
	b = binary.BigEndian.AppendUint16(b, h.SPDCID)
	b = binary.BigEndian.AppendUint16(b, h.DPDCID)
	b = binary.BigEndian.AppendUint32(b, h.CackPSN&PSNMask)
	b = append(b, uint8(h.CCType)<<4|h.CCFlags&0xF, h.MPR)
	b = binary.BigEndian.AppendUint16(b, uint16(h.SACKOffset))
	b = binary.BigEndian.AppendUint64(b, h.SACKBitmap)
	return append(b, h.CCState[:]...)
}

// Len is SETHLen.
func (SETH) Len() int { return SETHLen }

// PSNOffset is the ack_psn_offset or sack_offset that says psn, for a cumulative acknowledgement of
// cackPSN. One that 16 bits cannot say becomes the nearest they can: only a duplicate from long ago
// is so far off, and it stays below the cumulative acknowledgement.
func PSNOffset(psn, cackPSN uint32) int16 {
	return int16(min(max(PSNDiff(psn, cackPSN), math.MinInt16), math.MaxInt16))
}

// AckPSN is the PSN of the packet this answers. It means nothing when Probe is set.
func (h SETH) AckPSN() uint32 { return PSNAdd(h.CackPSN, int(h.AckPSNOffset)) }

// ProbeID is the identifier of the probe this answers. It means nothing unless Probe is set.
func (h SETH) ProbeID() uint16 { return uint16(h.AckPSNOffset) }

// SACKBase is the PSN of the least significant bit of the bitmap.
func (h SETH) SACKBase() uint32 { return PSNAdd(h.CackPSN, int(h.SACKOffset)) }

// Received reports whether a packet had been received when this was written; known is false when
// neither the cumulative acknowledgement nor the bitmap tells. A packet beyond the bitmap is not
// known to be missing.
func (h SETH) Received(psn uint32) (received, known bool) {
	if PSNDiff(psn, h.CackPSN) <= 0 {
		return true, true
	}
	i := PSNDiff(psn, h.SACKBase())
	if i < 0 || i >= SACKBits {
		return false, false
	}
	return h.SACKBitmap>>i&1 != 0, true
}

// NSCC reads CCState; another cc_type than CCTypeNSCC is ErrUnsupported.
func (h SETH) NSCC() (NSCC, error) {
	if h.CCType != CCTypeNSCC {
		return NSCC{}, fmt.Errorf("SETH: cc_type %d, want %d (NSCC): %w", h.CCType, CCTypeNSCC,
			ErrUnsupported)
	}
	s, _, err := ParseNSCC(h.CCState[:])
	return s, err
}

// SetNSCC writes CCState and CCType.
func (h *SETH) SetNSCC(s NSCC) {
	h.CCType = CCTypeNSCC
	s.Append(h.CCState[:0])
}
