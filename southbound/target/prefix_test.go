package target_test

import "net/netip"

func prefixOf(octets [16]byte, bits int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16(octets), bits)
}
