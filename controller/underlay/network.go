package underlay

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/plan"
)

// awaitQuiet notes a change of the topology, and sets the time at which the controller takes the
// topology for the whole network.
func (f *Feature) awaitQuiet() {
	quiet := f.inv().Intervals.Settle.D()
	if f.settled || len(f.env.Net.Snapshot.Nodes) == 0 {
		return
	}
	if quiet == 0 {
		f.settled = true
		f.release()
		return
	}
	if f.latest == 0 {
		f.latest = f.env.Now + 10*quiet
	}
	f.changes++
	change := f.changes
	f.timers.Set(min(f.env.Now+quiet, f.latest), func() {
		if f.settled || f.changes != change && f.env.Now < f.latest {
			return
		}
		f.settled, f.env.Renew = true, true
		f.release()
	})
}

// release lets switches remove what no one wants, once that is known.
func (f *Feature) release() {
	if !f.Released() {
		return
	}
	for _, sw := range f.env.Switches.Switches() {
		f.state(sw).settling = false
		f.env.Want.Thaw(sw)
	}
}

// Settled implements feature.Underlay.
func (f *Feature) Settled() bool { return f.settled }

// Released implements feature.Underlay.
func (f *Feature) Released() bool { return f.settled && !f.awaitsEVs() }

// SetEdges implements feature.Underlay.
func (f *Feature) SetEdges(edges plan.Edges) {
	before := f.env.Net.Edges()
	f.env.Net = f.env.Net.WithEdges(edges)
	for _, sw := range f.env.Switches.Switches() {
		if !maps.Equal(before[sw], edges[sw]) {
			f.planLinks(sw)
			f.state(sw).routed = false
			f.unrouted = append(f.unrouted, sw)
		}
	}
	slices.Sort(f.unrouted)
	f.unrouted = slices.Compact(f.unrouted)
	f.planRoutes()
}

// SetIsolated implements feature.Underlay.
func (f *Feature) SetIsolated(projects []plan.Isolated) {
	if slices.EqualFunc(f.env.Net.Isolated(), projects,
		func(a, b plan.Isolated) bool { return a.Equal(&b) }) {
		return
	}
	f.env.Net = f.env.Net.WithIsolated(projects)
	for _, sw := range f.env.Switches.Switches() {
		f.planLinks(sw)
	}
}

// plan plans the links of all switches, and has their routes planned.
func (f *Feature) plan() {
	f.unrouted = f.env.Switches.Switches()
	maps.DeleteFunc(f.switches, func(sw string, _ *state) bool { return !f.env.Switches.Exists(sw) })
	f.rows.forget(f.env.Switches.Exists)
	for _, sw := range f.unrouted {
		f.planLinks(sw)
	}
	f.planRoutes()
}

func (f *Feature) planLinks(sw string) {
	if s := f.inv().Switch(sw); !s.RunsP4() {
		f.planRows(s)
		return
	}
	f.env.Want.Set(sw, links, f.linksOf(f.inv().Switch(sw)), nil)
}

// routesAtOnce is for how many switches routes are planned before anything else is
// done: routes take long, and groups do not wait for those that change.
const routesAtOnce = 64

func (f *Feature) planRoutes() {
	n := min(routesAtOnce, len(f.unrouted))
	for _, sw := range f.unrouted[:n] {
		if !f.env.Switches.Exists(sw) {
			continue
		}
		if entities, partial, ok := f.routesOf(sw); ok {
			s := f.state(sw)
			s.routed, s.partial = true, partial
			f.env.Want.Set(sw, routes, entities, routeShape{partial})
		}
	}
	f.unrouted = f.unrouted[n:]
	if len(f.unrouted) > 0 && !f.routing {
		f.routing = true
		f.timers.Set(f.env.Now+1, func() { // with the next Tick
			f.routing = false
			f.planRoutes()
		})
	}
}
