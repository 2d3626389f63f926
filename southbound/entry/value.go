package entry

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// Canonical returns the shortest octet string of the same unsigned value: no
// leading zero octets, and one zero octet for zero (P4Runtime spec §8.4). An
// empty string, which no conforming peer sends, counts as zero. The result
// shares memory with b.
func Canonical(b []byte) []byte {
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	if len(b) == 0 {
		return []byte{0}
	}
	return b
}

// Value holds an unsigned integer of any width as octets, most significant first, always in
// canonical form: equal numbers are equal Values. The zero Value ("") means that no value is there.
// Strings from outside go through ValueOf.
type Value string

// ValueOf returns the canonical Value of b.
func ValueOf(b []byte) Value { return Value(Canonical(b)) }

// Uint returns the Value of v.
func Uint(v uint64) Value {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v)
	return ValueOf(b[:])
}

// Bool returns the Value 1 for true and 0 for false.
func Bool(v bool) Value {
	if v {
		return Uint(1)
	}
	return Uint(0)
}

// Addr returns an IPv6 address as a number, and an IPv4 address as the number of its IPv4-mapped
// address: switches have one key for both.
func Addr(a netip.Addr) Value {
	if !a.IsValid() {
		return ValueOf(nil)
	}
	b := a.As16()
	return ValueOf(b[:])
}

// IPv4 returns the Value of an IPv4 address in a field of 32 bits.
func IPv4(a netip.Addr) Value { return ValueOf(a.AsSlice()) }

// MAC returns the Value of an Ethernet address.
func MAC(m [6]byte) Value { return ValueOf(m[:]) }

// Uint64 returns the number, and false without a number or above 64 bits.
func (v Value) Uint64() (uint64, bool) {
	if len(v) == 0 || len(v) > 8 {
		return 0, false
	}
	var n uint64
	for i := 0; i < len(v); i++ {
		n = n<<8 | uint64(v[i])
	}
	return n, true
}

// Addr6 returns the number as an IPv6 address, and false without a number or beyond 128 bits.
func (v Value) Addr6() (netip.Addr, bool) {
	var b [16]byte
	if len(v) == 0 || len(v) > len(b) {
		return netip.Addr{}, false
	}
	copy(b[len(b)-len(v):], v)
	return netip.AddrFrom16(b), true
}

// MAC returns the number as an Ethernet address, and false without a number or beyond 48 bits.
func (v Value) MAC() (m [6]byte, ok bool) {
	if len(v) == 0 || len(v) > len(m) {
		return m, false
	}
	copy(m[len(m)-len(v):], v)
	return m, true
}

// BitLen returns the number of bits needed for the value, 0 for zero.
func (v Value) BitLen() int {
	if len(v) == 0 {
		return 0
	}
	return (len(v)-1)*8 + bits.Len8(v[0])
}

// String returns the value as a hexadecimal number.
func (v Value) String() string {
	if v == "" {
		return "none"
	}
	s := strings.TrimLeft(hex.EncodeToString([]byte(v)), "0")
	if s == "" {
		s = "0"
	}
	return "0x" + s
}

// text writes a value of the field or parameter of a name: numbers up to 64 bits in decimal, wider
// numbers as IPv6 addresses, and numbers of 33 to 48 bits with a name in "_addr" as Ethernet
// addresses.
func text(name string, v Value) string {
	if len(v) > 8 {
		if a, ok := v.Addr6(); ok {
			return a.String()
		}
		return v.String()
	}
	if m, ok := v.MAC(); ok && len(v) > 4 && strings.HasSuffix(name, "_addr") {
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
	}
	if n, ok := v.Uint64(); ok {
		return strconv.FormatUint(n, 10)
	}
	return v.String()
}
