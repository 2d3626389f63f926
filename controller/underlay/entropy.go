package underlay

import (
	"slices"

	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// SetAssignment sets the number of each link in the entropy values of hosts. nil means that the
// network is no fabric. The assignment matters only if the inventory has MRC. Until the first call,
// the meaning of the EVs in use is unknown, and switches keep their entities for EVs. A link keeps
// its number while the link is gone.
func (f *Feature) SetAssignment(a *ev.Assignment) {
	if f.assigned && f.assignment == a {
		return
	}
	f.assignment, f.assigned = a, true
	if !f.inv().MRC.On() {
		return
	}
	f.release()
	f.plan()
}

// SetDrained sets the links, one direction each and in order, that routes avoid if other paths have
// the same length.
func (f *Feature) SetDrained(links []topology.LinkID) {
	if slices.Equal(f.env.Net.Drained(), links) {
		return
	}
	f.env.Net = f.env.Net.WithDrained(links)
	f.plan()
}

// Unrouted returns the switches of the topology that still lack entities of the underlay, in order.
// Unrouted includes disconnected switches, because their contents are unknown.
func (f *Feature) Unrouted() (out []string) {
	waiting := make(map[string]bool, len(f.unrouted))
	for _, sw := range f.unrouted {
		waiting[sw] = true
	}
	for _, sw := range f.env.Switches.Switches() {
		if f.env.Net.Node(sw) != nil && (waiting[sw] || !f.env.Switches.Connected(sw) || !f.Ready(sw)) {
			out = append(out, sw)
		}
	}
	return out
}

// Assignment returns the assignment from SetAssignment; nil: the network has no fabric, or the
// fabric is not known yet.
func (f *Feature) Assignment() *ev.Assignment {
	if !f.inv().MRC.On() {
		return nil
	}
	return f.assignment
}

// Fork implements feature.Feature: it copies the assignment and what is drained. Rows go by their
// records.
func (f *Feature) Fork() func(feature.Feature) {
	a, assigned, drained := f.assignment, f.assigned, f.env.Net.Drained()
	return func(to feature.Feature) {
		t := to.(*Feature)
		t.assignment, t.assigned, t.env.Net = a, assigned, t.env.Net.WithDrained(drained)
	}
}

// awaitsEVs reports whether it is not known yet what EVs mean.
func (f *Feature) awaitsEVs() bool { return f.inv().MRC.On() && !f.assigned }

// linksOf returns what a switch needs to be part of the network.
func (f *Feature) linksOf(sw *inventory.Switch) []entry.Entity {
	out := append(f.env.Net.Links(sw), plan.Discovery(&f.inv().Discovery)...)
	out = append(out, f.env.Net.Neighbors(sw)...)
	if m := &f.inv().MRC; m.On() {
		out = append(out, f.env.Net.Classes(sw, m.Classes)...)
		out = append(out, plan.ICMPErrors(m.ICMP)...)
		if f.assignment != nil {
			out = append(out, f.env.Net.EVs(sw, f.assignment)...)
		}
	}
	return out
}

// routesOf returns the unicast routes of a switch, or those to single destinations
// while the network may have more (partial). ok is false while the routes are unknown;
// then the switch keeps its routes.
func (f *Feature) routesOf(name string) (entities []entry.Entity, partial, ok bool) {
	net, a, sw := f.env.Net, f.assignment, f.inv().Switch(name)
	partial = !f.Released()
	switch evs := f.inv().MRC.On() && a != nil; {
	case !sw.RunsP4(): // its routes are rows
		return nil, false, f.Released()
	case f.awaitsEVs() && (!f.settled || f.routable(name)):
		return nil, false, false
	case evs && partial:
		entities = net.EachEVRoute(sw, a)
	case evs:
		entities = net.EVRoutes(sw, a)
	case partial:
		entities = net.EachRoute(sw)
	default:
		entities = net.Routes(sw)
	}
	return entities, partial, true
}

// routable reports whether a switch has routes, or may have.
func (f *Feature) routable(sw string) bool {
	if !f.env.Switches.Connected(sw) || f.state(sw).routed {
		return true
	}
	for range f.env.Switches.Of(sw, routes).Owned() {
		return true
	}
	return false
}
