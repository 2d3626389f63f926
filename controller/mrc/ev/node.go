package ev

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/topology"
)

// commonBlock returns the block common to the locators of all switches, which makes the locators
// the uNs of the switches. Without a common block it returns the default.
func commonBlock(m Mode, nodes []*topology.Node) netip.Prefix {
	bits := m.USID().BlockBits()
	var block netip.Prefix
	for _, n := range nodes {
		found := false
		for _, l := range n.Locators {
			if l.Prefix.Bits() != bits+16 || !l.Prefix.Addr().Is6() {
				continue
			}
			p := netip.PrefixFrom(l.Prefix.Addr(), bits).Masked()
			if !block.IsValid() || p == block {
				block, found = p, true
				break
			}
		}
		if !found {
			return DefaultBlock(m)
		}
	}
	if !block.IsValid() {
		return DefaultBlock(m)
	}
	return block
}

// numberNodes gives each switch a uN. If the locator of a switch is a uSID of the block, the switch
// gets this uSID. Each other switch keeps its previous uN if still free, or else gets the lowest
// free uN.
func (a *Assignment) numberNodes(previous *Assignment) error {
	owner := make(map[uint16]*topology.Node)
	var fresh []*topology.Node
	for _, n := range a.clos.Nodes() {
		usid := a.locatorUSID(n)
		if usid == 0 {
			fresh = append(fresh, n)
			continue
		}
		if other := owner[usid]; other != nil {
			return fmt.Errorf("uN %#04x of %s: it is that of %s too: %w", usid, n.DisplayName(),
				other.DisplayName(), ErrMalformed)
		}
		owner[usid], a.uN[n.ID] = n, usid
	}
	var rest []*topology.Node
	for _, n := range fresh {
		usid, ok := previous.known(n.ID)
		if !ok || owner[usid] != nil {
			rest = append(rest, n)
			continue
		}
		owner[usid], a.uN[n.ID] = n, usid
	}
	next := uint16(1)
	for _, n := range rest {
		for owner[next] != nil {
			next++
		}
		if next >= FirstLocal {
			return fmt.Errorf("%s: no uN up to %#04x left: %w", n.DisplayName(), FirstLocal-1, ErrNoRoom)
		}
		owner[next], a.uN[n.ID] = n, next
	}
	return nil
}

// known is the uN of a node; a may be nil.
func (a *Assignment) known(id topology.NodeID) (usid uint16, ok bool) {
	if a == nil {
		return 0, false
	}
	return a.Node(id)
}

// locatorUSID returns the global uSID in a node's locator, 0 without such a locator.
func (a *Assignment) locatorUSID(n *topology.Node) uint16 {
	bits := a.format.Block.Bits()
	for _, l := range n.Locators {
		if l.Prefix.Bits() == bits+16 && a.format.Block.Contains(l.Prefix.Addr()) {
			octets := l.Prefix.Addr().As16()
			if usid := binary.BigEndian.Uint16(octets[bits/8:]); usid != 0 && usid < FirstLocal {
				return usid
			}
		}
	}
	return 0
}
