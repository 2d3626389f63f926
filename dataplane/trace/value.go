package trace

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Value writes an unsigned number with 0x and all hexadecimal digits for the width in bits; empty:
// nothing.
type Value string

// NewValue makes a value of a number's big-endian octets and its width.
func NewValue(b []byte, width int) Value {
	digits := hex.EncodeToString(b)
	if n := (width + 3) / 4; n < len(digits) {
		digits = digits[len(digits)-n:]
	} else {
		digits = strings.Repeat("0", n-len(digits)) + digits
	}
	return Value("0x" + digits)
}

// octets returns the value when it is n octets.
func (v Value) octets(n int) ([]byte, bool) {
	if len(v) != 2+2*n {
		return nil, false
	}
	b, err := hex.DecodeString(string(v[2:]))
	return b, err == nil
}

// address returns the value as a person reads it when it can be an IPv6 or an
// Ethernet address: by its width, and by the name it goes by.
func (v Value) address(name string) (netip.Addr, string, bool) {
	if b, ok := v.octets(16); ok {
		a := netip.AddrFrom16([16]byte(b))
		return a, a.String(), true
	}
	if b, ok := v.octets(6); ok && named(name) {
		return netip.Addr{}, net.HardwareAddr(b).String(), true
	}
	return netip.Addr{}, "", false
}

// named reports whether a name sounds like that of an address.
func named(name string) bool {
	name = strings.ToLower(name)
	for _, p := range []string{"mac", "addr", "src", "dst", "source", "dest"} {
		if strings.Contains(name, p) {
			return true
		}
	}
	return false
}

// readable returns the value for a person, given the name it goes by.
func (v Value) readable(name string) string {
	if _, s, ok := v.address(name); ok {
		return s
	}
	return string(v)
}

// readable returns the match for a person.
func (m *Match) readable(name string) string {
	addr, s, ok := m.Value.address(name)
	if !ok {
		s = string(m.Value)
	}
	switch {
	case m.Prefix != nil && addr.IsValid():
		return netip.PrefixFrom(addr, *m.Prefix).String()
	case m.Prefix != nil:
		return fmt.Sprintf("%s/%d", s, *m.Prefix)
	case m.Mask != nil:
		if strings.Trim(string(*m.Mask), "0x") == "" {
			return "*"
		}
		return s + " &&& " + m.Mask.readable(name)
	case m.High != nil:
		return s + ".." + string(*m.High)
	}
	return s
}

// Octets is a piece of a packet; its text is hexadecimal.
type Octets []byte

// MarshalText implements encoding.TextMarshaler.
func (o Octets) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, o), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Octets) UnmarshalText(text []byte) error {
	b, err := hex.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("octets %q: %w", text, err)
	}
	*o = b
	return nil
}
