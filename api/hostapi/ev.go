package hostapi

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// EV is an entropy value (mrc_ctl_ev): at most 256 bits, the most significant bit first and
// left-justified, and the port that it leaves by, from 1; port 0 is the device's choice. EVs are
// compared by both.
type EV struct {
	Value [EVBytes]byte
	Port  uint8
}

// NewEV is the EV of a structured entropy value of 32 bits (UDP source port << 16 | low 16 bits of
// the flow label).
func NewEV(value uint32, port uint8) EV {
	v := EV{Port: port}
	binary.BigEndian.PutUint32(v.Value[:], value)
	return v
}

// Compare orders EVs by value, then by port.
func (v EV) Compare(w EV) int {
	if c := bytes.Compare(v.Value[:], w.Value[:]); c != 0 {
		return c
	}
	return cmp.Compare(v.Port, w.Port)
}

// Bits returns the number of bits up to the last 1 bit: the width of the EV.
func (v EV) Bits() int {
	for i := EVBytes - 1; i >= 0; i-- {
		if b := v.Value[i]; b != 0 {
			n := 8 * (i + 1)
			for ; b&1 == 0; b >>= 1 {
				n--
			}
			return n
		}
	}
	return 0
}

// String returns the value in hexadecimal, at least 4 octets, and the port.
func (v EV) String() string {
	n := max(4, (v.Bits()+7)/8)
	return fmt.Sprintf("0x%s@%d", hex.EncodeToString(v.Value[:n]), v.Port)
}

// ParseEV reads what String returns; the value may have any number of octets up to 32. The error is
// a *FieldError.
func ParseEV(text string) (EV, error) {
	digits, port, ok := strings.Cut(text, "@")
	digits, hexadecimal := strings.CutPrefix(digits, "0x")
	octets, err := hex.DecodeString(digits)
	number, portErr := strconv.ParseUint(port, 10, 8)
	if !ok || !hexadecimal || err != nil || portErr != nil || len(octets) == 0 ||
		len(octets) > EVBytes || number > MaxPort {
		return EV{}, invalid("ev",
			"%.80q, want \"0x\", 1 to %d octets in hexadecimal, \"@\", and a port of 0 to %d", text, EVBytes,
			MaxPort)
	}
	v := EV{Port: uint8(number)}
	copy(v.Value[:], octets)
	return v, nil
}

// bitsAt is width bits from bit at on, right-justified; width is at most 32.
func (v EV) bitsAt(at, width int) uint32 {
	var x uint32
	for i := at; i < at+width; i++ {
		x = x<<1 | uint32(v.Value[i/8]>>(7-i%8)&1)
	}
	return x
}

// EVState is the state of an EV in a host (mrc_ctl_ev_state).
type EVState uint8

// States of an EV.
const (
	EVGood EVState = iota + 1
	EVAssumedBad
	EVDenied
)

// String is the state's name in the specification.
func (s EVState) String() string {
	switch s {
	case EVGood:
		return "GOOD"
	case EVAssumedBad:
		return "ASSUMED_BAD"
	case EVDenied:
		return "DENIED"
	}
	return fmt.Sprintf("state %d", uint8(s))
}
