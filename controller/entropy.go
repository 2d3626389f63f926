package controller

import (
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/southbound/entry"
)

// entropy is what the switches of an MRC fabric are to make of the entropy
// values of packets. Whoever gives hosts these says so; until then nobody knows
// what the values that are in use mean, and switches keep what they have for
// them.
type entropy struct {
	assignment *ev.Assignment
	told       bool
}

// SetAssignment tells which number each link has in the entropy values of hosts;
// nil: there are none, as of a network that is no fabric. It matters only with an
// inventory that has MRC. Links keep their numbers while they are gone.
func (c *Core) SetAssignment(a *ev.Assignment) {
	if c.entropy.told && c.entropy.assignment == a {
		return
	}
	c.entropy = entropy{assignment: a, told: true}
	if !c.inv.MRC.On() {
		return
	}
	c.release()
	c.planLinks()
	c.settle()
}

// awaitsEVs reports whether it is yet to be told what EVs mean.
func (c *Core) awaitsEVs() bool { return c.inv.MRC.On() && !c.entropy.told }

// linksOf is what a switch needs to be part of the network.
func (c *Core) linksOf(sw *inventory.Switch) []entry.Entity {
	out := c.net.Links(sw)
	if m := &c.inv.MRC; m.On() {
		out = append(out, c.net.Classes(sw, m.Classes)...)
		out = append(out, c.net.ICMPErrors(m.ICMP)...)
		if a := c.entropy.assignment; a != nil {
			out = append(out, c.net.EVs(sw, a)...)
		}
	}
	return out
}

// routesOf are the unicast routes of a switch, those to single destinations while
// the network may have more (partial). ok is false when they are not known yet,
// and it keeps those it has.
func (c *Core) routesOf(name string) (routes []entry.Entity, partial, ok bool) {
	a, sw := c.entropy.assignment, c.inv.Switch(name)
	partial = !c.settled || c.awaitsEVs()
	switch evs := c.inv.MRC.On() && a != nil; {
	case c.awaitsEVs() && (!c.settled || c.routable(name)):
		return nil, false, false
	case evs && partial:
		routes = c.net.EachEVRoute(sw, a)
	case evs:
		routes = c.net.EVRoutes(sw, a)
	case partial:
		routes = c.net.EachRoute(sw)
	default:
		routes = c.net.Routes(sw)
	}
	return routes, partial, true
}

// routable reports whether a switch has routes, or may have.
func (c *Core) routable(sw string) bool {
	if !c.switches.Connected(sw) || c.underlay[sw].routed {
		return true
	}
	for range c.switches.Owned(sw, routeUnit) {
		return true
	}
	return false
}
