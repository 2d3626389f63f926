package multicast

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Feature holds the multicast groups of a controller. The owner of a group's entities on switches
// is the index of the group.
type Feature struct {
	feature.Base
	env *feature.Env
	// PortMTU returns the largest IPv6 packet of a port, 0: unknown. It may be nil.
	PortMTU func(sw string, port uint32) uint32
	// MayUse reports whether the project of a group may use a host. It may be nil.
	MayUse func(group, host string) bool

	timers    timers.Timers
	resources resource.Collection[api.MulticastGroupSpec, *group]

	groups  map[string]*group // including those that are being removed
	byIndex map[uint16]*group
	epochs  map[uint16]uint32 // the highest ones given or found, by index

	asked map[branchKey][]*query
	polls map[pollKey]bool

	check   indexes         // groups whose phase may be over
	status  indexes         // groups whose status may have changed
	raised  indexes         // indices whose epoch must be saved
	renewed indexes         // groups of [member.Groups.Renewed]
	unsaved map[string]bool // groups whose record of being removed must be written or deleted

	pairs map[api.QueuePair][]*group // who has a queue pair; see members.go

	switches []string   // that there were at the last SetNetwork
	edges    plan.Edges // that there were at the last Report

	// on holds the groups, by index, that may have entries on a switch. The controller adds a group
	// when the group may have entries, and removes the group when the switch is found to hold no
	// entries.
	on map[string]map[uint16]bool
}

// New returns the feature without groups.
func New(env *feature.Env) *Feature {
	return &Feature{
		env: env, resources: resource.NewCollection[api.MulticastGroupSpec, *group](Kind.Record,
			env.Versions),
		groups: make(map[string]*group), byIndex: make(map[uint16]*group),
		epochs: make(map[uint16]uint32),
		asked:  make(map[branchKey][]*query), polls: make(map[pollKey]bool),
		check: make(indexes), status: make(indexes), raised: make(indexes), renewed: make(indexes),
		unsaved: make(map[string]bool),
		pairs:   make(map[api.QueuePair][]*group), on: make(map[string]map[uint16]bool),
	}
}

func (f *Feature) inv() *inventory.Inventory { return f.env.Inventory() }

// Start implements feature.Feature.
func (f *Feature) Start() {
	for _, g := range f.ordered() {
		f.noteEpoch(g.index, g.highestEpoch())
		f.takePairs(g)
		f.apply(g)
		f.watchStalls(g)
		f.renewed.add(g.index)
	}
}

// ordered returns the groups by index, including those that are being removed.
func (f *Feature) ordered() []*group {
	return slices.SortedFunc(maps.Values(f.groups),
		func(a, b *group) int { return cmp.Compare(a.index, b.index) })
}

// SetNetwork implements feature.Feature. Groups whose trees the network breaks are
// placed anew; the others stay as they are.
func (f *Feature) SetNetwork() {
	switches, all := f.env.Switches.Switches(), f.ordered()
	others := !slices.Equal(switches, f.switches) // groups may have something on one that was unknown
	f.switches = switches
	var stale []*group
	for _, g := range all {
		if g.item != nil && (f.env.Underlay.Settled() || !g.loaded) {
			stale = append(stale, g)
		}
	}
	f.placeAll(stale, false)
	for _, g := range all {
		if others || g.item != nil && g.item.Spec.Connect != nil { // which hosts connect from follows too
			f.apply(g)
		}
	}
}

// Tick implements feature.Feature.
func (f *Feature) Tick() { f.timers.Run(f.env.Now) }

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) { return f.timers.Next() }

// SwitchEvent implements feature.Feature.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	switch e.Kind {
	case feature.ReadBack:
		f.learnEpochs(sw, e.Contents)
		f.adoptLate(sw)
		f.touch(sw)
	case feature.Disconnected:
		f.touch(sw)
	case feature.Progress:
		if e.Owner >= 0 {
			f.check.add(uint16(e.Owner))
			f.status.add(uint16(e.Owner))
		} else if f.env.Underlay.Ready(sw) {
			f.markReady(sw)
		}
	case feature.Writing:
		f.noteWrite(sw, e.Owner, e.Entity)
	case feature.GotPacket:
		switch e.PacketIn.Reason {
		case entry.CNPWindow:
			f.windowOpened(sw, *e.PacketIn)
		case entry.StateAnswer:
			f.answered(sw, *e.PacketIn)
		}
	}
}

// indexes are the indexes of some groups.
type indexes map[uint16]struct{}

func (s indexes) add(index uint16) { s[index] = struct{}{} }

// touch has the groups on a switch looked at.
func (f *Feature) touch(sw string) {
	for g := range f.groupsOn(sw) {
		f.check.add(g.index)
		f.status.add(g.index)
	}
}

// groupsOn yields the groups that have entries on a switch, or will get entries.
func (f *Feature) groupsOn(sw string) iter.Seq[*group] {
	return func(yield func(*group) bool) {
		for i := range f.on[sw] {
			g := f.byIndex[i]
			if g == nil || !g.touches[sw] && g.target.Node(sw) == nil {
				delete(f.on[sw], i)
			} else if !yield(g) {
				return
			}
		}
	}
}

// noteOn notes that a group may have something on a switch.
func (f *Feature) noteOn(sw string, g *group) {
	g.touches[sw] = true
	if f.on[sw] == nil {
		f.on[sw] = make(map[uint16]bool)
	}
	f.on[sw][g.index] = true
}

// markReady has the groups looked at that wait for a switch to have what every
// group needs.
func (f *Feature) markReady(sw string) {
	for g := range f.groupsOn(sw) {
		if g.phase == making && g.touches[sw] {
			f.check.add(g.index)
		}
	}
}

// noteWrite records the epochs that this controller writes.
func (f *Feature) noteWrite(sw string, o reconcile.Owner, e entry.Entity) {
	if o < 0 {
		return
	}
	if epoch, ok := plan.EpochOf(e); ok {
		if g := f.byIndex[uint16(o)]; g != nil {
			g.note(sw, epoch)
		}
	}
}

// Settle implements feature.Feature: it moves groups on.
func (f *Feature) Settle() (more bool) {
	for _, i := range slices.Sorted(maps.Keys(f.check)) {
		delete(f.check, i)
		if g := f.byIndex[i]; g != nil {
			f.advance(g)
		}
		f.renewed.add(i)
	}
	return len(f.check) > 0
}

// Report implements feature.Feature.
func (f *Feature) Report() {
	if edges := f.env.Net.Edges(); !reflect.DeepEqual(edges, f.edges) {
		f.edges = edges
		for i := range f.byIndex {
			f.status[i] = struct{}{}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(f.status)) {
		if g := f.byIndex[i]; g != nil {
			f.updateStatus(g)
		}
	}
	clear(f.status)
}

// validation returns the facts that the validation of a group's spec needs.
func (f *Feature) validation(name string, pre resource.Precondition) api.GroupEnv {
	return api.GroupEnv{
		Limits: f.inv().Limits, Host: f.env.Net.HostName, Taken: f.env.Net.Taken,
		OtherGroup: func(a netip.Addr) (string, bool) {
			for _, g := range f.ordered() {
				if g.name != name && g.uses(a) {
					return pre.Visible(g.name), true
				}
			}
			return "", false
		},
		OtherPair: func(p api.QueuePair) (string, bool) {
			for _, g := range f.pairs[p] {
				if g.name != name {
					return pre.Visible(g.name), true
				}
			}
			return "", false
		},
	}
}
