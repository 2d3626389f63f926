package entry

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/southbound"
)

// Value is an unsigned number of any width in canonical form.
type Value = southbound.Value

// Uint returns the Value of v.
func Uint(v uint64) Value { return southbound.Uint(v) }

// Bool returns the Value 1 for true and 0 for false.
func Bool(v bool) Value { return southbound.Bool(v) }

// Addr returns the Value of an address as one number.
func Addr(a netip.Addr) Value { return southbound.Addr(a) }

// MAC returns the Value of an Ethernet address.
func MAC(m [6]byte) Value { return southbound.MAC(m) }

// text writes a value of the field or parameter of a name: numbers up to 64
// bits in decimal, wider ones as IPv6 addresses, and those of 33 to 48 bits
// whose name ends in "_addr" as Ethernet addresses.
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
