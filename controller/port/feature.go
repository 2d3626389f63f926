package port

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Feature has the ports of a controller's switches.
type Feature struct {
	feature.Base
	env       *feature.Env
	timers    timers.Timers
	resources resource.Collection[api.PortSpec, decided]
	switches  map[string]*switchState
	intents   map[string]*intent // by name, of ports with a spec
	tasks     []Task
	lastTask  uint64
	// moved is set after a link has gone out, come back or changed its rate: the view is out of date.
	moved bool
	// completed is the last inventory that Complete made, of another one.
	completed, of *inventory.Inventory
}

// New returns the feature without ports.
func New(env *feature.Env) *Feature {
	return &Feature{
		env: env, resources: resource.NewCollection[api.PortSpec, decided](Kind.Record, env.Versions),
		switches: make(map[string]*switchState), intents: make(map[string]*intent),
	}
}

func (f *Feature) cfg() *inventory.Ports { return &f.env.Inventory().Ports }

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) { return f.resources.Load(r) }

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op { return f.resources.Changes() }

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record { return f.resources.Records() }

// Start implements feature.Feature.
func (f *Feature) Start() {
	for _, i := range f.resources.All() {
		f.intent(i.Name)
	}
	f.moved = true // ports may be disabled
}

// Fork implements feature.Feature.
func (f *Feature) Fork() func(feature.Feature) {
	states := make(map[string]*switchState, len(f.switches))
	for name, s := range f.switches {
		states[name] = s.clone()
	}
	return func(to feature.Feature) {
		for name, s := range states {
			to.(*Feature).switches[name] = s.clone()
		}
	}
}

// SetNetwork implements feature.Feature: what the inventory lacks is forgotten.
func (f *Feature) SetNetwork() {
	for name := range f.switches {
		if !f.env.Switches.Exists(name) {
			delete(f.switches, name)
		}
	}
}

// Set replaces all that is known of a switch's ports.
func (f *Feature) Set(sw string, x southbound.Ports) {
	if !f.env.Switches.Exists(sw) {
		return
	}
	s := f.switches[sw]
	if s == nil {
		s = &switchState{}
		f.switches[sw] = s
	}
	rates, numbers := s.rates(), s.learned(f.env.Inventory().Switch(sw))
	for _, port := range s.set(x, f.env.Now, f.cfg()) {
		f.moved = true
		f.env.Event(api.EventPortChanged, name(sw, port), "down: its link is not used", nil,
			api.EventFields{State: api.StateDown})
	}
	if !maps.Equal(rates, s.rates()) || !maps.Equal(numbers, s.learned(f.env.Inventory().Switch(sw))) {
		f.moved = true
	}
	f.check(sw)
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	f.timers.Run(f.env.Now)
	for _, sw := range slices.Sorted(maps.Keys(f.switches)) {
		for _, port := range f.switches[sw].tick(f.env.Now, f.cfg()) {
			f.moved = true
			f.env.Event(api.EventPortChanged, name(sw, port), "its link is used again", nil,
				api.EventFields{State: api.StateUp})
		}
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	if f.moved {
		return f.env.Now, true
	}
	at, ok = f.timers.Next()
	for _, s := range f.switches {
		at, ok = s.next(at, ok)
	}
	return at, ok
}

// Moved reports whether the view has changed since the last call.
func (f *Feature) Moved() bool {
	moved := f.moved
	f.moved = false
	return moved
}

// View returns the links that are out and the port rates that switches report. names maps nodes to
// the names of their switches.
func (f *Feature) View(
	s *topology.Snapshot, inv *inventory.Inventory, names map[topology.NodeID]string,
) topology.View {
	switches := make(map[string]*inventory.Switch)
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		switches[sw.Name] = sw
	}
	number := func(sw string, id, advertised uint32) uint32 {
		if s := switches[sw]; s != nil {
			return s.Port(id, advertised)
		}
		return advertised
	}
	out := make(map[topology.LinkID]bool)
	rates := make(map[topology.LinkID]uint64)
	for _, l := range s.Links {
		near, nearKnown := names[l.Local]
		far, farKnown := names[l.Remote]
		if nearKnown && f.isOut(near, number(near, l.LocalID, l.LocalPort)) ||
			farKnown && f.isOut(far, number(far, l.RemoteID, l.RemotePort)) {
			out[l.ID] = true
		}
		if nearKnown && l.MaxBandwidth == 0 {
			if rate := f.rate(near, number(near, l.LocalID, l.LocalPort)); rate != 0 {
				rates[l.ID] = rate
			}
		}
	}
	v := topology.View{}
	if len(out) > 0 {
		v.Out = func(l *topology.Link) bool { return out[l.ID] }
	}
	if len(rates) > 0 {
		v.Rate = func(l *topology.Link) uint64 { return rates[l.ID] }
	}
	return v
}

func (f *Feature) isOut(sw string, port uint32) bool {
	if s := f.switches[sw]; s != nil && s.out(port) {
		return true
	}
	i := f.resources.Get(name(sw, port))
	return i != nil && i.Spec.Disabled()
}

func (f *Feature) rate(sw string, port uint32) uint64 {
	if s := f.switches[sw]; s != nil && s.byPort[port] != nil {
		return s.byPort[port].Speed
	}
	return 0
}

// name returns the name of a port as a resource.
func name(sw string, port uint32) string { return fmt.Sprintf("%s/%d", sw, port) }

// States returns what a switch reports, nil before it did.
func (f *Feature) States(sw string) *southbound.Ports {
	if s := f.switches[sw]; s != nil {
		return &s.Ports
	}
	return nil
}
