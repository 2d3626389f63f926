package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
)

// EndXPFC returns the SID of a switch for End.X.PFC with some flavors over one of its ports; ok is
// false for flavors missing in the draft. A switch that handles PFC advertises this SID.
func EndXPFC(s Switch, port uint32, flavors topology.Flavors) (out topology.SID, ok bool) {
	return static.EndXPFC(s.Locator, port, flavors)
}

// NodeID is the name the topology gives a lab switch.
func NodeID(s Switch) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("%d:%v", s.ASN, s.RouterID))
}

// Topology returns the network in the form that people write: the switches, the links between them,
// and the addresses of hosts with the switches at their links. RoCE hosts are listed by IPv6
// addresses alone, because their IPv4 packets travel in IPv6 between switches. The network must be
// complete.
func (n *Network) Topology() *static.Topology {
	t := &static.Topology{ASN: ASN}
	place := map[string]int{}
	for i, s := range n.Switches {
		place[s.Name] = i
		t.Nodes = append(t.Nodes, static.Node{Name: s.Name, RouterID: s.RouterID, Loopback: s.Loopback,
			Locator: s.Locator, PFC: s.PFC})
	}
	for _, l := range n.Links {
		sw, host := l.A, n.host(l.B)
		if host == nil {
			sw, host = l.B, n.host(l.A)
		}
		if host != nil {
			node := &t.Nodes[place[sw]]
			if host.isRouted() {
				node.Prefixes = append(node.Prefixes, host.prefix())
			}
			continue
		}
		t.Links = append(t.Links, static.Link{A: l.A, PortA: l.PortA, B: l.B, PortB: l.PortB,
			Delay: static.Delay(l.Delay), Rate: l.Rate, Metric: l.Metric})
	}
	return t
}

// isRouted reports whether switches route packets to the host's address.
func (h *Host) isRouted() bool { return h.Address.Is6() || h.Transport == MRC }

// prefix returns that of the host's address.
func (h *Host) prefix() netip.Prefix { return netip.PrefixFrom(h.Address, h.Address.BitLen()) }

// Advertise returns the objects that a switch reports: the switch itself, and every link to another
// switch while the link is up and the other switch is on.
func (w *World) Advertise(name string) (bgpls.Objects, error) {
	n, err := w.Switch(name)
	if err != nil {
		return bgpls.Objects{}, err
	}
	wires := map[uint32]*Wire{}            // to other switches, that are up
	hosts := map[topology.PrefixKey]bool{} // whether the wire to a host is up
	for _, wire := range w.wires {
		if wire.From != name {
			continue
		}
		if h := w.Network.host(wire.To); h != nil {
			if !h.isRouted() {
				continue
			}
			key := topology.PrefixKey{Node: NodeID(n.Switch), Prefix: h.prefix()}
			hosts[key] = hosts[key] || !wire.down
		} else if !wire.down && !n.down && !w.switches[wire.To].down {
			wires[wire.FromPort] = wire
		}
	}
	// it has every switch
	a, _ := w.described.Of(name, func(port uint32) bool { return wires[port] != nil })
	a.Prefixes = slices.DeleteFunc(a.Prefixes, func(p topology.Prefix) bool {
		up, host := hosts[p.PrefixKey]
		return host && !up
	})
	for i := range a.Links {
		l := &a.Links[i]
		wire := wires[l.LocalID]
		micros := uint32(wire.Delay / time.Microsecond)
		l.MaxBandwidth, l.Delay = wire.Rate, topology.Delay{Known: true, Average: micros, Min: micros,
			Max: micros}
	}
	return bgpls.Objects(a), nil
}

// objects returns the advertisements of all running switches.
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

// Learned returns the topology that a collector would learn from all switches that are on.
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
