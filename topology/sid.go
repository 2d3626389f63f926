package topology

import (
	"cmp"
	"net/netip"
)

// A SID is an SRv6 segment identifier that a node has instantiated for itself or, as part of an
// [EndX], for an adjacency.
type SID struct {
	Address   netip.Addr `json:"address"`
	Behavior  Behavior   `json:"behavior"`
	Flags     uint8      `json:"flags,omitempty"`
	Algorithm uint8      `json:"algorithm,omitempty"`
	// Structure is zero when the node did not advertise it.
	Structure SIDStructure `json:"structure,omitzero"`
}

// A SIDStructure gives the widths in bits of the four parts of a SID
// (RFC 8986 section 3.1, advertised as RFC 9514 section 8). Their sum is at
// most 128.
type SIDStructure struct {
	LocatorBlock uint8 `json:"locatorBlock"`
	LocatorNode  uint8 `json:"locatorNode"`
	Function     uint8 `json:"function"`
	Argument     uint8 `json:"argument"`
}

// Locator returns the width in bits of block and node together.
func (s SIDStructure) Locator() int { return int(s.LocatorBlock) + int(s.LocatorNode) }

// Valid reports whether the widths fit an IPv6 address.
func (s SIDStructure) Valid() bool {
	return int(s.LocatorBlock)+int(s.LocatorNode)+int(s.Function)+int(s.Argument) <= 128
}

func compareSIDs(a, b SID) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Behavior, b.Behavior),
		cmp.Compare(a.Algorithm, b.Algorithm))
}

// A Locator is a prefix out of which a node allocates its SIDs.
type Locator struct {
	Prefix    netip.Prefix `json:"prefix"`
	Algorithm uint8        `json:"algorithm,omitempty"`
	Flags     uint8        `json:"flags,omitempty"`
	Metric    uint32       `json:"metric,omitempty"`
}

func compareLocators(a, b Locator) int {
	return cmp.Or(a.Prefix.Compare(b.Prefix), cmp.Compare(a.Algorithm, b.Algorithm))
}
