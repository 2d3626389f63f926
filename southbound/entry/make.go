package entry

import "net/netip"

// Number and Address return parameters of an action.
func Number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](name string, v T) Param {
	return With(name, Uint(uint64(v)))
}

func Address(name string, a netip.Addr) Param { return With(name, Addr(a)) }

// LPM returns the match on a prefix; for IPv4 on the prefix of IPv4-mapped addresses, and for ::/0
// no match.
func LPM(field string, p netip.Prefix) Match {
	if p.Addr().Is4() {
		return Match{Field: field, Kind: MatchLPM, Value: Addr(p.Masked().Addr()),
			Bits: mappedBits + p.Bits()}
	}
	if p.Bits() == 0 {
		return Match{}
	}
	return Match{Field: field, Kind: MatchLPM, Value: Addr(p.Masked().Addr()), Bits: p.Bits()}
}

// mappedBits is the length of the prefix of IPv4-mapped addresses (RFC 4291 §2.5.5.2).
const mappedBits = 96

// LPMHost returns the match on one address, in a field that is matched by prefixes.
func LPMHost(field string, a netip.Addr) Match {
	return LPM(field, netip.PrefixFrom(a, a.BitLen()))
}

// DefaultOf returns the default action of a table.
func DefaultOf(table string, a Action) Table {
	e := In(table, a)
	e.Default = true
	return e
}
