package controller

import (
	"fmt"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/topology"
)

// SetTopology replaces the topology. Groups whose trees it breaks are planned
// anew; the others stay as they are.
func (c *Core) SetTopology(s *topology.Snapshot) {
	if s == c.net.Snapshot {
		return
	}
	old := c.net.Snapshot
	c.net = plan.NewNetwork(s, c.inv).WithEdges(c.net.Edges())
	c.event(api.EventTopologyChanged, "", describeTopology(old, s), nil)
	c.awaitQuiet()
	c.replan()
	c.settle()
}

// awaitQuiet notes that the topology has changed, and when it is whole.
func (c *Core) awaitQuiet() {
	quiet := c.inv.Intervals.Settle.D()
	if c.settled || len(c.net.Snapshot.Nodes) == 0 {
		return
	}
	if quiet == 0 {
		c.settled = true
		c.release()
		return
	}
	if c.settling == 0 {
		c.settling = c.now + 10*quiet
	}
	c.changes++
	change := c.changes
	c.timers.Set(min(c.now+quiet, c.settling), func() {
		if c.settled || c.changes != change && c.now < c.settling {
			return
		}
		c.settled = true
		c.release()
		c.replan()
	})
}

// release lets switches remove what they hold for nobody, once that is known.
func (c *Core) release() {
	if !c.settled || c.awaitsEVs() {
		return
	}
	for name, u := range c.underlay {
		u.settling = false
		c.switches.Thaw(name)
	}
	if c.adoption.on && !c.adoption.ending {
		c.adoption.ending = true
		c.timers.Set(c.now+c.inv.Intervals.Adopt.D(), c.endAdoption)
	}
}

func describeTopology(old, s *topology.Snapshot) string {
	msg := fmt.Sprintf("version %d: %d nodes, %d links, %d prefixes", s.Version, len(s.Nodes), len(s.Links), len(s.Prefixes))
	if s.Stale != nil && old.Stale == nil {
		msg += "; stale: " + s.Stale.Reason
	}
	return msg
}

// SetInventory replaces the inventory. Switches that are new are there to be
// connected; those it lacks are forgotten.
func (c *Core) SetInventory(inv inventory.Inventory) error {
	if err := c.setInventory(inv); err != nil {
		return err
	}
	c.net = plan.NewNetwork(c.net.Snapshot, c.inv).WithEdges(c.net.Edges())
	c.replan()
	c.reloadLossless()
	c.settle()
	return nil
}

func (c *Core) setInventory(inv inventory.Inventory) error {
	if err := inv.Validate(); err != nil {
		return err
	}
	c.inv = &inv
	known := make(map[string]bool)
	for _, sw := range inv.Switches {
		if !sw.Managed() {
			continue
		}
		known[sw.Name] = true
		if c.underlay[sw.Name] == nil {
			c.underlay[sw.Name] = &underlaySwitch{settling: !c.settled || c.awaitsEVs()}
		}
	}
	for name := range c.underlay {
		if !known[name] {
			delete(c.underlay, name)
		}
	}
	c.switches.SetSwitches(known)
	i := &inv.Intervals
	c.switches.SetIntervals(reconcile.Intervals{Audit: i.Audit.D(), RetryMin: i.RetryMin.D(), RetryMax: i.RetryMax.D()})
	return nil
}

// Inventory returns the present inventory, which must not be changed.
func (c *Core) Inventory() *inventory.Inventory { return c.inv }

// Topology returns the present topology.
func (c *Core) Topology() *topology.Snapshot { return c.net.Snapshot }

// replan plans everything on the present network.
func (c *Core) replan() {
	c.planLinks()
	for _, g := range c.ordered() {
		if c.settled || !g.loaded {
			c.place(g, false)
		}
		c.apply(g) // switches may have come that were unknown before
	}
	c.renetLossless()
}

// planLinks plans what switches need to be part of the network, and has their
// routes planned.
func (c *Core) planLinks() {
	c.unrouted = c.switches.Switches()
	for _, name := range c.unrouted {
		c.want(name, int(linkUnit), c.linksOf(c.inv.Switch(name)))
	}
	c.planRoutes()
}

// routesAtOnce is for how many switches routes are planned before anything else
// is done: routes take long, and groups do not wait for those that change.
const routesAtOnce = 64

func (c *Core) planRoutes() {
	n := min(routesAtOnce, len(c.unrouted))
	for _, name := range c.unrouted[:n] {
		u := c.underlay[name]
		if u == nil {
			continue
		}
		if routes, partial, ok := c.routesOf(name); ok {
			u.routed, u.partial = true, partial
			c.switches.Want(name, routeUnit, routes, routeShape{partial})
		}
	}
	c.unrouted = c.unrouted[n:]
	if len(c.unrouted) > 0 && !c.routing {
		c.routing = true
		c.timers.Set(c.now+1, func() { // with the next Tick
			c.routing = false
			c.planRoutes()
		})
	}
}
