package controller

import (
	"net/netip"

	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/southbound/entry"
)

// adoption is what becomes of the groups that switches hold and this core has
// not been told of, perhaps because an earlier one's records are lost: they stay
// for a while, and a group that is applied meanwhile with the proxy address of
// one of them goes on at its index, with its tree where that is the same.
type adoption struct {
	on     bool // see Intervals.Adopt
	ending bool // a timer ends it
	// found are the indices of such groups; proxies those of their proxy
	// addresses.
	found   map[uint16]bool
	proxies map[netip.Addr]uint16
}

// spares reports whether switches keep what they hold at an index and is wanted
// by nobody.
func (c *Core) spares(unit int) bool {
	if unit < 0 {
		return false
	}
	if g := c.byIndex[uint16(unit)]; g != nil {
		return g.adopted
	}
	return c.adoption.on
}

// findGroups notes which groups there are in a switch.
func (c *Core) findGroups(contents entry.Contents) {
	a := &c.adoption
	if !a.on {
		return
	}
	for _, e := range contents.Entities {
		i := plan.GroupOf(e)
		if i < 0 || c.byIndex[uint16(i)] != nil {
			continue
		}
		index := uint16(i)
		a.found[index] = true
		if proxy, ok := plan.ProxyOf(e); ok {
			if other, twice := a.proxies[proxy]; !twice || c.epochs[other] < c.epochs[index] {
				a.proxies[proxy] = index
			}
		}
	}
}

// adoptable returns the index at which a group with a proxy address goes on.
func (c *Core) adoptable(proxy netip.Addr) (index uint16, ok bool) {
	index, ok = c.adoption.proxies[proxy]
	return index, ok && c.free(index) && int(index) < c.inv.Limits.Groups
}

// unread reports whether there are switches about which nothing is known yet.
func (c *Core) unread() bool {
	return !c.switches.Known()
}

// turnBeside returns the turn for an adopted group: that of the tree which is in
// the switches when the new one is the same, or else the other.
func (c *Core) turnBeside(g *group, r plan.Request) uint8 {
	for r.Turn = range uint8(2) {
		if p, err := c.net.Place(r); err == nil && c.holds(p) {
			return r.Turn
		}
	}
	var used [2]bool
	for _, sw := range c.switches.Switches() {
		for e := range c.switches.Owned(sw, g.owner()) {
			if turn, ok := plan.TurnOf(e); ok {
				used[turn] = true
			}
		}
	}
	switch {
	case !used[0]:
		return 0
	case !used[1]:
		return 1
	case r.Previous != nil:
		return r.Previous.Turn
	}
	return 0
}

// holds reports whether the connected switches of a tree hold all that carries
// data in it.
func (c *Core) holds(p *plan.Placement) bool {
	for _, sw := range p.Switches() {
		if !c.switches.Connected(sw) {
			continue
		}
		for _, it := range p.Items(sw) {
			if it.Class == plan.Response {
				continue
			}
			if e, ok := c.switches.Entity(sw, it.Entity.Key()); !ok || !entry.SameContent(e, it.Entity) {
				return false
			}
		}
	}
	return true
}

// disown removes what is left of the tree that an adopted group had before.
func (c *Core) disown(g *group) {
	if !g.adopted {
		return
	}
	g.adopted = false
	for _, name := range c.switches.Switches() {
		if c.switches.Recheck(name, g.owner()) {
			g.touches[name] = true
		}
	}
}

// endAdoption removes the groups that nobody has applied again, and what a group
// deleted meanwhile has left.
func (c *Core) endAdoption() {
	c.adoption = adoption{}
	for _, name := range c.switches.Switches() {
		for _, o := range c.switches.Owners(name) {
			if o >= 0 && c.byIndex[uint16(o)] == nil {
				c.switches.Recheck(name, o)
			}
		}
	}
}
