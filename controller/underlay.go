package controller

import (
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// underlaySwitch is a switch as the underlay sees it.
type underlaySwitch struct {
	routed   bool // its routes have been planned once
	settling bool // nothing but what belongs to groups is removed
	partial  bool // its routes are those to single destinations, and there may be more
	ports    *PortStates
}

// frozen reports whether nothing of an owner's is removed from a switch.
func (c *Core) frozen(sw string, o reconcile.Owner) bool {
	if o >= 0 {
		return c.spares(int(o))
	}
	u := c.underlay[sw]
	return u.settling || o == routeUnit && u.partial
}

// keeps reports whether an unwanted neighbor or clone session stays, because something else on
// the switch, perhaps of a tree that a group is about to leave, leads to it.
func (c *Core) keeps(sw string, o reconcile.Owner, e entry.Entity) bool {
	if o != linkUnit {
		return false
	}
	var param string
	var id entry.Value
	switch e := e.(type) {
	case entry.Clone:
		param, id = "cnp_session", entry.Uint(uint64(e.ID))
	case entry.Table:
		m, ok := e.Field("id")
		if e.Name != p4.TableNeighbor || !ok {
			return false
		}
		param, id = "neighbor", m.Value
	}
	return id != "" && c.switches.Leads(sw, o, func(e entry.Entity) bool {
		t, ok := e.(entry.Table)
		return ok && t.Action.Arg(param) == id
	})
}

// isReady reports whether a switch has what every group needs, as far as it takes it.
func (c *Core) isReady(sw string) bool {
	u := c.underlay[sw]
	return u != nil && u.routed && !c.switches.Lacks(sw, linkUnit) && !c.switches.Lacks(sw, routeUnit)
}
