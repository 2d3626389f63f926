// Package leases has the leases of paths: which paths of an MRC fabric are held for whom, and until
// when.
//
// It keeps the resources, and a ledger (package job/lease) decides. What the ledger is of, the
// paths between NICs and the links that must not be crossed, the controller of the MRC fabric
// knows: see [Feature.SetFabric]. Until then nothing is granted, and leases keep what they have.
package leases

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// keepEnded is how long a lease is there after its end, for its client to read why.
const keepEnded = time.Hour

// decided is what the feature made of a lease.
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
	feature.Base
	env    *feature.Env
	all    *resource.Collection[api.PathLeaseSpec, decided]
	ledger *lease.Ledger
	// network is what the ledger is of; nil: it is not known, and why has the reason.
	network *lease.Network
	why     string
	nics    map[string]bool // of known
	known   *inventory.Inventory
	changed bool // since the last call of Changed
	gone    []string
}

// New returns the feature without leases.
func New(env *feature.Env) *Feature {
	f := &Feature{env: env, why: "the paths of the fabric are not known yet",
		all: resource.NewCollection[api.PathLeaseSpec, decided](Kind.Record, env.Versions)}
	f.ledger = lease.New(func(from, to string) []lease.Path {
		if f.network == nil {
			return nil
		}
		return f.network.Paths(from, to)
	})
	return f
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) { return f.all.Load(r) }

// Start implements feature.Feature.
func (f *Feature) Start() {
	var has []lease.Lease
	for _, j := range f.all.All() {
		if l := j.Decided.Has; l != nil {
			l.Request = requestOf(j.Name, &j.Spec) // the record has what the spec lacks
			has = append(has, *l)
		}
	}
	f.ledger.Restore(has)
	f.SetNetwork()
	f.changed = true
	if f.network != nil {
		f.setLinks()
	}
}

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op { return f.all.Changes() }

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record { return f.all.Records() }

// Fork implements feature.Feature.
func (f *Feature) Fork() func(feature.Feature) {
	network, why := f.network, f.why
	return func(to feature.Feature) { to.(*Feature).network, to.(*Feature).why = network, why }
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

// Changed reports whether there are other leases since the last call.
func (f *Feature) Changed() bool {
	changed := f.changed
	f.changed = false
	return changed
}

// Gone returns the leases that the feature has removed by itself since the last call.
func (f *Feature) Gone() []string {
	gone := f.gone
	f.gone = nil
	return gone
}

// NICs returns the NICs of all leases that have not ended, in order.
func (f *Feature) NICs() []string {
	out := make(map[string]bool)
	for _, j := range f.all.All() {
		if j.Decided.Has != nil {
			for _, p := range j.Spec.Pairs {
				out[p.From], out[p.To] = true, true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// SetFabric takes what leases are of; nil: that is not known, and why has the reason. One that was
// made for fewer NICs than the leases have counts for nothing.
func (f *Feature) SetFabric(n *lease.Network, why string) {
	if n == nil {
		if f.network == nil {
			f.why = why
		}
		return // what was known last is the best that there is
	}
	if n == f.network {
		return
	}
	for _, name := range f.NICs() {
		if !n.Of[name] {
			f.changed = true
			return
		}
	}
	before := f.network
	f.network = n
	f.setLinks()
	if before == nil || !sameMap(before.Links, n.Links) {
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
	links := maps.Clone(f.network.Links)
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

// settle has the ledger act on what has changed.
func (f *Feature) settle() {
	if f.network == nil {
		f.took(f.ledger.Expire(f.env.Wall()))
		return
	}
	f.took(f.ledger.Settle(f.env.Wall()))
}

// took notes what the ledger has changed.
func (f *Feature) took(changes []lease.Change) {
	for _, c := range changes {
		j := f.all.Get(c.Name)
		if j == nil {
			continue
		}
		switch c.What {
		case lease.Expired:
			j.Decided.Has, j.Decided.Ended, j.Decided.Reason = nil, f.env.Wall(), c.Reason
			f.all.Save(c.Name)
			f.env.Event(api.EventLeaseChanged, c.Name, "ended: "+c.Reason, nil)
		case lease.Moves:
			f.env.Event(api.EventLeaseChanged, c.Name,
				"moves to other paths: part of the network was lost", nil)
		case lease.Breaks:
			f.env.Event(api.EventLeaseBroken, c.Name,
				"broken: part of the network was lost, and there are no other paths", nil)
		case lease.Restored:
			f.env.Event(api.EventLeaseChanged, c.Name, "it has paths again", nil)
		}
	}
	for _, j := range f.all.All() {
		f.note(j)
	}
}

// note has the record of a lease have what the ledger has of it.
func (f *Feature) note(j *item) {
	if j.Decided.Has == nil {
		return
	}
	now, ok := f.ledger.Lease(j.Name)
	if ok && !reflect.DeepEqual(*j.Decided.Has, now) {
		j.Decided.Has = &now
		f.all.Save(j.Name)
	}
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	now := f.env.Wall()
	if at, ok := f.ledger.Next(); ok && !now.Before(at) {
		f.settle()
	}
	for _, j := range f.all.All() {
		if e := j.Decided.Ended; !e.IsZero() && !now.Before(e.Add(keepEnded)) {
			f.all.Delete(j.Name)
			f.gone = append(f.gone, j.Name)
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
	for _, j := range f.all.All() {
		if e := j.Decided.Ended; !e.IsZero() {
			soonest(e.Add(keepEnded))
		}
	}
	return at, ok
}

// Blocking returns the exclusive leases that hold links which a job depends on, but those for the
// job itself.
func (f *Feature) Blocking(job string, fabric *ready.Fabric) (out []ready.Other) {
	held := make(map[string]*item)
	for _, j := range f.all.All() {
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

// blocker returns a lease as what is in the way of a job: the ranks at the leaves of its links are
// behind it, all where none is.
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
			"it has %d of the links that the paths of the job cross for itself, as link %s", len(links),
			links[0].ID)}}
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
