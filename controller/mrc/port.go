package mrc

import (
	"context"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// nodePort is a port of a switch, by its P4Runtime number.
type nodePort struct {
	node topology.NodeID
	port uint32
}

// SetPorts tells all that a switch says of its ports: whether they are up, at the
// ends of links or towards hosts, by their P4Runtime numbers. It replaces what
// was known; of a port that is missing nothing is. The switch need not be
// advertised, or not yet, and ports that nothing of ours is behind do no harm.
func (c *Core) SetPorts(node topology.NodeID, isUp map[uint32]bool) {
	before := c.ports[node]
	if maps.Equal(before, isUp) {
		return
	}
	if len(isUp) == 0 {
		delete(c.ports, node)
	} else {
		c.ports[node] = maps.Clone(isUp)
	}
	c.lookAtPorts(node)
	affected := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(isUp)))
	slices.Sort(affected)
	for _, port := range slices.Compact(affected) {
		for _, h := range c.hostsByPort[nodePort{node, port}] {
			c.lookAtHost(c.hosts[h])
		}
	}
}

// SetPortNumbers tells which P4Runtime ports the links of a switch are at, by
// their identifiers (TLV 258), where these are others than advertised.
func (c *Core) SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32) {
	if maps.Equal(c.portNumbers[node], numbers) {
		return
	}
	c.portNumbers[node] = maps.Clone(numbers)
	c.lookAtPorts(node)
}

// isDown reports whether a switch says that a port is down.
func (c *Core) isDown(p nodePort) bool {
	isUp, known := c.ports[p.node][p.port]
	return known && !isUp
}

// portsOf are the ports at the two ends of a link.
func (c *Core) portsOf(l *topology.Link) (local, remote nodePort) {
	number := func(node topology.NodeID, id, advertised uint32) nodePort {
		if p, ok := c.portNumbers[node][id]; ok {
			return nodePort{node, p}
		}
		return nodePort{node, advertised}
	}
	return number(l.Local, l.LocalID, l.LocalPort), number(l.Remote, l.RemoteID, l.RemotePort)
}

// lookAtPorts looks at the links of a node after a change of its ports.
func (c *Core) lookAtPorts(node topology.NodeID) {
	if c.fabric == nil {
		return
	}
	for _, l := range c.fabric.snap.LinksFrom(node) {
		i := c.fabric.place[l.ID]
		c.lookAtPort(i)
		if r := c.fabric.links[i].reverse; r >= 0 {
			c.lookAtPort(r)
		}
	}
}

func (c *Core) lookAtPort(i int32) {
	l := &c.fabric.links[i]
	local, remote := c.portsOf(l.Link)
	l.portDown = c.isDown(local) || c.isDown(remote)
	c.look(i)
}

// portState is what a switch says of a port; "" is nothing.
func (c *Core) portState(p nodePort) string {
	isUp, known := c.ports[p.node][p.port]
	switch {
	case !known:
		return ""
	case isUp:
		return up.String()
	default:
		return down.String()
	}
}

// SetPorts is what a switch of the inventory says of its ports; see
// [Core.SetPorts]. It does not wait for what follows, and gives up when ctx ends.
// isUp must not be changed any more.
func (r *Runner) SetPorts(ctx context.Context, sw string, isUp map[uint32]bool) {
	r.loop.Post(ctx.Done(), func() {
		r.ports[sw] = isUp
		if n := r.switches[sw]; n != nil {
			r.core.SetPorts(n.ID, isUp)
		}
	})
}

// find notes which nodes the switches of the inventory are, and tells the core what
// is known of the ports of those that have been found, or are other nodes than before.
func (r *Runner) find(nodes map[string]*topology.Node) {
	var moved []string
	for _, sw := range slices.Sorted(maps.Keys(nodes)) {
		before := r.switches[sw]
		if before != nil && before.ID == nodes[sw].ID {
			continue
		}
		moved = append(moved, sw)
		if before != nil {
			r.core.SetPorts(before.ID, nil)
			r.core.SetPortNumbers(before.ID, nil)
		}
	}
	maps.Copy(r.switches, nodes)
	for _, sw := range moved {
		r.core.SetPortNumbers(nodes[sw].ID, r.opts.Inventory.Switch(sw).Ports)
		r.core.SetPorts(nodes[sw].ID, r.ports[sw])
	}
}
