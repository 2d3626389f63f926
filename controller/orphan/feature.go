// Package orphan lists entities in switches that no resource explains, and removes them on request
// of a client or by configuration.
//
// Package reconcile finds orphans and keeps them. This package groups their entities into the
// original things, names each thing, and reports when it was found and when it is gone.
package orphan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Prefix begins the names under which orphans are released.
const Prefix = "orphan "

// Feature has the orphans of a controller.
type Feature struct {
	feature.Base
	env    *feature.Env
	timers timers.Timers

	known   map[string]map[string]thing // by switch and name, as reported
	changed []string                    // switches whose orphans have changed since the last Report
	checkAt time.Duration               // when the policy of the configuration is looked at next
}

// thing holds an object (a group, for example), with the object's orphaned entries on one switch.
type thing struct {
	plan.Object
	owner   reconcile.Owner
	since   time.Time
	entries int
	details []string
}

func (t *thing) name(sw string) string {
	if t.Kind == api.OrphanPFC {
		return fmt.Sprintf("%s@%s", t.Kind, sw)
	}
	return fmt.Sprintf("%s-%d@%s", t.Kind, t.Index, sw)
}

// New returns the feature.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, known: make(map[string]map[string]thing)}
}

// Tick implements feature.Feature.
func (f *Feature) Tick() { f.timers.Run(f.env.Now) }

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) { return f.timers.Next() }

// SetNetwork implements feature.Feature: the policy may be another.
func (f *Feature) SetNetwork() { f.checkAt = 0 }

// SwitchEvent implements feature.Feature.
func (f *Feature) SwitchEvent(sw string, e feature.SwitchEvent) {
	if e.Kind == feature.OrphansChanged {
		f.changed = append(f.changed, sw)
	}
}

// Settle implements feature.Feature: it removes what the policy says.
func (f *Feature) Settle() (more bool) {
	p := &f.env.Inventory().Orphans
	if p.Policy != inventory.OrphansRemove || !f.env.Underlay.Released() || f.env.Now < f.checkAt {
		return false
	}
	f.checkAt = math.MaxInt64
	var next time.Time
	for _, sw := range f.env.Switches.Switches() {
		for name, t := range f.things(sw) {
			due := t.since.Add(p.After.D())
			if due.After(f.env.Wall()) {
				if next.IsZero() || due.Before(next) {
					next = due
				}
				continue
			}
			f.remove(sw, name, &t, fmt.Sprintf("by the policy of the configuration, after %v", p.After.D()))
			more = true
		}
	}
	if !next.IsZero() {
		f.checkAt = f.env.Now + next.Sub(f.env.Wall())
		f.timers.Set(f.checkAt, func() {})
	}
	return more
}

// Report implements feature.Feature: it reports new orphans, and orphans that are gone.
func (f *Feature) Report() {
	for _, sw := range f.changed {
		now, was := f.things(sw), f.known[sw]
		for _, name := range sortedNames(now) {
			if _, old := was[name]; !old {
				t := now[name]
				f.env.Event(api.EventOrphanFound, name,
					fmt.Sprintf("%d entries on switch %s that no resource explains are kept: %s", t.entries, sw,
						t.reason()), nil)
			}
		}
		for _, name := range sortedNames(was) {
			if _, still := now[name]; !still {
				f.env.Event(api.EventOrphanGone, name, "it has left switch "+sw+", or a resource explains it",
					nil)
			}
		}
		f.known[sw] = now
		f.checkAt = 0
	}
	f.changed = nil
}

func sortedNames(things map[string]thing) []string {
	return slices.SortedFunc(maps.Keys(things), natural.Compare)
}

// things puts the orphans of a switch together, by name.
func (f *Feature) things(sw string) map[string]thing {
	out := make(map[string]thing)
	for o := range f.env.Switches.Orphans(sw) {
		t := thing{Object: plan.ObjectOf(o.Entity), owner: o.Owner}
		name := t.name(sw)
		t = out[name]
		t.Object, t.owner, t.since = plan.ObjectOf(o.Entity), o.Owner, o.Since
		t.entries++
		if d := detail(o.Entity); d != "" {
			t.details = append(t.details, d)
		}
		out[name] = t
	}
	return out
}

// detail describes the part of an entity in its thing: a proxy address or segments; "" otherwise.
func detail(e entry.Entity) string {
	if proxy, ok := plan.ProxyOf(e); ok {
		return "proxy address " + proxy.String()
	}
	if _, sids, ok := plan.SegmentsOf(e); ok && len(sids) > 0 {
		return fmt.Sprintf("segments %v", sids)
	}
	return ""
}

