// Package leases offers leases of paths: it records which paths of an MRC fabric are held for whom,
// and until when.
//
// It keeps the resources, and a ledger (package job/lease) decides. The controller of the MRC
// fabric publishes the paths between NICs and the links that must not be crossed
// (feature.Env.Fabric). Until then the ledger grants nothing, and leases keep their paths.
package leases

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// followEvery is the least time between two views of the fabric that leases follow, unless a change
// of a lease needs the newest.
const followEvery = 250 * time.Millisecond

// keepEnded is how long a lease remains readable after its end, to let its client read why.
const keepEnded = time.Hour

// decided has the decisions about a lease.
type decided struct {
	Granted time.Time `json:"granted,omitzero"`
	// Has is what the ledger has; nil: the lease has ended.
	Has *lease.Lease `json:"has,omitempty"`
	// Ended is when it ended, and Reason why.
	Ended  time.Time `json:"ended,omitzero"`
	Reason string    `json:"reason,omitempty"`
}

type item = resource.Item[api.PathLeaseSpec, decided]

// Feature has the leases of a controller.
type Feature struct {
	feature.Kept[api.PathLeaseSpec, decided]
	env    *feature.Env
	ledger *lease.Ledger
	// network has the links and paths that the ledger leases; nil: unknown, and why has the reason.
	network *lease.Network
	why     string
	seen    *fabricview.View // the last that leases have followed; nil: none
	next    time.Duration    // when they follow another
	nics    map[string]bool  // of known
	known   *inventory.Inventory
	removed []string

	// Terms returns the bounds of a lease's project; nil: none.
	Terms func(name string) lease.Terms
	// Project returns the project of a resource by its name; nil: all are of one.
	Project func(name string) string
	// Running returns the running jobs; nil: there are none.
	Running func() []ready.Running
	running []*running
}

func (f *Feature) terms(name string) lease.Terms {
	if f.Terms == nil {
		return lease.Terms{}
	}
	return f.Terms(name)
}

// Held returns the links that a lease holds, and the bit/s of its paths.
func (f *Feature) Held(name string) (links int, bandwidth uint64) {
	if j := f.All.Get(name); j != nil && j.Decided.Has != nil {
		return j.Decided.Has.Links(), j.Spec.Reserves()
	}
	return 0, 0
}

// New returns the feature without leases.
func New(env *feature.Env) *Feature {
	f := &Feature{env: env, why: "the paths of the fabric are not known yet",
		Kept: feature.Keep[api.PathLeaseSpec, decided](env, Kind.Record)}
	f.ledger = lease.New(func(from, to string) []lease.Path {
		if f.network == nil {
			return nil
		}
		return f.network.Paths(from, to)
	})
	f.ledger.Spares, f.ledger.Keeps, f.ledger.Name = f.spares, f.keeps, f.linkName
	return f
}

// Start implements feature.Feature.
func (f *Feature) Start() {
	var has []lease.Lease
	for _, j := range f.All.All() {
		if l := j.Decided.Has; l != nil {
			l.Request = requestOf(j.Name, &j.Spec) // the record has what the spec lacks
			has = append(has, *l)
		}
	}
	f.ledger.Restore(has)
	f.SetNetwork()
	if f.network != nil {
		f.setLinks()
	}
}

// Fork implements feature.Feature.
func (f *Feature) Fork() func(feature.Feature) {
	network, why, seen, running := f.network, f.why, f.seen, f.running
	return func(to feature.Feature) {
		f := to.(*Feature)
		f.network, f.why, f.seen, f.running = network, why, seen, running
	}
}

// SetNetwork implements feature.Feature: the inventory has the NICs.
func (f *Feature) SetNetwork() {
	inv := f.env.Inventory()
	if inv == f.known {
		return
	}
	f.known, f.nics = inv, make(map[string]bool, len(inv.Hosts))
	for i := range inv.Hosts {
		f.nics[inv.Hosts[i].Name] = true
	}
}

// Gone returns the leases that the feature has removed by itself since the last call.
func (f *Feature) Gone() []string {
	gone := f.removed
	f.removed = nil
	return gone
}

// Settle implements feature.Feature: leases follow the fabric.
func (f *Feature) Settle() (more bool) {
	if f.env.Now >= f.next && f.behind() {
		f.Follow()
	}
	return false
}

// behind reports whether some leases have yet to follow the newest view of the fabric.
func (f *Feature) behind() bool {
	return f.env.Fabric != f.seen && slices.ContainsFunc(f.All.All(), func(j *item) bool {
		return j.Decided.Has != nil
	})
}

// Follow has leases follow the newest view of the fabric now. The last known network remains in use
// while the newest view has none.
func (f *Feature) Follow() {
	v := f.env.Fabric
	if v == f.seen {
		return
	}
	f.seen = v
	before := f.network
	switch {
	case v.Leases == nil:
		if before == nil {
			f.why = v.Why
		}
		return
	case v.Leases == before:
		return
	}
	f.network, f.next = v.Leases, f.env.Now+followEvery
	f.setLinks()
	if before == nil || !sameMap(before.Links(), f.network.Links()) {
		f.ledger.Relabel()
	}
	f.settle()
}

// sameMap reports whether two maps are one.
func sameMap[K comparable, V any](a, b map[K]V) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// setLinks has the ledger know the links.
func (f *Feature) setLinks() {
	links := maps.Clone(f.network.Links())
	ends := make(map[topology.LinkID]bool)
	for id, down := range f.network.Down {
		if !down {
			continue
		}
		if link, ok := links[id]; ok {
			link.Up = false
			links[id] = link
		} else {
			ends[id] = true
		}
	}
	f.ledger.SetLinks(links)
	f.ledger.SetEnds(ends)
}

