package mrc

import (
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/topology"
)

// NodeStatus is what the core knows of a switch of the fabric.
type NodeStatus struct {
	ID     topology.NodeID
	Name   string
	Tier   int // 0 is a leaf
	Planes []int
	// Links are those that lead from or to it, DeniedLinks how many of them EVs must
	// not cross.
	Links, DeniedLinks int
	// Present says that it is advertised now.
	Present bool
	Drains  []DrainStatus
}

// PlaneStatus is what the core knows of a plane of the fabric.
type PlaneStatus struct {
	Plane              int // from 1
	Links, DeniedLinks int
	Drains             []DrainStatus
}

// FabricStatus is what the core knows of the fabric as a whole.
type FabricStatus struct {
	// InSync says that every peer has sent all it has; before that nothing is told
	// to hosts.
	InSync bool
	// Failure is why there is no fabric of the present topology; empty: there is.
	Failure                                   string
	Mode                                      string
	Planes, Tiers, Leaves, Links, DeniedLinks int
	// CurrentHosts hold all that they are to hold.
	Hosts, ConnectedHosts, CurrentHosts int
	HostPorts                           api.HostPortCount
	Probes                              api.ProbeCount
	Profiles, DegradedProfiles          int
	Counters                            api.FabricCounters
	// Streams is what became of the streams to hosts; the Runner fills it in.
	Streams hosts.Counters
}

// Fabric returns what is known of the fabric.
func (c *Core) Fabric() FabricStatus {
	c.settle()
	s := FabricStatus{InSync: c.synced, Mode: c.mode.String(), Hosts: len(c.hosts.byName), Profiles: len(c.profiles.all), Counters: c.counters, Probes: c.prober.reported}
	if c.failure != nil {
		s.Failure = c.failure.Error()
	}
	for _, h := range c.hosts.byName {
		if h.connected {
			s.ConnectedHosts++
		}
		if h.current() {
			s.CurrentHosts++
		}
		for i := 1; i < len(h.ports.list); i++ {
			s.HostPorts.All++
			if h.ports.usable.Has(i) {
				s.HostPorts.Usable++
			}
		}
	}
	for _, p := range c.profiles.all {
		if p.outcome.Degraded != "" {
			s.DegradedProfiles++
		}
	}
	if c.fabric == nil {
		return s
	}
	s.Planes, s.Tiers, s.Leaves = c.fabric.clos.Planes(), c.fabric.clos.Tiers(), len(c.fabric.clos.Leaves())
	s.Links, s.DeniedLinks = c.links.count(func(*link) bool { return true })
	return s
}

// NodePage returns the switches of the fabric by id, and whether there are more.
func (c *Core) NodePage(page Page) (out []NodeStatus, more bool) {
	c.settle()
	out = []NodeStatus{}
	if c.fabric == nil {
		return out, false
	}
	var nodes []*topology.Node
	for _, n := range c.fabric.snap.Nodes {
		if _, ok := c.fabric.clos.Tier(n.ID); ok && natural.Compare(string(n.ID), page.After) > 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *topology.Node) int { return natural.Compare(a.ID, b.ID) })
	for _, n := range nodes {
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.nodeStatus(n))
	}
	return out, false
}

// Node returns the switch of an id, if it is in the fabric.
func (c *Core) Node(id topology.NodeID) (NodeStatus, bool) {
	c.settle()
	if c.fabric == nil {
		return NodeStatus{}, false
	}
	n := c.fabric.snap.Node(id)
	if n == nil {
		return NodeStatus{}, false
	}
	if _, ok := c.fabric.clos.Tier(id); !ok {
		return NodeStatus{}, false
	}
	return c.nodeStatus(n), true
}

func (c *Core) nodeStatus(n *topology.Node) NodeStatus {
	s := NodeStatus{ID: n.ID, Name: n.Name, Planes: c.fabric.clos.PlanesOf(n.ID), Present: c.current.Node(n.ID) != nil}
	if plane := c.fabric.clos.Plane(n.ID); plane != 0 {
		s.Planes = []int{plane}
	}
	s.Tier, _ = c.fabric.clos.Tier(n.ID)
	s.Links, s.DeniedLinks = c.links.count(func(l *link) bool { return l.Local == n.ID || l.Remote == n.ID })
	s.Drains = c.drains.statuses(func(d *drain) bool {
		return d.Node == n.ID || d.Plane != 0 && len(s.Planes) == 1 && s.Planes[0] == d.Plane
	})
	return s
}

// Planes returns the planes of the fabric in order.
func (c *Core) Planes() []PlaneStatus {
	c.settle()
	out := []PlaneStatus{}
	if c.fabric == nil {
		return out
	}
	for plane := 1; plane <= c.fabric.clos.Planes(); plane++ {
		s := PlaneStatus{Plane: plane, Drains: c.drains.statuses(func(d *drain) bool { return d.Plane == plane })}
		s.Links, s.DeniedLinks = c.links.count(func(l *link) bool { return c.fabric.clos.LinkPlane(l.ID) == plane })
		out = append(out, s)
	}
	return out
}
