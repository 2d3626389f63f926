package static

import (
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// SID functions of every node: 16 bits behind the locator. The functions from 0x8000
// on are left to the controller.
const (
	functionEnd  = 0x0001
	functionDT6  = 0x0002
	functionPFC  = 0x0003
	functionEndX = 0x0100 // plus the port
	// functionEndXPFC plus the port, and functionsAFlavor for each of pfcFlavors.
	functionEndXPFC  = 0x0300
	functionsAFlavor = 0x0200

	functionBits = 16
	maxLocator   = 128 - functionBits
	// MaxPort is the largest port of a link: the ranges of the functions are that long.
	MaxPort = functionsAFlavor - 1
)

// pfcFlavors lists the flavors of End.X.PFC, in the order of section 6 of draft srv6-pfc-sid.
var pfcFlavors = [...]topology.Flavors{0, topology.FlavorPSP, topology.FlavorUSP,
	topology.FlavorPSP | topology.FlavorUSP, topology.FlavorUSD}

// EndXPFC returns the SID below a locator for End.X.PFC with some flavors over a port;
// ok is false when the draft has no such flavors. A node that handles PFC advertises it.
func EndXPFC(locator netip.Prefix, port uint32, flavors topology.Flavors) (out topology.SID,
	ok bool) {
	i := slices.Index(pfcFlavors[:], flavors)
	behavior, known := topology.DefaultPFCBehaviors().EndXOf(flavors)
	if i < 0 || !known {
		return out, false
	}
	return sidOf(locator, functionEndXPFC+functionsAFlavor*uint16(i)+uint16(port), behavior), true
}

// sidOf returns the SID of a 16-bit function right behind a locator.
func sidOf(locator netip.Prefix, function uint16, behavior topology.Behavior) topology.SID {
	a := locator.Addr().As16()
	at := (locator.Bits() + 7) / 8
	a[at], a[at+1] = byte(function>>8), byte(function)
	bits := uint8(locator.Bits())
	block := min(32, bits)
	return topology.SID{
		Address: netip.AddrFrom16(a), Behavior: behavior,
		Structure: topology.SIDStructure{LocatorBlock: block, LocatorNode: bits - block,
			Function: functionBits},
	}
}

// sids returns the SIDs of a node itself.
func (n *Node) sids() []topology.SID {
	out := []topology.SID{sidOf(n.Locator, functionEnd, topology.BehaviorEnd),
		sidOf(n.Locator, functionDT6, topology.BehaviorEndDT6)}
	if n.PFC {
		out = append(out, sidOf(n.Locator, functionPFC, topology.DefaultPFCBehaviors().End))
	}
	return out
}

// EndXOf returns a node's SIDs for the link at a port, if the node's own SIDs are the SIDs that
// this package assigns; otherwise nil.
func EndXOf(n *topology.Node, port uint32) []topology.EndX {
	if len(n.Locators) != 1 || n.Locators[0].Prefix.Bits() > maxLocator || port > MaxPort {
		return nil
	}
	for _, pfc := range []bool{false, true} {
		alike := Node{Locator: n.Locators[0].Prefix, PFC: pfc}
		sids := alike.sids()
		slices.SortFunc(sids, func(a, b topology.SID) int { return a.Address.Compare(b.Address) })
		if slices.Equal(sids, n.SIDs) {
			return alike.endX(port)
		}
	}
	return nil
}

// endX returns a node's SIDs for the link at a port.
func (n *Node) endX(port uint32) []topology.EndX {
	out := []topology.EndX{{SID: sidOf(n.Locator, functionEndX+uint16(port), topology.BehaviorEndX)}}
	if !n.PFC {
		return out
	}
	for _, flavors := range pfcFlavors {
		if sid, ok := EndXPFC(n.Locator, port, flavors); ok {
			out = append(out, topology.EndX{SID: sid})
		}
	}
	return out
}