// settle gives the changes to the ledger.
func (f *Feature) settle() {
	if f.network == nil {
		f.took(f.ledger.Expire(f.env.Wall()))
		return
	}
	if f.Exclusive() {
		f.findRunning()
	}
	f.took(f.ledger.Settle(f.env.Wall()))
}

// took notes what the ledger has changed.
func (f *Feature) took(changes []lease.Change) {
	for _, c := range changes {
		j := f.All.Get(c.Name)
		if j == nil {
			continue
		}
		switch c.What {
		case lease.Expired:
			j.Decided.Has, j.Decided.Ended, j.Decided.Reason = nil, f.env.Wall(), c.Reason
			f.All.Save(c.Name)
			f.env.Event(api.EventLeaseChanged, c.Name, "ended: "+c.Reason, nil)
		case lease.Moves:
			f.env.Event(api.EventLeaseChanged, c.Name, "moves to other paths: "+f.lost(c.Name), nil)
		case lease.Breaks:
			f.env.Event(api.EventLeaseBroken, c.Name,
				"broken: "+f.lost(c.Name)+", and there are no other paths", nil)
		case lease.Restored:
			f.env.Event(api.EventLeaseChanged, c.Name, "it has paths again", nil)
		}
	}
	for _, j := range f.All.All() {
		f.note(j)
	}
}

// lost returns why a lease has lost a path, without the name of another lease.
func (f *Feature) lost(name string) string {
	if l, _ := f.ledger.Lease(name); l.Taken != nil {
		return fmt.Sprintf("a lease of priority %d has taken its links", l.Taken.Priority)
	}
	return "part of the network was lost"
}

// note updates the record of a lease from the ledger.
func (f *Feature) note(j *item) {
	if j.Decided.Has == nil {
		return
	}
	now, ok := f.ledger.Lease(j.Name)
	if ok && !reflect.DeepEqual(*j.Decided.Has, now) {
		j.Decided.Has = &now
		f.All.Save(j.Name)
	}
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	now := f.env.Wall()
	if at, ok := f.ledger.Next(); ok && !now.Before(at) {
		f.settle()
	}
	for _, j := range f.All.All() {
		if e := j.Decided.Ended; !e.IsZero() && !now.Before(e.Add(keepEnded)) {
			f.All.Delete(j.Name)
			f.removed = append(f.removed, j.Name)
			f.env.Event(api.EventLeaseDeleted, j.Name, fmt.Sprintf("it ended %v ago", keepEnded), nil)
		}
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	soonest := func(t time.Time) {
		if d := t.Sub(f.env.Start); !ok || d < at {
			at, ok = d, true
		}
	}
	if end, some := f.ledger.Next(); some {
		soonest(end)
	}
	if f.behind() && (!ok || f.next < at) {
		at, ok = f.next, true
	}
	for _, j := range f.All.All() {
		if e := j.Decided.Ended; !e.IsZero() {
			soonest(e.Add(keepEnded))
		}
	}
	return at, ok
}

// Blocking returns the exclusive leases on links that a job depends on, except leases for the job
// itself.
func (f *Feature) Blocking(job string, fabric *ready.Fabric) (out []ready.Other) {
	held := make(map[string]*item)
	for _, j := range f.All.All() {
		l := j.Decided.Has
		if l == nil || j.Spec.Sharing != api.LeaseExclusive || l.Phase == lease.Broken ||
			job != "" && j.Spec.Job == job {
			continue
		}
		for _, paths := range [][][]lease.Path{l.Paths, l.Former} {
			for _, pair := range paths {
				for i := range pair {
					for _, id := range pair[i].Links {
						held[string(id)] = j
					}
				}
			}
		}
	}
	if len(held) == 0 {
		return nil
	}
	links := make(map[*item][]*ready.Link)
	var order []*item
	for i := range fabric.Links {
		if j := held[fabric.Links[i].ID]; j != nil {
			if links[j] == nil {
				order = append(order, j)
			}
			links[j] = append(links[j], &fabric.Links[i])
		}
	}
	for _, j := range order {
		out = append(out, f.blocker(j, links[j], fabric))
	}
	return out
}

// blocker returns a lease as a blocker of a job. The affected ranks sit at the leaves of the
// lease's links; without any there, all ranks count.
func (f *Feature) blocker(j *item, links []*ready.Link, fabric *ready.Fabric) ready.Other {
	ends := make(map[string]bool)
	for _, l := range links {
		ends[l.From], ends[l.To] = true, true
	}
	behind := func(rank int) bool {
		return rank < len(fabric.NICs) && slices.ContainsFunc(fabric.NICs[rank].Ports,
			func(p ready.Port) bool { return ends[p.Leaf] })
	}
	o := ready.Other{Kind: ready.KindLease, Object: j.Name, NICs: behind, Fact: ready.Fact{
		State: ready.Bad, Since: j.Decided.Granted, Why: fmt.Sprintf(
			"it has %d of the links that the paths of the job cross for itself, as %s", len(links),
			f.linkName(topology.LinkID(links[0].ID)))}}
	if o.Want = "that it is deleted"; !endsAt(j).IsZero() {
		o.Want = "its end at " + endsAt(j).UTC().Format(time.RFC3339) + ", or that it is deleted"
	}
	for rank := range fabric.NICs {
		if behind(rank) {
			return o
		}
	}
	o.NICs = nil
	return o
}
