package topology

import "net/netip"

// Leaves returns the switches that hosts seem to be attached to, in order: the nodes that advertise
// a prefix other than their own (loopback, router-id, locator, SID), prefixes of their links, and
// default routes. BGP-LS does not know hosts; who does, names the leaves in [ClosRequest] instead.
func (s *Snapshot) Leaves() []NodeID {
	var leaves []NodeID
	for _, p := range s.Prefixes {
		if n := len(leaves); n > 0 && leaves[n-1] == p.Node {
			continue
		}
		if node := s.Node(p.Node); node != nil && !node.Pseudonode && !s.ownPrefix(node, p.Prefix) {
			leaves = append(leaves, p.Node)
		}
	}
	return leaves
}

// ownPrefix reports whether a prefix of a node leads to the node itself.
func (s *Snapshot) ownPrefix(node *Node, p netip.Prefix) bool {
	if p.Bits() == 0 || node.Loopback.IsValid() && p.Contains(node.Loopback) ||
		node.RouterID4.IsValid() && p.Contains(node.RouterID4) {
		return true
	}
	for _, l := range node.Locators {
		if l.Prefix.Overlaps(p) {
			return true
		}
	}
	for _, sid := range node.SIDs {
		if p.Contains(sid.Address) {
			return true
		}
	}
	for _, l := range s.LinksFrom(node.ID) {
		for _, a := range l.LocalAddresses {
			if p.Contains(a) {
				return true
			}
		}
		for _, a := range l.RemoteAddresses {
			if p.Contains(a) {
				return true
			}
		}
	}
	return false
}