// reason reports why a thing is an orphan.
func (t *thing) reason() string {
	switch t.Kind {
	case api.OrphanGroup:
		return fmt.Sprintf("the controller has put no multicast group of index %d there", t.Index)
	case api.OrphanTenant:
		return fmt.Sprintf("the controller has put no such entry of VRF %d there", t.Index)
	case api.OrphanSRv6Policy:
		return fmt.Sprintf("the controller has put no segment list %d there", t.Index)
	case api.OrphanSlice:
		return fmt.Sprintf("the controller has put no slice %d there", t.Index)
	}
	return "the controller has put no such PFC policy there"
}

func (f *Feature) view(sw, name string, t *thing) api.Orphan {
	slices.Sort(t.details)
	v := api.Orphan{
		Name: name, Switch: sw, Kind: t.Kind, Index: t.Index,
		Detail: strings.Join(slices.Compact(t.details), ", "), Entries: t.entries,
		Since: t.since, Reason: t.reason(), Connected: f.env.Switches.Connected(sw),
	}
	if p := &f.env.Inventory().Orphans; p.Policy == inventory.OrphansRemove {
		v.Removal = t.since.Add(p.After.D())
	}
	return v
}

// List returns the orphans on all switches, by switch and name.
func (f *Feature) List() []api.Orphan {
	out := []api.Orphan{}
	for _, sw := range f.env.Switches.Switches() {
		out = append(out, f.On(sw)...)
	}
	return out
}

// On returns the orphans on a switch, by name.
func (f *Feature) On(sw string) (out []api.Orphan) {
	for name, t := range f.things(sw) {
		out = append(out, f.view(sw, name, &t))
	}
	slices.SortFunc(out, func(a, b api.Orphan) int { return cmp.Or(natural.Compare(a.Name, b.Name)) })
	return out
}

func (f *Feature) find(name string) (sw string, t thing, err error) {
	_, sw, ok := strings.Cut(name, "@")
	if t, there := f.things(sw)[name]; ok && there {
		return sw, t, nil
	}
	return "", thing{}, resource.NotFound(fmt.Sprintf("orphan %q", name))
}

// Get returns one orphan. The error is an *api.Error of CodeNotFound.
func (f *Feature) Get(name string) (api.Orphan, error) {
	sw, t, err := f.find(name)
	if err != nil {
		return api.Orphan{}, err
	}
	return f.view(sw, name, &t), nil
}

// Delete has an orphan removed from its switch, at once or when the switch is back. The error is
// an *api.Error of CodeNotFound.
func (f *Feature) Delete(name string) error {
	sw, t, err := f.find(name)
	if err != nil {
		return err
	}
	f.remove(sw, name, &t, "by request")
	return nil
}

// DeleteOn deletes all orphans of a switch and returns their names. The error is an *api.Error of
// CodeNotFound.
func (f *Feature) DeleteOn(sw string) (names []string, err error) {
	if !f.env.Switches.Exists(sw) {
		return nil, resource.NotFound(fmt.Sprintf("switch %q", sw))
	}
	things := f.things(sw)
	names = sortedNames(things)
	for _, name := range names {
		t := things[name]
		f.remove(sw, name, &t, "by request")
	}
	return names, nil
}

func (f *Feature) remove(sw, name string, t *thing, why string) {
	n := f.env.Want.Release(sw, t.owner, Prefix+name,
		func(e entry.Entity) bool { return plan.ObjectOf(e) == t.Object })
	delete(f.known[sw], name)
	f.env.Event(api.EventOrphanRemoved, name, fmt.Sprintf("%d entries are removed from switch %s %s",
		n, sw, why), nil)
}

// Conditions returns the conditions of a switch with orphans.
func Conditions(orphans []api.Orphan) (c api.Conditions) {
	if len(orphans) == 0 {
		return nil
	}
	entries, first := 0, orphans[0].Since
	names := make([]string, len(orphans))
	for i, o := range orphans {
		names[i] = o.Name
		entries += o.Entries
		if o.Since.Before(first) {
			first = o.Since
		}
	}
	c.Set(api.OrphansKept, true, api.ReasonUnexplained,
		fmt.Sprintf("%d entries that no resource explains: %s", entries, feature.Names(names)), first)
	return c
}
