package plan

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/topology"
)

// functionWidth is that of a SID whose node does not say.
const functionWidth = 16

// functionsPerGroup are set aside for each group; three are used.
const functionsPerGroup = 4

// locatorOf returns the locator out of which a node's tree SIDs are taken: the
// first of algorithm 0.
func locatorOf(node *topology.Node) (netip.Prefix, bool) {
	for _, l := range node.Locators {
		if l.Algorithm == 0 && l.Prefix.Addr().Is6() {
			return l.Prefix, true
		}
	}
	return netip.Prefix{}, false
}

// treeSID returns the SID of a node for a group. turn is 0 where the tree
// starts, and 1 or 2 elsewhere.
func treeSID(node *topology.Node, base uint32, group uint16, turn uint32) (netip.Addr, error) {
	return functionSID(node, base+functionsPerGroup*uint32(group)+turn)
}

// functionSID returns the SID of a function of a node.
func functionSID(node *topology.Node, function uint32) (netip.Addr, error) {
	loc, ok := locatorOf(node)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%s has no SRv6 locator", node.DisplayName())
	}
	width := functionWidth
	for _, s := range node.SIDs {
		if st := s.Structure; st.Function != 0 && st.Locator() == loc.Bits() {
			width = int(st.Function)
			break
		}
	}
	if width > 32 {
		width = 32
	}
	if width < 32 && function>>width != 0 || loc.Bits()+width > 128 {
		return netip.Addr{}, fmt.Errorf("%s has %d bits for functions behind locator %v, too few for %#x", node.DisplayName(), width, loc, function)
	}
	a := loc.Masked().Addr().As16()
	for i := range width {
		if function>>(width-1-i)&1 != 0 {
			at := loc.Bits() + i
			a[at/8] |= 0x80 >> (at % 8)
		}
	}
	sid := netip.AddrFrom16(a)
	for _, s := range node.SIDs {
		if s.Address == sid {
			return netip.Addr{}, fmt.Errorf("%s has its own use of %v, which the controller needs", node.DisplayName(), sid)
		}
	}
	return sid, nil
}

// decapsulation returns a node's SID that ends an encapsulation of IPv6.
func decapsulation(node *topology.Node) (netip.Addr, bool) {
	for _, s := range node.SIDs {
		if s.Algorithm == 0 && (s.Behavior == topology.BehaviorEndDT6 || s.Behavior == topology.BehaviorEndDT46) {
			return s.Address, true
		}
	}
	return netip.Addr{}, false
}
