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

// plan works out the demand of a job. The record of an earlier controller may contain a spec that
// this controller refuses: such a job needs nothing, and is not ready.
func (f *Feature) plan(j *item) {
	d, err := newDemand(&j.Spec, func(name string) *inventory.Host { return f.nics[name] })
	if err != nil {
		d = nil
	}
	j.Decided.demand = d
	f.renew(j)
}

// over reports whether a job is done, or its lease has ended.
func over(j *item) bool { return j.Spec.State == api.JobDone || j.Decided.Ended }

// ends returns when the lease of a job ends; zero: it does not.
func ends(j *item) time.Time {
	if j.Spec.Lease == 0 || over(j) {
		return time.Time{}
	}
	return j.Decided.Renewed.Add(j.Spec.Lease.D())
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

// Task is a request for the readiness of a job.
type Task struct {
	Name    string
	Version uint64
	Spec    api.JobSpec
	Demand  *Demand
	// Last is the readiness that was reported last; nil: none was.
	Last     *api.JobReadiness
	Priority int
	Running  bool
	// Ends is the end of the job's lease without a renewal; zero: never.
	Ends time.Time
	// Over: the job has ended, and hosts may still hold what followed from it.
	Over bool
}

// change notes that jobs or their needs have changed.
func (f *Feature) change() {
	f.changed, f.fresh = true, true
	f.changes++
}

// Generation returns a number that grows when jobs or their needs change.
func (f *Feature) Generation() uint64 { return f.changes }

// Changed reports whether jobs or their needs have changed since the last call.
func (f *Feature) Changed() bool {
	changed := f.changed
	f.changed = false
	return changed
}

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

// Wants returns what the jobs whose readiness matters want of the MRC fabric.
func (f *Feature) Wants() (out []fabricview.Job) {
	for _, j := range f.All.All() {
		if d := j.Decided.demand; d != nil && (f.phase(j) != api.PhaseDone || f.asks(j.Name)) {
			out = append(out, fabricview.Job{Need: &d.Need, Over: over(j), Since: j.Decided.since})
		}
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

func task(j *item) Task {
	t := Task{Name: j.Name, Version: j.Version, Spec: j.Spec, Demand: j.Decided.demand, Over: over(j),
		Priority: j.Spec.Priority, Running: j.Spec.State == api.JobRunning && !over(j), Ends: ends(j)}
	if r := j.Decided.readiness; r != nil {
		t.Last = &r.JobReadiness
	}
	return t
}

// Switches returns whether the switches that the controller programs hold all that they should.
func (f *Feature) Switches() map[string]ready.Fact {
	out := make(map[string]ready.Fact)
	inv := f.env.Inventory()
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		if !sw.Managed() {
			continue
		}
		out[sw.Name] = f.programmed(sw.Name)
	}
	return out
}

// programmed reports whether a switch holds all its entries, according to the last read-back.
func (f *Feature) programmed(sw string) ready.Fact {
	d, ok := f.env.Switches.Status(sw)
	fact := ready.Fact{State: ready.Bad, Since: f.env.Start.Add(d.Since).UTC()}
	switch {
	case !ok:
		return ready.Fact{}
	case !d.Connected:
		fact.Why = "not connected: " + d.Reason
	case f.env.Net.Node(sw) == nil:
		fact.Since, fact.Why = time.Time{}, "not in the topology"
	case !f.env.Underlay.Ready(sw):
		fact.Since, fact.Why = time.Time{}, "it does not have its routes"
	case d.Pending > 0 || d.Blocked:
		fact.Since, fact.Why = time.Time{}, fmt.Sprintf("%d updates to make", d.Pending)
	default:
		return ready.IsGood()
	}
	return fact
}

// SetReadiness reports the readiness of a job for a task, judged on a reading of the fabric, nil
// without one. behind: connected hosts do not hold all the state sent to them. SetReadiness ignores
// a result for another version of the job, and a result from before the end of the job.
func (f *Feature) SetReadiness(
	t *Task, r api.JobReadiness, behind bool, on *fabricview.Reading,
) {
	name, version := t.Name, t.Version
	j := f.All.Get(name)
	if j == nil || j.Version != version || over(j) != t.Over {
		return
	}
	before, phase := j.Decided.readiness, f.phase(j)
	next := &judged{version: version, JobReadiness: r, behind: behind, since: r.At, reading: on,
		at: f.env.Now}
	if before != nil && before.Go == r.Go {
		next.since = before.since
	}
	j.Decided.readiness = next
	switch {
	case over(j):
	case r.Go && (before == nil || !before.Go):
		f.env.Event(api.EventJobReady, name, "GO", nil)
	case !r.Go && (before == nil || before.Go || !sameCauses(before.Blockers, r.Blockers)):
		f.env.Event(api.EventJobBlocked, name, ready.Summary(&r), nil)
	}
	if now := f.phase(j); now != phase {
		f.env.Event(api.EventJobChanged, name, string(now), nil)
		f.changed = f.changed || now == api.PhaseDone
	}
}

// sameCauses reports whether two lists of blockers have the same causes.
func sameCauses(a, b []api.JobBlocker) bool {
	if len(a) != len(b) {
		return false
	}
	is := make(map[[3]string]bool, len(a))
	for i := range a {
		is[[3]string{a[i].Kind, a[i].Object, a[i].State}] = true
	}
	for i := range b {
		if !is[[3]string{b[i].Kind, b[i].Object, b[i].State}] {
			return false
		}
	}
	return true
}

// phase returns how far a job is.
func (f *Feature) phase(j *item) api.JobPhase {
	r := j.Decided.readiness
	switch {
	case over(j) && (r == nil || r.behind):
		return api.PhaseDraining
	case over(j):
		return api.PhaseDone
	case j.Spec.State == api.JobRunning:
		return api.PhaseRunning
	case r != nil && r.Go:
		return api.PhaseReady
	}
	return api.PhasePending
}
