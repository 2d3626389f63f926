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

// SetAssignment sets the number of each link in the entropy values of hosts. nil is
// for a network that is no fabric. It matters only with an inventory that has MRC:
// until it is called, the meaning of the EVs in use is unknown, and switches keep what
// they have for them. Links keep their numbers while they are gone.
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

// SetDrained sets the links, one direction each and in order, that routes leave alone where they
// have others of the same length.
func (f *Feature) SetDrained(links []topology.LinkID) {
	if slices.Equal(f.env.Net.Drained(), links) {
		return
	}
	f.env.Net = f.env.Net.WithDrained(links)
	f.plan()
}

// Unrouted returns the switches of the topology that are still to get what they should have of the
// underlay, in order. One that is not connected is among them: what it holds is unknown.
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

// Assignment returns what SetAssignment has set; nil: the network has no fabric, or it is not known
// yet.
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
// while the network may have more (partial). ok is false when they are not known yet;
// then the switch keeps those it has.
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
