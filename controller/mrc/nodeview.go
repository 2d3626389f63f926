package mrc

import (
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// Fabric describes the fabric as a whole.
func (c *Core) Fabric() api.Fabric {
	c.settle()
	f := api.Fabric{
		Mode: c.mode.String(), InSync: c.state.Synced(), Hosts: api.HostCount{All: len(c.hosts.byName)},
		Profiles: api.FabricCount{All: len(c.profiles.all)}, Probes: c.prover.Reported(), Counters: c.counters,
	}
	if err := c.state.Failure(); err != nil {
		f.Failure = err.Error()
	}
	for _, h := range c.hosts.byName {
		if h.Connected() {
			f.Hosts.Connected++
		}
		if h.current() {
			f.Hosts.Current++
		}
		f.Ports.All += len(h.At)
		f.Ports.Usable += h.Usable().Len()
	}
	for _, p := range c.profiles.all {
		if p.outcome.Degraded != "" {
			f.Profiles.Bad++
		}
	}
	if c.state.Fabric() == nil {
		return f
	}
	clos := c.state.Fabric().Clos()
	f.Planes, f.Tiers, f.Leaves = clos.Planes(), clos.Tiers(), len(clos.Leaves())
	f.Links.All, f.Links.Bad = c.state.Links().Count(func(*fabric.Link) bool { return true })
	return f
}

// NodePage returns the switches of the fabric by id, and whether there are more.
func (c *Core) NodePage(page Page) (out []api.Node, more bool) {
	c.settle()
	out = []api.Node{}
	if c.state.Fabric() == nil {
		return out, false
	}
	var nodes []*topology.Node
	for _, n := range c.state.Fabric().Snapshot().Nodes {
		if _, ok := c.state.Fabric().Clos().Tier(n.ID); ok && natural.Compare(string(n.ID), page.After) > 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *topology.Node) int { return natural.Compare(a.ID, b.ID) })
	for _, n := range nodes {
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.viewNode(n))
	}
	return out, false
}

// Node returns the switch of an id, if it is in the fabric.
func (c *Core) Node(id topology.NodeID) (api.Node, bool) {
	c.settle()
	if c.state.Fabric() == nil {
		return api.Node{}, false
	}
	n := c.state.Fabric().Snapshot().Node(id)
	if n == nil {
		return api.Node{}, false
	}
	if _, ok := c.state.Fabric().Clos().Tier(id); !ok {
		return api.Node{}, false
	}
	return c.viewNode(n), true
}

func (c *Core) viewNode(n *topology.Node) api.Node {
	tier, _ := c.state.Fabric().Clos().Tier(n.ID)
	v := api.Node{ID: n.ID, Spec: adminUp, Status: api.NodeStatus{
		Name: n.Name, Tier: &tier, Planes: append([]int{}, c.state.Fabric().Clos().PlanesOf(n.ID)...), Present: c.state.Advertised().Node(n.ID) != nil,
	}}
	s := &v.Status
	if plane := c.state.Fabric().Clos().Plane(n.ID); plane != 0 {
		s.Planes = []int{plane}
	}
	s.Links, s.DeniedLinks = c.state.Links().Count(func(l *fabric.Link) bool { return l.Local == n.ID || l.Remote == n.ID })
	s.Drains = c.drains.views(func(d *drain) bool {
		return d.Node == n.ID || d.Plane != 0 && len(s.Planes) == 1 && s.Planes[0] == d.Plane
	})
	return v
}

// Planes returns the planes of the fabric in order.
func (c *Core) Planes() []api.Plane {
	c.settle()
	out := []api.Plane{}
	if c.state.Fabric() == nil {
		return out
	}
	for plane := 1; plane <= c.state.Fabric().Clos().Planes(); plane++ {
		v := api.Plane{Plane: plane, Spec: adminUp, Status: api.PlaneStatus{
			Drains: c.drains.views(func(d *drain) bool { return d.Plane == plane }),
		}}
		v.Status.Links, v.Status.DeniedLinks = c.state.Links().Count(func(l *fabric.Link) bool { return c.state.Fabric().Clos().LinkPlane(l.ID) == plane })
		out = append(out, v)
	}
	return out
}
