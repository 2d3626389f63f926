package multicast

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
)

// A group on switches without a record is an orphan: perhaps the records of an earlier controller
// are lost. A group that a client applies with the proxy address of an orphan continues at the
// orphan's index, and with the orphan's tree if the tree is the same.

// Frozen implements feature.Feature: switches keep the tree that an adopted group had until the
// group's own carries data.
func (f *Feature) Frozen(_ string, o reconcile.Owner) bool {
	if o < 0 {
		return false
	}
	g := f.byIndex[uint16(o)]
	return g != nil && g.adopted
}

// Object implements feature.Feature.
func (f *Feature) Object(o reconcile.Owner) string {
	if o < 0 {
		return ""
	}
	if g := f.byIndex[uint16(o)]; g != nil {
		return "group " + g.name
	}
	return fmt.Sprintf("group of index %d", o)
}

// Moving implements feature.Feature.
func (f *Feature) Moving(o reconcile.Owner) bool {
	if o < 0 {
		return false
	}
	g := f.byIndex[uint16(o)]
	return g != nil && g.phase != steady
}

// Removal implements feature.Feature.
func (f *Feature) Removal(o reconcile.Owner) string {
	if o < 0 {
		return ""
	}
	if g := f.byIndex[uint16(o)]; g == nil || g.item == nil {
		return "it was deleted"
	}
	return "its tree has changed"
}

// adoptable returns the index at which a group with a proxy address goes on: the index of orphans
// with this address; of several, the index with the highest epoch.
func (f *Feature) adoptable(proxy netip.Addr) (index uint16, ok bool) {
	for _, o := range f.env.Switches.OrphanOwners() {
		if o < 0 || f.byIndex[uint16(o)] != nil || f.epochs[uint16(o)] == lastEpoch ||
			int(o) >= f.inv().Limits.Groups {
			continue
		}
		for _, sw := range f.env.Switches.Switches() {
			if p, has := f.orphanProxy(sw, o); has && p == proxy &&
				(!ok || f.epochs[index] < f.epochs[uint16(o)]) {
				index, ok = uint16(o), true
			}
		}
	}
	return index, ok
}

// orphanProxy returns the proxy address of the orphans on a switch at an index.
func (f *Feature) orphanProxy(sw string, o reconcile.Owner) (proxy netip.Addr, ok bool) {
	for e := range f.env.Switches.Of(sw, o).Orphans() {
		if proxy, ok = plan.ProxyOf(e); ok {
			return proxy, true
		}
	}
	return netip.Addr{}, false
}

// adopt takes over the orphans at the index of a group, but no orphan with another proxy address.
func (f *Feature) adopt(g *group, proxy netip.Addr) {
	for _, sw := range f.env.Switches.Switches() {
		if p, has := f.orphanProxy(sw, g.owner()); !has || p == proxy {
			f.env.Want.Release(sw, g.owner(), f.Object(g.owner()), func(entry.Entity) bool { return true })
		}
	}
}

// adoptLate takes over orphans on a switch that was just read, at indexes of groups that have their
// proxy address: the switch was away when the group was adopted.
func (f *Feature) adoptLate(sw string) {
	for _, o := range f.env.Switches.OrphanOwners() {
		if o < 0 || f.byIndex[uint16(o)] == nil {
			continue
		}
		if p, has := f.orphanProxy(sw, o); has && f.byIndex[uint16(o)].uses(p) {
			f.env.Want.Release(sw, o, f.Object(o), func(entry.Entity) bool { return true })
		}
	}
}

// turnBeside returns the turn for an adopted group: the turn of the tree in the switches if the new
// tree is the same, otherwise the other turn.
func (f *Feature) turnBeside(g *group, r tree.Request) uint8 {
	for r.Turn = range uint8(2) {
		if p, err := tree.Place(f.env.Net, r); err == nil && f.holds(p) {
			return r.Turn
		}
	}
	var used [2]bool
	for _, sw := range f.env.Switches.Switches() {
		for e := range f.env.Switches.Of(sw, g.owner()).Owned() {
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
func (f *Feature) holds(p *tree.Placement) bool {
	for _, sw := range p.Switches() {
		if !f.env.Switches.Connected(sw) {
			continue
		}
		for _, it := range p.Items(sw) {
			if it.Class == tree.Response {
				continue
			}
			if e, _ := f.env.Switches.Entity(sw, it.Entity.Key()); !entry.SameContent(e, it.Entity) {
				return false
			}
		}
	}
	return true
}

// disown removes the remains of the former tree of an adopted group.
func (f *Feature) disown(g *group) {
	if !g.adopted {
		return
	}
	g.adopted = false
	for _, name := range f.env.Switches.Switches() {
		if f.env.Want.Recheck(name, g.owner()) {
			f.noteOn(name, g)
		}
	}
}
