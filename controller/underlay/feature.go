// Package underlay connects the switches: it plans links, SIDs, ECMP and routes of
// every switch, and decides when the topology is taken for the whole network.
//
// A controller that starts learns a network bit by bit. Until the topology has been quiet for
// Intervals.Settle and, with MRC, the meaning of EVs is known, switches keep all entries (see
// routes.go).
package underlay

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// The owners of what switches hold for the underlay.
const (
	links  = reconcile.Owner(plan.OwnerLinks)
	routes = reconcile.Owner(plan.OwnerRoutes)
)

// Feature has the underlay of a controller.
type Feature struct {
	feature.Base
	env      *feature.Env
	timers   timers.Timers
	switches map[string]*state

	snapshot *topology.Snapshot // the last one that was advertised
	settled  bool               // see Intervals.Settle
	latest   time.Duration      // when it is settled at the latest; 0: no topology yet
	changes  int                // topologies so far

	rows rows // of switches without P4

	assignment *ev.Assignment // what EVs mean
	assigned   bool           // SetAssignment has been called

	unrouted []string // switches whose routes must be planned, in order
	routing  bool     // a timer is set to go on with them
}

// state is what the underlay knows of a switch.
type state struct {
	routed   bool // its routes have been planned once
	settling bool // nothing of the underlay's is removed
	partial  bool // its routes are those to single destinations, and there may be more
}

var _ feature.Underlay = (*Feature)(nil)

// New returns the feature, without switches.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, switches: make(map[string]*state), rows: newRows(),
		snapshot: env.Net.Snapshot.Advertised()}
}

func (f *Feature) inv() *inventory.Inventory { return f.env.Inventory() }

// Start implements feature.Feature.
func (f *Feature) Start() { f.plan() }

// Tick implements feature.Feature.
func (f *Feature) Tick() { f.timers.Run(f.env.Now) }

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) { return f.timers.Next() }

// SetNetwork implements feature.Feature.
func (f *Feature) SetNetwork() {
	if s := f.env.Net.Snapshot.Advertised(); f.snapshot != s {
		f.snapshot = s
		f.awaitQuiet()
	}
	f.plan()
}

// SwitchEvent implements feature.Feature.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	switch e.Kind {
	case feature.ReadBack:
		if !f.state(sw).routed && f.awaitsEVs() { // it waited until the routes of the switch are known
			f.unrouted = append(f.unrouted, sw)
			f.planRoutes()
		}
	case feature.Progress:
		if e.Owner == links {
			f.forgetRows(sw)
		}
	case feature.Refused:
		for _, o := range []reconcile.Owner{links, routes} {
			for _, msg := range f.env.Switches.Of(sw, o).Failures(1) {
				f.env.Event(api.EventSwitchChanged, sw, msg, nil)
			}
		}
	}
}

// state returns what is known of a switch.
func (f *Feature) state(sw string) *state {
	s := f.switches[sw]
	if s == nil {
		s = &state{settling: !f.Released()}
		f.switches[sw] = s
	}
	return s
}

// Settling implements feature.Underlay.
func (f *Feature) Settling(sw string) bool { return f.state(sw).settling }

// Linked implements feature.Underlay.
func (f *Feature) Linked(sw string) bool { return !f.env.Switches.Of(sw, links).Lacks() }

// Ready implements feature.Underlay.
func (f *Feature) Ready(sw string) bool {
	return f.env.Switches.Exists(sw) && f.state(sw).routed && f.Linked(sw) &&
		!f.env.Switches.Of(sw, routes).Lacks()
}

// Routed reports whether the routes of a switch have been planned.
func (f *Feature) Routed(sw string) bool { return f.state(sw).routed }

// Frozen implements feature.Feature. Until the routes of a switch are planned, the controller
// cannot tell which routes on the switch are unwanted.
func (f *Feature) Frozen(sw string, o reconcile.Owner) bool {
	s := f.state(sw)
	return o == links && s.settling || o == routes && (s.settling || s.partial || !s.routed)
}

// Removal implements feature.Feature.
func (f *Feature) Removal(o reconcile.Owner) string {
	switch o {
	case links:
		return "the topology or the configuration has changed"
	case routes:
		return "the topology or the configuration has changed, or others stand for them"
	}
	return ""
}

// Object implements feature.Feature.
func (f *Feature) Object(o reconcile.Owner) string {
	switch o {
	case links:
		return "links, neighbors and SIDs"
	case routes:
		return "routes"
	}
	return ""
}

// Keeps implements feature.Feature: an unwanted neighbor or clone session stays while another
// entity on the switch leads to it, perhaps an entity of a tree that a group is about to leave. A
// row of a switch without P4 stays unless this controller, or an earlier controller on the same
// store, has wanted the row on the switch.
func (f *Feature) Keeps(sw string, o reconcile.Owner, e entry.Entity) bool {
	if o != links {
		return false
	}
	if r, ok := e.(entry.Row); ok {
		return !f.rows.own(sw, r.Key())
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
	return id != "" && f.env.Switches.Of(sw, o).Led(func(e entry.Entity) bool {
		t, ok := e.(entry.Table)
		return ok && t.Action.Arg(param) == id
	})
}
