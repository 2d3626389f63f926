package mrc

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// A Target is what can be drained: exactly one of a link in both directions, a
// node, a plane and a port of a host.
type Target struct {
	Link  topology.LinkID `json:"link,omitempty"`
	Node  topology.NodeID `json:"node,omitempty"`
	Plane int             `json:"plane,omitempty"`
	Host  string          `json:"host,omitempty"` // with Port
	Port  uint8           `json:"port,omitempty"`
}

// String says what the target is.
func (t Target) String() string {
	switch {
	case t.Link != "":
		return "link " + string(t.Link)
	case t.Node != "":
		return "node " + string(t.Node)
	case t.Plane != 0:
		return fmt.Sprintf("plane %d", t.Plane)
	}
	return fmt.Sprintf("host %s port %d", t.Host, t.Port)
}

// drain is a target that is not to be used.
type drain struct {
	Target
	links []int32 // of the fabric
	waits map[string]uint64
	until time.Duration // nobody is waited for any more: when the last packets are gone
	done  bool
}

// find checks that a target is in the fabric and returns its links.
func (c *Core) find(t Target) ([]int32, error) {
	kinds := 0
	for _, set := range [...]bool{t.Link != "", t.Node != "", t.Plane != 0, t.Host != "" || t.Port != 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return nil, fmt.Errorf("target: want one of link, node, plane, and host with port: %w", ErrMalformed)
	}
	if t.Host != "" || t.Port != 0 {
		h := c.hosts[t.Host]
		if h == nil || int(t.Port) >= len(h.ports) || !h.ports[t.Port].attached {
			return nil, fmt.Errorf("%v: %w", t, ErrUnknownTarget)
		}
		return nil, nil
	}
	if c.fabric == nil {
		return nil, fmt.Errorf("%v: the topology is not in sync: %w", t, ErrUnknownTarget)
	}
	switch {
	case t.Link != "" && c.fabric.snap.Link(t.Link) == nil,
		t.Node != "" && c.fabric.snap.Node(t.Node) == nil,
		t.Plane < 0 || t.Plane > c.fabric.clos.Planes():
		return nil, fmt.Errorf("%v: %w", t, ErrUnknownTarget)
	}
	var links []int32
	for i := range c.fabric.links {
		if c.covers(t, &c.fabric.links[i]) {
			links = append(links, int32(i))
		}
	}
	return links, nil
}

// covers reports whether a target includes a link.
func (c *Core) covers(t Target, l *link) bool {
	switch {
	case t.Link != "":
		return l.ID == t.Link || l.reverse >= 0 && c.fabric.links[l.reverse].ID == t.Link
	case t.Node != "":
		return l.Local == t.Node || l.Remote == t.Node
	case t.Plane != 0:
		return c.fabric.clos.LinkPlane(l.ID) == t.Plane
	}
	return false
}

func (c *Core) linkDrained(l *link) bool {
	return slices.ContainsFunc(c.drains, func(d *drain) bool { return c.covers(d.Target, l) })
}

func (c *Core) portDrained(host string, port uint8) bool {
	return slices.ContainsFunc(c.drains, func(d *drain) bool { return d.Host == host && d.Port == port })
}

// Drain takes a target out of use. It is refused ([ErrLastPath]) when some hosts
// could not reach each other then that can now. The target is drained when no
// host may use it any more; see [Core.Drains].
func (c *Core) Drain(t Target) error {
	links, err := c.checkDrain(t)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(c.drains, func(d *drain) bool { return d.Target == t }) {
		return nil
	}
	d := &drain{Target: t, links: links, waits: make(map[string]uint64)}
	c.drains = append(c.drains, d)
	c.event(api.EventDrainChanged, t.String(), "draining")
	c.applyDrains(d)
	c.settle()
	c.awaitAll(d)
	c.runDrains()
	return nil
}

// checkDrain returns the links that a drain of a target covers, or why it is refused.
func (c *Core) checkDrain(t Target) ([]int32, error) {
	c.settle()
	links, err := c.find(t)
	if err != nil || c.fabric == nil || slices.ContainsFunc(c.drains, func(d *drain) bool { return d.Target == t }) {
		return links, err
	}
	return links, c.leavesAWay(t, links)
}

// awaitAll has a drain wait for all hosts that may not hold what they are to.
func (c *Core) awaitAll(d *drain) {
	for name, h := range c.hosts {
		switch {
		case !h.told: // it may hold anything
			d.waits[name] = 1
		case h.applied < h.seq:
			d.waits[name] = h.seq
		}
	}
	d.until = c.now + c.cfg.Linger
}

