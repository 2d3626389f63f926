package ev

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/packet"
)

// ValueBytes is the length of a value (MRC_CTL_EV_MAX_BYTES of mrc_ctl.h).
const ValueBytes = 32

// A Value is an entropy value, its most significant bit first and
// left-justified; bits that it does not use are 0. As it lies in a packet it is
// the UDP source port (ecmp), UDP source port and the low 16 bits of the flow
// label (stev), the outer destination address, or that and the segment of the
// SRH.
type Value [ValueBytes]byte

// StructuredValue is a structured EV, or with a flow label of 0 one of ECMP.
func StructuredValue(v packet.EV) (out Value) {
	binary.BigEndian.PutUint32(out[:], uint32(v))
	return out
}

// Structured is the structured EV that the value starts with.
func (v Value) Structured() packet.EV { return packet.EV(binary.BigEndian.Uint32(v[:])) }

// Container is the uSID container that goes into the outer destination address.
func (v Value) Container() netip.Addr { return netip.AddrFrom16([16]byte(v[:16])) }

// Segment is the uSID container that goes into the SRH; ok is false when it is
// empty, and the packet needs no SRH.
func (v Value) Segment() (container netip.Addr, ok bool) {
	s := netip.AddrFrom16([16]byte(v[16:]))
	return s, !s.IsUnspecified()
}

// Bits is the width up to the last bit that is 1.
func (v Value) Bits() int {
	for i := ValueBytes - 1; i >= 0; i-- {
		if b := v[i]; b != 0 {
			n := 8 * (i + 1)
			for ; b&1 == 0; b >>= 1 {
				n--
			}
			return n
		}
	}
	return 0
}

// String is the value in hexadecimal: 4 octets, or as many as it takes.
func (v Value) String() string {
	return "0x" + hex.EncodeToString(v[:max(4, (v.Bits()+7)/8)])
}

// bitsAt returns width bits from bit at on; width is at most 32.
func (v *Value) bitsAt(at, width int) uint32 {
	var x uint32
	for i := at; i < at+width; i++ {
		x = x<<1 | uint32(v[i/8]>>(7-i%8)&1)
	}
	return x
}

// putBits writes the low width bits of x over zeros, from bit at on.
func (v *Value) putBits(at, width int, x uint32) {
	for i := range width {
		if bit := at + i; x>>(width-1-i)&1 != 0 {
			v[bit/8] |= 1 << (7 - bit%8)
		}
	}
}

// An EV is a value and the port of the host that it leaves by, which is the
// plane (section 11.5), from 1. EVs are told apart by both.
type EV struct {
	Value Value
	Port  uint8
}

// Compare orders by value, then by port.
func (e EV) Compare(o EV) int {
	return cmp.Or(bytes.Compare(e.Value[:], o.Value[:]), cmp.Compare(e.Port, o.Port))
}

// String is the value, '@' and the port: "0x10400000@2".
func (e EV) String() string { return fmt.Sprintf("%v@%d", e.Value, e.Port) }

// MarshalText writes what String returns.
func (e EV) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what String returns.
func (e *EV) UnmarshalText(text []byte) error {
	parsed, err := ParseEV(string(text))
	if err == nil {
		*e = parsed
	}
	return err
}

// ParseEV reads what String returns; the value may have any number of octets up
// to 32.
func ParseEV(text string) (EV, error) {
	digits, port, ok := strings.Cut(text, "@")
	digits, hexadecimal := strings.CutPrefix(digits, "0x")
	octets, err := hex.DecodeString(digits)
	p, portErr := strconv.ParseUint(port, 10, 8)
	if !ok || !hexadecimal || err != nil || portErr != nil || len(octets) == 0 || len(octets) > ValueBytes {
		return EV{}, fmt.Errorf("EV %.80q, want \"0x\", 1 to %d octets in hexadecimal, \"@\", and a port of 0 to 255: %w", text, ValueBytes, ErrMalformed)
	}
	e := EV{Port: uint8(p)}
	copy(e.Value[:], octets)
	return e, nil
}
