package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// SID functions of every switch: 16 bits behind the locator. The rest of the function space is
// left to whoever programs the switch.
const (
	functionEnd  = 0x0001
	functionDT6  = 0x0002
	functionPFC  = 0x0003
	functionEndX = 0x0100 // plus the port
	// functionEndXPFC plus the port, and functionsAFlavor for each of pfcFlavors; ports end at
	// 0x1f4.
	functionEndXPFC  = 0x0300
	functionsAFlavor = 0x0200
)

// pfcFlavors are those of End.X.PFC, in the order of the draft's section 6.
var pfcFlavors = [...]topology.Flavors{0, topology.FlavorPSP, topology.FlavorUSP, topology.FlavorPSP | topology.FlavorUSP, topology.FlavorUSD}

// EndXPFC returns the SID of a switch for End.X.PFC with some flavors over one of its ports; ok is
// false when the draft has no such flavors. It is advertised by a switch that handles PFC.
func EndXPFC(s Switch, port uint32, flavors topology.Flavors) (out topology.SID, ok bool) {
	i := slices.Index(pfcFlavors[:], flavors)
	behavior, known := topology.DefaultPFCBehaviors().EndXOf(flavors)
	if i < 0 || !known {
		return out, false
	}
	return sidOf(s, functionEndXPFC+functionsAFlavor*uint16(i)+uint16(port), behavior), true
}

// NodeID is the name the topology gives a lab switch.
func NodeID(s Switch) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("%d:%v", s.ASN, s.RouterID))
}

// sid returns the SID of a 16-bit function right behind the locator.
func sid(locator netip.Prefix, function uint16) netip.Addr {
	a := locator.Addr().As16()
	at := (locator.Bits() + 7) / 8
	a[at], a[at+1] = byte(function>>8), byte(function)
	return netip.AddrFrom16(a)
}

func sidOf(s Switch, function uint16, behavior topology.Behavior) topology.SID {
	block := uint8(32)
	bits := uint8(s.Locator.Bits())
	if bits < block {
		block = bits
	}
	return topology.SID{
		Address:  sid(s.Locator, function),
		Behavior: behavior,
		Structure: topology.SIDStructure{
			LocatorBlock: block, LocatorNode: bits - block, Function: 16,
		},
	}
}

// Advertise returns what a switch reports of itself and of those of its links to other switches
// that are up and whose far end is on.
func (w *World) Advertise(name string) (bgpls.Objects, error) {
	n, err := w.Switch(name)
	if err != nil {
		return bgpls.Objects{}, err
	}
	s := n.Switch
	id := NodeID(s)
	a := bgpls.Objects{
		Node: topology.Node{
			ID: id, Name: s.Name, Loopback: s.Loopback, RouterID4: s.RouterID, ASN: s.ASN, Protocol: "direct",
			SRv6:     &topology.SRv6Capabilities{},
			Locators: []topology.Locator{{Prefix: s.Locator}},
			SIDs: []topology.SID{
				sidOf(s, functionEnd, topology.BehaviorEnd),
				sidOf(s, functionDT6, topology.BehaviorEndDT6),
			},
		},
		Prefixes: []topology.Prefix{
			{PrefixKey: topology.PrefixKey{Node: id, Prefix: netip.PrefixFrom(s.Loopback, 128)}},
			{PrefixKey: topology.PrefixKey{Node: id, Prefix: s.Locator}},
		},
	}
	if s.PFC {
		a.Node.SIDs = append(a.Node.SIDs, sidOf(s, functionPFC, topology.DefaultPFCBehaviors().End))
	}
	metrics := w.metrics()
	for _, wire := range w.wires {
		if wire.From != name || wire.down {
			continue
		}
		if h := w.Network.host(wire.To); h != nil {
			a.Prefixes = append(a.Prefixes, topology.Prefix{
				PrefixKey: topology.PrefixKey{Node: id, Prefix: netip.PrefixFrom(h.Address, 128)},
			})
			continue
		}
		remote := w.switches[wire.To]
		if remote.down || n.down {
			continue
		}
		endX := []topology.EndX{{SID: sidOf(s, functionEndX+uint16(wire.FromPort), topology.BehaviorEndX)}}
		if s.PFC {
			for _, flavors := range pfcFlavors {
				if sid, ok := EndXPFC(s, wire.FromPort, flavors); ok {
					endX = append(endX, topology.EndX{SID: sid})
				}
			}
		}
		micros := uint32(wire.Delay / time.Microsecond)
		a.Links = append(a.Links, topology.Link{
			Local: id, Remote: NodeID(remote.Switch),
			LocalID: wire.FromPort, RemoteID: wire.ToPort,
			IGPMetric:    metrics[wire],
			Delay:        topology.Delay{Known: true, Average: micros, Min: micros, Max: micros},
			MaxBandwidth: wire.Rate,
			EndX:         endX,
		})
	}
	return a, nil
}

func (w *World) metrics() map[*Wire]uint32 {
	m := map[*Wire]uint32{}
	for i, l := range w.Network.Links {
		m[w.wires[2*i]], m[w.wires[2*i+1]] = l.Metric, l.Metric
	}
	return m
}

// objects is what the switches that are on say of themselves.
func (w *World) objects() []bgpls.Objects {
	var all []bgpls.Objects
	for _, s := range w.Network.Switches {
		if w.switches[s.Name].down {
			continue
		}
		if a, err := w.Advertise(s.Name); err == nil { // the name is the network's own
			all = append(all, a)
		}
	}
	return all
}

// Heard is Learned by way of the octets of BGP-LS.
func (w *World) Heard() (*topology.Snapshot, error) { return bgpls.Heard(w.objects()...) }

// Learned is the topology that a collector hearing every switch that is on would have.
func (w *World) Learned(b *topology.Builder) *topology.Snapshot {
	last := b.Build()
	for _, n := range last.Nodes {
		b.RemoveNode(n.ID)
	}
	for _, l := range last.Links {
		b.RemoveLink(l.ID)
	}
	for _, p := range last.Prefixes {
		b.RemovePrefix(p.PrefixKey)
	}
	for _, a := range w.objects() {
		b.SetNode(a.Node)
		for _, l := range a.Links {
			b.SetLink(l)
		}
		for _, p := range a.Prefixes {
			b.SetPrefix(p)
		}
	}
	return b.Build()
}

// SetLink takes a link between two nodes up or down, both ways. Frames under way when it goes
// down are lost.
func (w *World) SetLink(a, b string, up bool) error {
	there, err := w.Wire(a, b)
	if err != nil {
		return err
	}
	for i, wire := range w.wires {
		if wire == there {
			there.setUp(up)
			w.wires[i^1].setUp(up)
		}
	}
	return nil
}