// ResumeDrain takes over what an earlier core had drained. It goes before
// InSync, and the target need not be known yet; what is drained is so from the
// first on, and nothing is refused.
func (c *Core) ResumeDrain(t Target) {
	c.drains = append(c.drains, &drain{Target: t, waits: make(map[string]uint64)})
	if h := c.hosts[t.Host]; h != nil {
		for i := 1; i < len(h.ports); i++ {
			h.ports[i].drained = c.portDrained(t.Host, uint8(i))
		}
		c.lookAtHost(h)
	}
}

// Undrain lets a target be used again. Its links come back when a probe has come
// through.
func (c *Core) Undrain(t Target) error {
	i := slices.IndexFunc(c.drains, func(d *drain) bool { return d.Target == t })
	if i < 0 {
		_, err := c.find(t)
		return err
	}
	d := c.drains[i]
	c.drains = slices.Delete(c.drains, i, i+1)
	c.event(api.EventDrainChanged, t.String(), "in use")
	c.applyDrains(d)
	return nil
}

// applyDrains looks at what a target covers after it was drained or undrained.
func (c *Core) applyDrains(d *drain) {
	for _, i := range d.links {
		l := &c.fabric.links[i]
		before, was := l.out(), l.drained
		l.drained = c.linkDrained(l)
		if was && !l.drained && l.phase == up {
			c.hold(i, "was drained", 0, 1)
		}
		c.changed(i, before)
	}
	switch {
	case d.Host != "":
		if h := c.hosts[d.Host]; h != nil && int(d.Port) < len(h.ports) {
			h.ports[d.Port].drained = c.portDrained(d.Host, d.Port)
			c.lookAtHost(h)
		}
	case d.Node != "":
		s := c.leafStates[d.Node]
		if s == nil {
			s = &leafState{}
			c.leafStates[d.Node] = s
		}
		s.drained = slices.ContainsFunc(c.drains, func(o *drain) bool { return o.Node == d.Node })
		c.touchedLeaves = append(c.touchedLeaves, d.Node)
	case d.Plane != 0:
		for _, leaf := range c.fabric.clos.Leaves() {
			c.touchedLeaves = append(c.touchedLeaves, leaf.ID)
		}
	}
}

// leavesAWay checks that everybody who can reach somebody still can without a
// target.
func (c *Core) leavesAWay(t Target, links []int32) error {
	before := c.fabric.clos.Lost(c.losses())
	lost := c.losses()
	for _, i := range links {
		lost.OneWay = append(lost.OneWay, c.fabric.links[i].ID)
	}
	if t.Node != "" {
		lost.Nodes = append(lost.Nodes, t.Node)
	}
	if t.Plane != 0 {
		lost.Planes = append(lost.Planes, t.Plane)
	}
	after := c.fabric.clos.Lost(lost)
	without := func(h *host) hostapi.PortMask {
		if h.Name == t.Host {
			return h.usable &^ hostapi.Ports(int(t.Port))
		}
		return h.usable
	}
	for _, p := range c.profiles {
		now, then := c.waysLeft(p, before), c.waysLeft(p, after)
		if t.Host == "" && now == then || t.Host != "" && p.from.rack != c.hosts[t.Host].rack && p.to != c.hosts[t.Host].rack {
			continue
		}
		for _, a := range p.from.rack.hosts {
			for _, b := range p.to.hosts {
				if a != b && now&a.usable&b.usable != 0 && then&without(a)&without(b) == 0 {
					return fmt.Errorf("%v: the last path from host %s (%s) to host %s (%s): %w", t, a.Name, a.rack.name, b.Name, b.rack.name, ErrLastPath)
				}
			}
		}
	}
	return nil
}

// waysLeft are the ports of a profile that have a path. In mode ecmp all have.
func (c *Core) waysLeft(p *profile, lost *topology.LostWays) hostapi.PortMask {
	var ports hostapi.PortMask
	for i := range p.from.rack.at {
		set, ok := c.pathSet(p, uint8(i+1))
		if !ok {
			continue
		}
		if !lost.Touches(set) {
			ports |= hostapi.Ports(i + 1)
			continue
		}
		for ref := range set.All() {
			if !lost.Path(set, ref) {
				ports |= hostapi.Ports(i + 1)
				break
			}
		}
	}
	return ports
}

// runDrains finds drains that are over.
func (c *Core) runDrains() {
	if c.fabric == nil {
		return
	}
	for _, d := range c.drains {
		if d.done {
			continue
		}
		waited := len(d.waits) > 0
		for name, seq := range d.waits {
			if h := c.hosts[name]; h == nil || h.applied >= seq {
				delete(d.waits, name)
			}
		}
		if len(d.waits) > 0 {
			continue
		}
		if waited {
			d.until = c.now + c.cfg.Linger
		}
		if c.now >= d.until {
			d.done = true
			c.event(api.EventDrainChanged, d.String(), "drained")
		}
	}
}
