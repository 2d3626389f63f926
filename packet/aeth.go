package packet

import (
	"encoding/binary"
	"fmt"
	"time"
)

// AETHLen is the length of an ACK extended transport header in octets.
const AETHLen = 4

// AETH is an ACK extended transport header (IBTA volume 1, §9.3.5).
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // message sequence number, 24 bits
}

// ParseAETH reads an ACK extended transport header. It accepts any syndrome.
func ParseAETH(b []byte) (AETH, int, error) {
	if len(b) < AETHLen {
		return AETH{}, 0, truncated("AETH", len(b), AETHLen)
	}
	return AETH{Syndrome: Syndrome(b[0]), MSN: uint24(b[1:])}, AETHLen, nil
}

// Append writes the header after b; bits of the MSN beyond 24 are dropped.
func (h AETH) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(h.Syndrome)<<24|h.MSN&PSNMask)
}

// Len is AETHLen.
func (AETH) Len() int { return AETHLen }

// Syndrome is the AETH syndrome (IBTA volume 1, §9.7.5.2): a kind in bits 6..5, and a value in bits
// 4..0.
type Syndrome uint8

// SyndromeKind distinguishes acknowledgements.
type SyndromeKind uint8

// Kinds of syndromes. Syndromes with the highest bit set have no defined kind and count as
// reserved.
const (
	SyndromeACK      SyndromeKind = 0
	SyndromeRNR      SyndromeKind = 1
	SyndromeReserved SyndromeKind = 2
	SyndromeNAK      SyndromeKind = 3
)

// CreditInvalid is the credit of a responder without end-to-end flow control.
const CreditInvalid = 31

// NAKCode reports why a responder refused a request.
type NAKCode uint8

// NAK codes (IBTA volume 1, §9.7.5.2). Only the first can be mended by sending again.
const (
	NAKSequence          NAKCode = 0
	NAKInvalidRequest    NAKCode = 1
	NAKRemoteAccess      NAKCode = 2
	NAKRemoteOperational NAKCode = 3
	NAKInvalidRD         NAKCode = 4
)

// String is the name IBTA gives the code.
func (c NAKCode) String() string {
	switch c {
	case NAKSequence:
		return "PSN sequence error"
	case NAKInvalidRequest:
		return "invalid request"
	case NAKRemoteAccess:
		return "remote access error"
	case NAKRemoteOperational:
		return "remote operational error"
	case NAKInvalidRD:
		return "invalid RD request"
	}
	return fmt.Sprintf("reserved NAK code %d", uint8(c))
}

const syndromeValue = 0x1F

// ACKSyndrome is the syndrome of an acknowledgement with a credit (5 bits).
func ACKSyndrome(credit uint8) Syndrome { return Syndrome(credit & syndromeValue) }

// NAKSyndrome is the syndrome of a negative acknowledgement.
func NAKSyndrome(code NAKCode) Syndrome {
	return Syndrome(SyndromeNAK)<<5 | Syndrome(code)&syndromeValue
}

// RNRSyndrome is the syndrome of a "receiver not ready" with a timer code (5 bits, see RNRTimer).
func RNRSyndrome(timer uint8) Syndrome {
	return Syndrome(SyndromeRNR)<<5 | Syndrome(timer)&syndromeValue
}

// Kind reports what kind of acknowledgement this is.
func (s Syndrome) Kind() SyndromeKind {
	if s&0x80 != 0 {
		return SyndromeReserved
	}
	return SyndromeKind(s >> 5)
}

// Value is the low five bits: the credit of an ACK, the timer code of an RNR NAK, the code of a
// NAK.
func (s Syndrome) Value() uint8 { return uint8(s & syndromeValue) }

// NAKCode returns the code of a NAK; other kinds have no code.
func (s Syndrome) NAKCode() NAKCode { return NAKCode(s.Value()) }

// String describes the syndrome for people.
func (s Syndrome) String() string {
	switch s.Kind() {
	case SyndromeACK:
		return fmt.Sprintf("ACK credit %d", s.Value())
	case SyndromeRNR:
		return fmt.Sprintf("RNR NAK %v", RNRTimer(s.Value()))
	case SyndromeNAK:
		return fmt.Sprintf("NAK %v", s.NAKCode())
	}
	return fmt.Sprintf("reserved syndrome %#02x", uint8(s))
}

// rnrTimers are the RNR NAK timers of IBTA volume 1, §9.7.5.2. Code 0 is the longest, not the
// shortest.
var rnrTimers = [32]time.Duration{
	655360 * time.Microsecond,
	10 * time.Microsecond, 20 * time.Microsecond, 30 * time.Microsecond, 40 * time.Microsecond,
	60 * time.Microsecond, 80 * time.Microsecond, 120 * time.Microsecond, 160 * time.Microsecond,
	240 * time.Microsecond, 320 * time.Microsecond, 480 * time.Microsecond, 640 * time.Microsecond,
	960 * time.Microsecond, 1280 * time.Microsecond, 1920 * time.Microsecond, 2560 * time.Microsecond,
	3840 * time.Microsecond, 5120 * time.Microsecond, 7680 * time.Microsecond,
	10240 * time.Microsecond,
	15360 * time.Microsecond, 20480 * time.Microsecond, 30720 * time.Microsecond,
	40960 * time.Microsecond,
	61440 * time.Microsecond, 81920 * time.Microsecond, 122880 * time.Microsecond,
	163840 * time.Microsecond,
	245760 * time.Microsecond, 327680 * time.Microsecond, 491520 * time.Microsecond,
}

// RNRTimer is how long an RNR NAK with a timer code asks the requester to wait. Only the low five
// bits of the code count.
func RNRTimer(code uint8) time.Duration { return rnrTimers[code&syndromeValue] }

// RNRTimerCode returns the code of the shortest timer of at least d, or of the longest timer,
// 655.36 ms, if d is longer.
func RNRTimerCode(d time.Duration) uint8 {
	for code := uint8(1); code < uint8(len(rnrTimers)); code++ {
		if rnrTimers[code] >= d {
			return code
		}
	}
	return 0
}
