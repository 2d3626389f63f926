package plan

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/topology"
)

// functionWidth is the width in bits of a SID function whose node does not advertise the width.
const functionWidth = 16

// MaxVRF is the highest VRF that a tenant can have.
const MaxVRF = 4095

// ListSIDs is how many SIDs an entry of a segment list has at most.
const ListSIDs = 7

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

// TreeSID returns the SID of a node for a group. turn is 0 where the tree
// starts, and 1 or 2 elsewhere.
func TreeSID(node *topology.Node, base uint32, group uint16, turn uint32) (netip.Addr, error) {
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
		return netip.Addr{}, fmt.Errorf("%s has %d bits for functions behind locator %v, too few for %#x",
			node.DisplayName(), width, loc, function)
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
			return netip.Addr{}, fmt.Errorf("%s has its own use of %v, which the controller needs",
				node.DisplayName(), sid)
		}
	}
	return sid, nil
}

// Decapsulation returns a node's SID that ends an encapsulation of IPv6.
func Decapsulation(node *topology.Node) (netip.Addr, bool) {
	for _, s := range node.SIDs {
		if s.Algorithm == 0 && (s.Behavior == topology.BehaviorEndDT6 ||
			s.Behavior == topology.BehaviorEndDT46) {
			return s.Address, true
		}
	}
	return netip.Addr{}, false
}

// serviceBase returns the first function of a locator after the functions of groups: the function
// of the SID that ends probes. The functions of tenants follow, by VRF.
func (n *Network) serviceBase() uint32 {
	return n.Inventory.SIDs.FunctionBase + functionsPerGroup*p4.MtGroups
}

// ServiceSID returns the End.DT6 SID of a VRF at a node. The error reports why there
// can be none.
func (n *Network) ServiceSID(node *topology.Node, vrf uint16) (netip.Addr, error) {
	return functionSID(node, n.serviceBase()+uint32(vrf))
}

// ReturnSID returns the SID that ends probes at the node they came from.
func (n *Network) ReturnSID(node *topology.Node) (netip.Addr, error) {
	return functionSID(node, n.serviceBase())
}
