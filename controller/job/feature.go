// Package job has the jobs: distributed programs whose ranks a scheduler has placed on hosts.
//
// It keeps the resources, and works out what follows from each: the NICs, which racks talk to each
// other, and how many peers a NIC has ([Demand]). Whether the fabric is ready for a job is judged
// (package ready) when the MRC fabric was read for the job (feature.Env.Fabric); another goroutine
// may do that ([Feature.Work]).
package job

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
)

// decided has the decisions about a job. Fields outside of JSON follow from the others, or are
// reported anew.
type decided struct {
	// Renewed is when the lease was renewed last; Ended: it has ended since.
	Renewed time.Time `json:"renewed,omitzero"`
	Ended   bool      `json:"ended,omitempty"`

	demand    *Demand
	readiness *judged
	since     uint64 // [fabricview.Job.Since]
}

// judged holds a job's last readiness, for one version of the spec.
type judged struct {
	version uint64
	api.JobReadiness
	// behind: connected hosts lack parts of their state.
	behind  bool
	since   time.Time // of Go
	reading *fabricview.Reading
	at      time.Duration // of the judgement
}

type item = resource.Item[api.JobSpec, decided]

// Feature has the jobs of a controller.
type Feature struct {
	feature.Kept[api.JobSpec, decided]
	env     *feature.Env
	nics    map[string]*inventory.Host // of known
	known   *inventory.Inventory
	demands map[string]*Demand // of the feature that this one is a copy of
	changed bool               // since the last call of Changed
	changes uint64             // of jobs, so far
	judging
	groups grouping
}

// New returns the feature without jobs.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, changed: true,
		Kept: feature.Keep[api.JobSpec, decided](env, Kind.Record)}
}

// MakeGroups has jobs make multicast groups from now on.
func (f *Feature) MakeGroups(made Groups) { f.groups.made, f.groups.due = made, true }

// Start implements feature.Feature.
func (f *Feature) Start() { f.SetNetwork() }

// Fork implements feature.Feature: the copy need not plan again.
func (f *Feature) Fork() func(feature.Feature) {
	demands := make(map[string]*Demand, f.All.Len())
	for _, j := range f.All.All() {
		demands[j.Name] = j.Decided.demand
	}
	return func(to feature.Feature) { to.(*Feature).demands = demands }
}

// SetNetwork implements feature.Feature: where NICs are attached follows from the inventory.
func (f *Feature) SetNetwork() {
	f.groups.due = true
	inv := f.env.Inventory()
	if inv == f.known {
		return
	}
	f.known, f.nics = inv, make(map[string]*inventory.Host, len(inv.Hosts))
	for i := range inv.Hosts {
		f.nics[inv.Hosts[i].Name] = &inv.Hosts[i]
	}
	for _, j := range f.All.All() {
		if d := f.demands[j.Name]; d != nil {
			j.Decided.demand = d
			continue
		}
		f.plan(j)
	}
	f.demands = nil
	f.change()
}

// Tick implements feature.Feature: it ends jobs whose leases have.
func (f *Feature) Tick() {
	now := f.env.Wall()
	f.groups.due = f.groups.due || f.groups.again > 0 && f.env.Now >= f.groups.again
	for _, j := range f.All.All() {
		if at := ends(j); at.IsZero() || now.Before(at) {
			continue
		}
		j.Decided.Ended = true
		f.renew(j)
		f.All.Save(j.Name)
		f.groups.due = true
		f.change()
		f.env.Event(api.EventJobChanged, j.Name, fmt.Sprintf(
			"done: nobody has renewed its lease of %v", j.Spec.Lease), nil)
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	at, ok = f.groups.again, f.groups.again > 0
	if next := f.again; next > f.env.Now && (!ok || next < at) {
		at, ok = next, true
	}
	for _, j := range f.All.All() {
		if end := ends(j); !end.IsZero() {
			if t := end.Sub(f.env.Start); !ok || t < at {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// Generation returns a number that grows when jobs or their needs change.
func (f *Feature) Generation() uint64 { return f.changes }

// Tasks returns the jobs whose readiness matters: all but those that are Done.
func (f *Feature) Tasks() (out []Task) {
	for _, j := range f.All.All() {
		if f.phase(j) != api.PhaseDone {
			out = append(out, task(j))
		}
	}
	return out
}

// Concerns returns the jobs that have not ended.
func (f *Feature) Concerns() (out []ready.Concern) {
	for _, t := range f.Tasks() {
		if !t.Over && t.Demand != nil {
			out = append(out, ready.Concern{Job: t.Name, Version: t.Version, Priority: t.Priority,
				Running: t.Running, Need: &t.Demand.Need})
		}
	}
	return out
}

// Running returns the running jobs, with the fabric as last read for each.
func (f *Feature) Running() (out []ready.Running) {
	for _, t := range f.Tasks() {
		if !t.Running || t.Demand == nil {
			continue
		}
		j := ready.Running{Job: t.Name, Pairs: len(t.Demand.Pairs)}
		if r := f.env.Fabric.Jobs[&t.Demand.Need]; r != nil {
			j.Fabric = &r.Fabric
		}
		out = append(out, j)
	}
	return out
}

// Task returns one of the jobs. The error is an *api.Error.
func (f *Feature) Task(name string) (Task, error) {
	j, err := resource.Find(f.All, name)
	if err != nil {
		return Task{}, err
	}
	return task(j), nil
}
