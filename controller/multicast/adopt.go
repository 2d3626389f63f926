package multicast

import (
	"net/netip"

	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
)

// adoption is what becomes of groups that switches hold and that have no record,
// perhaps because the records of an earlier controller are lost. They stay for a
// while. A group that is applied meanwhile with the proxy address of one of them goes
// on at its index, with its tree where that is the same.
type adoption struct {
	on     bool // see Intervals.Adopt
	ending bool // a timer ends it
	// found are the indices of such groups; proxies those of their proxy
	// addresses.
	found   map[uint16]bool
	proxies map[netip.Addr]uint16
}

// Frozen implements feature.Feature: switches keep what they hold at an index for no
// group, as long as it may be adopted.
func (f *Feature) Frozen(_ string, o reconcile.Owner) bool {
	if o < 0 {
		return false
	}
	if g := f.byIndex[uint16(o)]; g != nil {
		return g.adopted
	}
	return f.adoption.on
}

// findGroups notes which groups there are in a switch.
func (f *Feature) findGroups(contents entry.Contents) {
	a := &f.adoption
	if !a.on {
		return
	}
	for _, e := range contents.Entities {
		i := plan.GroupOf(e)
		if i < 0 || f.byIndex[uint16(i)] != nil {
			continue
		}
		index := uint16(i)
		a.found[index] = true
		if proxy, ok := plan.ProxyOf(e); ok {
			if other, twice := a.proxies[proxy]; !twice || f.epochs[other] < f.epochs[index] {
				a.proxies[proxy] = index
			}
		}
	}
}

// adoptable returns the index at which a group with a proxy address goes on.
func (f *Feature) adoptable(proxy netip.Addr) (index uint16, ok bool) {
	index, ok = f.adoption.proxies[proxy]
	return index, ok && f.free(index) && int(index) < f.inv().Limits.Groups
}

// unread reports whether there are switches about which nothing is known yet.
func (f *Feature) unread() bool {
	return !f.env.Switches.Known()
}

// turnBeside returns the turn for an adopted group: that of the tree which is in
// the switches when the new one is the same, or else the other.
func (f *Feature) turnBeside(g *group, r plan.Request) uint8 {
	for r.Turn = range uint8(2) {
		if p, err := f.env.Net.Place(r); err == nil && f.holds(p) {
			return r.Turn
		}
	}
	var used [2]bool
	for _, sw := range f.env.Switches.Switches() {
		for e := range f.env.Switches.Owned(sw, g.owner()) {
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
func (f *Feature) holds(p *plan.Placement) bool {
	for _, sw := range p.Switches() {
		if !f.env.Switches.Connected(sw) {
			continue
		}
		for _, it := range p.Items(sw) {
			if it.Class == plan.Response {
				continue
			}
			if e, ok := f.env.Switches.Entity(sw, it.Entity.Key()); !ok || !entry.SameContent(e, it.Entity) {
				return false
			}
		}
	}
	return true
}

// disown removes what is left of the tree that an adopted group had before.
func (f *Feature) disown(g *group) {
	if !g.adopted {
		return
	}
	g.adopted = false
	for _, name := range f.env.Switches.Switches() {
		if f.env.Switches.Recheck(name, g.owner()) {
			g.touches[name] = true
		}
	}
}

// startAdoptionEnd sets the time at which adoption ends, once switches may remove
// what nobody wants.
func (f *Feature) startAdoptionEnd() {
	if f.adoption.on && !f.adoption.ending && f.env.Underlay.Released() {
		f.adoption.ending = true
		f.timers.Set(f.env.Now+f.inv().Intervals.Adopt.D(), f.endAdoption)
	}
}

// endAdoption removes the groups that have not been applied again, and what a group
// deleted meanwhile has left.
func (f *Feature) endAdoption() {
	f.adoption = adoption{}
	for _, name := range f.env.Switches.Switches() {
		for _, o := range f.env.Switches.Owners(name) {
			if o >= 0 && f.byIndex[uint16(o)] == nil {
				f.env.Switches.Recheck(name, o)
			}
		}
	}
}
