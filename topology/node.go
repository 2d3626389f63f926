package topology

import (
	"cmp"
	"net/netip"
	"slices"
)

// A NodeID names a node: "AS:router-id", with the router-id in the form its
// protocol writes it ("64512:10.0.0.6", "64512:0000.0000.0006"); a pseudonode
// has its interface behind the router-id, and a routing instance other than 0
// follows as "@instance". The same router seen by two protocols, levels or
// areas has one NodeID.
type NodeID string

// A Node is a router or switch.
type Node struct {
	ID NodeID `json:"id"`
	// Name is the name the node advertised, or empty. It need not be unique.
	Name string `json:"name,omitempty"`
	// Loopback is the IPv6 address that represents the node; invalid if the node advertised none.
	Loopback netip.Addr `json:"loopback,omitzero"`
	// RouterID4 is the node's IPv4 router-id, invalid when it advertised none.
	RouterID4 netip.Addr `json:"routerId4,omitzero"`
	ASN       uint32     `json:"asn,omitempty"`
	// Protocol names the protocol that the node was learned from ("isis-l2", "direct", ...).
	Protocol string `json:"protocol,omitempty"`
	// Pseudonode marks a LAN that the IGP models as a node: it can be crossed,
	// and is no device.
	Pseudonode bool `json:"pseudonode,omitempty"`
	// Overload reports whether the node asked not to be crossed (RFC 9552 section 5.3.1.1).
	Overload bool `json:"overload,omitempty"`
	// SRv6 is nil when the node did not advertise SRv6 capabilities.
	SRv6 *SRv6Capabilities `json:"srv6,omitempty"`
	// Algorithms are the SR algorithms (0..255) the node takes part in, ascending.
	Algorithms []int `json:"algorithms,omitempty"`
	// MSDs are the maximum SID depths of the node, by type.
	MSDs     []MSD     `json:"msds,omitempty"`
	Locators []Locator `json:"locators,omitempty"`
	// SIDs are the SIDs of the node; [Link.EndX] has the SIDs of its adjacencies.
	SIDs []SID `json:"sids,omitempty"`
}

// SRv6Capabilities are RFC 9514 section 3.1's.
type SRv6Capabilities struct {
	// OAM reports that the node supports the O-flag of RFC 9259.
	OAM bool `json:"oam,omitempty"`
}

// An MSD is a maximum SID depth (RFC 8814; types of SRv6 in RFC 9352 section 4).
type MSD struct {
	Type  uint8 `json:"type"`
	Value uint8 `json:"value"`
}

// MSD types of SRv6 (RFC 9352 section 4).
const (
	MSDMaxSegmentsLeft uint8 = 41
	MSDMaxEndPop       uint8 = 42
	MSDMaxHEncaps      uint8 = 44
	MSDMaxEndD         uint8 = 45
)

// MSD returns the node's maximum SID depth of a type.
func (n *Node) MSD(typ uint8) (depth uint8, ok bool) {
	for _, m := range n.MSDs {
		if m.Type == typ {
			return m.Value, true
		}
	}
	return 0, false
}

// DisplayName returns the node's name, or the id of a node without a name.
func (n *Node) DisplayName() string {
	if n.Name != "" {
		return n.Name
	}
	return string(n.ID)
}

// Equal reports whether two nodes have the same content.
func (n *Node) Equal(o *Node) bool {
	return n.equalBase(o) && slices.Equal(n.Locators, o.Locators) && slices.Equal(n.SIDs, o.SIDs)
}

// equalBase compares everything but locators and SIDs.
func (n *Node) equalBase(o *Node) bool {
	return n.ID == o.ID && n.Name == o.Name && n.Loopback == o.Loopback &&
		n.RouterID4 == o.RouterID4 &&
		n.ASN == o.ASN && n.Protocol == o.Protocol && n.Pseudonode == o.Pseudonode &&
		n.Overload == o.Overload &&
		(n.SRv6 == nil) == (o.SRv6 == nil) && (n.SRv6 == nil || *n.SRv6 == *o.SRv6) &&
		slices.Equal(n.Algorithms, o.Algorithms) && slices.Equal(n.MSDs, o.MSDs)
}

// normal returns the node with slices of its own, in order.
func (n Node) normal() Node {
	n.Algorithms = sorted(n.Algorithms, cmp.Compare[int])
	n.MSDs = sorted(n.MSDs, func(a, b MSD) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Value, b.Value))
	})
	n.Locators = sorted(n.Locators, compareLocators)
	n.SIDs = sorted(n.SIDs, compareSIDs)
	return n
}

// sorted returns a sorted copy of s, nil for an empty one.
func sorted[T any](s []T, compare func(a, b T) int) []T {
	if len(s) == 0 {
		return nil
	}
	s = slices.Clone(s)
	slices.SortFunc(s, compare)
	return s
}
