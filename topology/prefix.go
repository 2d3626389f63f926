package topology

import (
	"cmp"
	"net/netip"
)

// A PrefixKey names a prefix of a node.
type PrefixKey struct {
	Node   NodeID       `json:"node"`
	Prefix netip.Prefix `json:"prefix"`
}

// A Prefix is an address prefix that a node advertised.
type Prefix struct {
	PrefixKey
	Metric uint32 `json:"metric,omitempty"`
	// Flags are the IGP's (RFC 9552 section 5.3.3.1).
	Flags uint8 `json:"flags,omitempty"`
}

func comparePrefixKeys(a, b PrefixKey) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), a.Prefix.Compare(b.Prefix))
}
