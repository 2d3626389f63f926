package packet

import (
	"encoding/binary"
	"fmt"
	"time"
)

const (
	// EtherTypeMACControl is the EtherType of MAC control frames (IEEE 802.3 clause 31).
	EtherTypeMACControl = 0x8808
	// PFCOpcode is the MAC control opcode of priority-based flow control (IEEE 802.3 annex 31D); that
	// of PAUSE is 1.
	PFCOpcode = 0x0101
	// PFCLen is the length of the fields of a PFC frame behind its Ethernet header, in octets.
	PFCLen = 20
	// PFCFrameLen is the length of a PFC frame with its padding and without frame check sequence, in
	// octets: Ethernet's shortest.
	PFCFrameLen = 60
	// PFCQuantumBits is the unit of a pause: bit times of the port's speed.
	PFCQuantumBits = 512
)

// PauseTime is how long a pause of some quanta lasts on a port of a speed in bit/s (IEEE 802.1Q
// clause 36); 0 when the speed is not known.
func PauseTime(quanta uint16, speed uint64) time.Duration {
	if speed == 0 {
		return 0
	}
	return time.Duration(uint64(quanta) * PFCQuantumBits * uint64(time.Second) / speed)
}

// PFCAddress is where MAC control frames are sent: a group address that no bridge passes on.
var PFCAddress = MAC{0x01, 0x80, 0xC2, 0x00, 0x00, 0x01}

const (
	pfcClasses = 3
	pfcTimes   = 4
)

// PFC has the fields of a PFC frame after its Ethernet header (IEEE 802.1Qbb, IEEE 802.3 annex
// 31D).
type PFC struct {
	Classes uint8     // bit n: Quanta[n] counts
	Quanta  [8]uint16 // how long a priority is to pause, in units of PFCQuantumBits; 0: continue
}

// ParsePFC reads the fields. Refused is another opcode (PAUSE among them). The upper octet of the
// class-enable vector is reserved.
func ParsePFC(b []byte) (PFC, int, error) {
	if len(b) < PFCLen {
		return PFC{}, 0, truncated("PFC", len(b), PFCLen)
	}
	if o := binary.BigEndian.Uint16(b); o != PFCOpcode {
		return PFC{}, 0, fmt.Errorf("MAC control: opcode %#04x, want %#04x (PFC): %w", o, PFCOpcode,
			ErrUnsupported)
	}
	h := PFC{Classes: b[pfcClasses]}
	for i := range h.Quanta {
		h.Quanta[i] = binary.BigEndian.Uint16(b[pfcTimes+2*i:])
	}
	return h, PFCLen, nil
}

// Append writes the fields after b, without padding.
func (h PFC) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, PFCOpcode)
	b = append(b, 0, h.Classes)
	for _, q := range h.Quanta {
		b = binary.BigEndian.AppendUint16(b, q)
	}
	return b
}

// Len is PFCLen.
func (PFC) Len() int { return PFCLen }

// ParseFrame reads a whole frame, and returns its source. It refuses other destinations than
// PFCAddress and other EtherTypes. The rest is padding.
func (h *PFC) ParseFrame(frame []byte) (src MAC, err error) {
	eth, n, err := ParseEthernet(frame)
	if err != nil {
		return MAC{}, err
	}
	if eth.Dst != PFCAddress {
		return MAC{}, fmt.Errorf("PFC frame: destination %v, want %v: %w", eth.Dst, PFCAddress,
			ErrUnsupported)
	}
	if eth.EtherType != EtherTypeMACControl {
		return MAC{}, fmt.Errorf("PFC frame: EtherType %#04x, want %#04x (MAC control): %w",
			eth.EtherType, EtherTypeMACControl, ErrUnsupported)
	}
	read, _, err := ParsePFC(frame[n:])
	if err != nil {
		return MAC{}, err
	}
	*h = read
	return eth.Src, nil
}

// AppendFrame writes a whole frame after b, padded to PFCFrameLen.
func (h PFC) AppendFrame(b []byte, src MAC) []byte {
	b = Ethernet{Dst: PFCAddress, Src: src, EtherType: EtherTypeMACControl}.Append(b)
	b = h.Append(b)
	var padding [PFCFrameLen - EthernetLen - PFCLen]byte
	return append(b, padding[:]...)
}
